package write

import (
	"context"
	"slices"
	"time"

	"marquee/engine/access"
	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/history"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// hidden is the state of erased objects.
const hidden = "HIDDEN"

// eraseTries is the number of times that EraseObject looks for an object which is removed and
// created again at the same time.
const eraseTries = 3

// EraseObject removes the personal values (x-personal) of a stored object and hides it, in
// one transaction, which also notes in catalog.Erasures that its history is to follow. It
// returns the top-level properties that had such values, as far as the caller sees them. An
// object without any that is hidden stays as it is. Errors are those of Write.
func (e *Writer) EraseObject(ctx context.Context, caller *access.Caller, r Removal) ([]string, error) {
	op := Operation{Type: r.Type, ID: r.ID, Object: map[string]any{}, MergePatch: true, IfVersion: r.IfVersion, OnlyNew: r.OnlyNew, erases: true}
	if r.Type.Parent != "" {
		op.Object[r.Type.Parent] = r.Parent
	}
	for try := 1; ; try++ {
		result, err := e.Write(ctx, caller, Batch{Network: r.Network, Operations: []Operation{op}})
		if message.ObjectNotFound.Is(err) && r.Type.Removable() && r.IfVersion == nil && !r.OnlyNew {
			created, err := e.eraseRemoved(ctx, caller, r, err)
			if created && try < eraseTries {
				continue
			}
			return nil, err
		}
		if err != nil {
			return nil, err
		}
		return result.Changes[0].erased, nil
	}
}

// eraseRemoved notes that the history of a removed object is to be erased, which is all that
// is left of its values, and adds the erasure to it, once. Missing is the error if no object
// with the id was removed, or none that the caller saw. It reports whether the object has
// been created again since it was found missing.
func (e *Writer) eraseRemoved(ctx context.Context, caller *access.Caller, r Removal, missing error) (created bool, err error) {
	key := store.Key{Network: r.Type.NetworkOf(r.Network), ID: r.ID}
	err = e.Store.Write(ctx, func(tx store.Tx) error {
		created = false
		a := &authorization{e: e, ctx: ctx, s: tx, caller: caller}
		t := a.served(r.Type)
		removed, err := catalog.ReadRemoved(ctx, tx, t.Name, []store.Key{key})
		if err != nil {
			return err
		}
		visible, err := a.sight.Visible(ctx, tx, e.access, caller, t, r.Network)
		if err != nil {
			return err
		}
		kept := removed[key]
		if kept == nil {
			there, err := store.Existing(ctx, tx, t.Name, []store.Key{key})
			if created = len(there) > 0 && query.IsAll(visible); err != nil {
				return err
			}
			return missing
		}
		if !access.Saw(visible, t, r.ID, kept) {
			return missing
		}
		if kept.Erased {
			return nil
		}
		return e.eraseTombstone(ctx, tx, caller, t, key, kept)
	})
	return created, store.Translate(err)
}

// eraseTombstone adds an erasure to what is kept of a removed object, and to its history.
func (e *Writer) eraseTombstone(ctx context.Context, tx store.Tx, caller *access.Caller, t *schema.Type, key store.Key, kept *catalog.Tombstone) error {
	now := e.Now().UTC().Truncate(time.Millisecond)
	kept.Revision, kept.Version, kept.Erased = kept.Revision+1, kept.Version+1, true
	record, err := store.ReadOne(ctx, tx, catalog.Removed.Name, catalog.RemovedKey(t.Name, key), nil)
	if err != nil {
		return err
	}
	if err := store.PutInternal(ctx, tx, catalog.Removed.Name, record, "ACTIVE", kept, now); err != nil {
		return err
	}
	err = noteErasure(ctx, tx, catalog.Erasure{Type: t.Name, Network: key.Network, ID: key.ID, Revision: kept.Revision, Creator: kept.Creator, Wipe: true}, now)
	if err != nil {
		return err
	}
	return tx.Append(ctx, []store.Change{{Time: now, Network: key.Network, Collection: t.Name, ID: key.ID, Revision: kept.Revision, Version: kept.Version,
		User: caller.User, Fields: []byte("[]"), Cause: causeOf(caller)}})
}

// Erases reports whether the change is an erasure, which removes personal values, hides
// the object and changes nothing else.
func (c *Change) Erases() bool { return c.op != nil && c.op.erases }

// erase removes the personal values from the new document, and hides the object. It is
// called after the merge, and again after the hooks, which may have set some.
func (c *Change) erase() {
	c.After, _ = document.Clone(c.After).(map[string]any)
	c.Type.Shape.Erase(c.After)
	c.State = hidden
}

// noteErased notes the properties that an erasure has changed, and returns the entry of the
// history, which names them without values.
func (c *Change) noteErased(differences []document.FieldChange) []byte {
	var all []string
	c.erased = nil
	for _, difference := range differences {
		all = append(all, difference.Field)
		if showsIn(c.shapeSeen(), difference) {
			c.erased = append(c.erased, difference.Field)
		}
	}
	slices.Sort(all)
	slices.Sort(c.erased)
	return history.Fields(c.audited(), nil, c.StateBefore, c.State, all...)
}

// putErasures notes the erasures among changes that are stored.
func putErasures(ctx context.Context, tx store.Tx, changes []*Change, now time.Time) error {
	for _, c := range changes {
		if !c.Erases() {
			continue
		}
		e := catalog.Erasure{Type: c.Type.Name, Network: c.Network, ID: c.ID, Revision: c.record.Revision, Creator: c.record.CreateUser, Wipe: c.changed}
		if err := noteErasure(ctx, tx, e, now); err != nil {
			return err
		}
	}
	return nil
}

// noteErasure notes an erasure, in place of an earlier one of the object.
func noteErasure(ctx context.Context, tx store.Tx, e catalog.Erasure, now time.Time) error {
	var open catalog.Erasure
	was, err := store.ReadOne(ctx, tx, catalog.Erasures.Name, e.Key(), &open)
	if err != nil {
		return err
	}
	e.Wipe = e.Wipe || open.Wipe
	e.Rewritten = open.Rewritten && open.Revision == e.Revision
	return store.PutInternal(ctx, tx, catalog.Erasures.Name, was, "ACTIVE", e, now)
}

// stripped is what an erased object lacks.
type stripped struct {
	// faults are those of the stored document.
	faults []message.Message
	// required are the pointers to required values among them.
	required []string
}

// findStripped finds the faults of a stored object that may have been erased.
func (c *Change) findStripped(ctx context.Context) (s stripped, err error) {
	if c.StateBefore != hidden || !c.Type.Shape.HasPersonal {
		return s, nil
	}
	s.faults, err = c.Type.Validate(ctx, c.Before)
	for _, fault := range s.faults {
		if fault.Definition() == message.PropertyRequired {
			field, _ := fault.Param("field").(string)
			s.required = append(s.required, field)
		}
	}
	return s, err
}

// excuses reports whether an object that stays hidden may have a fault: it had the fault
// before, because it was erased. So may one that is imported as it was exported.
func (s *stripped) excuses(c *Change, fault message.Message) bool {
	if c.State != hidden {
		return false
	}
	if c.Created() {
		return c.Caller.System && c.Type.MayLack(c.State, fault)
	}
	field, _ := fault.Param("field").(string)
	switch document.Lookup(c.After, field).(type) {
	case nil, map[string]any, []any:
	default:
		return false // a value that was sent
	}
	return slices.ContainsFunc(s.faults, func(had message.Message) bool {
		return had.Definition() == fault.Definition() && had.Param("field") == field
	})
}
