package command

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"marquee/engine/folder"
)

// TestSetsAreNotedAfterTheStart: a set has a number once it is served, one that could not be
// noted is noted later, and a start that fails notes nothing.
func TestSetsAreNotedAfterTheStart(t *testing.T) {
	dir, log := t.TempDir(), &bytes.Buffer{}
	flags := &storeFlags{served: served{&Program{}}, MinPasswordLength: 12, Store: "sqlite:" + filepath.Join(t.TempDir(), "marquee.db"), Schemas: dir,
		log: slog.New(slog.NewTextHandler(log, nil)), serving: "a"}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "wards.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	open := func(known int) *service {
		t.Helper()
		s, err := flags.open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.close() })
		if sets, err := folder.Known(t.Context(), s.Store()); len(sets.Sets) != known || len(sets.Servers) != 0 || err != nil {
			t.Fatalf("%v are known, %v", sets, err)
		}
		return s
	}
	const schema = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "x-resource": {"path": "wards"}, "type": "object", "properties": {"name": {"type": "string"}}}`
	write(schema)
	s := open(0)
	ended, end := context.WithCancel(t.Context())
	end()
	s.keep(ended, flags.log, s.files.files)
	if text := log.String(); !strings.Contains(text, "could not be saved in the store yet") || strings.Contains(text, "serving a set") {
		t.Errorf("the log has %s", text)
	}
	for range 2 {
		s.keepAgain(t.Context(), flags.log)
	}
	if n := strings.Count(log.String(), "serving a set of schemas\" set=1 "); n != 1 {
		t.Errorf("the log says %d times which set is served: %s", n, log)
	}
	if err := s.register.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}

	write(strings.Replace(schema, "string", "strings", 1))
	if _, err := flags.open(t.Context()); err == nil {
		t.Fatal("the start does not fail")
	}
	write(schema)
	open(1)
}
