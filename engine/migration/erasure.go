package migration

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"marquee/engine/catalog"
	"marquee/engine/history"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/walk"
)

// FinishErasures removes the values of erased objects from their history and notices, in
// small steps beside ordinary writes, and then has the store overwrite what it has replaced.
// It returns when all erasures that catalog.Erasures lists are complete, apart from those of
// types without a schema. It can be interrupted at any point; a later call goes on, on any
// server. While a registry is migrated, it waits.
func (m *Migrator) FinishErasures(ctx context.Context) error {
	open, err := m.openErasures(ctx)
	if err != nil || len(open) == 0 {
		return store.Translate(err)
	}
	for !m.migrating.TryLock() {
		if !walk.Sleep(ctx, leasePoll) {
			return store.Translate(ctx.Err())
		}
	}
	defer m.migrating.Unlock()
	return store.Translate(m.withLease(ctx, m.finishErasures))
}

// finishErasures does the work of FinishErasures under the lease: a migration that rewrites
// the history would store again what it has read before.
func (m *Migrator) finishErasures(ctx context.Context, _ *lease) error {
	for {
		open, err := m.openErasures(ctx)
		if err != nil {
			return err
		}
		done, err := m.finishSome(ctx, open)
		if err != nil || done == 0 || len(open) < maxOpenErasures {
			return err
		}
	}
}

// finishSome completes erasures of served types, and returns their number.
func (m *Migrator) finishSome(ctx context.Context, open []openErasure) (int, error) {
	var done []openErasure
	wipe := false
	for i := range open {
		t, served := m.Registry().Type(open[i].Type)
		if !served {
			continue
		}
		if err := m.eraseHistory(ctx, t, &open[i]); err != nil {
			return 0, err
		}
		if err := m.eraseNotices(ctx, &open[i]); err != nil {
			return 0, err
		}
		done = append(done, open[i])
		wipe = wipe || open[i].Wipe
	}
	if wipe {
		if err := m.Store.Wipe(ctx); err != nil {
			return 0, err
		}
	}
	for i := range done {
		if err := m.dropErasure(ctx, &done[i]); err != nil {
			return 0, err
		}
	}
	return len(done), nil
}

// openErasure is a record of catalog.Erasures as it was read.
type openErasure struct {
	catalog.Erasure
	record store.Record
}

// maxOpenErasures is the most erasures that are completed together.
const maxOpenErasures = 1000

func (m *Migrator) openErasures(ctx context.Context) (open []openErasure, err error) {
	err = m.Store.Read(ctx, func(s store.Snapshot) error {
		open = nil
		return s.Scan(ctx, catalog.Erasures.Name, store.Key{}, maxOpenErasures, func(r *store.Record) error {
			next := openErasure{record: *r.Clone()}
			open = append(open, next)
			return json.Unmarshal(r.Document, &open[len(open)-1].Erasure)
		})
	})
	return open, err
}

// A step of an erasure reads at most eraseStep changes, and about eraseBytes of them.
const (
	eraseStep  = 100
	eraseBytes = 4 << 20
)

var errStepFull = errors.New("migration: a step of an erasure is complete")

// eraseHistory removes personal values and notices from the changes of an object, up to its
// erasure.
func (m *Migrator) eraseHistory(ctx context.Context, t *schema.Type, e *openErasure) error {
	q := store.HistoryQuery{Network: e.Network, Collection: e.Type, ID: e.ID, Limit: eraseStep}
	return m.eraseSteps(ctx, e, func(tx store.Tx) (changed []store.Change, more bool, next func(), err error) {
		last, n, bytes := "", 0, 0
		err = tx.History(ctx, q, func(c *store.Change) error {
			n++
			last = c.Position
			bytes += len(c.Fields)
			if c.Revision <= e.Revision {
				fields, erased, err := history.Erase(t.Shape, c.Fields)
				if err != nil {
					return err
				}
				if hasNotices := len(c.Notices) > len(noNotices); erased || hasNotices {
					changed = append(changed, rewritten(*c, fields))
				}
			}
			if bytes > eraseBytes {
				return errStepFull
			}
			return nil
		})
		if errors.Is(err, errStepFull) {
			err = nil
		}
		return changed, n > 0, func() { q.After = last }, err
	})
}

