package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"marquee/engine/document"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// typeCollection remembers by what the stored objects of each type can be
// found: a schema that names more than that needs its objects indexed first.
const typeCollection = "engine_types"

// findable is by what objects of a type are found besides their documents.
type findable struct {
	Terms  []string `json:"terms"`
	Search []string `json:"search"`
	Unique []string `json:"unique"`
	// Filling is what they will be found by besides, while they are indexed
	// anew.
	Filling *findable `json:"filling,omitempty"`
}

func findableOf(t *schema.Type) findable {
	f := findable{Terms: []string{}, Search: slices.Sorted(slices.Values(t.Search)), Unique: slices.Sorted(slices.Values(t.Unique))}
	for _, field := range t.TermFields() {
		f.Terms = append(f.Terms, field.Term)
	}
	slices.Sort(f.Terms)
	return f
}

// missing is what a type needs and its objects do not have.
type missing struct {
	t             *schema.Type
	terms, unique []string
	// noted says that the type was served before, so that it may have objects.
	noted bool
}

// missingIn compares what types need with what the store remembers.
func missingIn(t *schema.Type, known findable) missing {
	wanted, m := findableOf(t), missing{t: t}
	for _, term := range wanted.Terms {
		if !slices.Contains(known.Terms, term) {
			m.terms = append(m.terms, term)
		}
	}
	if !slices.Equal(wanted.Search, known.Search) && len(wanted.Search) > 0 {
		m.terms = append(m.terms, query.SearchKey)
	}
	for _, property := range wanted.Unique {
		if !slices.Contains(known.Unique, property) {
			m.unique = append(m.unique, property)
		}
	}
	return m
}

// termsOf are the terms of an object that are missing.
func (m missing) termsOf(object map[string]any) map[store.Term]struct{} {
	terms := termsOf(m.t, object)
	maps.DeleteFunc(terms, func(term store.Term, _ struct{}) bool { return !slices.Contains(m.terms, term.Key) })
	return terms
}

// remembered reads what the store remembers of the types.
func remembered(ctx context.Context, s store.Snapshot) (map[string]findable, map[string]store.Record, error) {
	known, records := map[string]findable{}, map[string]store.Record{}
	err := s.Scan(ctx, typeCollection, store.Key{}, 1<<20, func(r *store.Record) error {
		if r.Key == leaseKey {
			return nil
		}
		var f findable
		if err := json.Unmarshal(r.Document, &f); err != nil {
			return err
		}
		known[r.ID], records[r.ID] = f, *keep(r)
		return nil
	})
	return known, records, err
}

// remember notes by what the objects of the types can be found now.
func (e *Engine) remember(ctx context.Context, l *lease, types []*schema.Type) error {
	return e.note(ctx, l, types, func(t *schema.Type, _ findable) findable { return findableOf(t) })
}

// noteFilling notes what objects are about to be indexed by, so that a server
// which does not know it writes none of them meanwhile. Words are not filled
// in until that has ended: it may end early, and the schema before be served
// again.
func (e *Engine) noteFilling(ctx context.Context, l *lease, all []missing) error {
	terms := map[string][]string{}
	var types []*schema.Type
	for _, m := range all {
		types, terms[m.t.Name] = append(types, m.t), m.terms
	}
	return e.note(ctx, l, types, func(t *schema.Type, was findable) findable {
		filling := findableOf(t)
		was.Filling = &filling
		if slices.Contains(terms[t.Name], query.SearchKey) {
			was.Search = []string{}
		}
		return was
	})
}

// noteFailed takes back what noteFilling noted.
func (e *Engine) noteFailed(ctx context.Context, l *lease, all []missing) error {
	var types []*schema.Type
	for _, m := range all {
		types = append(types, m.t)
	}
	return e.note(ctx, l, types, func(_ *schema.Type, was findable) findable {
		was.Filling = nil
		return was
	})
}

// note changes what the store remembers of types, while the lease is held. What
// is there is read in the same transaction: a server of a version without the
// lease may note something, too.
func (e *Engine) note(ctx context.Context, l *lease, types []*schema.Type, change func(t *schema.Type, was findable) findable) error {
	return e.Store.Write(ctx, func(tx store.Tx) error {
		if err := l.beat(ctx, tx); err != nil {
			return err
		}
		known, records, err := remembered(ctx, tx)
		if err != nil {
			return err
		}
		var writes []store.Write
		for _, t := range types {
			was, there := known[t.Name]
			f := change(t, was)
			if there && reflect.DeepEqual(f, was) {
				continue
			}
			record := records[t.Name]
			record.ID = t.Name
			write, err := e.typeWrite(record, f)
			if err != nil {
				return err
			}
			writes = append(writes, write)
		}
		if len(writes) == 0 {
			return nil
		}
		return tx.Put(ctx, typeCollection, writes)
	})
}

