package marquee_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"

	"marquee"
	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/schema"
)

// Objects that a hook refuses for whatever reason are left as they are, and logged; the others
// get what the schema asks for. Hooks read other objects as the schema asks for them.
func TestAmendingGoesOn(t *testing.T) {
	log := &lines{}
	var looked string
	var err error
	hooks := map[string]engine.Hooks{"notes": {Validate: engine.Each(func(_ context.Context, w *engine.Writing, c *engine.Change) error {
		switch c.ID {
		case "b":
			return message.ObjectNotFound.Error(message.Params{"type": "things", "id": "x"})
		case "d":
			return fmt.Errorf("a hook has failed")
		case "e":
			found, err := w.Lookup("notes", c.Context, []string{"a"})
			looked = fmt.Sprint(found["a"].Object["state"])
			return err
		}
		return nil
	})}}
	folder := func(state string) fstest.MapFS {
		return fstest.MapFS{"notes.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Note", "x-resource": {"path": "notes"}, "type": "object",
			"properties": {"state": {"type": "string", ` + state + `}}}`)}}
	}
	app := marquee.Application{}
	load := func(state string) *schema.Registry {
		types, err := app.Load(schema.Source{Name: "schemas", FS: folder(state)})
		if err != nil {
			t.Fatal(err)
		}
		return types
	}
	own, options := ownStore(t), marquee.Options{First: marquee.First{Password: "rowboat-lantern-mosaic"}, Types: load(`"enum": ["OLD"]`)}
	options.Store = own
	before, err := marquee.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		if _, err := before.Write(t.Context(), "main", "notes", map[string]any{"id": id, "state": "OLD"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	options.Application.Hooks, options.Types = hooks, load(`"enum": ["NEW"], "x-was-values": {"OLD": "NEW"}`)
	s, err := marquee.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Write(t.Context(), "main", "notes", map[string]any{"id": "e"}); err != nil || looked != "NEW" {
		t.Errorf("a hook has read %s (%v)", looked, err)
	}
	if err := s.Engine().Amend(t.Context(), slog.New(slog.NewTextHandler(log, nil))); err != nil {
		t.Error(err)
	}
	read, err := s.Engine().Type("notes")
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]int{"a": 2, "b": 1, "c": 2, "d": 1, "e": 2} {
		object, err := s.Engine().Get(t.Context(), &engine.Caller{System: true}, read, "main", id, nil)
		if err != nil || !strings.HasPrefix(object.Version, fmt.Sprint(want)) {
			t.Errorf("%s: %v %v", id, object, err)
		}
	}
	text := log.String()
	for _, want := range []string{"id=b ", "id=d ", "a hook has failed", "left=2"} {
		if !strings.Contains(text, want) {
			t.Errorf("the log lacks %s: %s", want, text)
		}
	}
}
