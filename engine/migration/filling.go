package migration

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/walk"
)

// fillAll gives the objects of types the keys that they lack, and then changes the
// indexings with filled, unless it is nil. If it fails, the indexings are as before.
func (m *Migrator) fillAll(ctx context.Context, l *lease, todo []reindexing, filled func(name string, n *catalog.Indexing)) error {
	if len(todo) == 0 {
		return nil
	}
	lacks := map[string]reindexing{}
	for _, r := range todo {
		lacks[r.t.Name] = r
	}
	if err := m.checkDuplicates(ctx, todo); err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(lacks))
	err := m.beginFilling(ctx, l, names, lacks)
	if err == nil {
		err = m.fillEach(ctx, todo)
	}
	if err == nil && filled != nil {
		err = m.changeIndexings(ctx, l, names, filled)
	}
	if err != nil {
		abandon := func(_ string, n *catalog.Indexing) { n.Abandon() }
		err = errors.Join(err, m.changeIndexings(context.WithoutCancel(ctx), l, names, abandon))
	}
	return err
}

// beginFilling drops what is left over of the missing keys and then has all writes of
// all servers maintain them: it returns when the transactions that began before have
// ended.
func (m *Migrator) beginFilling(ctx context.Context, l *lease, names []string, lacks map[string]reindexing) error {
	if err := m.changeIndexings(ctx, l, names, func(_ string, n *catalog.Indexing) { n.Abandon() }); err != nil {
		return err
	}
	if err := m.Store.Settle(ctx, time.Now()); err != nil {
		return err
	}
	for _, name := range names {
		if err := m.forget(ctx, l, name, lacks[name].lacks); err != nil {
			return err
		}
	}
	err := m.changeIndexings(ctx, l, names, func(name string, n *catalog.Indexing) {
		r := lacks[name]
		n.Filling, n.Leftover = r.lacks, n.Leftover.Without(r.lacks)
		n.Define(r.meanings)
	})
	if err != nil {
		return err
	}
	return m.Store.Settle(ctx, time.Now())
}

// forget drops keys that no write maintains any more.
func (m *Migrator) forget(ctx context.Context, l *lease, collection string, k *catalog.Keys) error {
	if err := l.check(ctx); err != nil { // what another has filled in meanwhile must stay
		return err
	}
	return m.Store.Forget(ctx, collection, k.Terms, k.Unique)
}

