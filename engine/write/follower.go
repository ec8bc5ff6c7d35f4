package write

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	mathrand "math/rand/v2"
	"time"

	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/store"
	"marquee/engine/walk"
)

const (
	// followPoll is the interval at which the queue is read for entries of other
	// servers.
	followPoll = time.Second
	// followTime is the target duration of a round, which another write may have to
	// wait for.
	followTime = 50 * time.Millisecond
	// A round writes at most followMax objects, and about followBytes bytes of
	// documents.
	followMax   = 500
	followBytes = roundBytes
	// followPage is the number of entries read from the queue at a time.
	followPage = 1000
	// followRest bounds the pause after a round, which is as long as the round was. It
	// equals the longest pause of a write between two attempts.
	followRest = 250 * time.Millisecond
	// followLease is the time for which an entry is left to the server that ran its last round:
	// if servers took turns, a write of the changed object would find no gap.
	followLease = time.Second
	// A failed entry or queue is tried again after followRetry, which doubles with
	// each failure up to followRetryMax.
	followRetry    = time.Second
	followRetryMax = time.Minute
	// followTries is the number of attempts for an object that fails for reasons other
	// than its own.
	followTries = 5
)

// Following is the length of the queue of follow-ups.
type Following struct {
	// Changed counts the objects with dependants that have yet to be written.
	Changed int64
	// Since is the time of the oldest of these changes, as far as known.
	Since time.Time
}

// Following returns the length of the queue as this server last read it.
func (e *Writer) Following() Following {
	if seen := e.following.Load(); seen != nil {
		return *seen
	}
	return Following{}
}

func (e *Writer) wakeFollower() {
	select {
	case e.followed <- struct{}{}:
	default: // it will be woken
	}
}

// FollowUp processes the queue of follow-ups until the context ends. Any number of
// servers may do so at once. Errors are logged, and what failed is tried again.
func (e *Writer) FollowUp(ctx context.Context, log *slog.Logger) {
	f := e.newFollower(log)
	f.server = rand.Text()
	defer f.wait()
	tick := time.NewTicker(followPoll)
	defer tick.Stop()
	for failures := 0; ctx.Err() == nil; {
		busy, err := f.cycle(ctx)
		if err != nil && ctx.Err() == nil {
			log.Warn("writing the objects that depend on changed ones failed; retrying", slog.Any("error", message.Explained(err)))
			if !walk.Sleep(ctx, backoff(failures)) {
				return
			}
			failures++
			continue
		}
		failures = 0
		if busy {
			select {
			case s := <-f.settled:
				f.ended(ctx, s)
			default:
			}
			continue
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		case <-e.followed:
		case s := <-f.settled:
			f.ended(ctx, s)
		}
	}
}

// FollowAll processes the queue until nothing is left that can be done.
func (e *Writer) FollowAll(ctx context.Context, log *slog.Logger) error {
	f := e.newFollower(log)
	defer f.wait()
	for {
		busy, err := f.cycle(ctx)
		switch {
		case err != nil:
			return store.Translate(err)
		case f.settles > 0:
			s := <-f.settled
			if f.ended(ctx, s); s.err != nil {
				return store.Translate(s.err)
			}
		case !busy:
			return nil
		}
	}
}

// backoff returns the pause after a number of failures in a row.
func backoff(failures int) time.Duration {
	return min(followRetry<<min(failures, 10), followRetryMax)
}

// follower processes the queue.
type follower struct {
	e   *Writer
	log *slog.Logger
	// server names the follower in the entries that it works on. Without a name it
	// works on all of them.
	server string
	// unsettled are the entries that wait for transactions, settles is the number of
	// calls of settle that run, and settled yields their results.
	unsettled map[store.Key]*unsettled
	settles   int
	settled   chan settlement
	// paces are those of the walks, by the type of their objects.
	paces map[string]*walk.Pace
	// troubles are those of entries whose last round failed.
	troubles map[store.Key]*trouble
}

// trouble is the state of an entry whose rounds fail.
type trouble struct {
	// limit bounds the next round, so that bisection finds the object at fault.
	limit int
	// tries counts the failures of rounds with one object; skip is the id of an object
	// to leave as it is.
	tries int
	skip  string
	// until is when the next round is due.
	until time.Time
}

func (e *Writer) newFollower(log *slog.Logger) *follower {
	return &follower{e: e, log: log, unsettled: map[store.Key]*unsettled{}, settled: make(chan settlement, maxSettles), paces: map[string]*walk.Pace{}, troubles: map[store.Key]*trouble{}}
}

// wait waits for settle, whose context has ended.
func (f *follower) wait() {
	for range f.settles {
		<-f.settled
	}
}

// entry is an entry of the queue as it was read.
type entry struct {
	followUp
	store.Record
}

// cycle reads the queue and runs a round for each entry, in random order so that
// servers avoid each other, until it is time to read the queue again. It reports whether
// more can be done at once.
func (f *follower) cycle(ctx context.Context) (busy bool, err error) {
	begun := time.Now()
	entries, err := f.look(ctx)
	if err != nil {
		return false, err
	}
	f.settleNext(ctx)
	mathrand.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
	for _, entry := range entries {
		if time.Since(begun) > followPoll {
			return true, nil
		}
		if t := f.troubles[entry.Key]; t != nil && time.Now().Before(t.until) || f.left(&entry.followUp, &entry.Record) {
			continue
		}
		again, err := f.round(ctx, entry.Key)
		if err != nil {
			return false, err
		}
		busy = busy || again
	}
	return busy, nil
}

