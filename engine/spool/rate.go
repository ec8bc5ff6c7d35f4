package spool

import (
	"io"
	"sync/atomic"
	"time"

	"marquee/engine/message"
)

// The minimum rate of a client that sends a body, and how long it may fall behind.
const (
	MinRate = 4 << 10 // bytes a second
	Grace   = 10 * time.Second
)

// LeastRate reads from a client that must send at least rate bytes a second. Time
// beyond that accumulates up to grace, and faster bytes make up for it: a client
// that stops has that long to resume. Only time spent in Read counts.
//
// If a client is too slow, the error has the code error.body.too.slow, and
// interrupt is called by another goroutine so that a blocked Read returns. On a
// connection of net/http, it sets a read deadline in the past, after which the
// connection cannot be reused.
func LeastRate(r io.Reader, bytesPerSecond int64, grace time.Duration, interrupt func()) io.Reader {
	return &leastRate{r: r, rate: bytesPerSecond, grace: grace, credit: grace, interrupt: interrupt}
}

type leastRate struct {
	r         io.Reader
	rate      int64
	grace     time.Duration
	credit    time.Duration // how long the client may still fall behind
	interrupt func()
	late      atomic.Bool
}

func (l *leastRate) Read(p []byte) (int, error) {
	if l.late.Load() {
		return 0, l.slow()
	}
	begun := time.Now()
	timer := time.AfterFunc(l.credit, func() {
		l.late.Store(true)
		l.interrupt()
	})
	n, err := l.r.Read(p)
	if !timer.Stop() { // the interruption may be in progress
		l.late.Store(true)
		return 0, l.slow()
	}
	earned := time.Duration(float64(n) / float64(l.rate) * float64(time.Second))
	l.credit = min(l.grace, l.credit-time.Since(begun)+earned)
	return n, err
}

func (l *leastRate) slow() error {
	return message.BodyTooSlow.Error(message.Params{"rate": l.rate})
}
