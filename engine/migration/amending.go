package migration

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/walk"
)

// Amender writes stored objects of a type as its schema asks for them, in one transaction,
// each run of which calls keys.
type Amender func(ctx context.Context, name, network string, keys func() []store.Key) error

const (
	// amendShare is the time for which stored objects are amended before another server may
	// take the lease, and another registry may be served.
	amendShare = time.Second
	// amendAgain is the least time until the objects of a type are looked at again, because a
	// server with another schema has written some. It is amendTimes as long as looking at them
	// took, if that is longer.
	amendAgain = 10 * time.Second
	amendTimes = 10
	// maxUnamended is the number of objects that the log names because they are left as they are.
	maxUnamended = 20
)

// amendmentCollection holds the place of each type up to which objects have been amended.
const amendmentCollection = "engine_amendments"

// amendment is how far the objects of a type have been amended.
type amendment struct {
	// Mark is that of the indexing (catalog.Indexing.Amended).
	Mark string `json:"mark"`
	// Network and ID are the key of the last object.
	Network string `json:"network,omitempty"`
	ID      string `json:"id,omitempty"`
	// Left counts the objects that are left as they are, because they would be refused.
	Left int `json:"left,omitempty"`
}

// Amend writes the stored objects of the served types as their schemas ask for them
// (document.Shape.Amended), beside reads and writes, in small transactions, after it has
// finished what Prune has begun. Objects that
// would be refused are left as they are, and logged. It returns when nothing is left to do, or
// another server has the say: that of the set served last. It can be interrupted at any
// point; a later call goes on, on any server.
func (m *Migrator) Amend(ctx context.Context, log *slog.Logger) error {
	if err := m.finishPrunes(ctx); err != nil {
		return store.Translate(err)
	}
	for last := ""; ; {
		name, err := m.unamended(ctx)
		if err != nil || name == "" {
			return store.Translate(err)
		}
		if name != last {
			store.Step(ctx, "amending "+m.Registry().Path(name))
			last = name
		}
		if err := m.turn(ctx, func(ctx context.Context, l *lease) error { return m.amendSome(ctx, l, name, log) }); err != nil {
			return store.Translate(err)
		}
	}
}

// alone calls fn when nothing else changes indexings, here or on other servers.
func (m *Migrator) alone(ctx context.Context, fn func(context.Context, *lease) error) error {
	if err := m.migrating.Acquire(ctx, 1); err != nil {
		return err
	}
	defer m.migrating.Release(1)
	return m.withLease(ctx, fn)
}

// turn does a part of work that takes long, and lets others that wait go first if there is more
// of it, here or on other servers. A lease that was lost is no error: the next turn goes on.
func (m *Migrator) turn(ctx context.Context, part func(context.Context, *lease) error) error {
	err := m.alone(ctx, part)
	if err != nil && !errors.Is(err, errLeaseLost) {
		return err
	}
	if !m.Store.Serial() && !walk.Sleep(ctx, 2*leasePoll) {
		return ctx.Err()
	}
	return nil
}

// mayAmend reports whether objects of a type lack what its schema asks for, and are to get it
// from this server: the schema served last asks for the same, or for nothing.
func mayAmend(t *schema.Type, n *catalog.Indexing) bool {
	asks := t.Amendments()
	return asks != "" && (n.Amends == asks || n.Amends == "") && n.Amended != catalog.AllAmended && n.Format <= catalog.IndexingFormat
}

// unamended returns the name of a type whose objects are to be amended, "" for none.
func (m *Migrator) unamended(ctx context.Context) (name string, err error) {
	err = m.Store.Read(ctx, func(s store.Snapshot) error {
		name = ""
		all, err := catalog.ReadAll(ctx, s)
		for _, t := range m.Registry().Types() {
			if n, there := all[t.Name]; there && mayAmend(t, n.Indexing) && !time.Now().Before(m.again(t.Name)) {
				name = t.Name
				break
			}
		}
		return err
	})
	return name, err
}

// again returns when the objects of a type may be looked at again.
func (m *Migrator) again(name string) time.Time {
	at, _ := m.amendAfter.Load(name)
	again, _ := at.(time.Time)
	return again
}

