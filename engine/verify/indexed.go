package verify

import (
	"fmt"
	"maps"
	"slices"

	"marquee/engine/catalog"
	"marquee/engine/query"
	"marquee/engine/store"
)

// terms reports missing terms.
func (v *verifier) terms(s store.Snapshot, page []verified, found func(*store.Record, string, string)) error {
	if err := v.owners(s, page, found); err != nil {
		return err
	}
	if err := v.public(s, page, found); err != nil {
		return err
	}
	entries := make([]store.Entry, len(page))
	records := map[store.Key]*store.Record{}
	for i, r := range page {
		entries[i].Key = r.Key
		entries[i].Terms, _ = v.indexing.DiffTerms(r.object, nil)
		targets, _, _ := v.indexing.DiffTargets(v.shape, r.Network, r.object, nil)
		public, err := v.indexing.PublicTerms(v.ctx, r.object, r.State)
		if err != nil {
			return err
		}
		entries[i].Terms = append(append(entries[i].Terms, targets...), public...)
		records[r.Key] = r.Record
	}
	lacking, err := s.Lacking(v.ctx, v.t.Name, entries)
	for _, entry := range lacking {
		found(records[entry.Key], fmt.Sprintf("searches do not find it by %d of its values, such as %q", len(entry.Terms), entry.Terms[0].Value), cureIndex)
	}
	return err
}

// public reports objects that everybody sees and should not see.
func (v *verifier) public(s store.Snapshot, page []verified, found func(*store.Record, string, string)) error {
	if len(v.indexing.Public) == 0 || len(page) == 0 {
		return nil
	}
	ids := make([]store.Key, len(page))
	for i, r := range page {
		ids[i] = r.Key
	}
	held, err := s.OrderedTerms(v.ctx, v.t.Name, ids)
	if err != nil {
		return err
	}
	for _, r := range page {
		wrong, err := v.indexing.WrongPublic(v.ctx, held[r.Key], r.object, r.State)
		if err != nil {
			return err
		}
		if len(wrong) > 0 {
			found(r.Record, "it is shown to everybody, and its type does not say so", cureIndex)
		}
	}
	return nil
}

// owners reports objects that are found by other owners than they have. While objects
// follow a change of others, that is as it should be.
func (v *verifier) owners(s store.Snapshot, page []verified, found func(*store.Record, string, string)) error {
	keys := v.indexing.OwnerKeys()
	if len(keys) == 0 || len(page) == 0 {
		return nil
	}
	following, err := s.Count(v.ctx, query.Query{Collection: catalog.FollowUps, Where: query.Not{Of: query.Null{Field: catalog.ByMoving}},
		Order: store.OldestFirst})
	if err != nil || following > 0 {
		return err
	}
	objects, ids := make([]catalog.Owned, len(page)), make([]store.Key, len(page))
	for i, r := range page {
		objects[i], ids[i] = catalog.OwnedObject(r.Key, r.object), r.Key
	}
	wanted, err := catalog.OwnerTerms(keys, objects, catalog.ReadStored(v.ctx, s))
	if err != nil {
		return err
	}
	held, err := s.OrderedTerms(v.ctx, v.t.Name, ids)
	if err != nil {
		return err
	}
	for _, r := range page {
		if add, drop := catalog.DiffOwners(keys, held[r.Key], wanted[r.Key]); len(add)+len(drop) > 0 {
			found(r.Record, "it is shown to other teams than those that it belongs to", cureIndex)
		}
	}
	return nil
}

// claims reports missing claims, and claims of other objects.
func (v *verifier) claims(s store.Snapshot, page []verified, found func(*store.Record, string, string)) error {
	var all []store.Claim
	wanted := make([]map[string]store.Claim, len(page))
	for i, r := range page {
		var err error
		if wanted[i], err = v.indexing.Claims(v.ctx, v.indexing.Unique, store.Place{Collection: v.t.Name, Network: r.Network}, r.object, r.State); err != nil {
			return err
		}
		all = slices.AppendSeq(all, maps.Values(wanted[i]))
		for _, f := range catalog.FormsOf(v.indexing.Unique) {
			all = append(all, catalog.FormClaims(v.t.Name, r.Network, f, catalog.TextAt(r.object, f.Property))...)
		}
	}
	if len(all) == 0 {
		return nil
	}
	owners, err := s.Claims(v.ctx, all)
	if err != nil {
		return err
	}
	for i, r := range page {
		for key, claim := range wanted[i] {
			switch owner, claimed := owners[claim]; {
			case !claimed:
				found(r.Record, v.indexing.Describe(v.t, key)+" is unique, and its value is not reserved for this object", cureIndex)
			case owner != r.ID:
				found(r.Record, fmt.Sprintf("%s is unique, and %q has the same value", v.indexing.Describe(v.t, key), owner), "give one of them another value")
			case v.indexing.Exclusive(key):
				_, other, err := catalog.Overlapping(v.ctx, s, claim, func(_ store.Claim, owner string) bool { return owner == r.ID })
				if err != nil {
					return err
				}
				if other != "" {
					found(r.Record, fmt.Sprintf("%s overlaps the interval of %q", v.indexing.Describe(v.t, key), other), "give one of them another interval")
				}
			}
		}
		for _, f := range catalog.FormsOf(v.indexing.Unique) {
			shared := catalog.FormClaims(v.t.Name, r.Network, f, catalog.TextAt(r.object, f.Property))
			owned := slices.ContainsFunc(shared, func(claim store.Claim) bool { return owners[claim] == r.ID })
			if len(shared) > 0 && !owned && len(catalog.OthersOf(shared, owners, r.ID)) == 0 {
				found(r.Record, f.Property+" is unique, and its value is not reserved for this object in its form", cureIndex)
			}
		}
	}
	return nil
}
