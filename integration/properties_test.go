package integration

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"marquee/integration/service"
	"marquee/schemas"
)

// TestEveryProperty holds that the cases and the examples of docs/reference/types use each
// property of the built-in types: that it is posted with two values, shown in
// an answer, and refused with a code and a pointer. A shared definition counts
// wherever it is used. What is done in Go only is named by docs/contributing/conformance.md.
func TestEveryProperty(t *testing.T) {
	s := readProperties(t)
	for _, file := range typeFiles(t) {
		s.declare(file, "", s.schema(file+".json"), traits{})
	}
	for _, c := range cases(t) {
		s.read(c.Archive)
	}
	pages, err := filepath.Glob("../docs/reference/types/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range pages {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		s.read(examples(string(text)))
	}
	elsewhere := propertiesElsewhere(t)
	for _, at := range slices.Sorted(maps.Keys(s.declared)) {
		lacks := s.lacks(at)
		switch _, named := elsewhere[at]; {
		case len(lacks) > 0 && !named:
			t.Errorf("%s is not %s by any case or example", at, strings.Join(lacks, ", nor "))
		case len(lacks) == 0 && named:
			t.Errorf("docs/contributing/conformance.md names %s, which cases use as well", at)
		}
		delete(elsewhere, at)
	}
	for at := range elsewhere {
		t.Errorf("docs/contributing/conformance.md names %s, which no schema declares", at)
	}
}

// properties are those that schemas declare, named by the file and the path in
// it ("lineitems/rateLimits/amount"; items of arrays and names of maps are not
// in the path), and what exchanges do with them.
type properties struct {
	t        *testing.T
	schemas  map[string]map[string]any
	declared map[string]traits
	shared   map[string]bool            // the definitions; whether one that uses it takes input
	posted   map[string]map[string]bool // the values
	shown    map[string]bool
	refused  map[string]bool
}

type traits struct{ readOnly, writeOnly bool }

func readProperties(t *testing.T) *properties {
	return &properties{t: t, schemas: map[string]map[string]any{}, declared: map[string]traits{}, shared: map[string]bool{},
		posted: map[string]map[string]bool{}, shown: map[string]bool{}, refused: map[string]bool{}}
}

// typeFiles are the names of the built-in types.
func typeFiles(t *testing.T) []string {
	entries, err := schemas.FS.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		if name, found := strings.CutSuffix(entry.Name(), ".json"); found {
			names = append(names, name)
		}
	}
	return names
}

func (s *properties) schema(file string) map[string]any {
	if s.schemas[file] == nil {
		text, err := schemas.FS.ReadFile(file)
		if err != nil {
			s.t.Fatal(err)
		}
		var schema map[string]any
		if err := json.Unmarshal(text, &schema); err != nil {
			s.t.Fatal(err)
		}
		s.schemas[file] = schema
	}
	return s.schemas[file]
}

// follow goes to the definition that a schema refers to. References to objects
// and third parties' content have no properties of their own.
func (s *properties) follow(file, at string, schema map[string]any) (string, string, map[string]any) {
	for {
		ref, found := schema["$ref"].(string)
		if !found {
			return file, at, schema
		}
		next := path.Join(path.Dir(file), ref)
		file, at, schema = strings.TrimSuffix(next, ".json"), "", s.schema(next)
	}
}

// holds are the schemas of what an object or array holds, by property; "" is
// any item or name.
func holds(schema map[string]any) map[string]map[string]any {
	found := map[string]map[string]any{}
	for _, name := range []string{"items", "additionalProperties"} {
		if part, ok := schema[name].(map[string]any); ok {
			found[""] = part
		}
	}
	members, _ := schema["properties"].(map[string]any)
	for name, member := range members {
		found[name], _ = member.(map[string]any)
	}
	return found
}

// declare notes a property and those below it.
func (s *properties) declare(file, at string, schema map[string]any, above traits) {
	own := above
	if readOnly, _ := schema["readOnly"].(bool); readOnly {
		own.readOnly = true
	}
	if writeOnly, _ := schema["writeOnly"].(bool); writeOnly {
		own.writeOnly = true
	}
	if x, ok := schema["x-resource"].(map[string]any); ok {
		if methods, limited := x["methods"].([]any); limited && !slices.Contains(methods, any("POST")) {
			own.readOnly = true
		}
	}
	if at != "" {
		s.declared[file+at] = own
	}
	next, below, schema := s.follow(file, at, schema)
	if next != file {
		if takesInput, twice := s.shared[next]; twice && (takesInput || own.readOnly) {
			return
		}
		s.shared[next] = !own.readOnly
	}
	for name, part := range holds(schema) {
		if name == "" {
			s.declare(next, below, part, own)
		} else {
			s.declare(next, below+"/"+name, part, own)
		}
	}
}

// each visits a value and all that it holds with the names of their properties.
func (s *properties) each(file, at string, schema map[string]any, value any, visit func(at string, value any)) {
	if at != "" {
		visit(file+at, value)
	}
	file, at, schema = s.follow(file, at, schema)
	known := holds(schema)
	step := func(name string, value any) {
		if part, ok := known[name]; ok && name != "" {
			s.each(file, at+"/"+name, part, value, visit)
		} else if part, ok := known[""]; ok {
			s.each(file, at, part, value, visit)
		}
	}
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			step(name, member)
		}
	case []any:
		for _, item := range value {
			step("", item)
		}
	}
}

