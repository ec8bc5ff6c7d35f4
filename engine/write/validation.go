package write

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/history"
	"marquee/engine/message"
	"marquee/engine/parallel"
	"marquee/engine/schema"
	"marquee/engine/schema/keyword"
	"marquee/engine/schema/rule"
	"marquee/engine/store"
)

// validated is what validation finds out about a merged change without the store and
// other changes.
type validated struct {
	faults []message.Message
	// tolerated are the faults that the stored object has, too, as warnings, and more is the
	// number of those beyond history.MaxWarnings.
	tolerated []message.Message
	more      int
	// failed is an internal error.
	failed error
	// document, warnings and fields are what is stored.
	document, warnings, fields []byte
	// sameText reports that document is the stored one.
	sameText bool
	changed  bool
	// derived reports that only warnings and read-only properties change, which the
	// service itself computes.
	derived bool
	// partly reports that only properties change of which parts are hidden from some
	// callers.
	partly              bool
	addTerms, dropTerms []store.Term
	// references are those that the change adds, gained their targets among the objects
	// that can be removed.
	references []referenced
	gained     []catalog.Referred
}

// validateAll validates the changes of the round. When there are as many faults as an
// error lists, the remaining objects are skipped. It ends with the context.
func (w *Writing) validateAll() error {
	var faults, size, terms atomic.Int64
	limit := int64(cmp.Or(w.batch.MaxFaults, message.MaxFaults))
	return parallel.Do(len(w.round), func() func(int) error {
		return func(i int) error {
			if w.ctx.Err() != nil {
				return store.Translate(w.ctx.Err())
			}
			if faults.Load() < limit {
				if err := w.round[i].validate(w); err != nil {
					return store.Translate(err)
				}
				faults.Add(int64(len(w.round[i].faults)))
				c := w.round[i]
				large := size.Add(int64(len(c.document))) > maxRoundBytes || terms.Add(int64(len(c.addTerms)+len(c.dropTerms))) > maxRoundTerms
				if large && len(w.round) > 1 {
					return errRoundTooLarge
				}
			}
			return nil
		}
	})
}

// validate checks the merged document and computes what is stored. The error is that
// of the context.
func (c *Change) validate(w *Writing) error {
	c.validated = validated{}
	if c.Erases() { // which nothing that the object must meet can refuse
		c.erase()
	} else if err := c.judge(w); err != nil || len(c.faults) > 0 {
		return err
	}
	var err error
	if c.failed = c.checkDeclared(); c.failed != nil {
		return nil
	}
	if c.warnings, err = warningsOf(w.ctx, c); err != nil {
		return err
	}
	if c.document, c.failed = c.seal(w.e.Sealer); c.failed != nil {
		return nil
	}
	same := c.compareDocument()
	c.changed = !c.isUnchanged(same)
	if !c.changed {
		return nil
	}
	var differences []document.FieldChange
	if !same {
		differences = document.Diff(c.asStored, c.After)
	}
	if !same || !c.index.Filling.Empty() {
		c.addTerms, c.dropTerms = c.index.DiffTerms(c.findable(), c.asStored)
		c.diffTargets()
	}
	if err := c.diffPublic(w.ctx); err != nil {
		return err
	}
	c.derived, c.partly = c.isDerived(differences), !same && c.isPartly(differences, w.e.hooks[c.Type.Name].Hidden)
	switch {
	case c.Erases():
		c.fields = c.noteErased(differences)
	case c.derived:
		c.fields = []byte("[]")
	default:
		c.fields = history.Fields(c.audited(), differences, c.StateBefore, c.State, c.touched...)
	}
	return nil
}

