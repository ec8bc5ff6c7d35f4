package write

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"marquee/engine/message"
	"marquee/engine/store"
	"marquee/engine/walk"
)

const (
	// maxSettles is the number of calls of settle at a time.
	maxSettles = 4
	// settleSpan is the longest time between the first and the last entry of one call.
	settleSpan = time.Second
	// maxUnsettled bounds the entries that are known to wait. While there are more, the
	// queue is not read further.
	maxUnsettled = 10 * followPage
)

// unsettled is an entry of which a revision waits for the transactions that may have begun
// before the change.
type unsettled struct {
	store.Key
	revision int64
	// met is when the follower has first read the revision. Transactions that begin later
	// see the change.
	met time.Time
	// settling reports that settle runs for it.
	settling bool
}

// settlement is the result of settle.
type settlement struct {
	entries []*unsettled
	err     error
}

// waits notes that an entry waits.
func (f *follower) waits(e *entry) {
	if known := f.unsettled[e.Key]; known == nil || known.revision != e.Revision {
		f.unsettled[e.Key] = &unsettled{Key: e.Key, revision: e.Revision, met: time.Now()}
	}
}

// settleNext calls settle for the entries that have waited for longest. They do not wait
// for transactions that have begun long after their changes, even if all calls are taken
// by others meanwhile: those wait for older transactions.
func (f *follower) settleNext(ctx context.Context) {
	if f.settles == maxSettles {
		return
	}
	var next []*unsettled
	for _, e := range f.unsettled {
		if !e.settling {
			next = append(next, e)
		}
	}
	if len(next) == 0 {
		return
	}
	slices.SortFunc(next, func(a, b *unsettled) int { return a.met.Compare(b.met) })
	next = next[:min(len(next), followPage)]
	n := slices.IndexFunc(next, func(e *unsettled) bool { return e.met.Sub(next[0].met) > settleSpan })
	if n > 0 {
		next = next[:n]
	}
	for _, e := range next {
		e.settling = true
	}
	f.settles++
	go func() { f.settled <- settlement{next, f.settle(ctx, next)} }()
}

// settle waits for the transactions that may have begun before the changes of entries,
// which are in the order in which they were met. Later ones see the changes.
func (f *follower) settle(ctx context.Context, entries []*unsettled) error {
	if err := f.e.Store.Settle(ctx, entries[len(entries)-1].met); err != nil {
		return err
	}
	keys, met := make([]store.Key, len(entries)), map[store.Key]int64{}
	for i, entry := range entries {
		keys[i], met[entry.Key] = entry.Key, entry.revision
	}
	return walk.RetryConflicts(ctx, f.e.Store, func(tx store.Tx) error {
		var writes []store.Write
		err := tx.Get(ctx, followUpCollection, keys, func(r *store.Record) error {
			if r.Revision != met[r.Key] { // changed since, or done
				return nil
			}
			next := &followUp{}
			if err := json.Unmarshal(r.Document, next); err != nil {
				return err
			}
			next.Settled = true
			write, err := next.write(r.Clone(), f.now())
			writes = append(writes, write)
			return err
		})
		if err != nil || len(writes) == 0 {
			return err
		}
		return tx.Put(ctx, followUpCollection, writes)
	})
}

// ended handles the result of settle, and logs its error. After an error, the entries go
// on waiting.
func (f *follower) ended(ctx context.Context, s settlement) {
	f.settles--
	for _, e := range s.entries {
		if e.settling = false; s.err == nil && f.unsettled[e.Key] == e {
			delete(f.unsettled, e.Key)
		}
	}
	if s.err != nil && ctx.Err() == nil {
		f.log.Warn("waiting for open transactions failed; retrying", slog.Any("error", message.Explained(s.err)))
		walk.Sleep(ctx, followRetry)
	}
}
