package write

import (
	"testing"

	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// The objects of a result are those of its changes, in their order, with the names and
// parents that were written.
func TestStored(t *testing.T) {
	wards := &schema.Type{Name: "wards", Label: "name"}
	beds := &schema.Type{Name: "beds", Label: "code", Parent: "ward"}
	ward := &Change{Type: wards, After: map[string]any{"name": "North", "ward": "none"}}
	bed := &Change{Type: beds, After: map[string]any{"code": 7, "ward": "n"}}
	ward.record, bed.record = store.Record{Key: store.Key{ID: "n"}, Version: 1}, store.Record{Key: store.Key{ID: "b"}, Version: 2}
	stored := (&Result{Changes: []*Change{bed, ward}, Listed: true}).Stored()
	if !stored.Listed || len(stored.Objects) != 2 {
		t.Fatalf("the objects are %+v", stored)
	}
	first, second := stored.Objects[0], stored.Objects[1]
	if first.Type != beds || first.Record.ID != "b" || first.Record.Version != 2 || first.Label != "" || first.Parent != "n" {
		t.Errorf("the first object is %+v: a label that is not a string has no text", first)
	}
	if second.Type != wards || second.Record.ID != "n" || second.Label != "North" || second.Parent != "" {
		t.Errorf("the second object is %+v", second)
	}
}

// A fault names the nearest place that the client sent the value at, with the index
// in a list and the id.
func TestFaultsAreRedirected(t *testing.T) {
	c := &Change{Type: &schema.Type{Name: "wards"}, Index: 3, ID: "w", request: request{listed: true}}
	c.RedirectFaults("/targeting", "/body/targeting")
	c.RedirectFaults("/targeting/beds", "/beds")
	for pointer, want := range map[string]string{
		"/targeting":        "/body/targeting",
		"/targeting/x":      "/body/targeting/x",
		"/targeting/beds/0": "/beds/0",
		"/targetings":       "/targetings",
		"/name":             "/name",
		"":                  "",
	} {
		m := c.Fault(message.PropertyRequired, pointer, nil)
		if m.Params()["field"] != want || m.Params()["index"] != 3 || m.Params()["objectId"] != "w" || m.Params()["type"] != "wards" {
			t.Errorf("a fault at %q has the params %v, want the field %q", pointer, m.Params(), want)
		}
	}
	c.listed, c.ID = false, ""
	if m := c.Fault(message.PropertyRequired, "/name", nil); m.Params()["index"] != nil || m.Params()["objectId"] != nil {
		t.Errorf("a fault of a single new object has the params %v", m.Params())
	}
}

// Only changes of the service have a cause: what a client changes has the client as
// its cause.
func TestCause(t *testing.T) {
	own, clients := &Change{}, &Change{request: request{op: &Operation{}}}
	for _, c := range []*Change{own, clients} {
		c.SetCause(message.CauseObject, nil)
	}
	if len(own.cause) == 0 || len(clients.cause) != 0 {
		t.Errorf("the causes are %s and %s", own.cause, clients.cause)
	}
}