// judge validates the merged document and checks the rules. The error is that of the
// context.
func (c *Change) judge(w *Writing) error {
	c.faults = slices.Clone(c.refused)
	faults, kept, err := c.Type.ValidateChange(w.ctx, c.After, c.Before, c.repeated)
	if err != nil {
		return err
	}
	kept = slices.DeleteFunc(kept, func(fault message.Message) bool {
		if c.mustMend(fault) {
			faults = append(faults, fault)
			return true
		}
		return false
	})
	c.tolerate(kept)
	was, err := c.findStripped(w.ctx)
	if err != nil {
		return err
	}
	excused := len(faults) < message.MaxFaults // otherwise not all of them are known
	var unseen []string
	for _, fault := range faults {
		switch field, keeps := c.keepsUnseen(fault); {
		case keeps:
			unseen = append(unseen, field)
		case !excused || !was.excuses(c, fault):
			c.refuse(fault)
		}
	}
	for name := range c.After {
		if member := c.Type.Shape.Member(name); member != nil && member.WriteOnly {
			delete(c.After, name)
		}
	}
	if err := c.checkRules(w, was.required, unseen); err != nil {
		return err
	}
	c.references = c.newReferences(w.registry)
	c.checkLookups(w.e.Lookups)
	return nil
}

// checkRules checks the rules of the schema vocabulary. Lacked are the required values that
// the stored object lacks because it was erased, and unseen are the pointers to invalid ones
// that the caller does not see. The error is that of the context.
func (c *Change) checkRules(w *Writing, lacked, unseen []string) error {
	change := &keyword.Change{Before: c.Before, After: c.After, StateBefore: c.StateBefore, State: c.State, Parent: c.Type.Parent, System: c.Caller.System,
		Now: w.now, Caller: func() rule.Caller { return c.by(w.registry) }, Lacked: lacked, Faulty: unseen}
	if !c.Caller.System {
		change.Budget = &w.ruleBudget
	}
	for _, field := range lacked {
		if document.Lookup(c.After, field) == nil {
			change.Faulty = append(change.Faulty, field)
		}
	}
	for _, fault := range c.faults {
		field, _ := fault.Param("field").(string)
		if d := fault.Definition(); d == message.ValueType || d == message.ValueFormat {
			change.Unreadable = append(change.Unreadable, field)
		}
		change.Faulty = append(change.Faulty, field)
	}
	check := c.Type.Check
	if c.seen != nil {
		check = c.seen.Check
	}
	faults, err := check(w.ctx, change)
	for _, fault := range faults {
		c.refuse(fault)
	}
	c.tolerate(change.Kept)
	return err
}

// by returns who makes the change, with the permissions held where the object is.
func (c *Change) by(registry *schema.Registry) rule.Caller {
	permissions := registry.Permissions()
	if !c.Caller.System {
		permissions = slices.DeleteFunc(permissions, func(permission string) bool { return !c.permits(permission) })
	}
	return rule.Caller{ID: c.Caller.User, Permissions: permissions}
}

// permits reports whether the roles of who makes the change have a permission where the
// object is: in any network for an object of none, which belongs to nobody.
func (c *Change) permits(permission string) bool {
	if !c.Type.Global {
		return c.Caller.Grants[c.Context].Holds(permission)
	}
	for _, grant := range c.Caller.Grants {
		if grant.NetworkPermissions.Has(permission) || grant.TeamPermissions.Has(permission) {
			return true
		}
	}
	return false
}

// mustMend reports whether a write is refused for a fault although the stored object has it,
// too: what an erasure has removed is required again when the object leaves HIDDEN, and a value
// that is never stored is required each time.
func (c *Change) mustMend(fault message.Message) bool {
	if fault.Definition() != message.PropertyRequired {
		return false
	}
	field, _ := fault.Param("field").(string)
	member := c.Type.Shape.Member(document.UnescapeToken(strings.TrimPrefix(field, "/")))
	return member != nil && member.WriteOnly || c.StateBefore == hidden && c.State != hidden && c.Type.MayLack(hidden, fault)
}

