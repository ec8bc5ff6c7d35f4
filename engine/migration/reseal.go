package migration

import (
	"context"
	"slices"
	"time"

	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/query"
	"marquee/engine/store"
	"marquee/engine/walk"
)

// Resealing is what Reseal has done so far.
type Resealing struct {
	// Records is the number of records, of Total, examined in this pass. Total is
	// how many there were when the pass began.
	Records, Total int64
	// Resealed is the number of records that were encrypted again, in all passes.
	Resealed int64
}

// Reseal encrypts all stored secrets with the key that encrypts, if they were encrypted
// with another one, beside reads and writes. It looks at the objects of all types, also
// of those without a schema, and at the internal collections, until a pass finds
// nothing to do. It can be interrupted at any point, and several servers can reseal at
// the same time. Progress may be nil.
//
// A server that still encrypts with another key can add more; its own Reseal, once it
// has the new key, finds that.
func (m *Migrator) Reseal(ctx context.Context, progress func(Resealing)) error {
	sealer, ok := m.Sealer.(catalog.RotatingSealer)
	if !ok {
		return nil
	}
	var done Resealing
	for {
		// What was encrypted in a transaction that is under way must be stored to be found.
		if err := m.Store.Settle(ctx, time.Now()); err != nil {
			return store.Translate(err)
		}
		before := done.Resealed
		if err := m.resealAll(ctx, sealer, &done, progress); err != nil {
			return store.Translate(err)
		}
		if done.Resealed == before {
			return nil
		}
	}
}

func (m *Migrator) resealAll(ctx context.Context, sealer catalog.RotatingSealer, done *Resealing, progress func(Resealing)) error {
	names, err := m.Unserved(ctx)
	if err != nil {
		return err
	}
	for _, t := range m.Registry().Types() {
		names = append(names, t.Name)
	}
	for _, c := range m.internal {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	done.Records, done.Total = 0, 0
	err = m.Store.Read(ctx, func(s store.Snapshot) error {
		done.Total = 0
		for _, name := range names {
			n, err := s.Count(ctx, query.Query{Collection: name})
			if err != nil {
				return err
			}
			done.Total += n
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := m.resealCollection(ctx, sealer, name, done, progress); err != nil {
			return err
		}
	}
	return nil
}

// resealCollection looks at all records of a collection, and encrypts again those that need
// it.
func (m *Migrator) resealCollection(ctx context.Context, sealer catalog.RotatingSealer, name string, done *Resealing, progress func(Resealing)) error {
	before := *done
	w := m.rewriting(name, func(r *store.Record) (*store.Record, error) { return ResealRecord(sealer, name, r) })
	for {
		end, err := w.Run(ctx, m.Store, time.Now()) // page by page
		if done.Records, done.Resealed = before.Records+w.Met, before.Resealed+w.Changed; progress != nil {
			progress(*done)
		}
		if err != nil || end {
			return err
		}
	}
}

// rewriting returns the walk that puts the records which a function returns in the place of
// those of a collection, except where it returns nil.
func (m *Migrator) rewriting(name string, other func(*store.Record) (*store.Record, error)) *walk.Changes {
	return &walk.Changes{Collection: name, Needed: func(r *store.Record) (bool, error) {
		changed, err := other(r)
		return changed != nil, err
	}, Change: func(ctx context.Context, _ string, keys func() []store.Key) error {
		return m.Store.Write(ctx, func(tx store.Tx) error {
			var changed []store.Record
			err := tx.Get(ctx, name, keys(), func(r *store.Record) error {
				other, err := other(r)
				if other != nil {
					changed = append(changed, *other)
				}
				return err
			})
			if err != nil || len(changed) == 0 {
				return err
			}
			return tx.Rewrite(ctx, name, changed)
		})
	}}
}

// ResealRecord returns a record of a collection with its secrets encrypted with the current
// key, nil if they are. It needs no schema: what was not encrypted for its place does not open
// there.
func ResealRecord(sealer catalog.RotatingSealer, collection string, r *store.Record) (*store.Record, error) {
	if !sealer.Outdated(r.Document) {
		return nil, nil
	}
	return withTexts(r, document.AnyShape, func(_ *document.Shape, at document.Pointer, text string) (string, error) {
		if !sealer.Outdated([]byte(text)) {
			return text, nil
		}
		// Documents of internal collections have one secret each.
		for _, place := range []string{catalog.SecretPlace(collection, r.Network, r.ID, at), collection + "\x00" + r.ID} {
			if plain, err := sealer.Open(text, place); err == nil {
				return sealer.Seal(plain, place)
			}
		}
		return text, nil // which only looks like a secret
	})
}
