package articlesearch

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"marquee/engine"
	"marquee/engine/store"
	"marquee/resources/article"
)

// errBuilding says that there is no index yet.
var errBuilding = errors.New("articlesearch: the index is not filled yet")

const (
	// page is how many changes or articles are read at once.
	page = 100
	// maxPending is how many articles may wait for their vectors: their texts
	// are kept until then.
	maxPending = 1000
	// patience is how long a search waits for the index to be filled.
	patience = 5 * time.Second
	// shortest and longest is how long the follower waits before it looks for
	// changes again, while nobody searches.
	shortest, longest = 100 * time.Millisecond, 10 * time.Second
	// stepTime bounds what is done at once for nobody in particular.
	stepTime = time.Minute
)

// follower keeps an index of the articles of all networks. It is filled once,
// and then follows the changes: at intervals, and before each search, as far as
// anything had been committed when the search began. So what was answered is
// found, through whichever server it was written.
type follower struct {
	e        *engine.Engine
	newIndex func() article.Index
	log      *slog.Logger

	// turn is held by whoever reads the changes, and guards position and
	// revision: what the index has seen.
	turn     chan struct{}
	position string
	revision string
	// begun counts the readings that have begun, and caught is the last that
	// has ended well.
	begun, caught atomic.Int64
	// applied counts the changes that were.
	applied atomic.Int64

	mu sync.Mutex
	// index is nil until it is filled, and filled is closed then; fault is why
	// it cannot be filled.
	index  article.Index
	filled chan struct{}
	fault  error
}

func newFollower(e *engine.Engine, newIndex func() article.Index, log *slog.Logger) *follower {
	return &follower{e: e, newIndex: newIndex, log: log, turn: make(chan struct{}, 1), filled: make(chan struct{})}
}

// run fills the index and follows the changes until the context ends. While
// there are changes it looks for more soon; while there are none, or something
// fails, after a longer and longer while.
func (f *follower) run(ctx context.Context) {
	var filling *filling
	for failed, wait := false, shortest; ; {
		applied := f.applied.Load()
		err := f.step(ctx, &filling)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !failed {
			f.log.Warn("article search is behind", slog.String("cause", err.Error()))
		}
		if err == nil && failed {
			f.log.Info("article search goes on")
		}
		switch {
		case err == nil && f.applied.Load() > applied, (err != nil) != failed:
			wait = shortest
		default:
			wait = min(2*wait, longest)
		}
		failed = err != nil
		if !pause(ctx, wait) {
			return
		}
	}
}

// pause waits, and returns false when the context ends before.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// step fills the index where that is to be done, and otherwise reads what has
// changed, and makes the vectors that are missing.
func (f *follower) step(ctx context.Context, filling **filling) error {
	if _, served := f.e.Registry().Type(Name); !served {
		return nil
	}
	f.mu.Lock()
	index := f.index
	f.mu.Unlock()
	if index == nil {
		err := f.fill(ctx, filling)
		f.mu.Lock()
		f.fault = err
		f.mu.Unlock()
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	err := f.catchUp(ctx, true)
	if errors.Is(err, errBuilding) {
		return nil // the next step fills it
	}
	return errors.Join(err, index.Flush(ctx))
}

// current is the index, as it is after all that has been committed.
func (f *follower) current(ctx context.Context) (article.Index, error) {
	f.mu.Lock()
	filled := f.filled
	f.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-filled:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
		f.mu.Lock()
		defer f.mu.Unlock()
		var unavailable *article.UnavailableError
		if errors.As(f.fault, &unavailable) {
			return nil, f.fault
		}
		return nil, errBuilding
	}
	if err := f.catchUp(ctx, false); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.index == nil {
		return nil, errBuilding
	}
	return f.index, nil
}

// catchUp reads the changes as far as anything had been committed when it was
// called. A reading that has begun since, for somebody else, does. Where the
// store can tell that no article has changed nothing need be read; to move on
// behind the changes of others, it is read all the same.
func (f *follower) catchUp(ctx context.Context, moveOn bool) error {
	next := f.begun.Load() + 1
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if f.caught.Load() >= next && !moveOn {
		return nil
	}
	reading := f.begun.Add(1)
	if err := f.read(ctx, moveOn); err != nil {
		return err
	}
	f.caught.Store(reading)
	return nil
}

