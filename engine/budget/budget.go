// Package budget limits the memory that requests use at the same time: they take
// shares of one budget of bytes, or wait for them. It imports message and turn.
// Begin reading with Budget.Take.
package budget

import (
	"context"
	"errors"
	"sync"
	"time"

	"marquee/engine/message"
	"marquee/engine/turn"
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
	// lines are the requests that wait for a share.
	lines [classes]turn.Queue[*request]
	// growing are the waiting requests to grow, by the class of the larger share,
	// and parked the sizes of their shares and of those that gave up, by the present
	// class.
	growing [classes]turn.Queue[*request]
	parked  [classes]int64
	// grew reports, for each class, that a share has grown since a caller who holds
	// little had a turn.
	grew [classes]bool
	// grants counts the requests to grow that were granted, and refused the errors.
	grants, refused int64
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
	shares int
	held   int64
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

// grant begins the share.
func (r *request) grant() {
	r.share.add(r.bytes)
	r.share.a.shares++
	close(r.granted)
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

// Stats are the state of a budget.
type Stats struct {
	// Total is its size, and Used that of all shares together.
	Total, Used int64
	// Waiting is the number of requests that wait for a share, or for a larger one.
	Waiting int
	// Refused is the number of requests so far that got none.
	Refused int64
}

// Stats returns the state of the budget.
func (b *Budget) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := Stats{Total: b.Total(), Used: b.all() + b.extra, Refused: b.refused}
	for class := range b.lines {
		s.Waiting += b.lines[class].Len() + b.growing[class].Len()
	}
	return s
}

// Take waits for a share of n bytes, or of the maximum size if that is less. The
// error is of kind Unavailable if the context ends first or too many requests are
// waiting.
func (b *Budget) Take(ctx context.Context, caller string, n int64) (*Share, error) {
	n = min(max(n, 0), b.Most())
	if s, ok := b.Try(caller, n); ok {
		return s, nil
	}
	b.mu.Lock()
	s := &Share{b: b, a: b.account(caller)}
	r, line := &request{share: s, bytes: n, granted: make(chan struct{})}, &b.lines[b.class(n)]
	switch own, all := b.waiting(caller); {
	case own < MaxCallerWaiting && all < MaxWaiting:
		line.Push(caller, r)
		b.grant()
	case s.takeExtra(n):
		r.grant()
	default:
		b.forget(s.a)
		b.refused++
		b.mu.Unlock()
		return nil, busy(errors.New("too many requests wait for a share of the memory budget"))
	}
	b.mu.Unlock()
	if err := b.await(ctx, line, r); err != nil {
		return nil, err
	}
	return s, nil
}

// await waits until a request is granted, or removes it from its line when the
// context ends first.
func (b *Budget) await(ctx context.Context, line *turn.Queue[*request], r *request) error {
	select {
	case <-r.granted:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !line.Remove(r.share.a.caller, r) { // it was granted before the lock was acquired
		return nil
	}
	b.forget(r.share.a)
	b.refused++
	b.grant() // the next request may fit
	return busy(ctx.Err())
}

// Try takes a share if it need not wait.
func (b *Budget) Try(caller string, n int64) (*Share, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, class := &Share{b: b, a: b.account(caller)}, b.class(n)
	if n > b.Most() || b.waits(class) || !b.room(s.a, class, n) || !b.spares(s.a, class, n) {
		b.forget(s.a)
		return nil, false
	}
	s.add(n)
	s.a.shares++
	return s, true
}

func busy(cause error) error {
	e := message.ServerBusy.Error(nil).Caused(cause)
	e.RetryAfter = RetryAfter
	return e
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
	if own, _ := b.waiting(a.caller); a.shares+own == 0 {
		delete(b.accounts, a.caller)
	}
}

// waiting returns the number of requests that wait for a share, of a caller and in
// total.
func (b *Budget) waiting(caller string) (own, all int) {
	for class := range b.lines {
		own += b.lines[class].Waiting(caller)
		all += b.lines[class].Len()
	}
	return own, all
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
				granted = b.grantNext(class, b.growing[class].Len() > 0)
			}
		}
	}
}

// growNext serves the request to grow of the caller who has waited longest since
// the last one, if there is room for it.
func (b *Budget) growNext(class int) bool {
	var r *request
	for _, first := range b.growing[class].Firsts() {
		if r == nil || first.share.a.grew < r.share.a.grew {
			r = first
		}
	}
	if r == nil {
		return false
	}
	r.share.unpark()
	if !b.roomToGrow(r.share, r.bytes) {
		r.share.park()
		return false
	}
	b.growing[class].Take(r.share.a.caller)
	r.share.add(r.bytes)
	b.grants++
	r.share.a.grew = b.grants
	close(r.granted)
	return true
}

// grantNext serves the request whose turn it is, if there is room for it.
func (b *Budget) grantNext(class int, modest bool) bool {
	caller, ok := b.next(class, modest)
	if ok {
		b.lines[class].Take(caller).grant()
	}
	return ok
}

// next returns the caller whose turn it is to get a share of a class, if there is
// room for it, and with modest, only of those who hold little. The first rule that
// applies to a request decides.
func (b *Budget) next(class int, modest bool) (caller string, ok bool) {
	blocked := false
	for caller, r := range b.lines[class].Firsts() {
		a := r.share.a
		much, room := !b.modest(a, r.bytes), b.room(a, class, r.bytes)
		switch {
		case modest && much:
			// It waits for the shares that grow.
		case room && !blocked && b.spares(a, class, r.bytes):
			return caller, true
		case r.share.takeExtra(r.bytes):
			return caller, true // on top of the budget
		case room, much && class != large:
			// Its caller has to spare something for others, who pass it.
		case class == small:
			blocked = true // nobody passes it but with shares on top of the budget
		default:
			return "", false // nobody passes it
		}
	}
	return "", false
}
