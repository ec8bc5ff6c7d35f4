package catalog

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"marquee/engine/document"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Owned is an object whose owners are looked for.
type Owned struct {
	store.Key
	// Member returns a top-level property; nil for a document that cannot be read.
	Member func(name string) any
}

// ReadObjects yields objects of a type by their ids, those that exist.
type ReadObjects func(name, network string, ids []string, yield func(Owned)) error

// OwnedRecord is a stored record, which must not be lent.
func OwnedRecord(r *store.Record) Owned {
	object, err := document.DecodeObject(r.Document, document.Limits{Depth: 1000})
	if err != nil {
		return Owned{Key: r.Key}
	}
	return OwnedObject(r.Key, object)
}

// OwnedObject is a decoded object.
func OwnedObject(key store.Key, object map[string]any) Owned {
	return Owned{key, func(name string) any { return object[name] }}
}

// ReadStored reads objects of a snapshot.
func ReadStored(ctx context.Context, s store.Snapshot) ReadObjects {
	return func(name, network string, ids []string, yield func(Owned)) error {
		return s.Get(ctx, name, store.KeysIn(network, ids), func(r *store.Record) error {
			yield(OwnedRecord(r.Clone()))
			return nil
		})
	}
}

// OwnerKeys returns the keys of owners that writes maintain, with their paths.
func (n *Indexing) OwnerKeys() map[string][]schema.OwnerPath {
	if len(n.Owners) == 0 {
		return nil
	}
	keys := maps.Clone(n.Owners)
	maps.DeleteFunc(keys, func(key string, _ []schema.OwnerPath) bool { return !n.maintains(key) })
	return keys
}

// FillsTerms reports whether objects may lack the terms of a key.
func (n *Indexing) FillsTerms(key string) bool {
	return n.Filling != nil && slices.Contains(n.Filling.Terms, key)
}

// OwnerTerms returns the terms of the owners of objects, and of the objects that the
// paths to them lead through.
func OwnerTerms(keys map[string][]schema.OwnerPath, objects []Owned, read ReadObjects) (map[store.Key][]store.Term, error) {
	search := &ownerSearch{read: read, known: map[store.Place]map[string]Owned{}}
	terms := make(map[store.Key][]store.Term, len(objects))
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		found, err := search.run(keys[key], objects)
		if err != nil {
			return nil, err
		}
		for i, values := range found {
			for value := range values {
				terms[objects[i].Key] = append(terms[objects[i].Key], store.Term{Key: key, Value: value})
			}
		}
	}
	return terms, nil
}

// ownerSearch follows paths, with one query for each type, network and hop.
type ownerSearch struct {
	read  ReadObjects
	known map[store.Place]map[string]Owned
}

// run returns the values of each object.
func (s *ownerSearch) run(paths []schema.OwnerPath, objects []Owned) ([]map[string]bool, error) {
	found := make([]map[string]bool, len(objects))
	for i := range objects {
		found[i] = map[string]bool{}
	}
	var toTeams, toUsers []schema.OwnerPath
	for _, path := range paths {
		if path.Own {
			toUsers = append(toUsers, path)
		} else {
			toTeams = append(toTeams, path)
		}
	}
	owned, err := s.follow(toTeams, objects, found)
	if err != nil {
		return nil, err
	}
	for i := range objects {
		if len(toTeams) > 0 && !owned[i] && !found[i][schema.Undecided] {
			found[i][schema.Unowned] = true
		}
	}
	_, err = s.follow(toUsers, objects, found)
	return found, err
}

// follow adds the values of each object by some paths, of which the first that is set
// counts, and reports which objects have an owner.
func (s *ownerSearch) follow(paths []schema.OwnerPath, objects []Owned, found []map[string]bool) ([]bool, error) {
	owned := make([]bool, len(objects))
	for _, path := range paths {
		at := make([][]string, len(objects)) // the ids that have been reached
		for i, object := range objects {
			switch {
			case owned[i]:
			case object.Member == nil:
				found[i][schema.Undecided], owned[i] = true, true
			case len(path.Hops) == 0:
				at[i] = []string{object.ID}
			default:
				at[i] = referencedIDs(object.Member(path.Hops[0].Property))
			}
		}
		for n := 1; n < len(path.Hops); n++ {
			if err := s.hop(path.Hops[n-1], path.Hops[n].Property, objects, at, found); err != nil {
				return nil, err
			}
		}
		for i, ids := range at {
			for _, id := range ids {
				found[i][path.Value(id)], owned[i] = true, true
			}
		}
	}
	return owned, nil
}

// hop replaces the ids that have been reached by those that a property of theirs refers
// to.
func (s *ownerSearch) hop(from schema.Hop, property string, objects []Owned, at [][]string, found []map[string]bool) error {
	place := func(i int) store.Place {
		if from.Global {
			return store.Place{Collection: from.Type}
		}
		return store.Place{Collection: from.Type, Network: objects[i].Network}
	}
	wanted := map[store.Place][]string{}
	for i, ids := range at {
		wanted[place(i)] = append(wanted[place(i)], ids...)
	}
	for where, ids := range wanted {
		if err := s.know(where, ids); err != nil {
			return err
		}
	}
	for i, ids := range at {
		var next []string
		for _, id := range ids {
			found[i][schema.ViaValue(from.Type, id)] = true
			target, exists := s.known[place(i)][id]
			switch {
			case exists && target.Member == nil:
				found[i][schema.Undecided] = true
			case exists:
				next = append(next, referencedIDs(target.Member(property))...)
			}
		}
		at[i] = next
	}
	return nil
}

