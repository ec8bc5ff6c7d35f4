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
	"marquee/engine/schema"
	"marquee/engine/store"
)

// hidden is the state of erased objects.
const hidden = "HIDDEN"

// EraseObject removes the personal values (x-personal) of a stored object and hides it, in
// one transaction, which also notes in catalog.Erasures that its history is to follow. It
// returns the top-level properties that had such values. An object without any that is
// hidden stays as it is. Parent is the object in the path of a type that has one. Errors
// are those of Write.
func (e *Writer) EraseObject(ctx context.Context, caller *access.Caller, t *schema.Type, network, parent, id string) ([]string, error) {
	op := Operation{Type: t, ID: id, Object: map[string]any{}, MergePatch: true, erases: true}
	if t.Parent != "" {
		op.Object[t.Parent] = parent
	}
	result, err := e.Write(ctx, caller, Batch{Network: network, Operations: []Operation{op}})
	if message.ObjectNotFound.Is(err) && t.Removable() {
		return nil, e.eraseRemoved(ctx, caller, t, network, id, err)
	}
	if err != nil {
		return nil, err
	}
	return result.Changes[0].erased, nil
}

// eraseRemoved notes that the history of a removed object is to be erased, which is all that
// is left of its values, and adds the erasure to it, once. Missing is the error if no object
// with the id was removed, or none that the caller saw.
func (e *Writer) eraseRemoved(ctx context.Context, caller *access.Caller, t *schema.Type, network, id string, missing error) error {
	key := store.Key{Network: t.NetworkOf(network), ID: id}
	return store.Translate(e.Store.Write(ctx, func(tx store.Tx) error {
		removed, err := catalog.ReadRemoved(ctx, tx, t.Name, []store.Key{key})
		if err != nil {
			return err
		}
		kept := removed[key]
		if kept == nil {
			return missing
		}
		var sight access.Sight
		visible, err := sight.Visible(ctx, tx, e.access, caller, t, network)
		if err != nil {
			return err
		}
		if !access.Saw(visible, t, id, kept) {
			return missing
		}
		if kept.Erased {
			return nil
		}
		now := e.Now().UTC().Truncate(time.Millisecond)
		kept.Revision, kept.Version, kept.Erased = kept.Revision+1, kept.Version+1, true
		record, err := store.ReadOne(ctx, tx, catalog.Removed.Name, catalog.RemovedKey(t.Name, key), nil)
		if err != nil {
			return err
		}
		if err := store.PutInternal(ctx, tx, catalog.Removed.Name, record, "ACTIVE", kept, now); err != nil {
			return err
		}
		err = noteErasure(ctx, tx, catalog.Erasure{Type: t.Name, Network: key.Network, ID: id, Revision: kept.Revision, Creator: kept.Creator, Wipe: true}, now)
		if err != nil {
			return err
		}
		return tx.Append(ctx, []store.Change{{Time: now, Network: key.Network, Collection: t.Name, ID: id, Revision: kept.Revision, Version: kept.Version,
			User: caller.User, Fields: []byte("[]"), Cause: causeOf(caller)}})
	}))
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
	c.erased = nil
	for _, difference := range differences {
		c.erased = append(c.erased, difference.Field)
	}
	slices.Sort(c.erased)
	return history.Fields(c.audited(), nil, c.StateBefore, c.State, c.erased...)
}

// putErasures notes the erasures of the call.
func (w *Writing) putErasures() error {
	for _, c := range w.prepared {
		if !c.Erases() {
			continue
		}
		e := catalog.Erasure{Type: c.Type.Name, Network: c.Network, ID: c.ID, Revision: c.record.Revision, Creator: c.record.CreateUser, Wipe: c.changed}
		if err := noteErasure(w.ctx, w.tx, e, w.now); err != nil {
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