// fillEach gives the objects of types the keys that they lack. Once there are
// duplicates, only types that can have more of them are visited.
func (m *Migrator) fillEach(ctx context.Context, todo []reindexing) error {
	var problems schema.Problems
	for _, r := range todo {
		if len(problems) > 0 && len(r.lacks.Unique) == 0 {
			continue
		}
		d, err := m.fill(ctx, r)
		if err != nil {
			return err
		}
		if found := d.problems(); len(found) > 0 {
			m.duplicates[r.t.Name], problems = d, append(problems, found...)
		}
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// fill gives all objects of a type the keys that they lack. Of those that share a value
// which is to become unique, the first has it.
func (m *Migrator) fill(ctx context.Context, r reindexing) (*duplicates, error) {
	store.Step(ctx, "indexing "+r.t.Served().Name)
	of := r.meanings
	lacks := &catalog.Indexing{Searches: of.Searches, Owners: of.Owners, Rules: of.Rules, Targets: of.Targets, Public: of.Public, Keys: catalog.Keys{Terms: r.lacks.Terms, Unique: r.lacks.Unique}}
	lacks.Prepare()
	d := newDuplicates(r.t)
	var found []sharing // by the step, which may run several times
	err := walk.Steps(ctx, m.Store, r.t.Name, func(tx store.Tx, records []*store.Record) (err error) {
		if err := m.checkFilling(ctx, tx, r); err != nil {
			return err
		}
		if err := checkTargets(ctx, tx, r.t, lacks, records); err != nil {
			return err
		}
		found, err = index(ctx, m.Catalog, tx, r.t, lacks, records)
		return err
	}, func() { d.add(found) })
	return d, err
}

// checkFilling fails when the type is no longer noted as being filled, because the
// lease was lost. A step that still finds the note ends before the keys are forgotten,
// as every write does.
func (m *Migrator) checkFilling(ctx context.Context, s store.Snapshot, r reindexing) error {
	n, err := m.indexingOf(ctx, s, r.t.Name)
	if err == nil && (n == nil || !r.lacks.Without(n.Filling).Empty()) {
		err = errLeaseLost
	}
	return err
}

// index gives some objects the keys that they lack, except unique values that others
// have claimed, which it returns.
func index(ctx context.Context, c *catalog.Catalog, tx store.Tx, t *schema.Type, lacks *catalog.Indexing, records []*store.Record) ([]sharing, error) {
	owners, err := ownersOf(ctx, tx, lacks, records)
	if err != nil {
		return nil, err
	}
	var entries []store.Entry
	var claims []store.Claim
	forms := map[store.Key][][]store.Claim{}
	for _, r := range records {
		object, err := document.DecodeObject(r.Document, document.Limits{Depth: 1000})
		if err != nil {
			return nil, err
		}
		entry := store.Entry{Key: r.Key}
		entry.Terms, _ = lacks.DiffTerms(object, nil)
		entry.Terms = append(entry.Terms, owners[r.Key]...)
		targets, _, _ := lacks.DiffTargets(t.Shape, r.Network, object, nil)
		entry.Terms = append(entry.Terms, targets...)
		public, err := lacks.PublicTerms(ctx, object, r.State)
		if err != nil {
			return nil, err
		}
		entry.Terms = append(entry.Terms, public...)
		claimed, err := lacks.Claims(ctx, lacks.Unique, store.Place{Collection: t.Name, Network: r.Network}, object, r.State)
		if err != nil {
			return nil, err
		}
		for _, claim := range claimed {
			entry.Claims = append(entry.Claims, claim)
		}
		claims = append(claims, entry.Claims...)
		for _, f := range catalog.FormsOf(lacks.Unique) {
			shared := catalog.FormClaims(t.Name, r.Network, f, catalog.TextAt(object, f.Property))
			forms[r.Key], claims = append(forms[r.Key], shared), append(claims, shared...)
		}
		entries = append(entries, entry)
	}
	claimed, err := tx.Claims(ctx, claims)
	if err != nil {
		return nil, err
	}
	shared, err := claimIntervals(ctx, c, tx, lacks, entries, claimed)
	if err != nil {
		return nil, err
	}
	shared = append(shared, claim(entries, claimed)...)
	for i := range entries {
		for _, shared := range forms[entries[i].Key] {
			if claim, ok := catalog.FreeForm(shared, claimed, entries[i].ID); ok {
				entries[i].Claims = append(entries[i].Claims, claim)
				claimed[claim] = entries[i].ID
			}
		}
	}
	entries = slices.DeleteFunc(entries, func(entry store.Entry) bool { return len(entry.Terms)+len(entry.Claims) == 0 })
	if len(entries) == 0 {
		return shared, nil
	}
	return shared, tx.Index(ctx, t.Name, entries)
}

// ownersOf returns the owner terms of records.
func ownersOf(ctx context.Context, s store.Snapshot, n *catalog.Indexing, records []*store.Record) (map[store.Key][]store.Term, error) {
	keys := n.OwnerKeys()
	if len(keys) == 0 {
		return nil, nil
	}
	objects := make([]catalog.Owned, len(records))
	for i, r := range records {
		objects[i] = catalog.OwnedRecord(r)
	}
	return catalog.OwnerTerms(keys, objects, catalog.ReadStored(ctx, s))
}

// claim gives objects the claims that nobody holds, and drops all others from their
// entries. It returns those that other objects hold.
func claim(entries []store.Entry, owners map[store.Claim]string) (shared []sharing) {
	for i := range entries {
		entry := &entries[i]
		entry.Claims = slices.DeleteFunc(entry.Claims, func(claim store.Claim) bool {
			owner, taken := owners[claim]
			switch {
			case !taken:
				owners[claim] = entry.ID
			case owner != entry.ID:
				shared = append(shared, sharing{claim, owner, entry.ID})
			}
			return taken
		})
	}
	return shared
}

// claimIntervals drops from entries the claims of intervals that overlap others, which it
// returns.
func claimIntervals(ctx context.Context, c *catalog.Catalog, tx store.Tx, lacks *catalog.Indexing, entries []store.Entry, owners map[store.Claim]string) (shared []sharing, err error) {
	var added catalog.Intervals
	for i := range entries {
		entry := &entries[i]
		var kept []store.Claim
		for _, claim := range entry.Claims {
			if owners[claim] == entry.ID || !lacks.Exclusive(claim.Property) {
				kept = append(kept, claim)
				continue
			}
			met, owner, err := catalog.Overlapping(ctx, tx, claim, func(_ store.Claim, owner string) bool { return owner == entry.ID })
			if err != nil {
				return nil, err
			}
			if owner == "" {
				met, owner = added.Add(claim, entry.ID)
			}
			if owner == "" {
				kept = append(kept, claim)
			} else {
				shared = append(shared, sharing{met, owner, entry.ID})
			}
		}
		entry.Claims = kept
	}
	return shared, c.LockIntervals(ctx, tx, &added)
}

// Repair gives all objects the terms and claims that they lack. It changes no object
// and skips those that cannot be decoded.
func (m *Migrator) Repair(ctx context.Context) error {
	for _, t := range m.Registry().Types() {
		n := catalog.IndexingOf(t)
		err := walk.Steps(ctx, m.Store, t.Name, func(tx store.Tx, records []*store.Record) error {
			records = slices.DeleteFunc(records, func(r *store.Record) bool {
				_, err := document.DecodeObject(r.Document, document.Limits{Depth: 1000})
				return err != nil
			})
			shared, err := index(ctx, m.Catalog, tx, t, n, records)
			if err != nil {
				return err
			}
			if len(shared) > 0 {
				d := newDuplicates(t)
				d.add(shared)
				return d.problems()
			}
			return disown(ctx, tx, t, n, records)
		}, func() {})
		if err != nil {
			return store.Translate(err)
		}
	}
	return nil
}

// disown drops the terms of owners that objects no longer have, and those by which
// anybody would find objects that are not public.
func disown(ctx context.Context, tx store.Tx, t *schema.Type, n *catalog.Indexing, records []*store.Record) error {
	wanted, err := ownersOf(ctx, tx, n, records)
	if err != nil || wanted == nil && len(n.Public) == 0 {
		return err
	}
	keys := make([]store.Key, len(records))
	for i, r := range records {
		keys[i] = r.Key
	}
	held, err := tx.OrderedTerms(ctx, t.Name, keys)
	if err != nil {
		return err
	}
	var writes []store.Write
	var changes []store.Change
	for _, r := range records {
		_, drop := catalog.DiffOwners(n.OwnerKeys(), held[r.Key], wanted[r.Key])
		object, err := document.DecodeObject(r.Document, document.Limits{Depth: 1000})
		if err != nil {
			return err
		}
		wrong, err := n.WrongPublic(ctx, held[r.Key], object, r.State)
		if err != nil {
			return err
		}
		if drop = append(drop, wrong...); len(drop) > 0 {
			write, change := catalog.OwnerWrite(t.Name, r, nil, drop)
			writes, changes = append(writes, write), append(changes, change)
		}
	}
	if len(writes) == 0 {
		return nil
	}
	if err := tx.Put(ctx, t.Name, writes); err != nil {
		return err
	}
	return tx.Append(ctx, changes)
}
