package auth

import (
	"context"
	"slices"
	"sync"
	"time"

	"marquee/engine/message"
	"marquee/engine/store"
)

// line is a queue for a few seats that is fair between origins: the next seat goes to
// the origin that has waited longest since its last one, no matter how many of its
// requests wait. A new origin waits for at most one seat of each other.
type line struct {
	// mostOfOrigin and most limit how many wait, of one origin and in total.
	mostOfOrigin, most int

	mu      sync.Mutex
	free    int
	waiting int
	// turns has the origins that wait, the next one first.
	turns []*origin
}

// origin is a source of sign-ins, such as an address, with its places in order.
type origin struct {
	name    string
	waiting []*place
}

// place is a place in the line; its channel yields nil when there is a seat.
type place struct{ turn chan error }

func newLine(seats, mostOfOrigin, most int) *line {
	return &line{free: seats, mostOfOrigin: mostOfOrigin, most: most}
}

// enter waits for a seat, which leave returns. An error is of kind Unavailable if the
// context ends first, and TooManyRequests if too many wait.
func (l *line) enter(ctx context.Context, from string) error {
	p := l.join(from)
	if p == nil {
		return nil
	}
	select {
	case err := <-p.turn:
		return err
	case <-ctx.Done():
	}
	if !l.quit(from, p) { // it has just got a seat or an error
		if err := <-p.turn; err != nil {
			return err
		}
		l.leave()
	}
	return store.Translate(ctx.Err())
}

// join takes a place in the line, or returns nil if it has taken a free seat.
func (l *line) join(from string) *place {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.free > 0 { // the line is empty
		l.free--
		return nil
	}
	p := &place{turn: make(chan error, 1)}
	own := l.find(from)
	if own != nil && len(own.waiting) >= l.mostOfOrigin || l.waiting >= l.most && !l.evict(own) {
		p.turn <- tooMany()
		return p
	}
	if own == nil {
		own = &origin{name: from}
		l.turns = append(l.turns, own)
	}
	own.waiting = append(own.waiting, p)
	l.waiting++
	return p
}

// find returns an origin that waits, or nil.
func (l *line) find(from string) *origin {
	if i := slices.IndexFunc(l.turns, func(o *origin) bool { return o.name == from }); i >= 0 {
		return l.turns[i]
	}
	return nil
}

// evict removes the last place of the origin that has the most, so that one origin
// cannot fill the line. It returns false if own would have as many.
func (l *line) evict(own *origin) bool {
	longest := slices.MaxFunc(l.turns, func(a, b *origin) int { return len(a.waiting) - len(b.waiting) })
	ours := 0
	if own != nil {
		ours = len(own.waiting)
	}
	if len(longest.waiting) <= ours+1 {
		return false
	}
	last := longest.waiting[len(longest.waiting)-1]
	l.remove(longest, last)
	last.turn <- tooMany()
	return true
}

// quit removes a place from the line, and returns false if it is no longer there.
func (l *line) quit(from string, p *place) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.find(from)
	return own != nil && l.remove(own, p)
}

func (l *line) remove(from *origin, p *place) bool {
	i := slices.Index(from.waiting, p)
	if i < 0 {
		return false
	}
	from.waiting = slices.Delete(from.waiting, i, i+1)
	l.waiting--
	if len(from.waiting) == 0 {
		l.turns = slices.DeleteFunc(l.turns, func(o *origin) bool { return o == from })
	}
	return true
}

// leave returns a seat, which goes to the next origin.
func (l *line) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.turns) == 0 {
		l.free++
		return
	}
	next := l.turns[0]
	l.turns = append(l.turns[1:], next)
	p := next.waiting[0]
	l.remove(next, p)
	p.turn <- nil
}

// lines are queues with one seat each, by name.
type lines struct {
	mu   sync.Mutex
	open map[string]*namedLine
}

type namedLine struct {
	*line
	// uses is how many wait or have the seat.
	uses int
}

// enter waits for the seat of a line, as line.enter does.
func (l *lines) enter(ctx context.Context, name, from string) (leave func(), err error) {
	l.mu.Lock()
	if l.open == nil {
		l.open = map[string]*namedLine{}
	}
	own := l.open[name]
	if own == nil {
		own = &namedLine{line: newLine(1, maxWaitingOfOrigin, maxWaiting)}
		l.open[name] = own
	}
	own.uses++
	l.mu.Unlock()
	done := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if own.uses--; own.uses == 0 {
			delete(l.open, name)
		}
	}
	if err := own.enter(ctx, from); err != nil {
		done()
		return nil, err
	}
	return func() {
		own.leave()
		done()
	}, nil
}

// retryAfter is when a client can try again after the line was full.
const retryAfter = 5 * time.Second

func tooMany() error {
	e := message.AttemptsTooMany.Error(nil)
	e.RetryAfter = retryAfter
	return e
}
