package marquee

import (
	"context"
	"time"
)

const (
	// ReadyTimeout is less than what load balancers wait for /readyz.
	ReadyTimeout = 3 * time.Second
	// readyAge is for how long an answer of the store is given again: anybody
	// can ask for /readyz, as often as they like.
	readyAge = time.Second
)

// probe checks the store for /readyz, at most once in readyAge however many
// ask.
type probe struct {
	run func(ctx context.Context) error

	// turn holds one value while somebody looks.
	turn   chan struct{}
	looked time.Time
	found  error
}

func newProbe(run func(ctx context.Context) error) *probe {
	return &probe{run: run, turn: make(chan struct{}, 1)}
}

// check returns what was found last, or looks again.
func (p *probe) check(ctx context.Context) error {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if time.Since(p.looked) < readyAge {
		return p.found
	}
	// The result is for other clients, too, and must not depend on this one.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ReadyTimeout)
	defer cancel()
	p.found = p.run(ctx)
	p.looked = time.Now()
	return p.found
}
