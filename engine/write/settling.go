package write

import (
	"context"
	"encoding/json"
	"log/slog"

	"marquee/engine/message"
	"marquee/engine/store"
	"marquee/engine/walk"
)

// maxSettles is how often settle runs at once. An entry that is added while others
// wait for a long transaction would otherwise wait for those, too, that have begun
// after it by the time this one ends.
const maxSettles = 4

// settlement is the result of settle.
type settlement struct {
	entries []entry
	err     error
}

// settle waits for the transactions under way, which may have begun before the changes
// of the entries. Later ones see the changes.
func (f *follower) settle(ctx context.Context, entries []entry) error {
	if err := f.e.Store.Settle(ctx); err != nil {
		return err
	}
	keys, met := make([]store.Key, len(entries)), map[store.Key]int64{}
	for i, entry := range entries {
		keys[i], met[entry.Key] = entry.Key, entry.Revision
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

// ended handles the result of settle, and logs its error.
func (f *follower) ended(ctx context.Context, s settlement) {
	f.settles--
	for _, entry := range s.entries {
		if f.settling[entry.Key] == entry.Revision {
			delete(f.settling, entry.Key)
		}
	}
	if s.err != nil && ctx.Err() == nil {
		f.log.Warn("waiting for open transactions failed; retrying", slog.Any("error", message.Explained(s.err)))
		walk.Sleep(ctx, followRetry)
	}
}
