// Package budget limits the memory that requests use at the same time: they take
// shares of one budget of bytes, or wait for them. It imports only engine/message.
// Begin reading with Budget.Take.
package budget

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"marquee/engine/message"
)

const (
	// A share of up to 1/smallPart of the budget is small, one of up to
	// 1/mediumPart is medium.
	smallPart, mediumPart = 64, 8
	// 1/sparePart of the budget is reserved for callers who hold less than that.
	sparePart = 8
	// 1/extraPart of the budget is added to it for callers who hold nothing.
	extraPart = 32
	// RetryAfter is when a client may try again after a request failed.
	RetryAfter = 5 * time.Second
)

// The maximum number of waiting requests, of one caller and in total.
const (
	MaxCallerWaiting = 512
	MaxWaiting       = 2048
)

// Budget is a number of bytes from which shares are taken. It is safe for
// concurrent use.
//
// A request takes one share at a time, for the number of bytes that its work will
// need. Waiting is fair between callers: the next share goes to the caller who got
// one the longest time ago, however many requests of a caller are waiting.
//
// Shares are small, medium or large. All large shares together have at most three
// quarters of the budget, which is also the maximum of one share, and large and
// medium ones at most seven eighths, so that small requests do not wait for medium
// ones, nor these for large ones. A request that needs more than the maximum gets
// the maximum, and runs alone among the large ones. A small share of a caller who
// holds none may come on top of the budget, up to 1/32 of it, so that such callers do
// not wait for others.
//
// A share may grow, and waits for that like a request without a share. It takes
// turns with those of its class whose callers hold little, and goes before the
// others. What it holds meanwhile does not count for the shares that grow, so that
// they cannot block each other, nor for callers who hold little. If it gives up, that
// holds until it is released, as others may have taken its place.
type Budget struct {
	// limits are the maximum sizes of all shares of a class and of larger ones
	// together; the first is the whole budget.
	limits [classes]int64

	mu sync.Mutex
	// held is the size of all shares of each class.
	held     [classes]int64
	accounts map[string]*account
	// extra is the size of the shares that came on top of the budget, which are not in
	// held.
	extra int64
	// lines are the accounts with waiting requests, the next one first.
	lines   [classes][]*account
	waiting int
	// growing are the waiting requests to grow, by the class of the larger share,
	// and parked the sizes of their shares and of those that gave up, by the present
	// class.
	growing [classes][]*request
	parked  [classes]int64
	// grew reports, for each class, that a share has grown since a caller who holds
	// little had a turn.
	grew [classes]bool
	// grants counts the requests to grow that were granted.
	grants int64
}

// Classes of shares.
const (
	small = iota
	medium
	large
	classes
)

// account is the state of a caller who holds a share or waits for one.
type account struct {
	caller string
	// shares is the number of shares, held their total size.
	shares  int
	held    int64
	waiting [classes][]*request
	// grew is the value of Budget.grants when one of the shares last grew after
	// waiting.
	grew int64
}

// request is a waiting request. Its channel is closed when it gets its bytes, which
// are added to the share.
type request struct {
	share   *Share
	bytes   int64
	granted chan struct{}
}

// New returns a budget of total bytes.
func New(total int64) *Budget {
	total = max(total, smallPart)
	return &Budget{limits: [classes]int64{total, total - total/8, total - 2*(total/8)}, accounts: map[string]*account{}}
}

// Total returns the size of the budget.
func (b *Budget) Total() int64 { return b.limits[small] }

// Most returns the maximum size of a share.
func (b *Budget) Most() int64 { return b.limits[large] }

// Used returns the size of all shares together.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all() + b.extra
}

