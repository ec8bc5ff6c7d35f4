package feed

import (
	"context"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"marquee"
	"marquee/engine"
	"marquee/integration/service"
)

// TestDerivedChangesAreLeftOut checks that neither pages nor streams have changes that raise no
// version, as those of a value that the service derives, and of a warning, and that nobody who
// waits is answered because of one.
func TestDerivedChangesAreLeftOut(t *testing.T) { service.EachStore(t, testDerivedChangesAreLeftOut) }

func testDerivedChangesAreLeftOut(t *testing.T, fresh service.NewStore) {
	wards := fstest.MapFS{"wards.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Ward", "x-resource": {"path": "wards"}, "type": "object",
		"properties": {"text": {"type": "string"}, "beds": {"type": "integer", "readOnly": true}},
		"x-warnings": [{"code": "warning.ward.full", "text": "The ward is full.", "when": {"required": ["beds"], "properties": {"beds": {"minimum": 2}}}}]}`)}}
	c := service.ConverseWith(t, service.StartNew(&service.Service{TB: t, URI: fresh(t),
		Plain:   &marquee.Application{Hooks: map[string]engine.Hooks{"beds": {BeforeStore: engine.Each(countBed)}}},
		Schemas: []fs.FS{wards, service.TypeWith("beds", "", `"ward": {"x-ref": "wards"}`)}}))
	c.Send("PUT", "/api/v1/wards/a?context=main", `{"text": "first"}`, http.StatusCreated, "")
	position := positionOf(c, c.Token)
	answer := asks(c, c.Service, c.Token, position)
	o := open(t, c.Service, c.Token, "&type=wards&after="+position, "")
	o.next("bookmark")
	c.Send("PUT", "/api/v1/beds/b?context=main", `{"ward": "a"}`, http.StatusCreated, "")
	c.Send("PUT", "/api/v1/beds/c?context=main", `{"ward": "a"}`, http.StatusCreated, "")
	c.Send("GET", "/api/v1/wards/a?context=main", "", http.StatusOK, `{"beds": 2, "validationWarnings": [{"code": "warning.ward.full"}]}`)
	c.Send("PUT", "/api/v1/wards/a?context=main", `{"text": "second"}`, http.StatusOK, "")
	if e := o.next("change"); !strings.Contains(e.Data, `"version":2,"revision":4`) {
		t.Errorf("the stream has %s", e.Data)
	}
	if a := within(c, answer); !strings.Contains(string(a.Body), `"version":2,"revision":4`) {
		t.Errorf("who waits is answered with %d %s", a.Status, a.Body)
	}
	c.Send("GET", "/api/v1/changes?context=main&type=wards&after="+position, "", http.StatusOK, `{"results": [
		{"id": "a", "version": 2, "revision": 4, "changes": [{"field": "/text", "to": "second"}]}]}`)
}

// countBed counts a new bed in its ward.
func countBed(_ context.Context, w *engine.Writing, c *engine.Change) error {
	wards, _ := w.Type("wards")
	ward, _ := c.After["ward"].(string)
	w.Upsert(wards, c.Network, ward, func(object map[string]any) {
		n, _ := object["beds"].(int64)
		object["beds"] = n + 1
	})
	return nil
}
