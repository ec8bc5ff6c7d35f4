package password

import (
	"context"
	"sync"
	"time"

	"marquee/engine/message"
	"marquee/engine/store"
	"marquee/engine/turn"
)

// line gives out a few seats for which origins, such as addresses, take turns, so that a
// new origin waits for at most one hash of each other origin.
type line struct{ *turn.Places }

func newLine(seats, mostOfOrigin, most int) line {
	return line{turn.NewPlaces(turn.Limits{Total: int64(seats), MaxCallerWaiting: mostOfOrigin, MaxWaiting: most})}
}

// enter waits for a seat, which leave returns. An error is of kind Unavailable if the
// context ends first, and TooManyRequests if too many wait.
func (l line) enter(ctx context.Context, from string) error {
	switch err := l.Enter(ctx, from, 1); err {
	case nil:
		return nil
	case turn.ErrFull:
		return tooMany()
	default:
		return store.Translate(err)
	}
}

// leave returns a seat of an origin.
func (l line) leave(from string) { l.Leave(from, 1) }

// lines are queues with one seat each, by name.
type lines struct {
	mu   sync.Mutex
	open map[string]*namedLine
}

type namedLine struct {
	line
	// uses is the number of those who wait or have the seat.
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
		own.leave(from)
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