// pointed is the innermost property that a pointer names.
func (s *properties) pointed(file, pointer string) string {
	at, schema, named := "", s.schema(file+".json"), ""
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		file, at, schema = s.follow(file, at, schema)
		known := holds(schema)
		if member, ok := known[part]; ok {
			at, schema = at+"/"+part, member
			named = file + at
		} else if schema, ok = known[""]; !ok {
			return ""
		}
	}
	return named
}

func (s *properties) read(archive *txtar.Archive) {
	own := map[string]bool{} // types of the case
	for _, file := range archive.Files {
		if name, found := strings.CutPrefix(file.Name, "schemas/"); found {
			own[strings.TrimSuffix(name, ".json")] = true
			continue
		}
		if !strings.HasSuffix(file.Name, ".http") {
			continue
		}
		exchanges, err := parseExchanges(string(file.Data))
		if err != nil {
			s.t.Fatalf("%s: %v", file.Name, err)
		}
		for _, e := range exchanges {
			s.exchange(e, own)
		}
	}
}

// object is one of a call or an answer, and the file of its type.
type typedObject struct {
	file   string
	object any
}

func (s *properties) exchange(e *exchange, own map[string]bool) {
	route, query, _ := strings.Cut(e.path, "?")
	rest, found := strings.CutPrefix(route, "/api/v1/")
	if !found {
		return
	}
	file, _, _ := strings.Cut(rest, "/")
	if own[file] {
		return
	}
	body, _ := service.Decode([]byte(e.body))
	sent := typed(file, body)
	pattern, _ := service.Decode([]byte(e.pattern))
	if strings.HasPrefix(e.status, "2") {
		if e.method != "GET" && !strings.Contains(query, "validateOnly") {
			for _, o := range sent {
				s.visit(o, s.post)
			}
		}
		for _, o := range shownObjects(file, sent, pattern) {
			s.visit(o, func(at string, value any) {
				if value != "<absent>" && value != "<any>" {
					s.shown[at] = true
				}
			})
		}
		return
	}
	problem, _ := pattern.(map[string]any)
	messages, _ := problem["messages"].([]any)
	for _, entry := range messages {
		message, _ := entry.(map[string]any)
		params, _ := message["params"].(map[string]any)
		field, _ := params["field"].(string)
		if message["code"] == nil || field == "" || len(sent) == 0 {
			continue
		}
		for i, o := range sent {
			if index, given := params["index"].(json.Number); given && index.String() != fmt.Sprint(i) || !given && o.file != sent[0].file {
				continue
			}
			if s.has(o.file) {
				s.refused[s.pointed(o.file, field)] = true
			}
		}
	}
}

func (s *properties) has(file string) bool {
	_, err := schemas.FS.Open(file + ".json")
	return err == nil
}

func (s *properties) visit(o typedObject, visit func(at string, value any)) {
	if s.has(o.file) {
		s.each(o.file, "", s.schema(o.file+".json"), o.object, visit)
	}
}

func (s *properties) post(at string, value any) {
	if s.posted[at] == nil {
		s.posted[at] = map[string]bool{}
	}
	s.posted[at][service.Show(value)] = true
}

// typed are the objects of a request body.
func typed(file string, body any) []typedObject {
	object, _ := body.(map[string]any)
	if file == "targetingquery" {
		file = "common/targeting"
	}
	if file == "batch" {
		operations, _ := object["operations"].([]any)
		var objects []typedObject
		for _, entry := range operations {
			operation, _ := entry.(map[string]any)
			name, _ := operation["type"].(string)
			objects = append(objects, typedObject{name, operation["object"]})
		}
		return objects
	}
	list, isList := body.([]any)
	if !isList {
		list = []any{body}
	}
	var objects []typedObject
	for _, object := range list {
		objects = append(objects, typedObject{file, object})
	}
	return objects
}

// shownObjects are the objects that an answer is expected to hold. In the
// answer to a batch they are found by their order, or by their ids.
func shownObjects(file string, sent []typedObject, pattern any) []typedObject {
	object, _ := pattern.(map[string]any)
	results, isList := object["results"].([]any)
	if !isList {
		return []typedObject{{file, pattern}}
	}
	var objects []typedObject
	for i, result := range results {
		member, _ := result.(map[string]any)
		switch {
		case member == nil:
		case file != "batch":
			objects = append(objects, typedObject{file, member})
		case results[0] != service.Some && results[0] != service.AnyOrder && i < len(sent):
			objects = append(objects, typedObject{sent[i].file, member})
		default:
			for _, o := range sent {
				if named, _ := o.object.(map[string]any); named["id"] != nil && named["id"] == member["id"] {
					objects = append(objects, typedObject{o.file, member})
				}
			}
		}
	}
	return objects
}

// lacks lists the actions on a property that no exchange covers.
func (s *properties) lacks(at string) []string {
	own := s.declared[at]
	var lacks []string
	if !own.writeOnly && !s.shown[at] {
		lacks = append(lacks, "shown")
	}
	if own.readOnly {
		return lacks
	}
	switch len(s.posted[at]) {
	case 0:
		lacks = append(lacks, "posted", "changed")
	case 1:
		lacks = append(lacks, "changed")
	}
	if !s.refused[at] {
		lacks = append(lacks, "refused")
	}
	return lacks
}

// propertiesElsewhere are those for which docs/contributing/conformance.md names other
// proofs.
func propertiesElsewhere(t *testing.T) map[string]bool {
	page, err := os.ReadFile(conformancePage)
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "## Properties")
	named := map[string]bool{}
	for _, row := range conformanceRows(text) {
		named[row[0]] = true
	}
	return named
}
