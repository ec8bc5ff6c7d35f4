package write

import (
	"context"
	"errors"
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
		return message.TypeUnknown.Error(message.Params{"type": r.Type.Name})
	}
	// As a merge patch, a removal requires that the object exists.
	op := &Operation{Type: t, ID: r.ID, IfVersion: r.IfVersion, OnlyNew: r.OnlyNew, MergePatch: true}
	c := &Change{Type: t, Caller: caller, Context: r.Network, Network: t.NetworkOf(r.Network), ID: r.ID, request: request{op: op, removes: true}}
	effort := store.WithEffort(ctx, store.Effort{Caller: caller.Account(), Records: 1})
	err := w.withMemory(ctx, func() error {
		return e.Store.Write(effort, func(tx store.Tx) error {
			w.begin(tx)
			if err := w.remove(c, r.Parent); err != nil {
				return err
			}
			if err := w.conclude(); err != nil {
				return err
			}
			if r.ValidateOnly {
				return store.ErrRollback
			}
			return nil
		})
	})
	switch {
	case err == nil:
		w.end()
	case r.ValidateOnly && errors.Is(err, store.ErrRollback):
		return nil
	}
	return store.Translate(err)
}

// remove runs the transaction.
func (w *Writing) remove(c *Change, parent string) error {
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
	if c.Type.Parent != "" && c.Before[c.Type.Parent] != parent {
		return c.missing()
	}
	if !c.index.Removable {
		return outdated(c.Type.Name)
	}
	if err := w.hooks(w.round, func(h Hooks) func(context.Context, *Writing, []*Change) error { return h.BeforeRemove }); err != nil {
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
	if err := w.checkReferrers(c); err != nil {
		return err
	}
	if err := w.e.LockRemoval(w.ctx, w.tx, removed); err != nil {
		return err
	}
	return w.bury(c)
}

// bury takes an object out of the store, and leaves a tombstone.
func (w *Writing) bury(c *Change) error {
	key := store.Key{Network: c.Network, ID: c.ID}
	held, err := w.tx.OrderedTerms(w.ctx, c.Type.Name, []store.Key{key})
	if err != nil {
		return err
	}
	_, terms := c.index.DiffTerms(nil, c.Before)
	claims, err := w.heldClaims(c)
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
	if err := store.PutInternal(w.ctx, w.tx, catalog.Removed.Name, store.Record{Key: catalog.RemovedKey(c.Type.Name, key)}, "ACTIVE", kept, w.now); err != nil {
		return err
	}
	return w.tx.Append(w.ctx, []store.Change{{Time: w.now, Network: c.Network, Collection: c.Type.Name, ID: c.ID, Revision: kept.Revision,
		Version: kept.Version, User: w.caller.User, Fields: history.Removal(c.stored.State), Cause: causeOf(w.caller)}})
}

// heldClaims returns the claims of a stored object.
func (w *Writing) heldClaims(c *Change) (held []store.Claim, err error) {
	before, err := c.index.Claims(w.ctx, c.index.Claimed(), store.Place{Collection: c.Type.Name, Network: c.Network}, c.Before, c.StateBefore)
	if err != nil {
		return nil, err
	}
	held = slices.Collect(maps.Values(before))
	for _, f := range catalog.FormsOf(c.index.Claimed()) {
		held = append(held, catalog.FormClaims(c.Type.Name, c.Network, f, catalog.TextAt(c.Before, f.Property))...)
	}
	return held, nil
}

// maxReferrers is the number of objects that a refused removal names.
const maxReferrers = 10

// checkReferrers refuses a removal while other objects refer to the object, also those of
// types that only other servers serve, or none. The error names those that the caller
// sees.
func (w *Writing) checkReferrers(c *Change) error {
	indexings, err := w.e.allIndexings(w.ctx, w.tx)
	if err != nil {
		return err
	}
	if err := w.awaitReferences(c, indexings); err != nil {
		return err
	}
	networks, err := w.networksReferring(c)
	if err != nil {
		return err
	}
	found, named := false, []any{}
	for _, name := range slices.Sorted(maps.Keys(indexings)) {
		keys := indexings[name].TargetKeys()
		maps.DeleteFunc(keys, func(_ string, target schema.Target) bool { return target.Type != c.Type.Name })
		for _, network := range networks {
			if len(named) > maxReferrers {
				break
			}
			some, refer, err := w.referrers(c, name, network, keys)
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
func (w *Writing) awaitReferences(c *Change, indexings indexings) error {
	for _, t := range w.registry.Types() {
		for key, target := range t.RemovableTargets() {
			if n := indexings[t.Name]; n != nil && target.Type == c.Type.Name && !slices.Contains(n.Terms, key) {
				return outdated(c.Type.Name)
			}
		}
	}
	for _, n := range indexings {
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
func (w *Writing) networksReferring(c *Change) ([]string, error) {
	networks := []string{c.Network}
	if !c.Type.Global {
		return networks, nil
	}
	err := store.FindAll(w.ctx, w.tx, query.Query{Collection: "networks", Order: store.OldestFirst}, 0, func(r *store.Record) error {
		networks = append(networks, strings.Clone(r.ID))
		return nil
	})
	return networks, err
}

// referrers returns the objects of a type in a network that refer to an object and that
// the caller sees, at most one more than an error names, and whether there are any.
func (w *Writing) referrers(c *Change, name, network string, keys map[string]schema.Target) (seen []any, found bool, err error) {
	t, served := w.registry.Type(name)
	if served && t.Global != (network == "") {
		return nil, false, nil
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		refers := catalog.ByTarget(key, c.ID)
		each := func(where query.Expr, limit int, yield func(*store.Record) error) error {
			return store.FindAll(w.ctx, w.tx, query.Query{Collection: name, Network: network, Where: where, Order: store.OldestFirst}, limit, func(r *store.Record) error {
				if name == c.Type.Name && r.ID == c.ID { // it may refer to itself
					return nil
				}
				return yield(r)
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
		shows := w.showsReference(access.Seen(w.e.access, w.caller, t, network), c)
		err = each(query.Both(refers, visible), maxReferrers+2, func(r *store.Record) error {
			shown, err := shows(r)
			if shown {
				seen = append(seen, map[string]any{"type": name, "id": strings.Clone(r.ID)})
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
// refers to an object in a value that the caller sees.
func (w *Writing) showsReference(seen *schema.Type, c *Change) func(*store.Record) (bool, error) {
	return func(r *store.Record) (shown bool, err error) {
		if !seen.Narrowed() {
			return true, nil
		}
		object, err := document.DecodeObject(r.Document, document.Limits{Depth: 1000})
		if err != nil {
			return false, err
		}
		seen.Shape.Strip(object)
		seen.Shape.References(object, func(_ document.Pointer, ref *document.Reference, id, _ string) {
			shown = shown || ref.Type == c.Type.Name && id == c.ID
		})
		return shown, nil
	}
}

// dropRemoved drops what was kept of removed objects that have been created again.
func (w *Writing) dropRemoved(changed []*Change) error {
	var keys []store.Key
	for _, c := range changed {
		if c.tombstone != nil {
			keys = append(keys, catalog.RemovedKey(c.Type.Name, store.Key{Network: c.Network, ID: c.ID}))
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return w.tx.Drop(w.ctx, catalog.Removed.Name, keys)
}
