package write

import (
	"bytes"
	"slices"

	"marquee/engine/document"
)

// compareDocument reports whether the document equals the stored one. Of equal texts,
// and of the stored text once another one replaces it, no second copy is kept: large
// objects in large numbers take little else.
func (c *Change) compareDocument() bool {
	switch {
	case c.stored == nil:
		return false
	case bytes.Equal(c.document, c.stored.Document):
		c.sameText, c.document = true, c.stored.Document
		return true
	case c.otherForm && document.Equal(c.asStored, c.After):
		return true // if nothing else changes, the stored text is part of the answer
	}
	c.stored.Document = nil
	return false
}

// isUnchanged reports whether the change has no effect, so that nothing is stored: the
// canonical document, the state and the warnings equal the stored ones, and no hook has
// called Touch.
func (c *Change) isUnchanged(sameDocument bool) bool {
	return sameDocument && c.keepsState() && bytes.Equal(c.warnings, c.stored.Warnings)
}

// isDerived reports whether only warnings and read-only properties change.
func (c *Change) isDerived(differences []document.FieldChange) bool {
	return c.stored != nil && c.keepsState() && !slices.ContainsFunc(differences, c.willed)
}

// isPartly reports whether only what is hidden from some callers changes: properties among
// the hidden ones, and values that are read with a permission of their own.
func (c *Change) isPartly(differences []document.FieldChange, hidden []string) bool {
	if c.stored == nil || !c.keepsState() {
		return false
	}
	open := c.Type.Without(func(string) bool { return true }).Shape
	return !slices.ContainsFunc(differences, func(d document.FieldChange) bool {
		return !slices.Contains(hidden, d.Field) && showsIn(open, d)
	})
}

// showsIn reports whether a difference shows where a shape leaves members out.
func showsIn(shape *document.Shape, d document.FieldChange) bool {
	if shape.LeftOut[d.Field] {
		return false
	}
	member := shape.Member(d.Field)
	if member == nil || !member.HasReadable {
		return true
	}
	from, to := document.Clone(d.From), document.Clone(d.To)
	member.Strip(from)
	member.Strip(to)
	return !document.Equal(from, to)
}

// keepsState reports whether the state stays and no hook has called Touch.
func (c *Change) keepsState() bool {
	return len(c.touched) == 0 && c.State == c.StateBefore
}

// willed reports whether a difference is more than a computed value: part of a
// client's write, or of a property that clients can write.
func (c *Change) willed(difference document.FieldChange) bool {
	member := c.Type.Shape.Properties[difference.Field]
	return !c.Internal() || member == nil || !member.ReadOnly
}
