package marquee_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"marquee"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Values are removed although a read needs them for longer than their removal waits.
func TestPruneBesideRead(t *testing.T) {
	app, own := marquee.Application{}, ownStore(t)
	load := func(properties string) *schema.Registry {
		types, err := app.Load(schema.Source{Name: "schemas", FS: fstest.MapFS{"notes.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Note", "x-resource": {"path": "notes"}, "type": "object",
			"properties": {` + properties + `}}`)}}})
		if err != nil {
			t.Fatal(err)
		}
		return types
	}
	s := open(t, marquee.Options{Store: own, Types: load(`"fax": {"type": "string"}`)})
	if _, err := s.Write(t.Context(), "main", "notes", map[string]any{"id": "a", "fax": "1"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Migrate(t.Context(), load("")); err != nil {
		t.Fatal(err)
	}
	document := func(in store.Snapshot) (document string, err error) {
		err = in.Get(t.Context(), "notes", []store.Key{{Network: "main", ID: "a"}}, func(r *store.Record) error {
			document = string(r.Document)
			return nil
		})
		return document, err
	}
	err := own.Read(t.Context(), func(in store.Snapshot) error {
		if before, err := document(in); err != nil || !strings.Contains(before, "fax") {
			t.Errorf("before: %s %v", before, err)
		}
		return s.Engine().Prune(t.Context(), "notes", "/fax")
	})
	if err != nil {
		t.Errorf("the removal fails: %v", err)
	}
	err = own.Read(t.Context(), func(in store.Snapshot) error {
		if after, err := document(in); err != nil || strings.Contains(after, "fax") {
			t.Errorf("after: %s %v", after, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