// read applies the changes behind the position. The turn is held.
func (f *follower) read(ctx context.Context, moveOn bool) error {
	f.mu.Lock()
	index := f.index
	f.mu.Unlock()
	if index == nil {
		return errBuilding
	}
	revision, known := f.e.Store.Revision(Name)
	if known && revision == f.revision && !moveOn {
		return nil
	}
	for {
		changes, position, err := f.e.Store.Changes(ctx, f.position, page, Name)
		if code, _ := store.CodeOf(err); code == store.CodeBadPosition {
			f.forget()
			return errBuilding
		}
		if err != nil {
			return err
		}
		if err := f.apply(ctx, index, changes); err != nil {
			return err
		}
		if f.position = position; len(changes) < page {
			break
		}
	}
	if f.revision = ""; known {
		f.revision = revision
	}
	return nil
}

// forget has the index filled anew: the store no longer knows what has changed
// since.
func (f *follower) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.index, f.filled, f.revision = nil, make(chan struct{}), ""
}

// apply brings the articles of changes into the index as they are now.
func (f *follower) apply(ctx context.Context, index article.Index, changes []store.Change) error {
	versions := map[store.Key]int64{}
	for _, c := range changes {
		key := store.Key{Network: c.Network, ID: c.ID}
		versions[key] = max(versions[key], c.Version)
	}
	if len(versions) == 0 {
		return nil
	}
	now, err := f.articles(ctx, versions)
	if err != nil {
		return err
	}
	f.applied.Add(int64(len(changes)))
	return put(ctx, index, now)
}

// lag is how long reads are waited for that do not show what has changed: a
// secondary of MongoDB may be behind. What is still not there then has been
// taken away by hand.
const lag = 10 * time.Second

// articles reads articles of at least these versions.
func (f *follower) articles(ctx context.Context, versions map[store.Key]int64) (all []state, err error) {
	keys := make([]store.Key, 0, len(versions))
	for key := range versions {
		keys = append(keys, key)
	}
	for begun, wait := time.Now(), time.Millisecond; ; wait *= 2 {
		late := 0
		err := f.e.Store.Read(ctx, func(s store.Snapshot) error {
			all = all[:0]
			late = len(keys)
			return s.Get(ctx, Name, keys, func(r *store.Record) error {
				all = append(all, stateOf(r))
				if r.Version >= versions[r.Key] {
					late--
				}
				return nil
			})
		})
		if err != nil || late == 0 || time.Since(begun) > lag {
			return all, err
		}
		if !pause(ctx, wait) {
			return nil, ctx.Err()
		}
	}
}

// state is what an index is to know of a record: nothing of one that cannot be
// found.
type state struct {
	key     store.Key
	article *article.Article
}

// findable reports whether an article can be found: one that is not ACTIVE is
// not for use.
func findable(r *store.Record) bool { return r.State == "ACTIVE" }

func stateOf(r *store.Record) state {
	s := state{key: r.Key}
	if findable(r) {
		s.article = &article.Article{Network: r.Network, Language: textOf(r, "language"), Title: textOf(r, "title"), Text: textOf(r, "text"),
			Entry: article.Entry{ID: r.ID, URL: textOf(r, "url"), Site: textOf(r, "site"), EarningsAccount: textOf(r, "earningsAccount"), Version: r.Version}}
	}
	return s
}

// put brings different articles into an index, on all processors.
func put(ctx context.Context, index article.Index, all []state) error {
	var next atomic.Int64
	workers := min(runtime.GOMAXPROCS(0), len(all))
	faults := make([]error, workers)
	var wait sync.WaitGroup
	for worker := range workers {
		wait.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(all)) && faults[worker] == nil; i = next.Add(1) - 1 {
				if s := all[i]; s.article == nil {
					index.Remove(s.key.Network, s.key.ID)
				} else {
					faults[worker] = index.Put(*s.article)
				}
			}
		})
	}
	wait.Wait()
	if err := errors.Join(faults...); err != nil {
		return err
	}
	if index.Stats().Pending >= maxPending {
		return index.Flush(ctx)
	}
	return nil
}
