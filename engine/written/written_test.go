package written_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/fstest"

	"marquee"
	"marquee/engine"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/write"
	"marquee/engine/written"
)

// hospital has wards, and beds that belong to a ward.
var hospital = fstest.MapFS{
	"wards.json": {Data: []byte(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title": "Ward",
		"x-resource": {"path": "wards", "label": "name"},
		"type": "object",
		"required": ["name"],
		"properties": {"name": {"type": "string"}}
	}`)},
	"beds.json": {Data: []byte(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title": "Bed",
		"x-resource": {"path": "beds", "label": "code", "parent": "ward"},
		"type": "object",
		"required": ["code", "ward"],
		"properties": {"code": {"type": "string"}, "ward": {"x-ref": "wards", "x-immutable": true}}
	}`)},
}

type object = map[string]any

// What a write has stored is known with all that an answer shows of it, so that the
// read path need not read it again.
func TestObjectsOfABatch(t *testing.T) {
	e := open(t, nil)
	stored := e.write(t, write.Operation{Type: e.typeOf(t, "wards"), Object: object{"id": "w", "name": "North"}})
	if len(stored.Objects) != 1 || stored.Objects[0].Label != "North" || stored.Objects[0].Parent != "" {
		t.Fatalf("the ward is %+v", stored.Objects)
	}
	stored = e.write(t,
		write.Operation{Type: e.typeOf(t, "beds"), Object: object{"id": "b2", "code": "B2", "ward": "w"}},
		write.Operation{Type: e.typeOf(t, "beds"), Object: object{"id": "b1", "code": "B1", "ward": "w"}},
	)
	var got []string
	for _, o := range stored.Objects {
		got = append(got, fmt.Sprint(o.Type.Name, " ", o.Record.ID, " ", o.Record.Version, " ", o.Label, " in ", o.Parent))
	}
	if want := []string{"beds b2 1 B2 in w", "beds b1 1 B1 in w"}; !slices.Equal(got, want) {
		t.Errorf("the objects are %v, want them in the order of the operations: %v", got, want)
	}
	ward := written.Key{Collection: "wards", Network: "house", ID: "w"}
	if target := stored.Targets[ward]; target.Label != "North" {
		t.Errorf("the targets are %+v, want the ward with its name", stored.Targets)
	}
}

// A property that only one answer has makes that answer complete, as no later read can
// return it.
func TestOnce(t *testing.T) {
	show := func(_ context.Context, _ *engine.Writing, c *engine.Change) error {
		if c.ID == "shown" {
			c.Show("key", "4711")
		}
		return nil
	}
	e := open(t, map[string]engine.Hooks{"wards": {BeforeStore: engine.Each(show)}})
	plain := e.write(t, write.Operation{Type: e.typeOf(t, "wards"), Object: object{"id": "plain", "name": "North"}})
	if plain.Once() {
		t.Error("an object without such a property is shown once")
	}
	both := e.write(t,
		write.Operation{Type: e.typeOf(t, "wards"), Object: object{"id": "plain", "name": "South"}},
		write.Operation{Type: e.typeOf(t, "wards"), Object: object{"id": "shown", "name": "West"}},
	)
	if !both.Once() || both.Objects[0].Shown != nil || both.Objects[1].Shown["key"] != "4711" {
		t.Errorf("the objects are %+v", both.Objects)
	}
}

// A stream hands over its objects in parts, inside the transaction, and begins again
// when the transaction does.
func TestAnswerOfAStream(t *testing.T) {
	e := open(t, nil)
	const n = 2500
	answer := &names{}
	stream := write.Stream{Like: write.Operation{Type: e.typeOf(t, "wards")}, Network: "house", Answer: answer,
		Open: func() write.Objects { return &wards{left: n} }}
	if _, err := e.WriteStream(t.Context(), &engine.Caller{System: true}, stream); err != nil {
		t.Fatal(err)
	}
	if len(answer.names) != n || answer.names[0] != "Ward 2500" || answer.names[n-1] != "Ward 1" {
		t.Errorf("%d wards were answered", len(answer.names))
	}
	if answer.begun != 1 || answer.parts < 2 || !answer.ended {
		t.Errorf("the answer began %d times, had %d parts, and has ended: %t", answer.begun, answer.parts, answer.ended)
	}
}

// names is an Answer that keeps the names of the objects.
type names struct {
	names        []string
	begun, parts int
	ended        bool
}

func (a *names) Begin() error {
	a.names, a.parts = nil, 0
	a.begun++
	return nil
}

func (a *names) Add(ctx context.Context, s store.Snapshot, objects written.Objects) error {
	a.parts++
	var keys []store.Key
	for _, o := range objects.Objects {
		a.names = append(a.names, o.Label)
		keys = append(keys, o.Record.Key)
	}
	there, err := store.Existing(ctx, s, "wards", keys)
	if err == nil && len(there) != len(keys) {
		err = errors.New("the snapshot does not have the objects that were added")
	}
	return err
}

func (a *names) End() error {
	a.ended = true
	return nil
}

// wards are the objects of a stream.
type wards struct{ left int }

func (w *wards) Next() (map[string]any, int64, error) {
	if w.left == 0 {
		return nil, 0, io.EOF
	}
	w.left--
	return object{"id": fmt.Sprintf("w%d", w.left+1), "name": fmt.Sprintf("Ward %d", w.left+1)}, 40, nil
}

// hospitalEngine serves the hospital, on a store of its own.
type hospitalEngine struct{ *engine.Engine }

func open(t *testing.T, hooks map[string]engine.Hooks) hospitalEngine {
	t.Helper()
	server, err := marquee.New(marquee.Options{Folder: t.TempDir(), First: marquee.First{Network: "house", Password: "correct horse battery"},
		Application: marquee.Application{Schemas: hospital, Hooks: hooks}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return hospitalEngine{server.Engine()}
}

func (e hospitalEngine) typeOf(t *testing.T, name string) *schema.Type {
	t.Helper()
	found, err := e.Type(name)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (e hospitalEngine) write(t *testing.T, operations ...write.Operation) written.Objects {
	t.Helper()
	result, err := e.Write(t.Context(), &engine.Caller{System: true}, write.Batch{Network: "house", Listed: true, Operations: operations})
	if err != nil {
		t.Fatal(err)
	}
	return result.Stored()
}
