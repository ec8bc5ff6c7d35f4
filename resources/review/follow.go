package review

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/query"
	"marquee/engine/store"
)

// Rule says that objects of a type are reviewed when one that they refer to
// changes: in the same transaction, so that nobody sees the one without the
// other.
//
// There is one thing which that cannot see: a write that makes an object refer
// to another just while that one changes, so that neither is stored yet when
// the other looks. To lock what is referred to would hold up all who refer to
// it. Instead the change, which is rare, leaves a note, with which the rest is
// made up for (settle.go).
type Rule struct {
	// Target is the type that is referred to, Type the one whose objects refer
	// to it, through Property, a dotted path.
	Target, Type, Property string
	// Matters tells which changes of a target others have to see.
	Matters func(c *engine.Change) bool
}

// notesCollection has a note for each object whose change is to be made up for:
// ACTIVE until that is done. They are kept apart from the networks, so that one
// query finds those of all.
const notesCollection = "review_notes"

// note names an object that has changed.
type note struct {
	ID      string `json:"id"`
	Network string `json:"network"`
	Type    string `json:"type"`
}

func (n note) key() store.Key {
	return store.Key{ID: string(document.Append(nil, []any{n.Type, n.Network, n.ID}))}
}

// Hooks are those of the types that are referred to.
func (r *Reviewer) Hooks() map[string]engine.Hooks {
	all := map[string]engine.Hooks{}
	for target, rules := range r.rules {
		all[target] = engine.Hooks{Written: func(ctx context.Context, w *engine.Writing, changes []*engine.Change) error {
			return r.written(ctx, w, rules, changes)
		}}
	}
	return all
}

// written has those reviewed that refer to changed objects. Nothing but what is
// merged in the same round, and sees it there, can refer to a new one.
func (r *Reviewer) written(ctx context.Context, w *engine.Writing, rules []Rule, changes []*engine.Change) error {
	notes := map[store.Key]note{}
	for _, rule := range rules {
		ids := map[string][]string{}
		for _, c := range changes {
			if c.Created() || !rule.Matters(c) {
				continue
			}
			ids[c.Network] = append(ids[c.Network], c.ID)
			n := note{ID: c.ID, Network: c.Network, Type: c.Type.Name}
			notes[n.key()] = n
		}
		for network, ids := range ids {
			if err := rule.review(w, network, ids); err != nil {
				return err
			}
		}
	}
	if len(notes) == 0 {
		return nil
	}
	w.Then(r.wake)
	return putNotes(ctx, w.Tx(), notes, w.Now())
}

func (r *Reviewer) wake() {
	select {
	case r.noted <- struct{}{}:
	default: // it will be woken
	}
}

// together is how many objects are asked for at once by what refers to them in
// arrays, which an index of all items answers.
const together = 200

// review has those reviewed that refer to any of some objects. What refers to
// one of them through a property of its own is a range of that property's
// index; of several, a store would rather walk all there are.
func (r Rule) review(w *engine.Writing, network string, ids []string) error {
	t, served := w.Type(r.Type)
	if !served {
		return nil
	}
	field, err := t.Field("index", r.Property)
	if err != nil {
		return err
	}
	n := 1
	if field.Multiple() {
		n = together
	}
	for part := range slices.Chunk(ids, n) {
		err := w.Find(t, network, refersTo(field, part), 0, func(found *store.Record) error {
			w.Upsert(t, network, found.ID, nil)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// refersTo is the condition for referring to any of some objects.
func refersTo(field query.Field, ids []string) query.Expr {
	if len(ids) == 1 {
		return query.Compare{Field: field, Op: query.Equal, Value: ids[0]}
	}
	in := query.In{Field: field}
	for _, id := range ids {
		in.Values = append(in.Values, id)
	}
	return in
}

// putNotes leaves notes, anew where there are some of earlier changes.
func putNotes(ctx context.Context, tx store.Tx, notes map[store.Key]note, now time.Time) error {
	stored := map[store.Key]store.Record{}
	err := tx.Get(ctx, notesCollection, slices.Collect(maps.Keys(notes)), func(r *store.Record) error {
		stored[r.Key] = store.Record{Version: r.Version, CreateTime: r.CreateTime}
		return nil
	})
	if err != nil {
		return err
	}
	var writes []store.Write
	for key, n := range notes {
		content, err := json.Marshal(n)
		if err != nil {
			return err
		}
		writes = append(writes, internal(key, stored[key], "ACTIVE", content, now))
	}
	return tx.Put(ctx, notesCollection, writes)
}
