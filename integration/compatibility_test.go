package integration

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"marquee/resources"
	"marquee/schemas"
)

// promisedFile lists what version 1 promises, one promise a line. A line is
// never taken out or changed: consumers rely on it.
const promisedFile = "testdata/promised.txt"

// TestNothingPromisedChanges: what version 1 has promised once still holds, and
// nothing more is demanded of what clients send (specification, 9.2).
func TestNothingPromisedChanges(t *testing.T) {
	now := promises(t)
	content, err := os.ReadFile(promisedFile)
	if err != nil && os.Getenv("MARQUEE_UPDATE") == "" {
		t.Fatal(err)
	}
	promised := map[string]bool{}
	for line := range strings.Lines(string(content)) {
		promised[strings.TrimSpace(line)] = true
	}
	for line := range promised {
		if !strings.HasPrefix(line, "demands ") && !now[line] {
			t.Errorf("no longer true: %s", line)
		}
	}
	var fresh []string
	for line := range now {
		what, demand := strings.CutPrefix(line, "demands ")
		where, _, rule := strings.Cut(what, " is ")
		if !rule { // that a member is there, of an object
			where = path.Dir(where)
		}
		switch {
		case promised[line]:
		case demand && promised["has "+where]:
			t.Errorf("not demanded before: %s", what)
		default:
			fresh = append(fresh, line)
		}
	}
	if len(fresh) == 0 || t.Failed() {
		return
	}
	if os.Getenv("MARQUEE_UPDATE") == "" {
		t.Errorf("%d promises are new, such as %q; MARQUEE_UPDATE=1 adds them to %s", len(fresh), slices.Min(fresh), promisedFile)
		return
	}
	for line := range promised {
		fresh = append(fresh, line)
	}
	slices.Sort(fresh)
	if err := os.WriteFile(promisedFile, []byte(strings.Join(fresh, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// promises are what the built-in schemas and the catalogue promise now.
func promises(t *testing.T) map[string]bool {
	t.Helper()
	p := promiser{t: t, lines: map[string]bool{}}
	names, err := fs.Glob(schemas.FS, "*.json")
	if err != nil || len(names) < 20 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		read := p.read(name)
		resource, _ := read["x-resource"].(map[string]any)
		of, _ := resource["path"].(string)
		p.say("has %s", of)
		methods, _ := resource["methods"].([]any)
		for _, method := range methods {
			p.say("has %s with %v", of, method)
		}
		if methods == nil {
			p.say("has %s with POST", of)
		}
		for _, kind := range []string{"sort", "search"} {
			for _, property := range list(resource[kind]) {
				p.say("has %s with %s by %v", of, kind, property)
			}
		}
		p.schema(of, ".", read, 0)
	}
	registry, err := resources.LoadSchemas()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range registry.Catalogue().All() {
		p.say("has the message %s of the type %s", d.Code, d.Type)
	}
	return p.lines
}

type promiser struct {
	t     *testing.T
	lines map[string]bool
}

func (p *promiser) say(format string, args ...any) { p.lines[fmt.Sprintf(format, args...)] = true }

func (p *promiser) read(name string) (schema map[string]any) {
	content, err := fs.ReadFile(schemas.FS, name)
	if err == nil {
		err = json.Unmarshal(content, &schema)
	}
	if err != nil {
		p.t.Fatal(name, err)
	}
	return schema
}

// schema says what a schema at a place promises. Folder is where its references
// begin.
func (p *promiser) schema(at, folder string, schema map[string]any, depth int) {
	if depth > 20 {
		return
	}
	if ref, given := schema["$ref"].(string); given && !strings.Contains(ref, "#") {
		name := path.Join(folder, ref)
		p.schema(at, path.Dir(name), p.read(name), depth+1)
	}
	types := list(schema["type"])
	if one, single := schema["type"].(string); single {
		types = []any{one}
	}
	for _, name := range types {
		p.say("has %s as %v", at, name)
	}
	for _, value := range list(schema["enum"]) {
		p.say("has %s as the value %v", at, value)
	}
	for _, name := range list(schema["required"]) {
		p.say("demands %s/%v", at, name)
	}
	for _, rule := range []string{"readOnly", "x-immutable"} {
		if schema[rule] == true {
			p.say("demands %s is %s", at, rule)
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, member := range properties {
		inner, _ := member.(map[string]any)
		p.say("has %s/%s", at, name)
		p.schema(at+"/"+name, folder, inner, depth+1)
	}
	for keyword, suffix := range map[string]string{"items": "/*", "additionalProperties": "/{}"} {
		if inner, is := schema[keyword].(map[string]any); is {
			p.say("has %s%s", at, suffix)
			p.schema(at+suffix, folder, inner, depth+1)
		}
	}
}

func list(value any) []any {
	items, _ := value.([]any)
	return items
}
