package device

import (
	"encoding/json"
	"slices"
	"testing"

	"marquee/schemas"
)

// The lists have the values that the schema of targeting allows.
func TestGroups(t *testing.T) {
	data, err := schemas.FS.ReadFile("common/targeting.json")
	if err != nil {
		t.Fatal(err)
	}
	var targeting struct {
		Properties struct {
			DeviceTargets struct {
				Items struct {
					Properties map[string]struct {
						Items struct{ Enum []string }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(data, &targeting); err != nil {
		t.Fatal(err)
	}
	lists := targeting.Properties.DeviceTargets.Items.Properties
	groups := Groups()
	if len(groups) != 3 || len(lists) != 3 {
		t.Fatalf("%d groups, %d in the schema", len(groups), len(lists))
	}
	for _, g := range groups {
		var values []string
		for _, p := range g.Properties {
			values = append(values, p.Value)
			if p.Param != g.Group || p.Example != p.Param+"="+p.Value {
				t.Errorf("%s: %+v", g.Group, p)
			}
		}
		if !slices.Equal(values, lists[g.Group].Items.Enum) {
			t.Errorf("%s: %v, in the schema %v", g.Group, values, lists[g.Group].Items.Enum)
		}
	}
}

func TestGroupsAreCopies(t *testing.T) {
	Groups()[0].Properties[0].Value = "changed"
	if Groups()[0].Properties[0].Value != "UNKNOWN" {
		t.Error("a caller changed the list")
	}
}