// eraseNotices removes the notices of changes that are not in the history, because they did
// not raise the version. They are those of the creator of the object.
func (m *Migrator) eraseNotices(ctx context.Context, e *openErasure) error {
	if e.Creator == "" {
		return nil
	}
	q := store.NoticeQuery{Network: e.Network, Owner: e.Creator, Collections: []string{e.Type}, Limit: eraseStep}
	return m.eraseSteps(ctx, e, func(tx store.Tx) (changed []store.Change, more bool, next func(), err error) {
		n, after, index := 0, "", 0
		seen := map[string]bool{}
		err = tx.Notices(ctx, q, func(notice *store.Notice) error {
			n++
			after, index = notice.Position, notice.Index
			if notice.FeedOnly && notice.ID == e.ID && notice.Revision <= e.Revision && !seen[notice.Position] {
				seen[notice.Position] = true
				changed = append(changed, rewritten(notice.Change, []byte("[]")))
			}
			return nil
		})
		return changed, n == eraseStep, func() { q.After, q.AfterIndex = after, index }, err
	})
}

// noNotices are the notices of a change from which they were removed.
const noNotices = "[]"

// rewritten returns a change with other fields and without notices.
func rewritten(c store.Change, fields []byte) store.Change {
	c.Fields, c.Cause = append([]byte(nil), fields...), nil
	if c.Owner != "" {
		c.Notices = []byte(noNotices)
	}
	return c
}

// eraseSteps calls step in one transaction after another, which rewrites the changes that
// it returns, until there are no more. Next moves on to what follows them.
func (m *Migrator) eraseSteps(ctx context.Context, e *openErasure, step func(store.Tx) (changed []store.Change, more bool, next func(), err error)) error {
	for {
		var more, wipe bool
		var next func()
		began := time.Now()
		err := walk.RetryConflicts(ctx, m.Store, func(tx store.Tx) error {
			var changed []store.Change
			var err error
			changed, more, next, err = step(tx)
			if wipe = len(changed) > 0; err != nil || !wipe {
				return err
			}
			return m.rewriteErased(ctx, tx, e, changed)
		})
		if err != nil {
			return err
		}
		e.Wipe = e.Wipe || wipe
		if next(); !more {
			return nil
		}
		walk.Sleep(ctx, min(time.Since(began), walk.StepTime)) // for others that wait to write
	}
}

// rewriteErased rewrites changes, and notes that something was removed.
func (m *Migrator) rewriteErased(ctx context.Context, tx store.Tx, e *openErasure, changed []store.Change) error {
	if err := tx.RewriteHistory(ctx, changed); err != nil || e.Wipe {
		return err
	}
	var noted catalog.Erasure
	record, err := store.ReadOne(ctx, tx, catalog.Erasures.Name, e.record.Key, &noted)
	if err != nil || record.Revision == 0 {
		return err
	}
	noted.Wipe = true
	return store.PutInternal(ctx, tx, catalog.Erasures.Name, record, "ACTIVE", noted, m.Now())
}

// dropErasure drops the record of an erasure that is complete, unless the object was erased
// again meanwhile.
func (m *Migrator) dropErasure(ctx context.Context, e *openErasure) error {
	return walk.RetryConflicts(ctx, m.Store, func(tx store.Tx) error {
		var noted catalog.Erasure
		record, err := store.ReadOne(ctx, tx, catalog.Erasures.Name, e.record.Key, &noted)
		if err != nil || record.Revision == 0 || noted.Revision != e.Revision {
			return err
		}
		return tx.Drop(ctx, catalog.Erasures.Name, []store.Key{e.record.Key})
	})
}