// tolerate adds faults that the stored object has, too, to its warnings. Everybody sees the
// warnings of an object: those of a type with x-readable have none that could concern what
// some do not see, nor does an erased object that still lacks what it lost.
func (c *Change) tolerate(faults []message.Message) {
	if len(c.Type.Readable()) > 0 {
		return
	}
	for _, fault := range faults {
		switch {
		case c.StateBefore == hidden && c.Type.MayLack(hidden, fault):
		case len(c.tolerated) == history.MaxWarnings:
			c.more++
		default:
			c.tolerated = append(c.tolerated, fault.AsWarning())
		}
	}
}

// keepsUnseen reports whether a fault is that of a value which the caller does not see, in an
// object that is stored with it: the caller cannot correct it. The field is its place.
func (c *Change) keepsUnseen(fault message.Message) (field string, keeps bool) {
	field, _ = fault.Param("field").(string)
	_, unseen := c.shapeSeen().Unseen(field)
	return field, unseen && !c.Created()
}

// diffTargets adds the terms of references to objects that can be removed.
func (c *Change) diffTargets() {
	add, drop, gained := c.index.DiffTargets(c.Type.Shape, c.Network, c.After, c.asStored)
	c.addTerms, c.dropTerms, c.gained = append(c.addTerms, add...), append(c.dropTerms, drop...), gained
}

// diffPublic adds the terms by which anybody finds the object. The error is that of the
// context.
func (c *Change) diffPublic(ctx context.Context) error {
	add, drop, err := c.index.DiffPublic(ctx, c.findable(), c.State, c.asStored, c.StateBefore)
	c.addTerms, c.dropTerms = append(c.addTerms, add...), append(c.dropTerms, drop...)
	return err
}

// refuse adds a fault whose parameter field is a place in the document.
func (c *Change) refuse(fault message.Message) {
	params := maps.Clone(fault.Params())
	pointer, _ := params["field"].(string)
	delete(params, "field")
	c.faults = append(c.faults, c.Fault(fault.Definition(), pointer, params))
}

// findable returns the new document without the values stored as secrets by any
// server's schema. Indexes that are maintained for a while may name a property that is
// secret by now, and a property may be about to become readable.
func (c *Change) findable() map[string]any {
	shape := c.shape()
	if !shape.HasSecrets {
		return c.After
	}
	object, _ := shape.Redact(c.After).(map[string]any)
	return object
}

func warningsOf(ctx context.Context, c *Change) ([]byte, error) {
	earned, err := c.Type.Warnings(ctx, c.After, c.State)
	if earned = append(c.tolerated, earned...); err != nil || len(earned)+len(c.warned) == 0 {
		return nil, err
	}
	warnings, more := slices.Clone(c.warned), c.unlisted+c.more
	for _, warning := range earned {
		if len(warnings) == history.MaxWarnings {
			more++
			continue
		}
		warnings = append(warnings, history.Encode(warning))
	}
	if more > 0 {
		warnings = append(warnings, history.Encode(history.Unlisted(more)))
	}
	return slices.Concat([]byte{'['}, bytes.Join(warnings, []byte{','}), []byte{']'}), nil
}

// usualBytes is the initial capacity of an encoded document, besides what is stored.
const usualBytes = 1 << 10

// seal returns the document as it is stored. Unchanged secrets keep their ciphertext,
// so that a write without effect is recognised.
func (c *Change) seal(sealer catalog.Sealer) ([]byte, error) {
	shape := c.shape()
	if !shape.HasSecrets {
		capacity := usualBytes
		if c.stored != nil {
			capacity += len(c.stored.Document)
		}
		return document.Append(make([]byte, 0, capacity), c.After), nil
	}
	sealed, _ := document.Clone(c.After).(map[string]any)
	err := shape.Secrets(sealed, func(at document.Pointer, plain string) (string, error) {
		if kept, ok := c.sealed[at.String()+"\x00"+plain]; ok {
			return kept, nil
		}
		return sealer.Seal(plain, c.place(at))
	})
	return document.Append(nil, sealed), err
}
