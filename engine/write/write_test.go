package write_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"marquee"
	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/write"
)

// hospital has wards with unique codes, and beds that refer to them.
var hospital = fstest.MapFS{
	"wards.json": {Data: []byte(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title": "Ward",
		"x-resource": {"path": "wards", "unique": ["code"]},
		"type": "object",
		"required": ["name"],
		"properties": {
			"name": {"type": "string", "minLength": 1},
			"code": {"type": "string"},
			"floor": {"type": "object", "properties": {"number": {"type": "integer"}, "wing": {"type": "string"}}},
			"tags": {"type": "array", "items": {"type": "string"}},
			"beds": {"type": "integer", "default": 1}
		}
	}`)},
	"beds.json": {Data: []byte(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title": "Bed",
		"x-resource": {"path": "beds"},
		"type": "object",
		"properties": {"name": {"type": "string"}, "ward": {"x-ref": "wards"}}
	}`)},
	"moves.json": {Data: []byte(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title": "Move",
		"x-resource": {"path": "moves"},
		"type": "object",
		"required": ["reason"],
		"properties": {"note": {"type": "string"}, "reason": {"type": "string", "writeOnly": true}}
	}`)},
}

// TestWrite writes in turn to one store. Each batch names what it stores and what is
// stored after it.
func TestWrite(t *testing.T) {
	e := open(t, nil)
	for _, step := range []struct {
		name       string
		operations []operation
		// fault is the message of the error, nil for success.
		fault *message.Definition
		// version and stored are those of the ward w afterwards.
		version int64
		stored  map[string]any
	}{
		{
			name:       "an object is created with the defaults of its schema",
			operations: []operation{{"wards", object{"id": "w", "name": "North", "floor": object{"number": 1, "wing": "A"}, "tags": list{"a", "b"}}}},
			version:    1, stored: object{"name": "North", "floor": object{"number": 1, "wing": "A"}, "tags": list{"a", "b"}, "beds": 1},
		},
		{
			name:       "an update replaces the properties that it has, each as a whole; null removes one",
			operations: []operation{{"wards", object{"id": "w", "floor": object{"number": 2}, "tags": list{"c"}, "beds": nil}}},
			version:    2, stored: object{"name": "North", "floor": object{"number": 2}, "tags": list{"c"}, "beds": 1},
		},
		{
			name:       "what changes nothing is not stored",
			operations: []operation{{"wards", object{"id": "w", "name": "North", "tags": list{"c"}}}},
			version:    2, stored: object{"name": "North", "floor": object{"number": 2}, "tags": list{"c"}, "beds": 1},
		},
		{
			name:       "all of a batch is stored or nothing",
			operations: []operation{{"wards", object{"id": "w", "name": "South"}}, {"wards", object{"id": "x", "name": ""}}},
			fault:      message.ValueTooShort,
			version:    2, stored: object{"name": "North", "floor": object{"number": 2}, "tags": list{"c"}, "beds": 1},
		},
		{
			name:       "an object may refer to one that comes later in the batch",
			operations: []operation{{"beds", object{"id": "b", "ward": "v"}}, {"wards", object{"id": "v", "name": "West", "code": "V"}}},
			version:    2, stored: object{"name": "North", "floor": object{"number": 2}, "tags": list{"c"}, "beds": 1},
		},
		{
			name:       "and to none that does not exist",
			operations: []operation{{"beds", object{"id": "c", "ward": "nowhere"}}},
			fault:      message.ReferencedObjectNotFound,
			version:    2, stored: object{"name": "North", "floor": object{"number": 2}, "tags": list{"c"}, "beds": 1},
		},
		{
			name:       "a unique value belongs to one object",
			operations: []operation{{"wards", object{"id": "w", "code": "V"}}},
			fault:      message.ValueNotUnique,
			version:    2, stored: object{"name": "North", "floor": object{"number": 2}, "tags": list{"c"}, "beds": 1},
		},
		{
			name:       "and can be handed on in a batch",
			operations: []operation{{"wards", object{"id": "w", "code": "V"}}, {"wards", object{"id": "v", "code": "W"}}},
			version:    3, stored: object{"name": "North", "code": "V", "floor": object{"number": 2}, "tags": list{"c"}, "beds": 1},
		},
		{
			name:       "an object is in a batch once",
			operations: []operation{{"wards", object{"id": "w", "name": "A"}}, {"wards", object{"id": "w", "name": "B"}}},
			fault:      message.DuplicateID,
			version:    3, stored: object{"name": "North", "code": "V", "floor": object{"number": 2}, "tags": list{"c"}, "beds": 1},
		},
	} {
		_, err := e.write(t, step.operations...)
		switch {
		case step.fault == nil && err != nil:
			t.Errorf("%s: %v", step.name, err)
		case step.fault != nil && !step.fault.Is(err):
			t.Errorf("%s: the error is %v, want %s", step.name, err, step.fault.Code)
		}
		if version, stored := e.ward(t, "w"); version != step.version || !reflect.DeepEqual(stored, normal(step.stored)) {
			t.Errorf("%s: version %d of %v is stored, want version %d of %v", step.name, version, stored, step.version, step.stored)
		}
	}
}

// TestNeverStored: a required value that is never stored is required in each write, although
// the stored object lacks it, too.
func TestNeverStored(t *testing.T) {
	e := open(t, nil)
	if _, err := e.write(t, operation{"moves", object{"id": "m", "reason": "Full."}}); err != nil {
		t.Fatal(err)
	}
	_, err := e.write(t, operation{"moves", object{"id": "m", "note": "Again."}})
	var refused *message.Error
	if !errors.As(err, &refused) || refused.Messages[0].Definition() != message.PropertyRequired {
		t.Errorf("without the reason: %v", err)
	}
}

// A condition holds for the version that the client has read.
func TestConditions(t *testing.T) {
	e := open(t, nil)
	if _, err := e.write(t, operation{"wards", object{"id": "w", "name": "North"}}); err != nil {
		t.Fatal(err)
	}
	is := func(version string) func(string) bool { return func(stored string) bool { return stored == version } }
	for name, c := range map[string]struct {
		condition write.Operation
		fault     *message.Definition
	}{
		"the stored version":  {write.Operation{IfVersion: is("1")}, nil},
		"another version":     {write.Operation{IfVersion: is("2")}, message.VersionMismatch},
		"no object":           {write.Operation{IfVersion: is("")}, message.VersionMismatch},
		"a new one is wanted": {write.Operation{OnlyNew: true}, message.AlreadyExists},
	} {
		op := c.condition
		op.Type, op.Object = e.typeOf(t, "wards"), object{"id": "w", "name": "North"}
		_, err := e.Write(t.Context(), &engine.Caller{System: true}, write.Batch{Network: "house", Operations: []write.Operation{op}})
		if c.fault == nil && err != nil || c.fault != nil && !c.fault.Is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A batch that is only validated has faults and a result, and stores nothing.
func TestValidateOnly(t *testing.T) {
	e := open(t, nil)
	for name, fault := range map[string]*message.Definition{"North": nil, "": message.ValueTooShort} {
		result, err := e.Write(t.Context(), &engine.Caller{System: true}, write.Batch{Network: "house", ValidateOnly: true,
			Operations: []write.Operation{{Type: e.typeOf(t, "wards"), Object: object{"id": "w", "name": name}}}})
		switch {
		case fault != nil && !fault.Is(err):
			t.Errorf("%q: %v", name, err)
		case fault == nil && (err != nil || result.Changes[0].After["name"] != name):
			t.Errorf("%q: %v, %v", name, result, err)
		}
		if version, _ := e.ward(t, "w"); version != 0 {
			t.Errorf("%q: version %d is stored", name, version)
		}
	}
}

// Hooks run in the order of their names, with all changes of their type, and what one
// of them writes runs through the hooks of its own type.
func TestHooks(t *testing.T) {
	var calls []string
	hook := func(name string, also func(*engine.Writing)) func(context.Context, *engine.Writing, []*engine.Change) error {
		return func(_ context.Context, w *engine.Writing, changes []*engine.Change) error {
			var ids []string
			for _, c := range changes {
				ids = append(ids, c.ID)
			}
			calls = append(calls, strings.Join(append([]string{name}, ids...), " "))
			if also != nil {
				also(w)
			}
			return nil
		}
	}
	committed := false
	e := open(t, map[string]engine.Hooks{
		"wards": {BeforeValidate: hook("validate wards", nil), Validate: hook("judge wards", nil), BeforeStore: hook("store wards", nil)},
		"beds": {
			Prepare:        func(_ context.Context, c *engine.Change) error { calls = append(calls, "prepare "+c.ID); return nil },
			BeforeValidate: hook("validate beds", nil),
			Validate:       hook("judge beds", nil),
			BeforeStore: hook("store beds", func(w *engine.Writing) {
				w.AfterCommit(func() { committed = true })
				wards, _ := w.Type("wards")
				w.Upsert(wards, "house", "w", func(ward map[string]any) { ward["name"] = "Occupied" })
			}),
		},
	})
	if _, err := e.write(t, operation{"wards", object{"id": "w", "name": "North"}}); err != nil {
		t.Fatal(err)
	}
	calls = nil
	if _, err := e.write(t, operation{"beds", object{"id": "a", "ward": "w"}}, operation{"beds", object{"id": "b", "ward": "w"}}); err != nil {
		t.Fatal(err)
	}
	want := []string{"prepare a", "prepare b", "validate beds a b", "judge beds a b", "store beds a b", "validate wards w", "judge wards w", "store wards w"}
	if !slices.Equal(calls, want) || !committed {
		t.Errorf("the hooks ran as %q, committed %t, want %q", calls, committed, want)
	}
	if _, stored := e.ward(t, "w"); stored["name"] != "Occupied" {
		t.Errorf("the ward is %v", stored)
	}

	committed = false
	if _, err := e.write(t, operation{"beds", object{"id": "c", "ward": "gone"}}); err == nil || committed {
		t.Errorf("after %v, committed %t", err, committed)
	}
}

// An error of a hook that is no message ends the write, and nothing is stored.
func TestErrorsOfHooks(t *testing.T) {
	failure := errors.New("the hook failed")
	e := open(t, map[string]engine.Hooks{"beds": {BeforeStore: func(context.Context, *engine.Writing, []*engine.Change) error { return failure }}})
	if _, err := e.write(t, operation{"wards", object{"id": "w", "name": "North"}}, operation{"beds", object{"ward": "w"}}); !errors.Is(err, failure) {
		t.Errorf("the error is %v", err)
	}
	if version, _ := e.ward(t, "w"); version != 0 {
		t.Errorf("version %d is stored", version)
	}
}

type (
	object = map[string]any
	list   = []any
	// operation creates or updates an object of a type.
	operation struct {
		typeName string
		object   map[string]any
	}
)

// hospitalEngine serves the hospital, on a store of its own.
type hospitalEngine struct{ *engine.Engine }

func open(t *testing.T, hooks map[string]engine.Hooks) hospitalEngine {
	t.Helper()
	server, err := marquee.New(marquee.Options{Folder: t.TempDir(), First: marquee.First{Network: "house", Password: "correct horse battery"},
		Application: marquee.Application{Schemas: hospital, Hooks: hooks}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
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

func (e hospitalEngine) write(t *testing.T, operations ...operation) (*write.Result, error) {
	t.Helper()
	batch := write.Batch{Network: "house", Listed: true}
	for _, o := range operations {
		batch.Operations = append(batch.Operations, write.Operation{Type: e.typeOf(t, o.typeName), Object: normal(o.object)})
	}
	return e.Write(t.Context(), &engine.Caller{System: true}, batch)
}

// ward returns the version and the document of a ward as they are stored, 0 without it.
func (e hospitalEngine) ward(t *testing.T, id string) (version int64, stored map[string]any) {
	t.Helper()
	err := e.Store.Read(t.Context(), func(s store.Snapshot) error {
		return s.Get(t.Context(), "wards", []store.Key{{Network: "house", ID: id}}, func(r *store.Record) (err error) {
			version = r.Version
			stored, err = document.DecodeObject(r.Document, document.Limits{})
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return version, stored
}

// normal returns an object as it is decoded from JSON.
func normal(o object) object {
	decoded, err := document.DecodeObject(document.Append(nil, o), document.Limits{})
	if err != nil {
		panic(err)
	}
	return decoded
}
