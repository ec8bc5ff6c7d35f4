// Package budget limits the memory that requests use at the same time: they take
// shares of one budget of bytes, or wait for them. It imports only engine/message.
// Begin reading with Budget.Take.
//
// A request takes one share at a time, for the number of bytes that its work will
// need. Waiting is fair between callers: the next share goes to the caller who got
// one the longest time ago, however many requests of a caller are waiting.
//
// Shares are small, medium or large. All large shares together have at most
// thirteen sixteenths of the budget, which is also the maximum of one share, and
// large and medium ones at most seven eighths, so that small requests do not wait
// for medium ones, nor these for large ones. A request that needs more than the
// maximum gets the maximum, and runs alone among the large ones.
package budget

import (
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
type Budget struct {
	// limits are the maximum sizes of all shares of a class and of larger ones
	// together; the first is the whole budget.
	limits [classes]int64

	mu sync.Mutex
	// held is the size of all shares of each class.
	held     [classes]int64
	accounts map[string]*account
	// lines are the accounts with waiting requests, the next one first.
	lines   [classes][]*account
	waiting int
	// overdrawn is the share that may exceed the budget; growing are the requests
	// to grow that wait for it.
	overdrawn *Share
	growing   []*request
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
}

// request is a waiting request. Its channel is closed when it gets its bytes.
type request struct {
	share   *Share
	bytes   int64
	granted chan struct{}
}

// New returns a budget of total bytes.
func New(total int64) *Budget {
	total = max(total, smallPart)
	return &Budget{limits: [classes]int64{total, total - total/8, total - 3*(total/16)}, accounts: map[string]*account{}}
}

// Total returns the size of the budget.
func (b *Budget) Total() int64 { return b.limits[small] }

// Most returns the maximum size of a share.
func (b *Budget) Most() int64 { return b.limits[large] }

// Used returns the size of all shares together.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all()
}

// Take waits for a share of n bytes, or of the maximum size if that is less. The
// error is of kind Unavailable if the context ends first or too many requests are
// waiting.
func (b *Budget) Take(ctx context.Context, caller string, n int64) (*Share, error) {
	n = min(max(n, 0), b.Most())
	b.mu.Lock()
	s := &Share{b: b, a: b.account(caller)}
	class := b.class(n)
	if b.fits(s.a, class, n) {
		s.add(n)
		s.a.shares++
		b.mu.Unlock()
		return s, nil
	}
	if b.waiting >= MaxWaiting || s.a.count() >= MaxCallerWaiting {
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
	return len(b.growing) == 0 && len(b.lines[class]) == 0 && b.room(class, n) && b.spares(a, class, n)
}

// room reports whether there is room for a share of a class. While requests for
// larger shares are waiting, smaller ones do not use more than their own part.
func (b *Budget) room(class int, n int64) bool {
	for c := range class + 1 {
		if b.from(c)+n > b.limits[c] {
			return false
		}
	}
	for c := class + 1; c < classes; c++ {
		if len(b.lines[c]) > 0 && b.all()-b.from(c)+n > b.Total()-b.limits[c] {
			return false
		}
	}
	return true
}

// spares reports whether a share for a caller leaves enough for callers who hold
// little, of the budget and of the part for medium shares.
func (b *Budget) spares(a *account, class int, n int64) bool {
	spare := b.Total() / sparePart
	if a.shares == 0 || a.held+n <= spare {
		return true
	}
	return b.all()+n <= b.Total()-spare && (class != medium || b.from(medium)+n <= b.limits[medium]-spare)
}

// grant serves waiting requests as far as the budget allows.
func (b *Budget) grant() {
	for len(b.growing) > 0 {
		r := b.growing[0]
		if b.all()+r.bytes > b.Total() {
			if b.overdrawn != nil {
				return // released bytes go to growing shares first
			}
			b.overdrawn = r.share
		}
		b.growing = b.growing[1:]
		r.share.add(r.bytes)
		close(r.granted)
	}
	for class := range classes {
		for b.grantNext(class) {
		}
	}
}

// grantNext serves the first caller in line who can get a share. Others cannot
// overtake a request for which there is no room, but one that waits for its own
// caller's shares.
func (b *Budget) grantNext(class int) bool {
	for i, a := range b.lines[class] {
		r := a.waiting[class][0]
		if !b.room(class, r.bytes) {
			return false
		}
		if !b.spares(a, class, r.bytes) {
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
