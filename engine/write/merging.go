package write

import (
	"cmp"
	"errors"
	"maps"

	"marquee/engine/access"
	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/store"
)

// merge determines the new document and state of an object.
func (w *Writing) merge(c *Change) error {
	if !c.Internal() && c.op.MergePatch && c.Type.Parent != "" && !document.Equal(c.Before[c.Type.Parent], c.Patch[c.Type.Parent]) {
		return c.missing() // the path names another parent
	}
	if err := w.e.mergeNested(c); err != nil {
		return err
	}
	patch := c.Patch
	for name, value := range patch {
		if member := c.Type.Shape.Member(name); member != nil && member.WriteOnly && value == nil {
			patch = maps.Clone(patch)
			delete(patch, name)
		}
	}
	hidesSecrets := c.Type.Shape.HasSecrets && !w.e.access.MayReadSecrets(c.Caller, c.Type, c.Context)
	c.After = document.Merge(c.shapeSeen(), c.Before, patch, hidesSecrets)
	for name := range c.nested { // which keep what is hidden, and may remove it
		if value := patch[name]; value != nil {
			c.After[name] = value
		}
	}
	c.After = c.Type.Shape.KeepUnseen(c.shapeSeen(), c.Before, c.After)
	for _, edit := range c.edits {
		edit(c.After)
	}
	if c.stored == nil {
		w.numbering.supply(c, w.now, w.caller.User)
	}
	c.State = cmp.Or(c.wanted, c.StateBefore, "ACTIVE")
	if c.Erases() {
		c.erase()
	}
	return nil
}

// mergeNested merges the objects in a merge patch into those that the caller sees. What
// the client sent has been checked with the rest of the patch, so that faults in the
// normal form need not be reported again.
func (e *Writer) mergeNested(c *Change) error {
	if len(c.nested) == 0 {
		return nil
	}
	shown, err := e.shown(c)
	if err != nil {
		return err
	}
	n := document.Normaliser{Unknown: func(document.Pointer, bool) {}, Fault: func(*message.Definition, document.Pointer, message.Params) {}}
	for name, object := range c.nested {
		one := map[string]any{name: document.MergePatch(c.shapeSeen().Member(name), shown[name], object)}
		if !document.Equal(one[name], shown[name]) {
			n.Object(c.shapeSeen(), one)
		}
		c.Patch[name] = one[name]
	}
	return nil
}

// shown returns the stored document without what is hidden from the caller. Sent back,
// that changes nothing: the hooks of the type keep the rest.
func (e *Writer) shown(c *Change) (map[string]any, error) {
	hide := e.hide(c)
	if hide == nil {
		return c.Before, nil
	}
	record := *c.stored
	if err := hide(c.Caller, &record); err != nil {
		return nil, err
	}
	object, err := e.decode(c, record.Document)
	if err != nil {
		return nil, err
	}
	return c.amended(object), nil
}

// hide returns what hides parts of the stored object from the caller, nil if nothing is
// hidden.
func (e *Writer) hide(c *Change) func(*access.Caller, *store.Record) error {
	hide := e.hooks[c.Type.Name].Hide
	if c.seen == nil {
		return hide
	}
	return access.HideUnseen(c.seen, hide)
}

// decode decodes the stored document, or a part of it, and decrypts its secrets.
func (e *Writer) decode(c *Change, stored []byte) (map[string]any, error) {
	object, err := document.DecodeObject(stored, document.Limits{Depth: 1000})
	if err != nil {
		return nil, errors.New("the stored document of " + c.Type.Name + " " + c.ID + " cannot be read")
	}
	return object, c.shape().Secrets(object, func(at document.Pointer, stored string) (string, error) {
		plain, err := e.Sealer.Open(stored, c.place(at))
		if err == nil {
			if c.sealed == nil {
				c.sealed = map[string]string{}
			}
			c.sealed[at.String()+"\x00"+plain] = stored
			return plain, nil
		}
		c.otherForm = true
		return e.RevealAt(c.Type.Name, stored, c.place(at))
	})
}

func (c *Change) place(at document.Pointer) string {
	return catalog.SecretPlace(c.Type.Name, c.Network, c.ID, at)
}

// keepNested keeps the objects in a merge patch before it is brought into normal form,
// in which null is an absent member.
func (c *Change) keepNested() {
	if !c.op.MergePatch {
		return
	}
	c.nested = map[string]map[string]any{}
	for name, value := range c.op.Object {
		member := c.shapeSeen().Member(name)
		if object, is := value.(map[string]any); is && member != nil && !member.ReadOnly {
			c.nested[name], _ = document.Clone(object).(map[string]any)
		}
	}
}

// MergePatch returns the object that a merge patch has for a property, as the client
// sent it, in which null removes a member; ok is false if the property is replaced as a
// whole.
func (c *Change) MergePatch(property string) (object map[string]any, ok bool) {
	object, ok = c.nested[property]
	return object, ok
}