// left reports whether another server is working on the entry.
func (f *follower) left(entry *followUp, r *store.Record) bool {
	return f.server != "" && entry.Server != "" && entry.Server != f.server && f.now().Sub(r.UpdateTime) < followLease
}

// look reads the entries that were processed least recently, except those that wait, and
// notes which of these wait for transactions.
func (f *follower) look(ctx context.Context) ([]entry, error) {
	var entries, unsettled []entry
	var seen Following
	pending := query.Query{Collection: followUpCollection, Where: query.Compare{Field: stateField, Op: query.Equal, Value: "ACTIVE"},
		Order: query.Order{Field: updateTimeField}}
	err := f.e.Store.Read(ctx, func(s store.Snapshot) error {
		entries, unsettled, seen = nil, nil, Following{}
		now, n, waiting := time.Now(), 0, 0
		q := pending
		for q.Limit = followPage; len(entries) < followPage && len(unsettled) < maxUnsettled; {
			n = 0
			err := s.Find(ctx, q, func(r *store.Record) error {
				n++
				q.After = store.PositionOf(q.Order.Field, r)
				found := entry{Record: store.Record{Key: r.Key, Revision: r.Revision, UpdateTime: r.UpdateTime}}
				if err := json.Unmarshal(r.Document, &found.followUp); err != nil {
					return err
				}
				if found.Behind {
					seen.Changed++
					if seen.Since.IsZero() || found.Since.Before(seen.Since) {
						seen.Since = found.Since
					}
				}
				switch t := f.troubles[r.Key]; {
				case !found.Settled:
					unsettled = append(unsettled, found)
				case t == nil || !now.Before(t.until):
					entries = append(entries, found)
				default:
					waiting++
				}
				return nil
			})
			if err != nil {
				return err
			}
			if n < q.Limit {
				if waiting+len(entries)+len(unsettled) == 0 {
					clear(f.troubles) // other servers have come over them
				}
				return nil
			}
		}
		all, err := s.Count(ctx, query.Query{Collection: followUpCollection, Where: pending.Where})
		seen.Changed = max(seen.Changed, all)
		return err
	})
	if err == nil {
		f.e.following.Store(&seen)
		for i := range unsettled {
			f.waits(&unsettled[i])
		}
	}
	return entries, err
}

func (f *follower) now() time.Time { return f.e.Now().UTC().Truncate(time.Millisecond) }

// round runs the next objects of an entry through the write path and advances the
// entry, in one transaction. It returns errors of the store and the context; other
// failures are those of the entry. It reports whether the queue must be read again.
func (f *follower) round(ctx context.Context, key store.Key) (again bool, err error) {
	r := &round{f: f, ctx: ctx, key: key}
	err = f.e.numbers.Run(ctx, func() error { return f.e.Store.Write(store.LongRunning(ctx), r.run) })
	if err != nil {
		return f.failed(ctx, r, err)
	}
	if r.w == nil {
		return false, nil // another server has come before
	}
	r.w.end()
	f.went(r)
	r.log()
	walk.Sleep(ctx, min(r.took, followRest))
	return true, nil
}

// pace returns the pace of walks over objects of a type.
func (f *follower) pace(collection string) *walk.Pace {
	p := f.paces[collection]
	if p == nil {
		p = &walk.Pace{Target: followTime, Size: walk.FirstStep, Max: followMax}
		f.paces[collection] = p
	}
	return p
}

// went adjusts pace and trouble after a successful round.
func (f *follower) went(r *round) {
	f.pace(r.walk.Type).Took(r.took, r.runs)
	t := f.troubles[r.key]
	if t == nil {
		return
	}
	t.skip, t.tries = "", 0
	if t.limit *= 2; t.limit >= followMax || len(r.entry.Walks) == 0 {
		delete(f.troubles, r.key)
	}
}

// failed handles a failed round. Bisection finds the objects at fault, which are left
// as they are so that they do not hold up the others: a later correction writes them
// anyway.
func (f *follower) failed(ctx context.Context, r *round, err error) (again bool, failure error) {
	code, stored := store.CodeOf(err)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case stored && (code == store.CodeConflict || code == store.CodeUncertain):
		f.pace(r.walk.Type).Again()
		walk.Sleep(ctx, walk.StepTime)
		return true, nil
	case stored && code != store.CodeTooLarge && code != store.CodeInternal:
		return false, err
	}
	t := f.troubles[r.key]
	if t == nil {
		t = &trouble{limit: followMax}
		f.troubles[r.key] = t
	}
	var known *message.Error
	answered := errors.As(err, &known)
	refused := answered && (known.Kind == message.Invalid || known.Kind == message.TooLarge) || stored && code == store.CodeTooLarge
	switch {
	case answered && !refused: // it is not the object's
	case len(r.found) > 1:
		t.limit = (len(r.found) + 1) / 2
		return true, nil
	case len(r.found) == 1 && !r.walk.ofOwners() && t.skip != r.found[0].ID && (refused || t.tries >= followTries):
		t.limit, t.skip = 1, r.found[0].ID
		f.log.Warn("an object that depends on a changed one cannot be written, and is left unchanged", r.attributes(
			slog.String("id", r.found[0].ID), slog.Any("error", message.Explained(err)))...)
		return true, nil
	}
	t.until = time.Now().Add(backoff(t.tries))
	t.tries++
	f.log.Warn("writing the objects that depend on a changed one failed; retrying",
		r.attributes(slog.Any("error", message.Explained(err)))...)
	return false, nil
}
