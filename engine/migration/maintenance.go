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
// service calls it from time to time.
func (e *Migrator) Maintain(ctx context.Context) error {
	if !e.migrating.TryLock() {
		return nil // a registry is being migrated
	}
	defer e.migrating.Unlock()
	needed, err := e.upkeepNeeded(ctx)
	if err != nil || !needed {
		return store.Translate(err)
	}
	return store.Translate(e.withLease(ctx, e.upkeep))
}

// upkeepNeeded reports whether there is anything to do, and notes when it first met
// each retired key.
func (e *Migrator) upkeepNeeded(ctx context.Context) (needed bool, err error) {
	used := e.used()
	err = e.Store.Read(ctx, func(s store.Snapshot) error {
		all, err := catalog.ReadAll(ctx, s)
		if err != nil {
			return err
		}
		needed = false
		now, met := e.Now(), map[string]time.Time{}
		var outdated []string
		for name, n := range all {
			if wanted, served := used[name]; served {
				needed = needed || !wanted.Keys.Without(&catalog.Keys{Terms: n.Terms, Unique: wanted.Unique}).Empty()
				if n.Format > catalog.IndexingFormat || e.saidOtherwise(name, n.Indexing) {
					outdated = append(outdated, name)
				}
			}
			for key, mark := range n.Retired {
				since, before := e.retired[mark]
				if !before {
					since = now
				}
				met[mark] = since
				needed = needed || now.Sub(since) >= retirement || used[name] != nil && slices.Contains(used[name].Terms, key)
			}
			needed = needed || !n.Filling.Empty() || !n.Leftover.Empty() || n.Witness != "" && used[name] != nil
		}
		slices.Sort(outdated)
		e.retired = met
		e.outdated.Store(&outdated)
		return nil
	})
	return needed, err
}

// used returns the indexings that the served types ask for.
func (e *Migrator) used() map[string]*catalog.Indexing {
	used := map[string]*catalog.Indexing{}
	for _, t := range e.Registry().Types() {
		used[t.Name] = catalog.IndexingOf(t)
	}
	return used
}

// upkeep does the work of Maintain under the lease: an indexing that is noted as being
// filled then belongs to no running server.
func (e *Migrator) upkeep(ctx context.Context, l *lease) error {
	used := e.used()
	var names []string
	err := e.Store.Read(ctx, func(s store.Snapshot) error {
		all, err := catalog.ReadAll(ctx, s)
		names = slices.Sorted(maps.Keys(all))
		return err
	})
	if err != nil {
		return err
	}
	leftover := map[string]*catalog.Keys{}
	err = e.changeIndexings(ctx, l, names, func(name string, n *catalog.Indexing) {
		n.Abandon()
		expired := &catalog.Keys{}
		for key, mark := range n.Retired {
			since, met := e.retired[mark]
			switch {
			case used[name] != nil && slices.Contains(used[name].Terms, key):
				delete(n.Retired, key)
			case met && e.Now().Sub(since) >= retirement:
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
	if err := e.dropLeftover(ctx, l, leftover); err != nil {
		return err
	}
	if err := e.restore(ctx, l); err != nil {
		return err
	}
	return e.sealLeft(ctx, l)
}

// restore fills in terms that this server uses and that another has dropped.
func (e *Migrator) restore(ctx context.Context, l *lease) error {
	todo, err := e.lacking(ctx, e.Registry().Types())
	if err != nil {
		return err
	}
	todo = slices.DeleteFunc(todo, func(r reindexing) bool {
		r.lacks.Unique = nil // which another server has decided about
		return r.lacks.Empty()
	})
	return e.fillAll(ctx, l, todo, func(name string, n *catalog.Indexing) { n.Keys, n.Filling = *n.Keys.With(n.Filling), nil })
}

// dropLeftover drops keys once the writes that maintained them have ended.
func (e *Migrator) dropLeftover(ctx context.Context, l *lease, leftover map[string]*catalog.Keys) error {
	maps.DeleteFunc(leftover, func(_ string, k *catalog.Keys) bool { return k.Empty() })
	if len(leftover) == 0 {
		return nil
	}
	if err := e.Store.Settle(ctx, time.Now()); err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(leftover))
	for _, name := range names {
		if err := e.forget(ctx, l, name, leftover[name]); err != nil {
			return err
		}
	}
	return e.changeIndexings(ctx, l, names, func(name string, n *catalog.Indexing) { n.Leftover = n.Leftover.Without(leftover[name]) })
}

// Outdated returns the types that cannot be written here: a newer version of the
// program indexes their objects in ways unknown to this one, or newer schemas declare
// something else for some of their properties. Maintain updates it.
func (e *Migrator) Outdated() []string {
	if outdated := e.outdated.Load(); outdated != nil {
		return *outdated
	}
	return nil
}
