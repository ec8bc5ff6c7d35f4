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
//
// The store overwrites a file as a whole while writes wait. The next time therefore follows
// after a pause, and serves all erasures that have gathered. A call with a deadline does not
// wait for it, and returns an error.
func (m *Migrator) FinishErasures(ctx context.Context) error {
	for {
		err := m.tryErasures(ctx)
		if _, impatient := ctx.Deadline(); impatient || !errors.Is(err, errGathering) {
			return store.Translate(err)
		}
		if !walk.Sleep(ctx, time.Until(m.nextWipe())) {
			return store.Translate(ctx.Err())
		}
	}
}

// tryErasures is FinishErasures without the pause.
func (m *Migrator) tryErasures(ctx context.Context) error {
	open, err := m.openErasures(ctx, store.Key{}, 1)
	if err != nil || len(open) == 0 {
		return err
	}
	return m.alone(ctx, m.finishErasures)
}

// finishErasures does the work of FinishErasures under the lease: a migration that rewrites
// the history would store again what it has read before.
func (m *Migrator) finishErasures(ctx context.Context, _ *lease) error {
	var gathering error
	for after := (store.Key{}); ; {
		open, err := m.openErasures(ctx, after, maxOpenErasures)
		if err != nil {
			return err
		}
		err = m.finishSome(ctx, open)
		if errors.Is(err, errGathering) {
			gathering = err
		} else if err != nil {
			return err
		}
		if len(open) < maxOpenErasures {
			return gathering
		}
		after = open[len(open)-1].record.Key
	}
}

// finishSome completes erasures of served types.
func (m *Migrator) finishSome(ctx context.Context, open []openErasure) error {
	var complete, stale []openErasure
	for _, e := range open {
		t, served := m.Registry().Type(e.Type)
		if !served {
			continue
		}
		if !e.Rewritten {
			if err := m.eraseHistory(ctx, t, &e); err != nil {
				return err
			}
			if err := m.eraseNotices(ctx, &e); err != nil {
				return err
			}
		}
		if e.Wipe {
			stale = append(stale, e)
		} else {
			complete = append(complete, e)
		}
	}
	err := m.wipe(ctx, stale)
	if errors.Is(err, errGathering) {
		stale = nil
	} else if err != nil {
		return err
	}
	for _, e := range append(complete, stale...) {
		if err := m.dropErasure(ctx, &e); err != nil {
			return err
		}
	}
	return err
}

// errGathering is the error of erasures that are complete but for what the store is to
// overwrite.
var errGathering = errors.New("the file of the store was rewritten a moment ago; it will be once more, for all erasures until then")

// wipePace is the number of bytes that the store may rewrite in a second, on average. It
// leaves most of the time to writes.
const wipePace = 16 << 20

// wipe has the store overwrite what erasures have replaced. During the pause after the last
// time, it notes that nothing else is left of them.
func (m *Migrator) wipe(ctx context.Context, stale []openErasure) error {
	if len(stale) == 0 {
		return nil
	}
	if time.Until(m.nextWipe()) <= 0 {
		return m.wipeNow(ctx)
	}
	for _, e := range stale {
		if e.Rewritten {
			continue
		}
		err := m.changeErasure(ctx, &e, func(tx store.Tx, record store.Record, noted *catalog.Erasure) error {
			noted.Rewritten = true
			return store.PutInternal(ctx, tx, catalog.Erasures.Name, record, "ACTIVE", noted, m.Now())
		})
		if err != nil {
			return err
		}
	}
	return errGathering
}

// wipeNow has the store overwrite what was replaced, and begins the pause.
func (m *Migrator) wipeNow(ctx context.Context) error {
	rewritten, err := m.Store.Wipe(ctx)
	if rewritten > wipePace {
		after := time.Now().Add(time.Duration(rewritten/wipePace) * time.Second)
		m.wipeAfter.Store(&after)
	}
	return err
}

// nextWipe is the end of the pause.
func (m *Migrator) nextWipe() (after time.Time) {
	if end := m.wipeAfter.Load(); end != nil {
		after = *end
	}
	return after
}

// openErasure is a record of catalog.Erasures as it was read.
type openErasure struct {
	catalog.Erasure
	record store.Record
}

// maxOpenErasures is the most erasures that are completed together.
const maxOpenErasures = 1000

func (m *Migrator) openErasures(ctx context.Context, after store.Key, limit int) (open []openErasure, err error) {
	err = m.Store.Read(ctx, func(s store.Snapshot) error {
		open = nil
		return s.Scan(ctx, catalog.Erasures.Name, after, limit, func(r *store.Record) error {
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
	q := store.HistoryQuery{Network: e.Network, Notices: true, Owner: e.Creator, Collections: []string{e.Type}, Limit: eraseStep}
	return m.eraseSteps(ctx, e, func(tx store.Tx) (changed []store.Change, more bool, next func(), err error) {
		n, after, index := 0, "", 0
		seen := map[string]bool{}
		err = tx.History(ctx, q, func(notice *store.Change) error {
			n++
			after, index = notice.Position, notice.Notice
			if notice.FeedOnly && notice.ID == e.ID && notice.Revision <= e.Revision && !seen[notice.Position] {
				seen[notice.Position] = true
				changed = append(changed, rewritten(*notice, []byte("[]")))
			}
			return nil
		})
		return changed, n == eraseStep, func() { q.After, q.AfterNotice = after, index }, err
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

// dropErasure drops the record of an erasure that is complete.
func (m *Migrator) dropErasure(ctx context.Context, e *openErasure) error {
	return m.changeErasure(ctx, e, func(tx store.Tx, record store.Record, _ *catalog.Erasure) error {
		return store.Drop(ctx, tx, catalog.Erasures.Name, []store.Key{record.Key})
	})
}

// changeErasure changes the record of an erasure, unless the object was erased again
// meanwhile.
func (m *Migrator) changeErasure(ctx context.Context, e *openErasure, change func(store.Tx, store.Record, *catalog.Erasure) error) error {
	return walk.RetryConflicts(ctx, m.Store, func(tx store.Tx) error {
		var noted catalog.Erasure
		record, err := store.ReadOne(ctx, tx, catalog.Erasures.Name, e.record.Key, &noted)
		if err != nil || record.Revision == 0 || noted.Revision != e.Revision {
			return err
		}
		return change(tx, record, &noted)
	})
}
