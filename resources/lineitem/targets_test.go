package lineitem

import (
	"slices"
	"strings"
	"testing"

	"marquee/engine"
	"marquee/engine/schema"
	"marquee/schemas"
)

// The targets are the references in the schema of targeting, and hiding a target
// revisits line items.
func TestTargetsAreThoseOfTheSchema(t *testing.T) {
	registry, err := schema.Load(schema.Source{FS: schemas.FS})
	if err != nil {
		t.Fatal(err)
	}
	lineItems, _ := registry.Type("lineitems")
	var inSchema, known []string
	for _, index := range lineItems.Indexes {
		names := strings.Split(index.Property, ".")
		if names[0] != "targeting" {
			continue
		}
		shape := lineItems.Shape
		for _, name := range names {
			if shape.Items != nil {
				shape = shape.Items
			}
			shape = shape.Properties[name]
		}
		inSchema = append(inSchema, shape.Items.Ref.Type+" "+index.Property)
	}
	for _, target := range targets {
		known = append(known, target.collection+" "+target.property())
		followed := func(d engine.Dependants) bool {
			return d.Type == "lineitems" && d.Property == target.property()
		}
		if !slices.ContainsFunc(Hooks()[target.collection].Dependants, followed) {
			t.Errorf("no dependants follow %s", target.property())
		}
	}
	slices.Sort(inSchema)
	slices.Sort(known)
	if len(known) == 0 || !slices.Equal(inSchema, known) {
		t.Errorf("targets %v, the schema has %v", known, inSchema)
	}
}
