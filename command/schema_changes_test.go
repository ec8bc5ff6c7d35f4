package command

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSchemaChanges: --schema-changes refuses what breaks stored objects, or clients, at a
// reload and at a start, unless the file accepts it or there are no objects.
func TestSchemaChanges(t *testing.T) {
	const (
		old         = `"properties": {"name": {"type": "string"}, "fax": {"type": "string"}}`
		removed     = `"properties": {"name": {"type": "string"}}`
		optional    = `"properties": {"name": {"type": "string"}, "fax": {"type": "string"}, "x": {"type": "string"}}`
		frozen      = `"properties": {"name": {"type": "string", "x-immutable": true}, "fax": {"type": "string"}}`
		acceptsIt   = `, "accepts": [{"rule": "property-removed", "at": "/properties/fax", "reason": "nobody has one"}]`
		refusedText = "wards.json#/properties/fax (old): property-removed: "
	)
	for _, c := range []struct {
		changes, resource, properties string
		stored                        bool
		refusal                       string
	}{
		{"any", "", removed, true, ""},
		{"stored", "", removed, true, refusedText},
		{"clients", "", removed, true, refusedText},
		{"clients", "", removed, false, ""},
		{"clients", acceptsIt, removed, true, ""},
		{"clients", "", optional, true, ""},
		{"stored", "", frozen, true, ""},
		{"clients", "", frozen, true, "wards.json#/properties/name/x-immutable: keyword-added: "},
	} {
		dir, log := t.TempDir(), &bytes.Buffer{}
		write := func(resource, properties string) {
			t.Helper()
			text := `{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "W", "x-resource": {"path": "wards", "scope": "global"` + resource + `}, "type": "object", ` + properties + `}`
			if err := os.WriteFile(filepath.Join(dir, "wards.json"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		flags := &storeFlags{served: served{&Program{}}, MinPasswordLength: 12, Store: "sqlite:" + filepath.Join(t.TempDir(), "marquee.db"), Schemas: dir,
			log: slog.New(slog.NewTextHandler(log, nil)), serving: "a", tolerant: true, changes: c.changes}
		open := func() *service {
			t.Helper()
			s, err := flags.open(t.Context())
			if err != nil {
				t.Fatalf("%v: %v", c, err)
			}
			s.keep(t.Context(), flags.log, s.files.files)
			return s
		}
		judge := func(s *service, when string) {
			t.Helper()
			_, keptOld := s.Engine().Registry().Files()["wards.json"].Content["properties"].(map[string]any)["fax"]
			isNew := s.refused == "" && (keptOld == strings.Contains(c.properties, "fax"))
			if isNew != (c.refusal == "") || !strings.Contains(log.String(), c.refusal) {
				t.Errorf("%v at a %s: the new set is served: %t; the log: %s", c, when, isNew, log)
			}
			warns := c.refusal == "" && c.stored && c.resource == "" && c.properties != optional && c.changes != "clients"
			if warned := strings.Contains(log.String(), "schema diff store:1 store:2 lists it"); warned != warns {
				t.Errorf("%v at a %s: warned: %t", c, when, warned)
			}
			log.Reset()
		}
		write("", old)
		s := open()
		if c.stored {
			if _, err := s.Write(t.Context(), "", "wards", map[string]any{"name": "N", "fax": "1"}); err != nil {
				t.Fatal(err)
			}
		}
		log.Reset()
		write(c.resource, c.properties)
		s.reload(t.Context(), flags, &unservedFlags{}, flags.log, false)
		judge(s, "reload")
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
		if c.refusal == "" { // this set is the last one, and the one before it is no better
			continue
		}
		s = open()
		judge(s, "start")
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
		flags.tolerant = false
		if _, err := flags.open(t.Context()); err == nil || !strings.Contains(err.Error(), c.refusal) {
			t.Errorf("%v at a strict start: %v", c, err)
		}
	}
}
