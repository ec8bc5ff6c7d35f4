package schema

import (
	"maps"
	"slices"

	"marquee/engine/message"
	"marquee/engine/schema/keyword"
)

// check is a keyword that changes of a property are checked for.
type check struct {
	keyword *keyword.Keyword
	of      keyword.Guarded
}

// guard finds the properties that changes are checked for.
func (t *Type) guard() {
	for _, k := range keyword.All() {
		if k.Check == nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(t.Shape.Properties)) {
			if shape := t.Shape.Properties[name]; k.Has(shape) {
				t.checks = append(t.checks, check{k, keyword.Guarded{Name: name, Shape: shape}})
			}
		}
	}
}

// Check returns the faults of a change by the keywords of the type.
func (t *Type) Check(c *keyword.Change) (faults []message.Message) {
	for _, check := range t.checks {
		faults = append(faults, check.keyword.Check(check.of, c)...)
	}
	return faults
}
