package migration

import (
	"context"
	"maps"
	"slices"
	"time"

	"marquee/engine/catalog"
	"marquee/engine/store"
)

// retirement is the time for which keys are maintained that the schemas served last do not use:
// longer than a request may take that began under an earlier schema, and than another
// server needs to reclaim them.
const retirement = 10 * time.Minute

// Maintain drops keys that have been retired for a while and what failed reloads left
// over, reclaims keys that this server uses, and goes on with encrypting secrets. The
// service calls it from time to time. It waits while a registry is migrated.
func (m *Migrator) Maintain(ctx context.Context) error {
	if err := m.migrating.Acquire(ctx, 1); err != nil {
		return err
	}
	defer m.migrating.Release(1)
	needed, err := m.upkeepNeeded(ctx)
	if err != nil || !needed {
		return store.Translate(err)
	}
	return store.Translate(m.withLease(ctx, m.upkeep))
}

// upkeepNeeded reports whether there is anything to do, and notes when it first met
// each retired key.
func (m *Migrator) upkeepNeeded(ctx context.Context) (needed bool, err error) {
	used := m.used()
	err = m.Store.Read(ctx, func(s store.Snapshot) error {
		all, err := catalog.ReadAll(ctx, s)
		if err != nil {
			return err
		}
		needed = false
		now, met := m.Now(), map[string]time.Time{}
		var outdated []string
		for name, n := range all {
			if wanted, served := used[name]; served {
				needed = needed || !wanted.Keys.Without(&catalog.Keys{Terms: n.Terms, Unique: wanted.Unique}).Empty()
				if n.Format > catalog.IndexingFormat || m.saidOtherwise(name, n.Indexing) {
					outdated = append(outdated, name)
				}
			}
			for key, mark := range n.Retired {
				since, before := m.retired[mark]
				if !before {
					since = now
				}
				met[mark] = since
				needed = needed || now.Sub(since) >= retirement || used[name] != nil && slices.Contains(used[name].Terms, key)
			}
			needed = needed || !n.Filling.Empty() || !n.Leftover.Empty() || n.Witness != "" && used[name] != nil
		}
		slices.Sort(outdated)
		m.retired = met
		m.outdated.Store(&outdated)
		return nil
	})
	return needed, err
}

// used returns the indexings that the served types ask for.
func (m *Migrator) used() map[string]*catalog.Indexing {
	used := map[string]*catalog.Indexing{}
	for _, t := range m.Registry().Types() {
		used[t.Name] = catalog.IndexingOf(t)
	}
	return used
}

// upkeep does the work of Maintain under the lease: an indexing that is noted as being
// filled then belongs to no running server.
func (m *Migrator) upkeep(ctx context.Context, l *lease) error {
	used := m.used()
	var names []string
	err := m.Store.Read(ctx, func(s store.Snapshot) error {
		all, err := catalog.ReadAll(ctx, s)
		names = slices.Sorted(maps.Keys(all))
		return err
	})
	if err != nil {
		return err
	}
	leftover := map[string]*catalog.Keys{}
	err = m.changeIndexings(ctx, l, names, func(name string, n *catalog.Indexing) {
		n.Abandon()
		expired := &catalog.Keys{}
		for key, mark := range n.Retired {
			since, met := m.retired[mark]
			switch {
			case used[name] != nil && slices.Contains(used[name].Terms, key):
				delete(n.Retired, key)
			case met && m.Now().Sub(since) >= retirement:
				delete(n.Retired, key)
				expired.Terms = append(expired.Terms, key)
			}
		}
		n.Keys, n.Leftover = *n.Keys.Without(expired), n.Leftover.With(expired)
		leftover[name] = n.Leftover
	})
	if err != nil {
		return err
	}
	if err := m.dropLeftover(ctx, l, leftover); err != nil {
		return err
	}
	if err := m.restore(ctx, l); err != nil {
		return err
	}
	return m.sealLeft(ctx, l)
}

// restore fills in terms that this server uses and that another has dropped.
func (m *Migrator) restore(ctx context.Context, l *lease) error {
	todo, err := m.lacking(ctx, m.Registry().Types())
	if err != nil {
		return err
	}
	todo = slices.DeleteFunc(todo, func(r reindexing) bool {
		r.lacks.Unique = nil // which another server has decided about
		return r.lacks.Empty()
	})
	return m.fillAll(ctx, l, todo, func(name string, n *catalog.Indexing) { n.Keys, n.Filling = *n.Keys.With(n.Filling), nil })
}

// dropLeftover drops keys once the writes that maintained them have ended.
func (m *Migrator) dropLeftover(ctx context.Context, l *lease, leftover map[string]*catalog.Keys) error {
	maps.DeleteFunc(leftover, func(_ string, k *catalog.Keys) bool { return k.Empty() })
	if len(leftover) == 0 {
		return nil
	}
	if err := m.Store.Settle(ctx, time.Now()); err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(leftover))
	for _, name := range names {
		if err := m.forget(ctx, l, name, leftover[name]); err != nil {
			return err
		}
	}
	return m.changeIndexings(ctx, l, names, func(name string, n *catalog.Indexing) { n.Leftover = n.Leftover.Without(leftover[name]) })
}

// Outdated returns the types that cannot be written here: a newer version of the
// program indexes their objects in ways unknown to this one, or newer schemas declare
// something else for some of their properties. Maintain updates it.
func (m *Migrator) Outdated() []string {
	if outdated := m.outdated.Load(); outdated != nil {
		return *outdated
	}
	return nil
}
