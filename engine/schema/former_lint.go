package schema

import (
	"slices"
	"strings"

	"marquee/engine/document"
)

// former checks that no values are renamed on which a term or a claim depends. These are
// computed from stored values: until an object is written, its former value would decide
// whether anybody may read it, and whether it clashes with others.
func (c *typeLint) former() {
	read := slices.Clone(c.t.Unique)
	for _, form := range c.t.UniqueForms {
		read = append(read, form.Property)
	}
	for _, rule := range c.t.Claims() {
		read = append(read, rule.Reads()...)
	}
	if c.t.Public != nil {
		read = append(read, c.t.Public.Reads()...)
	}
	for i, name := range read {
		read[i], _, _ = strings.Cut(name, ".")
	}
	slices.Sort(read)
	for _, name := range slices.Compact(read) {
		for shape := range c.t.Shape.Properties[name].All() {
			if len(shape.Was) > 0 {
				c.problem("/properties/"+document.EscapeToken(name), "unique, x-exclusive or public depends on "+name+", whose values cannot be renamed", "remove x-was-values, and keep the value")
				break
			}
		}
	}
}