// amendSome amends objects of a type for some time.
func (m *Migrator) amendSome(ctx context.Context, l *lease, name string, log *slog.Logger) error {
	t, served := m.Registry().Type(name)
	if !served {
		return nil
	}
	a, err := m.beginAmending(ctx, l, t)
	if err != nil || a == nil {
		return err
	}
	began := time.Now()
	changes := &walk.Changes{Collection: name, After: store.Key{Network: a.Network, ID: a.ID},
		Needed: func(r *store.Record) (bool, error) {
			object, err := document.DecodeObject(r.Document, document.Limits{Depth: 1000})
			if err != nil {
				return false, nil // which marquee check reports
			}
			_, needed := t.Shape.Amended(object, r.State == "HIDDEN")
			return needed, nil
		},
		Change: func(ctx context.Context, network string, keys func() []store.Key) error {
			return m.amend(ctx, name, network, keys)
		},
		Refused: func(key store.Key, err error) error {
			if message.SchemaOutdated.Is(err) {
				return err
			}
			if a.Left++; a.Left <= maxUnamended {
				log.Warn("a stored object does not get what the schema asks for, because it would be refused", slog.String("type", t.Served().Name),
					slog.String("network", key.Network), slog.String("id", key.ID), slog.Any("error", message.Explained(err)))
			}
			return nil
		}}
	end, err := changes.Run(ctx, m.Store, time.Now().Add(amendShare))
	if err != nil {
		return err
	}
	a.Network, a.ID = changes.After.Network, changes.After.ID
	kept, err := m.keepAmending(ctx, l, t, a, end)
	switch {
	case err != nil:
		return err
	case !kept:
		m.amendAfter.Store(name, time.Now().Add(max(amendAgain, amendTimes*time.Since(began))))
	case end && a.Left > 0:
		log.Warn("stored objects have what the schema asks for, apart from those that would be refused", slog.String("type", t.Served().Name), slog.Int("left", a.Left))
	case end:
		log.Info("stored objects have what the schema asks for", slog.String("type", t.Served().Name))
	}
	return nil
}

// beginAmending notes that the objects of a type are being amended, and waits for the writes
// that do not know it. It returns how far that had come, or nil if another server has the say.
func (m *Migrator) beginAmending(ctx context.Context, l *lease, t *schema.Type) (a *amendment, err error) {
	fresh := false
	err = m.Store.Write(ctx, func(tx store.Tx) error {
		a, fresh = nil, false
		mark := ""
		err := m.changeIndexingsIn(ctx, tx, l, []string{t.Name}, func(_ string, n *catalog.Indexing) {
			if !mayAmend(t, n) {
				return
			}
			if fresh = n.Amended == ""; fresh {
				n.Amends, n.Amended = t.Amendments(), store.NewID()
			}
			mark = n.Amended
		})
		if err != nil || mark == "" {
			return err
		}
		a = &amendment{}
		_, err = store.ReadOne(ctx, tx, amendmentCollection, store.Key{ID: t.Name}, a)
		if a.Mark != mark {
			a = &amendment{Mark: mark}
		}
		return err
	})
	if err == nil && fresh {
		err = m.Store.Settle(ctx, time.Now())
	}
	return a, err
}

// keepAmending notes how far the objects of a type have been amended. It reports false if a
// server with another schema has written some meanwhile.
func (m *Migrator) keepAmending(ctx context.Context, l *lease, t *schema.Type, a *amendment, end bool) (kept bool, err error) {
	err = m.Store.Write(ctx, func(tx store.Tx) error {
		kept = false
		err := m.changeIndexingsIn(ctx, tx, l, []string{t.Name}, func(_ string, n *catalog.Indexing) {
			if kept = n.Amended == a.Mark; kept && end {
				n.Amended = catalog.AllAmended
			}
		})
		if err != nil || !kept {
			return err
		}
		record, err := store.ReadOne(ctx, tx, amendmentCollection, store.Key{ID: t.Name}, nil)
		if err != nil {
			return err
		}
		return store.PutInternal(ctx, tx, amendmentCollection, record, "ACTIVE", a, m.Now())
	})
	return kept, err
}

// ask notes what a schema that is to be served asks of stored objects. Fresh reports that
// nobody has written any.
func ask(n *catalog.Indexing, t *schema.Type, fresh bool) {
	asks := t.Amendments()
	switch {
	case asks == "":
		n.Amended = ""
	case fresh:
		n.Amended = catalog.AllAmended
	case n.Amends != asks:
		n.Amended = ""
	}
	n.Amends = asks
}
