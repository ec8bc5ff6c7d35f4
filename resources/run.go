package resources

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"marquee/engine"
	"marquee/resources/asset"
)

// Run does what the rules have to do while the service is served, until the
// context ends: what time changes is looked for at each interval, and files that
// no asset has any more once an hour.
func (s *Service) Run(ctx context.Context, e *engine.Engine, every time.Duration, log *slog.Logger) {
	var wait sync.WaitGroup
	wait.Go(func() { asset.Run(ctx, e.Store, log) })
	wait.Go(func() { s.locations.Follow(ctx, e.Store, every, log) })
	s.reviewer.Run(ctx, e, every, log)
	wait.Wait()
}

// Pass does at once what Run does at each interval.
func (s *Service) Pass(ctx context.Context, e *engine.Engine, log *slog.Logger) error {
	return errors.Join(s.locations.Refresh(ctx, e.Store), s.reviewer.Pass(ctx, e, log))
}
