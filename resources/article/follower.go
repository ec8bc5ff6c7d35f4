package article

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/store"
	"marquee/engine/walk"
	"marquee/resources/article/index"
)

// errNotReady reports that the index is being filled.
var errNotReady = errors.New("article: the index is being filled")

const (
	// page is the number of changes or articles read at once; each may be large.
	page = 20
	// maxPending is the maximum number of articles that wait for vectors, because their texts are
	// in memory until then.
	maxPending = 1000
	// patience is the maximum time that a search waits for the index to be filled.
	patience = 5 * time.Second
	// shortest and longest are the limits of the interval between polls for changes
	// without searches.
	shortest, longest = 100 * time.Millisecond, 10 * time.Second
	// stepTime is the time limit of a step in the background.
	stepTime = time.Minute
)

// follower keeps an index of the articles of all networks. It fills the index once, and
// then applies changes, at intervals and before each search. A search therefore finds
// everything that was committed before it, on any server.
type follower struct {
	e        *engine.Engine
	newIndex func() index.Index
	log      *slog.Logger

	// turn is filled while changes are read. It guards position and revision, up to
	// which the index is current.
	turn     chan struct{}
	position string
	revision string
	// begun is the number of the last read of changes that has begun, and caught
	// that of the last that has succeeded.
	begun, caught atomic.Int64
	// applied is the number of applied changes.
	applied atomic.Int64
	// full reports whether the log says that the index is full.
	full atomic.Bool

	mu sync.Mutex
	// index is nil until it is filled; then filled is closed. fault is the last error
	// of filling.
	index  index.Index
	filled chan struct{}
	fault  error
}

func newFollower(e *engine.Engine, newIndex func() index.Index, log *slog.Logger) *follower {
	return &follower{e: e, newIndex: newIndex, log: log, turn: make(chan struct{}, 1), filled: make(chan struct{})}
}

// run fills the index and follows changes until the context ends. The interval between
// polls grows while there are no changes or polls fail.
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
			f.log.Info("article search has caught up")
		}
		switch {
		case err == nil && f.applied.Load() > applied, (err != nil) != failed:
			wait = shortest
		default:
			wait = min(2*wait, longest)
		}
		failed = err != nil
		if !walk.Sleep(ctx, wait) {
			return
		}
	}
}

// step fills the index, or, if that is done, applies changes and computes missing
// vectors.
func (f *follower) step(ctx context.Context, filling **filling) error {
	if _, served := f.e.Registry().Type(Name); !served {
		return nil
	}
	f.mu.Lock()
	articles := f.index
	f.mu.Unlock()
	if articles == nil {
		err := f.fill(ctx, filling)
		f.mu.Lock()
		f.fault = err
		f.mu.Unlock()
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	err := f.catchUp(ctx, true)
	if errors.Is(err, errNotReady) {
		return nil // the next step fills it
	}
	return errors.Join(err, articles.Flush(ctx))
}

// current returns the index with all committed changes.
func (f *follower) current(ctx context.Context) (index.Index, error) {
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
		var unavailable *index.UnavailableError
		if errors.As(f.fault, &unavailable) {
			return nil, f.fault
		}
		return nil, errNotReady
	}
	if err := f.catchUp(ctx, false); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.index == nil {
		return nil, errNotReady
	}
	return f.index, nil
}

// catchUp applies the changes committed before it was called. A read of another call
// that has begun since then suffices. With moveOn, it reads even if the store reports
// that no article has changed, to move the position past changes of other types.
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

// read applies the changes after the position. The caller must hold the turn.
func (f *follower) read(ctx context.Context, moveOn bool) error {
	f.mu.Lock()
	articles := f.index
	f.mu.Unlock()
	if articles == nil {
		return errNotReady
	}
	revision, known := "", f.e.Store.Serial()
	if known { // otherwise, Recent may be late
		revision, known = f.e.Store.Recent(Name)
	}
	if known && revision == f.revision && !moveOn {
		return nil
	}
	for {
		changes, position, err := f.e.Store.Changes(ctx, f.position, page, Name)
		if code, _ := store.CodeOf(err); code == store.CodeBadPosition || code == store.CodeTooOld {
			f.reset()
			return errNotReady
		}
		if err != nil {
			return err
		}
		if err := f.apply(ctx, articles, changes); err != nil {
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

// reset discards the index, to be filled again, since the store no longer has the
// changes after its position.
func (f *follower) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.index, f.filled, f.revision = nil, make(chan struct{}), ""
}

// apply indexes the current versions of changed articles.
func (f *follower) apply(ctx context.Context, articles index.Index, changes []store.Change) error {
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
	return f.put(ctx, articles, now)
}

// lag is the time after which reads return changes, as a secondary of MongoDB may be
// behind. An article that is missing after that was deleted by hand.
const lag = 10 * time.Second

// articles reads articles, each in at least the given version.
func (f *follower) articles(ctx context.Context, versions map[store.Key]int64) (all []entry, err error) {
	keys := slices.Collect(maps.Keys(versions))
	for begun, wait := time.Now(), time.Millisecond; ; wait *= 2 {
		late := 0
		err := f.e.Store.Read(ctx, func(s store.Snapshot) error {
			all = all[:0]
			late = len(keys)
			return s.Get(ctx, Name, keys, func(r *store.Record) error {
				all = append(all, entryOf(r))
				if r.Version >= versions[r.Key] {
					late--
				}
				return nil
			})
		})
		if err != nil || late == 0 || time.Since(begun) > lag {
			return all, err
		}
		if !walk.Sleep(ctx, wait) {
			return nil, ctx.Err()
		}
	}
}

// entry is the state of a record in the index; its article is nil if searches must not
// find it.
type entry struct {
	key     store.Key
	article *index.Article
}

// findable reports whether searches may find an article.
func findable(r *store.Record) bool { return r.State == "ACTIVE" }

func entryOf(r *store.Record) entry {
	s := entry{key: r.Key}
	if findable(r) {
		text := func(name string) string { return document.MemberText(r.Document, name) }
		s.article = &index.Article{Network: r.Network, Language: text("language"), Title: text("title"), Text: text("text"),
			Entry: index.Entry{ID: r.ID, URL: text("url"), Site: text("site"), EarningsAccount: text("earningsAccount"), Version: r.Version}}
	}
	return s
}

// put indexes distinct articles on all processors.
func (f *follower) put(ctx context.Context, articles index.Index, all []entry) error {
	var next atomic.Int64
	workers := min(runtime.GOMAXPROCS(0), len(all))
	faults := make([]error, workers)
	var wait sync.WaitGroup
	for worker := range workers {
		wait.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(all)) && faults[worker] == nil; i = next.Add(1) - 1 {
				if s := all[i]; s.article == nil {
					articles.Remove(s.key.Network, s.key.ID)
				} else {
					err := articles.Put(*s.article)
					switch {
					case !errors.Is(err, index.ErrFull):
						faults[worker] = err
					case f.full.CompareAndSwap(false, true):
						f.log.Warn("the index of the article search has no room for all articles: some are not found")
					}
				}
			}
		})
	}
	wait.Wait()
	if err := errors.Join(faults...); err != nil {
		return err
	}
	if articles.Stats().Pending >= maxPending {
		return articles.Flush(ctx)
	}
	return nil
}