// Take waits for a share of n bytes, or of the maximum size if that is less. The
// error is of kind Unavailable if the context ends first or too many requests are
// waiting.
func (b *Budget) Take(ctx context.Context, caller string, n int64) (*Share, error) {
	n = min(max(n, 0), b.Most())
	b.mu.Lock()
	s := &Share{b: b, a: b.account(caller)}
	class := b.class(n)
	full := b.waiting >= MaxWaiting || s.a.count() >= MaxCallerWaiting
	if b.fits(s.a, class, n) || full && s.takeExtra(n) {
		s.add(n)
		s.a.shares++
		b.mu.Unlock()
		return s, nil
	}
	if full {
		b.forget(s.a)
		b.mu.Unlock()
		return nil, busy(errors.New("too many requests wait for a share of the memory budget"))
	}
	r := &request{share: s, bytes: n, granted: make(chan struct{})}
	if len(s.a.waiting[class]) == 0 {
		b.lines[class] = append(b.lines[class], s.a)
	}
	s.a.waiting[class] = append(s.a.waiting[class], r)
	b.waiting++
	b.grant()
	b.mu.Unlock()
	select {
	case <-r.granted:
		return s, nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	select {
	case <-r.granted: // before the lock was acquired
		b.mu.Unlock()
		return s, nil
	default:
	}
	b.leave(s.a, class, r)
	b.mu.Unlock()
	return nil, busy(ctx.Err())
}

// Try takes a share if it need not wait.
func (b *Budget) Try(caller string, n int64) (*Share, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.account(caller)
	class := b.class(n)
	if n > b.Most() || !b.fits(a, class, n) {
		b.forget(a)
		return nil, false
	}
	s := &Share{b: b, a: a}
	s.add(n)
	a.shares++
	return s, true
}

func busy(cause error) error {
	e := message.ServerBusy.Error(nil).Caused(cause)
	e.RetryAfter = RetryAfter
	return e
}

func (b *Budget) class(n int64) int {
	switch {
	case n <= b.Total()/smallPart:
		return small
	case n <= b.Total()/mediumPart:
		return medium
	}
	return large
}

// all returns the size of all shares.
func (b *Budget) all() int64 { return b.from(small) }

// from returns the size of the shares of a class and of larger ones.
func (b *Budget) from(class int) int64 {
	var sum int64
	for _, held := range b.held[class:] {
		sum += held
	}
	return sum
}

func (b *Budget) account(caller string) *account {
	a := b.accounts[caller]
	if a == nil {
		a = &account{caller: caller}
		b.accounts[caller] = a
	}
	return a
}

// forget removes an account without shares and waiting requests.
func (b *Budget) forget(a *account) {
	if a.shares == 0 && a.count() == 0 {
		delete(b.accounts, a.caller)
	}
}

// count returns the number of waiting requests.
func (a *account) count() int {
	n := 0
	for _, waiting := range a.waiting {
		n += len(waiting)
	}
	return n
}

// fits reports whether a new request can get a share without waiting.
func (b *Budget) fits(a *account, class int, n int64) bool {
	return len(b.growing[class])+len(b.lines[class]) == 0 && b.room(a, class, n) && b.spares(a, class, n)
}

// room reports whether there is room for a share of a class. While requests for
// larger shares are waiting, smaller ones do not use more than their own part. A
// caller who holds little need not wait for parked shares, of which there may be
// many: they are rarely used for more than a decoded body.
func (b *Budget) room(a *account, class int, n int64) bool {
	counted := b.from
	if b.modest(a, n) {
		counted = b.running
	}
	if class == small && counted(small)-counted(medium)+n <= b.Total()-b.limits[medium] {
		return true // small shares always have their part
	}
	for c := range class + 1 {
		if counted(c)+n > b.limits[c] {
			return false
		}
	}
	for c := class + 1; c < classes; c++ {
		if len(b.lines[c])+len(b.growing[c]) > 0 && b.running(small)-b.running(c)+n > b.Total()-b.limits[c] {
			return false
		}
	}
	return true
}

// modest reports whether a caller holds little, with another share.
func (b *Budget) modest(a *account, n int64) bool { return a.held+n <= b.Total()/sparePart }

// running is from without the parked shares.
func (b *Budget) running(class int) int64 {
	sum := b.from(class)
	for _, parked := range b.parked[class:] {
		sum -= parked
	}
	return sum
}

// roomToGrow reports whether there is room for a share that grows by n bytes beside
// those that do not wait for the same. It may use the part of medium shares that
// they have left, because these could keep it from growing forever.
func (b *Budget) roomToGrow(s *Share, n int64) bool {
	own, class := b.class(s.bytes), b.class(s.bytes+n)
	if !s.extra {
		b.held[own] -= s.bytes
		defer func() { b.held[own] += s.bytes }()
	}
	if class == small && b.running(small)-b.running(medium)+s.bytes+n <= b.Total()-b.limits[medium] {
		return true
	}
	if b.running(class)+s.bytes+n > b.limits[class] || b.running(small)+s.bytes+n > b.Total() {
		return false
	}
	for c := class + 1; c < classes; c++ {
		if len(b.growing[c]) > 0 && b.running(small)-b.running(c)+s.bytes+n > b.Total()-b.limits[c] {
			return false
		}
	}
	return true
}

// spares reports whether a share for a caller leaves enough for callers who hold
// little, of the budget and of the part for medium shares.
func (b *Budget) spares(a *account, class int, n int64) bool {
	spare := b.Total() / sparePart
	if a.shares == 0 || b.modest(a, n) {
		return true
	}
	return b.all()+n <= b.Total()-spare && (class != medium || b.from(medium)+n <= b.limits[medium]-spare)
}

// grant serves waiting requests as far as the budget allows.
func (b *Budget) grant() {
	for class := range classes {
		for granted := true; granted; {
			switch {
			case b.grew[class] && b.grantNext(class, true):
				b.grew[class] = false
			case b.growNext(class):
				b.grew[class] = true
			default:
				granted = b.grantNext(class, len(b.growing[class]) > 0)
			}
		}
	}
}

// growNext serves the request to grow of the caller who has waited longest since
// the last one, if there is room for it.
func (b *Budget) growNext(class int) bool {
	if len(b.growing[class]) == 0 {
		return false
	}
	r := slices.MinFunc(b.growing[class], func(one, other *request) int { return cmp.Compare(one.share.a.grew, other.share.a.grew) })
	r.share.unpark()
	if !b.roomToGrow(r.share, r.bytes) {
		r.share.park()
		return false
	}
	b.growing[class] = remove(b.growing[class], r)
	r.share.add(r.bytes)
	b.grants++
	r.share.a.grew = b.grants
	close(r.granted)
	return true
}

// grantNext serves the first caller in line who can get a share, or the first such
// one who holds little. Others cannot overtake a request for which there is no room,
// but one that waits for its own caller's shares, or a small or medium one of a
// caller who holds much, and unless what they get comes on top of the budget.
func (b *Budget) grantNext(class int, modest bool) bool {
	full := false
	for i, a := range b.lines[class] {
		r, fits := a.waiting[class][0], false
		if !full && (b.modest(a, r.bytes) || !modest && (class == large || b.room(a, class, r.bytes))) {
			full = !b.room(a, class, r.bytes)
			fits = !full && b.spares(a, class, r.bytes)
		}
		if !fits && !r.share.takeExtra(r.bytes) {
			if full && class != small {
				return false
			}
			continue
		}
		b.lines[class] = append(b.lines[class][:i], b.lines[class][i+1:]...)
		if a.waiting[class] = a.waiting[class][1:]; len(a.waiting[class]) > 0 {
			b.lines[class] = append(b.lines[class], a)
		}
		b.waiting--
		r.share.add(r.bytes)
		a.shares++
		close(r.granted)
		return true
	}
	return false
}

// leave removes a request from the line.
func (b *Budget) leave(a *account, class int, gone *request) {
	a.waiting[class] = remove(a.waiting[class], gone)
	if len(a.waiting[class]) == 0 {
		b.lines[class] = remove(b.lines[class], a)
	}
	b.waiting--
	b.forget(a)
	b.grant() // the next request may fit
}

func remove[T comparable](list []T, gone T) []T {
	return slices.DeleteFunc(list, func(item T) bool { return item == gone })
}