// know reads the objects that are not known yet.
func (s *ownerSearch) know(where store.Place, ids []string) error {
	known := s.known[where]
	if known == nil {
		known = map[string]Owned{}
		s.known[where] = known
	}
	slices.Sort(ids)
	ids = slices.DeleteFunc(slices.Compact(ids), func(id string) bool { _, is := known[id]; return is })
	if len(ids) == 0 {
		return nil
	}
	return s.read(where.Collection, where.Network, ids, func(o Owned) { known[o.ID] = o })
}

// referencedIDs returns the ids in the stored value of a reference, or of a list of
// references.
func referencedIDs(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case map[string]any:
		if id, ok := v["id"].(string); ok {
			return []string{id}
		}
	case []any:
		var ids []string
		for _, item := range v {
			ids = append(ids, referencedIDs(item)...)
		}
		return ids
	}
	return nil
}

// DiffOwners returns the terms under some keys to add to a record, and to drop from it.
func DiffOwners(keys map[string][]schema.OwnerPath, held, wanted []store.Term) (add, drop []store.Term) {
	lacks := func(list []store.Term) func(store.Term) bool {
		return func(term store.Term) bool { return keys[term.Key] == nil || slices.Contains(list, term) }
	}
	return slices.DeleteFunc(slices.Clone(wanted), lacks(held)), slices.DeleteFunc(slices.Clone(held), lacks(wanted))
}

// moved is what the feed keeps of the owners of an object, when they change. Where writes maintain
// several keys, Keys has those under which they change.
type moved struct {
	From []string         `json:"from"`
	To   []string         `json:"to"`
	Keys map[string]moved `json:"keys,omitempty"`
}

// Moved returns the owners before and after a change of the terms under some keys, as the
// Cause of a change of the feed alone; nil if they are the same.
func Moved(keys map[string][]schema.OwnerPath, held, wanted []store.Term) []byte {
	of := moved{Keys: map[string]moved{}}
	for key := range keys {
		m := moved{From: ownersBy(key, held), To: ownersBy(key, wanted)}
		if slices.Equal(m.From, m.To) {
			continue
		}
		if of.Keys[key] = m; len(keys) == 1 {
			of = m
		}
	}
	if len(of.Keys) == 0 && of.From == nil {
		return nil
	}
	text, err := json.Marshal(of)
	if err != nil {
		panic(err)
	}
	return text
}

func ownersBy(key string, terms []store.Term) []string {
	owners := []string{}
	for _, term := range terms {
		if term.Key == key && !strings.HasPrefix(term.Value, schema.Via) {
			owners = append(owners, term.Value)
		}
	}
	slices.Sort(owners)
	return slices.Compact(owners)
}

// MovedBetween returns the owners under a key before and after a change of the feed alone; ok is
// false if it has none.
func MovedBetween(c *store.Change, key string) (from, to []string, ok bool) {
	if !c.FeedOnly || len(c.Cause) == 0 {
		return nil, nil, false
	}
	var of moved
	err := json.Unmarshal(c.Cause, &of)
	if len(of.Keys) > 0 {
		of = of.Keys[key]
	}
	return of.From, of.To, err == nil
}

// MoveEntry returns the entry of the feed for an object whose owners have changed, which
// Moved has returned.
func MoveEntry(collection string, r *store.Record, moved []byte) store.Change {
	return store.Change{Time: r.UpdateTime, Network: r.Network, Collection: collection, ID: r.ID, Revision: r.Revision, Version: r.Version,
		FeedOnly: true, Fields: []byte("[]"), Cause: moved}
}

// OwnerWrite returns the write that gives a record other owners, and the entry of the
// feed. It changes neither its version nor its history.
func OwnerWrite(collection string, r *store.Record, add, drop []store.Term) (store.Write, store.Change) {
	w := store.Write{Record: *r, Expected: r.Revision, Was: r.State, Same: true, AddTerms: add, DropTerms: drop}
	w.Revision++
	return w, MoveEntry(collection, &w.Record, nil)
}

// ByOwner returns the condition that a key of owners has one of some values.
func ByOwner(key string, values []any) query.Expr {
	return query.In{Field: query.Field{Kind: query.String, Term: key, Path: []query.Step{{Name: "id", Array: true}}}, Values: values}
}

// IsOwnerKey reports whether the property of a dependence is a key of owners. No dependence
// has a key of references, which begins as these do.
func IsOwnerKey(key string) bool { return strings.HasPrefix(key, query.OrderedKey) }

// FollowUps is the collection of changed objects whose dependants have yet to follow,
// and ByMoving the field with the network of those that carry the owners of others.
const FollowUps = "engine_followups"

var ByMoving = query.Field{Kind: query.String, Path: []query.Step{{Name: "moving"}}}

// FollowUpKey is the key of the entry of a changed object.
func FollowUpKey(collection, network, id string) store.Key {
	return store.Key{ID: string(document.Append(nil, []any{collection, network, id}))}
}

// FollowedUp returns the type and the id of the object that has an entry.
func FollowedUp(key store.Key) (collection, id string, err error) {
	var of [3]string
	err = json.Unmarshal([]byte(key.ID), &of)
	return of[0], of[2], err
}
