package write

import (
	"marquee/engine/access"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/store"
)

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

// mergeNested merges the objects in a merge patch into those that the caller sees. What
// the client sent has been checked with the rest of the patch, so that faults in the
// normal form need not be reported again.
func (w *Writing) mergeNested(c *Change) error {
	if len(c.nested) == 0 {
		return nil
	}
	shown, err := w.shown(c)
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
func (w *Writing) shown(c *Change) (map[string]any, error) {
	hide := w.hide(c)
	if hide == nil {
		return c.Before, nil
	}
	record := *c.stored
	if err := hide(c.Caller, &record); err != nil {
		return nil, err
	}
	return w.decode(c, record.Document)
}

// hide returns what hides parts of the stored object from the caller, nil if nothing is
// hidden.
func (w *Writing) hide(c *Change) func(*access.Caller, *store.Record) error {
	hide := w.e.hooks[c.Type.Name].Hide
	if c.seen == nil {
		return hide
	}
	return access.HideUnseen(c.seen, hide)
}

// shapeSeen is the shape of the object as the caller sees it.
func (c *Change) shapeSeen() *document.Shape {
	if c.seen == nil {
		return c.Type.Shape
	}
	return c.seen.Shape
}

// MergePatch returns the object that a merge patch has for a property, as the client
// sent it, in which null removes a member; ok is false if the property is replaced as a
// whole.
func (c *Change) MergePatch(property string) (object map[string]any, ok bool) {
	object, ok = c.nested[property]
	return object, ok
}
