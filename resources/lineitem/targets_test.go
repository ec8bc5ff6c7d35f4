package lineitem

import (
	"slices"
	"strings"
	"testing"

	"marquee/engine/schema"
	"marquee/resources/review"
	"marquee/schemas"
)

// TestTargetsAreThoseOfTheSchema: whatever targeting refers to is looked at,
// and has line items judged again when it is hidden.
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
		followed := func(r review.Rule) bool {
			return r.Target == target.collection && r.Type == "lineitems" && r.Property == target.property()
		}
		if !slices.ContainsFunc(Rules(), followed) {
			t.Errorf("nobody follows %s", target.property())
		}
	}
	slices.Sort(inSchema)
	slices.Sort(known)
	if len(known) == 0 || !slices.Equal(inSchema, known) {
		t.Errorf("the schema has %v, and known are %v", inSchema, known)
	}
}
