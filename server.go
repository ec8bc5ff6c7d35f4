package marquee

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"marquee/auth"
	"marquee/engine"
	"marquee/engine/catalog"
	"marquee/engine/folder"
	"marquee/engine/message"
	"marquee/engine/progress"
	"marquee/engine/rest"
	"marquee/engine/review"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/walk"
)

// Server serves types over HTTP, and to Go code with Write and Read. It is safe for
// use by several goroutines.
type Server struct {
	options  Options
	store    store.Store
	owned    io.Closer // the store, if Close closes it
	engine   *engine.Engine
	auth     *auth.Service
	rest     *rest.Server
	reviewer *review.Reviewer
	ready    *probe
	watcher  *folder.Watcher // nil without Options.SchemaFolder
	// refused is the reason why the schemas of the folder were refused last, and
	// migrating has what a migration that takes long is doing.
	refused   string
	migrating atomic.Pointer[progress.Steps]
	// amending has what is being done to stored objects, and served has an item when other
	// types may ask for something else.
	amending atomic.Pointer[progress.Steps]
	served   chan struct{}
	draining atomic.Bool
	stop     func()
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.rest.ServeHTTP(w, r) }

// Operator is the handler of requests of the operator, who needs no token and may do
// everything. Serve it only where nobody else can connect.
func (s *Server) Operator() http.Handler { return s.rest.Operator() }

// Listen makes the server the handler of an http.Server, and returns the listener
// to serve with. Requests that net/http itself rejects then get the same error
// responses as others.
func (s *Server) Listen(server *http.Server, l net.Listener) net.Listener {
	return s.rest.Listen(server, l)
}

// Engine is the engine that serves the types.
func (s *Server) Engine() *engine.Engine { return s.engine }

// Auth is the sign-in of users.
func (s *Server) Auth() *auth.Service { return s.auth }

// Store is where the records are.
func (s *Server) Store() store.Store { return s.store }

// Stats are the shared resources of the requests.
func (s *Server) Stats() rest.Stats { return s.rest.Stats() }

// MemoryUsed returns the number of bytes of Options.Memory that requests use at present.
func (s *Server) MemoryUsed() int64 { return s.rest.MemoryUsed() }

const (
	// migrationPatience is the time after which a migration reports its progress, and migrationEvery
	// how often the log has it.
	migrationPatience = time.Second
	migrationEvery    = 10 * time.Second
)

// Migrate serves other types, which Application.Load has compiled. If that takes longer than
// a second, the log and /readyz show its progress.
func (s *Server) Migrate(ctx context.Context, types *schema.Registry) error {
	if s.options.Sealer == nil && typeWithSecrets(types) != "" {
		return catalog.ErrNoKey
	}
	say := func(steps *progress.Steps) {
		steps.Log(s.options.Log)
		s.options.Log.Info("loading the schemas", slog.String("step", steps.String()), slog.Duration("took", steps.Took()))
	}
	err := showing(ctx, &s.migrating, "preparing the store for the schemas", say, func(ctx context.Context) error { return s.engine.Migrate(ctx, types) })
	select {
	case s.served <- struct{}{}:
	default: // it will be looked at
	}
	return err
}

// showing does what may take long: after a second, /readyz shows its progress, and say is called
// with it, now and then.
func showing(ctx context.Context, in *atomic.Pointer[progress.Steps], first string, say func(*progress.Steps), do func(context.Context) error) error {
	steps := &progress.Steps{}
	steps.Step(first)
	end := progress.While(migrationPatience, migrationEvery, func(time.Duration) {
		in.Store(steps)
		say(steps)
	})
	defer in.CompareAndSwap(steps, nil)
	defer end()
	return do(store.WithProgress(ctx, steps))
}

// notes are those of Options, and the progress of a migration and of what follows it.
func (s *Server) notes() map[string]string {
	notes := map[string]string{}
	if s.options.Notes != nil {
		maps.Copy(notes, s.options.Notes())
	}
	if steps := s.migrating.Load(); steps != nil {
		notes["reload"] = steps.String()
	}
	if steps := s.amending.Load(); steps != nil {
		notes["amending"] = steps.String()
	}
	return notes
}

// Drain makes /readyz answer 503 from now on, and ends the streams of changes, while everything
// else is served.
func (s *Server) Drain() {
	s.draining.Store(true)
	s.rest.End()
}

func (s *Server) check(ctx context.Context) error {
	if s.draining.Load() {
		return message.ShuttingDown.Error(nil)
	}
	return s.ready.check(ctx)
}

// stopTime is the maximum time that Close waits for a pass that is under way. A pass that is
// left does as much as one whose process was killed.
const stopTime = time.Second

