package schema

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema/keyword"
	"marquee/schemas"
)

// common is a shared definition that a fuzzed file can refer to.
const common = `{"$schema": "` + draft + `", "type": "object", "x-complete": true, "properties": {
	"to": {"x-ref": "others"}, "self": {"type": "array", "items": {"$ref": "part.json"}}, "at": {"type": "string", "format": "date-time"}}}`

const others = `{"$schema": "` + draft + `", "type": "object", "x-resource": {"path": "others"}, "properties": {"name": {"type": "string"}}}`

// FuzzLoad checks that any file is loaded or rejected by name, and that a loaded
// type handles any document without panics and endless loops.
func FuzzLoad(f *testing.F) {
	object := []byte(`{"a": {"id": "x"}, "b": [1, "2030-01-01T00:00:00Z", {}], "name": null, "c": {"a": {"b": {}}}}`)
	for _, seed := range seeds(f) {
		f.Add([]byte(seed), object)
	}
	f.Fuzz(func(t *testing.T, schema, body []byte) {
		registry, err := Load(Source{FS: fstest.MapFS{
			"fuzzed.json":      {Data: schema},
			"others.json":      {Data: []byte(others)},
			"common/part.json": {Data: []byte(common)},
		}})
		if err != nil {
			checkProblems(t, err)
			return
		}
		for _, loaded := range registry.Types() {
			if loaded.File == "fuzzed.json" {
				use(t, loaded, body)
			}
		}
	})
}

// seeds are the files of the test cases and of the service.
func seeds(f *testing.F) []string {
	f.Helper()
	var list []string
	cases, err := filepath.Glob("testdata/problems/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range cases {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		_, files := parseArchive(string(text))
		for name, file := range files {
			if strings.HasSuffix(name, ".json") {
				list = append(list, string(file.Data))
			}
		}
	}
	err = fs.WalkDir(schemas.FS, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(schemas.FS, name)
		list = append(list, string(data))
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	return list
}

// checkProblems checks that each problem has a file and a text.
func checkProblems(t *testing.T, err error) {
	t.Helper()
	var problems Problems
	if !errors.As(err, &problems) || len(problems) == 0 {
		t.Fatalf("%#v", err)
	}
	for _, p := range problems {
		if p.File != "fuzzed.json" && p.File != "others.json" && p.File != "common/part.json" {
			t.Fatalf("%v has no file", p)
		}
		if p.Text == "" || p.Pointer != "" && p.Pointer[0] != '/' {
			t.Fatalf("%#v", p)
		}
	}
}

// use processes a document like a write.
func use(t *testing.T, loaded *Type, body []byte) {
	t.Helper()
	object, err := document.DecodeObject(body, document.DefaultLimits)
	if err != nil {
		return
	}
	n := normaliser()
	n.Object(loaded.Shape, object)
	merged := document.Merge(loaded.Shape, nil, object, false)
	loaded.Shape.References(merged, func(document.Pointer, *document.Reference, string, string) {})
	loaded.Shape.Redact(merged)
	for _, fault := range validate(t, loaded, merged) {
		if field, ok := fault.Param("field").(string); !ok || field != "" && field[0] != '/' {
			t.Fatalf("%v has no field", fault)
		}
	}
	loaded.Check(t.Context(), &keyword.Change{Before: merged, After: merged, State: "INACTIVE"})
	loaded.Warnings(t.Context(), merged, "ACTIVE")
	for name := range merged {
		if _, err := loaded.Field("where", name); err == nil && !loaded.Shows(name) {
			t.Fatalf("%q can be queried but is not shown", name)
		}
	}
}

// normaliser ignores faults.
func normaliser() *document.Normaliser {
	return &document.Normaliser{
		Unknown: func(document.Pointer, bool) {},
		Fault:   func(*message.Definition, document.Pointer, message.Params) {},
	}
}
