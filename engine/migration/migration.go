// Package migration replaces the schemas that are served while reads and writes go on:
// it indexes the stored objects as the new schemas need it, checks them, encrypts or
// decrypts values that become or cease to be secrets, and has objects written as the schemas
// ask for them. Of several servers, one at a time does so, under a lease. It imports catalog,
// document, history, message, progress, query, schema, store and walk, and neither the read path nor the write path. Begin with
// Migrator.Migrate.
package migration

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"marquee/engine/catalog"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Migrator adapts the store to changes of schemas.
type Migrator struct {
	*catalog.Catalog
	internal []store.Collection
	// migrating is held while indexings change, by those who wait for it in turn.
	migrating *semaphore.Weighted
	// behind reports that RemoveHistory has much to remove, and removed counts what it has removed.
	behind  atomic.Bool
	removed atomic.Int64
	// retired is when each retired key was first met; migrating guards it.
	retired map[string]time.Time
	// duplicates were found by the last fill, by type; migrating guards them.
	duplicates map[string]*duplicates
	// wipeAfter is when erasures may have the store overwritten again.
	wipeAfter atomic.Pointer[time.Time]
	// amend writes objects as their schemas ask for them, and amendAfter holds the time until
	// which the objects of a type are left alone, by its name.
	amend      Amender
	amendAfter sync.Map
	// pruning is held while values are removed.
	pruning sync.Mutex
	// outdated is the result of Outdated.
	outdated atomic.Pointer[[]string]
}

// New returns a migrator. Internal are collections besides those of the types.
func New(c *catalog.Catalog, internal []store.Collection, amend Amender) *Migrator {
	return &Migrator{Catalog: c, internal: internal, amend: amend, migrating: semaphore.NewWeighted(1), duplicates: map[string]*duplicates{}}
}

// Migrate prepares the store for a new registry and then serves it. Meanwhile reads and
// writes go on under the previous registry, and a request ends with the registry that it
// began with, except that its lists are parsed again. It shows nothing that the new one, once
// served, does not show.
//
// Stored objects that do not suit the registry are an error of type schema.Problems:
// they share a value of a property that becomes unique, refer to something else, or
// hold secrets that would be shown. After such an error the previous registry is served
// unchanged. New secrets are hidden first and encrypted afterwards; if that fails,
// Maintain or the next Migrate goes on.
func (m *Migrator) Migrate(ctx context.Context, registry *schema.Registry) error {
	if err := m.migrating.Acquire(ctx, 1); err != nil {
		return err
	}
	defer m.migrating.Release(1)
	collections, err := m.collections(registry)
	if err != nil {
		return err
	}
	// The indexes of the previous registry stay until the new one is served.
	both, err := m.withIndexesBefore(collections)
	if err != nil {
		return err
	}
	if err := m.Store.EnsureCollections(ctx, both); err != nil {
		return err
	}
	if err := m.withLease(ctx, func(ctx context.Context, l *lease) error { return m.serve(ctx, l, registry) }); err != nil {
		return err
	}
	// Indexes that nothing asks for any more cost something and break nothing:
	// those that cannot be dropped now are by the next migration.
	_ = m.Store.EnsureCollections(ctx, collections)
	return nil
}

// serve indexes all objects as a registry asks for, and serves it.
func (m *Migrator) serve(ctx context.Context, l *lease, registry *schema.Registry) error {
	v, err := m.convert(ctx, l, registry)
	if err != nil {
		return err
	}
	if err := m.index(ctx, l, v); err != nil {
		return errors.Join(err, v.withdraw(context.WithoutCancel(ctx), l))
	}
	m.ServeSince(registry, v.since)
	return v.end(ctx, l)
}

// reindexing is a type whose objects lack keys.
type reindexing struct {
	t        *schema.Type
	lacks    *catalog.Keys
	meanings catalog.Meanings
}

// index gives all objects the keys that the types ask for. Keys in use so far stay and
// are maintained for the searches under way. If it fails, the indexings are as before.
func (m *Migrator) index(ctx context.Context, l *lease, v *conversion) error {
	todo, err := m.lacking(ctx, v.types)
	if err != nil {
		return err
	}
	wanted := map[string]*catalog.Indexing{}
	for _, t := range v.types {
		wanted[t.Name] = catalog.IndexingOf(t)
	}
	if err := m.fillAll(ctx, l, todo, nil); err != nil {
		return err
	}
	return v.publish(ctx, l, func(name string, n *catalog.Indexing) { serveIndexing(n, wanted[name]) })
}

// lacking compares what types ask for with what their objects have.
func (m *Migrator) lacking(ctx context.Context, types []*schema.Type) (todo []reindexing, err error) {
	err = m.Store.Read(ctx, func(s store.Snapshot) error {
		todo = nil
		all, err := catalog.ReadAll(ctx, s)
		if err != nil {
			return err
		}
		for _, t := range types {
			have, empty := &catalog.Keys{}, false
			if noted, stored := all[t.Name]; stored {
				if have = &noted.Keys; noted.Format > catalog.IndexingFormat {
					continue
				}
			} else if empty, err = isEmpty(ctx, s, t.Name); err != nil {
				return err
			}
			wanted := catalog.IndexingOf(t)
			if lacks := wanted.Keys.Without(have); !empty && !lacks.Empty() {
				todo = append(todo, reindexing{t: t, lacks: lacks, meanings: wanted.Meanings()})
			}
		}
		return nil
	})
	return todo, err
}

// isEmpty reports whether a collection has no records.
func isEmpty(ctx context.Context, s store.Snapshot, collection string) (bool, error) {
	empty := true
	err := s.Scan(ctx, collection, store.Key{}, 1, func(*store.Record) error {
		empty = false
		return nil
	})
	return empty, err
}

// serveIndexing changes an indexing to what a schema asks for, once all objects have
// it.
func serveIndexing(n, wanted *catalog.Indexing) {
	n.Leftover = n.Leftover.With((&catalog.Keys{Unique: n.Claimed()}).Without(&wanted.Keys)).Without(&wanted.Keys)
	n.Filling = nil
	n.Unique = wanted.Unique
	retired := map[string]string{}
	for _, key := range n.Terms {
		if slices.Contains(wanted.Terms, key) {
			continue
		}
		if retired[key] = n.Retired[key]; retired[key] == "" {
			retired[key] = store.NewID()
		}
	}
	n.Retired = retired
	n.Terms = (&n.Keys).With(&wanted.Keys).Terms
	n.Define(wanted.Meanings())
	n.Removable = n.Removable || wanted.Removable
}

// collections returns the collections that a registry needs.
func (m *Migrator) collections(registry *schema.Registry) ([]store.Collection, error) {
	collections := append([]store.Collection{{Name: catalog.TypeCollection}, {Name: outlineCollection}, {Name: amendmentCollection}}, m.internal...)
	for _, t := range registry.Types() {
		collection, err := catalog.CollectionOf(t)
		if err != nil {
			return nil, err
		}
		collections = append(collections, collection)
	}
	return collections, nil
}

// withIndexesBefore adds the indexes of the registry that is served now.
func (m *Migrator) withIndexesBefore(collections []store.Collection) ([]store.Collection, error) {
	before := m.Registry()
	if before == nil {
		return collections, nil
	}
	both := slices.Clone(collections)
	for i, collection := range both {
		t, served := before.Type(collection.Name)
		if !served {
			continue
		}
		old, err := catalog.CollectionOf(t)
		if err != nil {
			return nil, err
		}
		both[i].Indexes = slices.Concat(collection.Indexes, old.Indexes)
	}
	return both, nil
}
