package write

import (
	"context"
	"slices"

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
	if err != nil {
		return nil, err
	}
	return result.Changes[0].erased, nil
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
		var open catalog.Erasure
		was, err := store.ReadOne(w.ctx, w.tx, catalog.Erasures.Name, e.Key(), &open)
		if err != nil {
			return err
		}
		e.Wipe = e.Wipe || open.Wipe
		if err := store.PutInternal(w.ctx, w.tx, catalog.Erasures.Name, was, "ACTIVE", e, w.now); err != nil {
			return err
		}
	}
	return nil
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