// typeWrite writes a record of typeCollection.
func (e *Engine) typeWrite(record store.Record, f any) (store.Write, error) {
	content, err := json.Marshal(f)
	now := e.Now().UTC().Truncate(time.Millisecond)
	return store.Write{Record: store.Record{Key: record.Key, Version: record.Version + 1, State: "ACTIVE",
		CreateTime: now, UpdateTime: now, Document: content}, Expected: record.Version}, err
}

// prepare makes the objects of all types findable as a new registry finds
// them. Unique values, which must be held against all others, are filled in
// while writes wait: they come first, as they can be refused, and until then
// nothing is lost. Terms are filled in while writes go on. Writes keep up both
// from before the filling begins; those of other servers that began before it
// was noted, and know nothing of it, are waited for.
func (e *Engine) prepare(ctx context.Context, l *lease, all []missing) error {
	pending := map[string]missing{}
	for _, m := range all {
		pending[m.t.Name] = m
	}
	e.writes.Lock()
	e.pending = pending
	e.writes.Unlock()
	if err := e.noteFilling(ctx, l, all); err != nil {
		return err
	}
	if l != nil && slices.ContainsFunc(all, func(m missing) bool { return m.noted }) {
		if err := e.Store.Settle(ctx); err != nil {
			return err
		}
	}
	for _, m := range all {
		if len(m.unique) == 0 {
			continue
		}
		e.writes.Lock()
		err := e.refill(ctx, l, missing{t: m.t, unique: m.unique})
		e.writes.Unlock()
		if err != nil {
			return err
		}
	}
	for _, m := range all {
		if len(m.terms) == 0 {
			continue
		}
		if err := e.refill(ctx, l, missing{t: m.t, terms: m.terms}); err != nil {
			return err
		}
	}
	return nil
}

// refillBatch is how many objects are indexed in one transaction.
const refillBatch = 500

// refill indexes all objects of a type by what they could not be found.
func (e *Engine) refill(ctx context.Context, l *lease, m missing) error {
	err := l.check(ctx) // what another has filled in meanwhile must stay
	if err == nil {
		err = e.Store.Forget(ctx, m.t.Name, m.terms, m.unique)
	}
	var last store.Key
	for err == nil {
		var keys []store.Key
		err = e.Store.Read(ctx, func(s store.Snapshot) error {
			keys = nil
			return s.Scan(ctx, m.t.Name, last, refillBatch, func(r *store.Record) error {
				keys = append(keys, r.Key)
				return nil
			})
		})
		if err != nil || len(keys) == 0 {
			return err
		}
		last = keys[len(keys)-1]
		err = e.index(ctx, m, keys)
	}
	return err
}

// index makes some objects findable, as they are now.
func (e *Engine) index(ctx context.Context, m missing, keys []store.Key) error {
	return e.Store.Write(ctx, func(tx store.Tx) error {
		var entries []store.Entry
		var claims []store.Claim
		err := tx.Get(ctx, m.t.Name, keys, func(r *store.Record) error {
			object, err := document.DecodeObject(r.Document, document.Limits{Depth: 1000})
			if err != nil {
				return err
			}
			entry := store.Entry{Key: r.Key}
			for term := range m.termsOf(object) {
				entry.Terms = append(entry.Terms, term)
			}
			for property, claim := range claimsOf(m.t, r.Network, object) {
				if slices.Contains(m.unique, property) {
					entry.Claims = append(entry.Claims, claim)
					claims = append(claims, claim)
				}
			}
			entries = append(entries, entry)
			return nil
		})
		if err != nil {
			return err
		}
		owners, err := tx.Claims(ctx, claims)
		if err != nil {
			return err
		}
		if err := checkOwners(m.t, entries, owners); err != nil {
			return err
		}
		return tx.Index(ctx, m.t.Name, entries)
	})
}

// checkOwners finds objects that share a value that is to be unique, and
// leaves out the claims that are held already.
func checkOwners(t *schema.Type, entries []store.Entry, owners map[store.Claim]string) error {
	for i := range entries {
		entry := &entries[i]
		entry.Claims = slices.DeleteFunc(entry.Claims, func(claim store.Claim) bool { return owners[claim] == entry.ID })
		for _, claim := range entry.Claims {
			if other, taken := owners[claim]; taken {
				return schema.Problems{{File: t.File, Pointer: "/x-resource/unique", Cure: "change one of them, or leave the property out",
					Text: fmt.Sprintf("%s cannot be unique: the objects %q and %q have the same value", claim.Property, other, entry.ID)}}
			}
			owners[claim] = entry.ID
		}
	}
	return nil
}
