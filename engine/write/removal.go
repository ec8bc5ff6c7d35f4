package write

import (
	"context"
	"maps"
	"slices"
	"strings"

	"marquee/engine/access"
	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/history"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Removal names one object that is removed, or erased.
type Removal struct {
	Type *schema.Type
	// Network is the context, "" for a global type. Parent is the id of the object's parent,
	// for a type with parents.
	Network, ID, Parent string
	// IfVersion and OnlyNew are those of an Operation.
	IfVersion func(version string) bool
	OnlyNew   bool
	// ValidateOnly does everything except storing. Erasures do not have it.
	ValidateOnly bool
}

// Remove removes an object to which no other refers. What is kept of it is its history and
// a catalog.Tombstone. Errors are of type *message.Error, except for internal ones.
func (e *Writer) Remove(ctx context.Context, caller *access.Caller, r Removal) error {
	w := e.newWriting(ctx, caller, Batch{Network: r.Network, ValidateOnly: r.ValidateOnly})
	t, served := w.registry.Type(r.Type.Name)
	if !served || !t.Removable() {
		return unserved(r.Type)
	}
	// As a merge patch, a removal requires that the object exists.
	op := &Operation{Type: t, ID: r.ID, IfVersion: r.IfVersion, OnlyNew: r.OnlyNew, MergePatch: true}
	c := &Change{Type: t, Caller: caller, Context: r.Network, Network: t.NetworkOf(r.Network), ID: r.ID, request: request{op: op, removes: true}}
	effort := store.WithEffort(ctx, store.Effort{Caller: caller.Account(), Records: 1})
	err := w.withMemory(ctx, func() error {
		return w.transact(effort, func() error {
			if err := (&removing{w: w, c: c, parent: r.Parent}).run(); err != nil {
				return err
			}
			return w.conclude()
		})
	})
	return store.Translate(err)
}

// removing is a removal in a transaction.
type removing struct {
	w *Writing
	// c is the change of the object, which has a parent.
	c      *Change
	parent string
	// indexings are those of all types.
	indexings indexings
}

// run removes the object.
func (r *removing) run() error {
	w, c := r.w, r.c
	w.round = []*Change{c}
	if err := w.indexings.read(w); err != nil {
		return err
	}
	if err := w.load(); err != nil {
		return err
	}
	if err := w.auth.check(w.round, (*Change).storedVersion); err != nil {
		return err
	}
	if c.Type.Parent != "" && c.Before[c.Type.Parent] != r.parent {
		return c.missing()
	}
	if !c.index.Removable {
		return outdated(c.Type.Name)
	}
	if err := w.hooks(w.round, func(h Hooks) hook { return h.BeforeRemove }); err != nil {
		return err
	}
	if err := w.refused(); err != nil {
		return err
	}
	if len(w.queued) > 0 { // by the hooks
		if err := w.run(); err != nil {
			return err
		}
		w.round = []*Change{c}
		if err := w.load(); err != nil || c.stored == nil {
			return err
		}
	}
	removed := catalog.Referred{Place: store.Place{Collection: c.Type.Name, Network: c.Network}, ID: c.ID}
	if err := r.checkReferrers(); err != nil {
		return err
	}
	if err := w.e.LockRemoval(w.ctx, w.tx, removed); err != nil {
		return err
	}
	return r.bury()
}

// bury takes an object out of the store, and leaves a tombstone.
func (r *removing) bury() error {
	w, c := r.w, r.c
	key := c.recordKey()
	held, err := w.tx.OrderedTerms(w.ctx, c.Type.Name, []store.Key{key})
	if err != nil {
		return err
	}
	_, terms := c.index.DiffTerms(nil, c.asStored)
	claims, err := r.heldClaims()
	if err != nil {
		return err
	}
	err = w.tx.Remove(w.ctx, c.Type.Name, []store.Write{{Record: store.Record{Key: key}, Expected: c.stored.Revision, Was: c.stored.State,
		DropTerms: append(terms, held[key]...), DropClaims: claims}})
	if err != nil {
		return err
	}
	kept := catalog.Tombstone{Revision: c.stored.Revision + 1, Version: c.stored.Version + 1, Creator: c.stored.CreateUser}
	for _, term := range held[key] {
		if term.Key == c.Type.OwnerField().Term {
			kept.Owners = append(kept.Owners, term.Value)
		}
	}
	slices.Sort(kept.Owners)
	removed := store.Record{Key: key, Revision: kept.Revision, Version: kept.Version, UpdateTime: w.now}
	if err := store.PutInternal(w.ctx, w.tx, catalog.Removed.Name, store.Record{Key: catalog.RemovedKey(c.Type.Name, key)}, "ACTIVE", kept, w.now); err != nil {
		return err
	}
	var changes []store.Change
	if moved := catalog.Moved(c.ownerKeys(), held[key], nil); moved != nil {
		changes = append(changes, catalog.MoveEntry(c.Type.Name, &removed, moved))
	}
	return w.tx.Append(w.ctx, append(changes, store.Change{Time: w.now, Network: c.Network, Collection: c.Type.Name, ID: c.ID, Revision: kept.Revision,
		Version: kept.Version, User: w.caller.User, Fields: history.Removal(c.stored.State), Cause: causeOf(w.caller)}))
}

// heldClaims returns the claims of the object.
func (r *removing) heldClaims() (held []store.Claim, err error) {
	c := r.c
	before, err := c.index.Claims(r.w.ctx, c.index.Claimed(), store.Place{Collection: c.Type.Name, Network: c.Network}, c.asStored, c.StateBefore)
	if err != nil {
		return nil, err
	}
	held = slices.Collect(maps.Values(before))
	for _, f := range catalog.FormsOf(c.index.Claimed()) {
		held = append(held, catalog.FormClaims(c.Type.Name, c.Network, f, catalog.TextAt(c.asStored, f.Property))...)
	}
	return held, nil
}

// maxReferrers is the number of objects that a refused removal names.
const maxReferrers = 10

// checkReferrers refuses a removal while other objects refer to the object, also those of
// types that only other servers serve, or none. The error names those that the caller
// sees.
func (r *removing) checkReferrers() (err error) {
	c := r.c
	if r.indexings, err = r.w.e.allIndexings(r.w.ctx, r.w.tx); err != nil {
		return err
	}
	if err := r.awaitReferences(); err != nil {
		return err
	}
	networks, err := r.networksReferring()
	if err != nil {
		return err
	}
	found, named := false, []any{}
	for _, name := range slices.Sorted(maps.Keys(r.indexings)) {
		keys := r.indexings[name].TargetKeys()
		maps.DeleteFunc(keys, func(_ string, target schema.Target) bool { return target.Type != c.Type.Name })
		for _, network := range networks {
			if len(named) > maxReferrers {
				break
			}
			some, refer, err := r.referrers(name, network, keys)
			if err != nil {
				return err
			}
			found, named = found || refer, append(named, some...)
		}
	}
	if !found {
		return nil
	}
	return c.refusal(message.ObjectReferenced, message.Params{"type": c.Type.Name, "id": c.ID,
		"objects": named[:min(len(named), maxReferrers)], "more": len(named) > maxReferrers})
}

// awaitReferences refuses a removal while it is not certain that all references to objects
// of the type are known.
func (r *removing) awaitReferences() error {
	c := r.c
	for _, t := range r.w.registry.Types() {
		for key, target := range t.RemovableTargets() {
			if n := r.indexings[t.Name]; n != nil && target.Type == c.Type.Name && !slices.Contains(n.Terms, key) {
				return outdated(c.Type.Name)
			}
		}
	}
	for _, n := range r.indexings {
		for key, target := range n.TargetKeys() {
			if target.Type == c.Type.Name && n.FillsTerms(key) {
				return outdated(c.Type.Name)
			}
		}
	}
	return nil
}

// networksReferring returns the networks whose objects can refer to an object: its own,
// and for a global one, all.
func (r *removing) networksReferring() ([]string, error) {
	networks := []string{r.c.Network}
	if !r.c.Type.Global {
		return networks, nil
	}
	err := store.FindAll(r.w.ctx, r.w.tx, query.Query{Collection: "networks", Order: store.OldestFirst}, 0, func(network *store.Record) error {
		networks = append(networks, strings.Clone(network.ID))
		return nil
	})
	return networks, err
}

// referrers returns the objects of a type in a network that refer to an object and that
// the caller sees, at most one more than an error names, and whether there are any.
func (r *removing) referrers(name, network string, keys map[string]schema.Target) (seen []any, found bool, err error) {
	w, c := r.w, r.c
	t, served := w.registry.Type(name)
	if served && t.Global != (network == "") {
		return nil, false, nil
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		refers := catalog.ByTarget(key, c.ID)
		each := func(where query.Expr, limit int, yield func(*store.Record) error) error {
			return store.FindAll(w.ctx, w.tx, query.Query{Collection: name, Network: network, Where: where, Order: store.OldestFirst}, limit, func(referrer *store.Record) error {
				if name == c.Type.Name && referrer.ID == c.ID { // it may refer to itself
					return nil
				}
				return yield(referrer)
			})
		}
		if err := each(refers, 2, func(*store.Record) error { found = true; return nil }); err != nil {
			return nil, found, err
		}
		if !found || !served {
			continue
		}
		visible, err := w.auth.visible(t, network)
		if err != nil || query.IsNone(visible) {
			return nil, found, err
		}
		shows := r.showsReference(access.Seen(w.e.access, w.caller, t, network))
		err = each(query.Both(refers, visible), maxReferrers+2, func(referrer *store.Record) error {
			shown, err := shows(referrer)
			if shown {
				seen = append(seen, map[string]any{"type": t.Served().Name, "id": strings.Clone(referrer.ID)})
			}
			return err
		})
		if err != nil || len(seen) > 0 {
			return seen, true, err
		}
	}
	return seen, found, nil
}

// showsReference returns what reports whether a record, of a type as the caller sees it,
// refers to the object in a value that the caller sees.
func (r *removing) showsReference(seen *schema.Type) func(*store.Record) (bool, error) {
	return func(referrer *store.Record) (shown bool, err error) {
		if !seen.Narrowed() {
			return true, nil
		}
		object, err := document.DecodeObject(referrer.Document, document.Limits{Depth: 1000})
		if err != nil {
			return false, err
		}
		seen.Shape.Strip(object)
		seen.Shape.References(object, func(_ document.Pointer, ref *document.Reference, id, _ string) {
			shown = shown || ref.Type == r.c.Type.Name && id == r.c.ID
		})
		return shown, nil
	}
}