// Start begins the work in the background: changes of objects that depend on
// others, reviews of objects whose time has passed, indexes, and the work of the
// application. Close ends it.
func (s *Server) Start() {
	if s.stop != nil {
		return
	}
	log, every := s.options.Log, s.options.Interval
	end := func() {}
	if start := s.options.Application.Start; start != nil {
		end = start(s.engine, every, log)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() { s.Run(ctx, every, log) })
	if s.watcher != nil {
		work.Go(func() { s.followFolder(ctx) })
	}
	go func() {
		work.Wait()
		close(ended)
	}()
	s.stop = func() {
		cancel()
		end()
		select {
		case <-ended:
		case <-time.After(stopTime):
		}
	}
}

// Run does the work of the engine in the background until the context ends, as
// Start does together with that of the application. The zero interval and log are
// those of Options.
func (s *Server) Run(ctx context.Context, every time.Duration, log *slog.Logger) {
	every, log = cmp.Or(every, s.options.Interval), cmp.Or(log, s.options.Log)
	var work sync.WaitGroup
	work.Go(func() { s.maintain(ctx, every, log) })
	work.Go(func() { s.amend(ctx, every, log) })
	work.Go(func() { s.trim(ctx, every, log) })
	work.Go(func() { s.engine.FollowUp(ctx, log) })
	work.Go(func() { s.auth.Tokens.Uses.Record(ctx, log) })
	s.reviewer.Run(ctx, s.engine, every, log)
	work.Wait()
}

// maintain looks after the indexes, erasures that were broken off, expired idempotency keys,
// and the keys and tokens, once in every interval.
func (s *Server) maintain(ctx context.Context, every time.Duration, log *slog.Logger) {
	walk.Every(ctx, every, func() {
		if err := s.engine.Maintain(ctx); err != nil && ctx.Err() == nil {
			log.Warn("indexes could not be maintained", slog.String("cause", err.Error()))
		}
		if err := s.engine.FinishErasures(ctx); err != nil && ctx.Err() == nil {
			log.Warn("erasures could not be completed; retrying", slog.Any("cause", message.Explained(err)))
		}
		if err := s.engine.DropIdempotencyKeys(ctx); err != nil && ctx.Err() == nil {
			log.Warn("expired idempotency keys could not be deleted; retrying", slog.Any("cause", message.Explained(err)))
		}
		if err := s.auth.Maintain(ctx, log); err != nil && ctx.Err() == nil {
			log.Warn("the signing keys could not be rotated, or expired tokens could not be deleted", slog.String("cause", err.Error()))
		}
	})
}

// trim removes the oldest history, once in every interval.
func (s *Server) trim(ctx context.Context, every time.Duration, log *slog.Logger) {
	walk.Every(ctx, every, func() {
		if err := s.removeHistory(ctx, log); err != nil && ctx.Err() == nil {
			log.Warn("the oldest history could not be removed; retrying", slog.Any("cause", message.Explained(err)))
		}
	})
}

// removeHistory removes what is older than Options.HistoryDays.
func (s *Server) removeHistory(ctx context.Context, log *slog.Logger) error {
	if s.options.HistoryDays <= 0 {
		return nil
	}
	return s.engine.RemoveHistory(ctx, s.options.Now().AddDate(0, 0, -s.options.HistoryDays), log)
}

// amend writes stored objects as the served types ask for them: at once, after each
// migration, and once in every interval.
func (s *Server) amend(ctx context.Context, every time.Duration, log *slog.Logger) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		err := showing(ctx, &s.amending, "amending stored objects", func(*progress.Steps) {}, func(ctx context.Context) error { return s.engine.Amend(ctx, log) })
		if err != nil && ctx.Err() == nil {
			log.Warn("stored objects could not be written as the schemas ask for them; retrying", slog.Any("cause", message.Explained(err)))
		}
		select {
		case <-ctx.Done():
			return
		case <-s.served:
		case <-tick.C:
		}
	}
}

// Pass does at once what the work in the background does in every interval.
func (s *Server) Pass(ctx context.Context, log *slog.Logger) error {
	log = cmp.Or(log, s.options.Log)
	var err error
	if pass := s.options.Application.Pass; pass != nil {
		err = pass(ctx, s.engine)
	}
	return errors.Join(err, s.reviewer.Pass(ctx, s.engine, log), s.engine.FollowAll(ctx, log), s.engine.Maintain(ctx), s.engine.Amend(ctx, log), s.engine.FinishErasures(ctx), s.engine.DropIdempotencyKeys(ctx), s.removeHistory(ctx, log), s.auth.Maintain(ctx, log))
}

// Close ends the work in the background, and closes the store if New opened it.
// Requests must have ended.
func (s *Server) Close() error {
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
	var err error
	if s.watcher != nil {
		err = s.watcher.Close()
		s.watcher = nil
	}
	if s.owned != nil {
		err = errors.Join(err, s.owned.Close())
		s.owned = nil
	}
	return err
}
