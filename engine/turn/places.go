package turn

import (
	"context"
	"errors"
	"sync"
)

// Places are a limited number of places, fair between callers:
//
//   - The next free place goes to the caller who got one the longest time ago.
//   - A caller who holds some does not get the last Spare places.
//   - A caller does not get more than half of the places while others wait who could
//     have them.
//   - Nobody else passes a request for which there is no room.
//   - When too many wait, the last request of the caller with the most is refused.
//
// They are safe for concurrent use.
type Places struct {
	limits Limits

	mu     sync.Mutex
	held   int64
	by     map[string]int64 // what each caller holds
	line   Queue[*request]
	closed bool
}

// Limits are the limits of Places.
type Limits struct {
	// Total is the number of places.
	Total int64
	// Spare is the number of places that only callers who hold none get.
	Spare int64
	// MaxWaiting and MaxCallerWaiting are the maximum number of waiting requests, in
	// total and of one caller; 0 is no limit.
	MaxWaiting, MaxCallerWaiting int
}

// Errors of Enter.
var (
	ErrFull   = errors.New("turn: too many requests wait")
	ErrClosed = errors.New("turn: the places are closed")
)

// request is a waiting request for n places, which has its answer when decided is
// closed.
type request struct {
	n       int64
	decided chan struct{}
	err     error
}

func (r *request) decide(err error) {
	r.err = err
	close(r.decided)
}

// NewPlaces returns places that are all free.
func NewPlaces(limits Limits) *Places { return &Places{limits: limits, by: map[string]int64{}} }

// Enter waits for n places, which must be returned with Leave unless there is an error:
// that of the context, ErrFull or ErrClosed. More than the total are the total.
func (p *Places) Enter(ctx context.Context, caller string, n int64) error {
	r := &request{n: min(n, p.limits.Total), decided: make(chan struct{})}
	p.mu.Lock()
	p.join(caller, r)
	p.mu.Unlock()
	select {
	case <-r.decided:
		return r.err
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.line.Remove(caller, r) { // it was decided before the lock was acquired
		return r.err
	}
	p.grant() // the next request may fit
	return ctx.Err()
}

// Leave returns places of a caller.
func (p *Places) Leave(caller string, n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n = min(n, p.limits.Total)
	p.held -= n
	if p.by[caller] -= n; p.by[caller] == 0 {
		delete(p.by, caller)
	}
	p.grant()
}

// Waiting returns the number of waiting requests.
func (p *Places) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.line.Len()
}

// Close refuses waiting requests and all further ones with ErrClosed.
func (p *Places) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for p.line.Len() > 0 {
		caller, r := p.line.Last()
		p.line.Remove(caller, r)
		r.decide(ErrClosed)
	}
}

// join decides on a request, or puts it in the line.
func (p *Places) join(caller string, r *request) {
	if p.closed {
		r.decide(ErrClosed)
		return
	}
	p.line.Push(caller, r)
	p.grant()
	switch {
	case p.limits.MaxCallerWaiting > 0 && p.line.Waiting(caller) > p.limits.MaxCallerWaiting:
		p.line.Remove(caller, r)
		r.decide(ErrFull)
	case p.limits.MaxWaiting > 0 && p.line.Len() > p.limits.MaxWaiting:
		most, last := p.line.Last()
		if p.line.Waiting(most) == p.line.Waiting(caller) {
			most, last = caller, r
		}
		p.line.Remove(most, last)
		last.decide(ErrFull)
	}
}

// grant serves waiting requests as long as there is room for one.
func (p *Places) grant() {
	for {
		caller, ok := p.next()
		if !ok {
			return
		}
		r := p.line.Take(caller)
		p.held += r.n
		p.by[caller] += r.n
		r.decide(nil)
	}
}

// next returns the caller whose turn it is, if there is room for the request.
func (p *Places) next() (next string, ok bool) {
	for caller, r := range p.line.Firsts() {
		holds := p.by[caller]
		switch {
		case p.held+r.n > p.limits.Total:
			return "", false
		case holds > 0 && p.held+r.n > p.limits.Total-p.limits.Spare:
			// The spare places may be enough for others.
		case holds > 0 && holds+r.n > p.limits.Total/2:
			if !ok { // unless somebody else can have it
				next, ok = caller, true
			}
		default:
			return caller, true
		}
	}
	return next, ok
}
