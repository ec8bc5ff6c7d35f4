package catalog_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/schema/keyword"
	"marquee/engine/store"
	"marquee/schemas/base"
)

// renamable are types that mention properties everywhere. An upper-case word is the name of a
// property, which a renaming replaces.
var renamable = map[string]string{
	"halls": `"x-resource": {"path": "halls", "methods": ["GET", "POST", "PUT", "DELETE"], "team": "CREW", "label": "CALLED"},
		"properties": {"CALLED": {"type": "string"}, "CREW": {"x-ref": "teams"}}`,
	"shows": `"x-resource": {"path": "shows", "search": ["TITLE", "INNER.text"], "sort": ["TITLE", "FROM"], "index": ["TAGS", ["STATE", "FROM"]],
		"team": ["CREW", "HALL.CREW"], "owner": "KEEPER", "label": "TITLE",
		"unique": ["CODE", ["HALL", "SEAT"], {"properties": ["TITLE"], "when": {"properties": {"STATE": {"const": "OPEN"}}, "required": ["STATE"],
			"dependentRequired": {"CODE": ["SEAT"]}, "anyOf": [{"required": ["FROM"]}, {"not": {"required": ["UNTIL"]}}]}}],
		"public": {"when": {"properties": {"STATE": {"const": "OPEN"}}, "required": ["STATE"]}}},
		"required": ["TITLE"],
		"properties": {
			"TITLE": {"type": "string", "maxLength": 3}, "CODE": {"type": "string", "default": "X"}, "SEAT": {"type": "integer"}, "TAGS": {"type": "array", "items": {"type": "string"}},
			"STATE": {"type": "string", "enum": ["OPEN", "SHUT"], "x-transitions": {"SHUT": ["OPEN"], "OPEN": []}}, "FROM": {"type": "integer"}, "UNTIL": {"type": "integer"},
			"NUMBER": {"type": "integer", "x-sequence": {"start": 5}}, "KEEPER": {"x-ref": "users"}, "HALL": {"x-ref": "halls"}, "CREW": {"x-ref": "teams"},
			"KEY": {"type": "string", "x-secret": true}, "HIDDEN": {"type": "string", "x-readable": "READ_SHOWS"}, "ABOUT": {"type": "string", "x-personal": true},
			"INNER": {"type": "object", "x-complete": true, "properties": {"text": {"type": "string"}, "TITLE": {"type": "integer"}}}, "FIXED": {"type": "integer", "x-immutable": true}
		},
		"dependentRequired": {"SEAT": ["HALL"]},
		"x-frozen": {"code": "error.show.frozen", "text": "T", "when": {"properties": {"STATE": {"const": "SHUT"}}, "required": ["STATE"]}, "except": ["STATE", "TAGS"]},
		"x-compare": [{"left": "FROM", "op": "<=", "right": "UNTIL"}],
		"x-exclusive": [{"properties": ["HALL"], "from": "FROM", "to": "UNTIL", "when": {"properties": {"STATE": {"const": "OPEN"}}}}],
		"x-warnings": [{"code": "warning.show.open", "text": "T", "field": "/STATE", "when": {"properties": {"STATE": {"const": "OPEN"}}, "required": ["STATE"]}}],
		"x-validations": [{"rule": "!has(self.SEAT) || self.SEAT < 10 && (!has(self.HIDDEN) || self.HIDDEN != 'x')", "code": "error.show.seat", "text": "T", "field": "/SEAT"}]`,
}

// renamed loads the types with some of the upper-case names in lower case, and x-was.
func renamed(t *testing.T, names []string) *schema.Registry {
	t.Helper()
	files := fstest.MapFS{}
	for name, text := range renamable {
		for _, property := range names {
			head, rest, _ := strings.Cut(text, `"INNER": {`)
			inner, tail, _ := strings.Cut(rest, `"FIXED"`) // whose members keep their names
			low := func(part string) string {
				for _, first := range []string{`"type"`, `"x-ref"`} { // of a declaration
					part = strings.ReplaceAll(part, `"`+property+`": {`+first, `"`+strings.ToLower(property)+`": {"x-was": "`+property+`", `+first)
				}
				for _, form := range []string{`"%s"`, `"%s.`, `.%s"`, `"/%s"`, `self.%s`} {
					part = strings.ReplaceAll(part, fmt.Sprintf(form, property), fmt.Sprintf(form, strings.ToLower(property)))
				}
				return strings.ReplaceAll(part, `"x-was": "`+strings.ToLower(property)+`"`, `"x-was": "`+property+`"`)
			}
			if text = low(head); rest != "" {
				text += `"INNER": {` + inner + low(`"FIXED"`+tail)
			}
		}
		files[name+".json"] = &fstest.MapFile{Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",` + text + `}`)}
	}
	registry, err := schema.Load(schema.Source{FS: base.FS}, schema.Source{Name: "new", FS: files})
	if err != nil {
		t.Fatal(err)
	}
	return registry
}

// properties are the names that can be replaced.
var properties = []string{"CALLED", "CREW", "TITLE", "CODE", "SEAT", "TAGS", "STATE", "FROM", "UNTIL", "NUMBER", "KEEPER", "HALL", "KEY", "HIDDEN", "ABOUT", "FIXED"}

// TestRenamedTypes: whatever properties are renamed, objects are stored, indexed, judged and
// hidden as before.
func TestRenamedTypes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2)) // #nosec G404 -- repeatable
	before := renamed(t, nil)
	for range 20 {
		var names []string
		for _, name := range properties {
			if r.IntN(2) == 0 {
				names = append(names, name)
			}
		}
		after := renamed(t, names)
		for _, name := range []string{"halls", "shows", "teams"} {
			old, _ := before.Type(name)
			now, _ := after.Type(name)
			compareIndexing(t, old, now)
			lacks := func(permission string) bool { return permission == "READ_SHOWS" }
			if a, b := old.Without(lacks), now.Without(lacks); !reflect.DeepEqual(a.Shape.LeftOut, b.Shape.LeftOut) || !reflect.DeepEqual(a.Sort, b.Sort) {
				t.Errorf("%v: others do not see %v, and did not see %v", names, b.Shape.LeftOut, a.Shape.LeftOut)
			}
			if slices.Contains(names, "HIDDEN") && name == "shows" && now.Without(lacks).StoredName("hidden") != "hidden" {
				t.Errorf("%v: others can use the name of what they do not see", names)
			}
		}
		old, _ := before.Type("shows")
		now, _ := after.Type("shows")
		for range 100 {
			compareJudgement(t, r, old, now)
		}
	}
}

// compareIndexing compares what objects of two types are indexed by.
func compareIndexing(t *testing.T, old, now *schema.Type) {
	t.Helper()
	texts := [2]string{}
	for i, of := range []*schema.Type{old, now} {
		n := catalog.IndexingOf(of)
		text, err := n.Encode()
		collection, wrong := catalog.CollectionOf(of)
		if err != nil || wrong != nil {
			t.Fatal(err, wrong)
		}
		slices.SortFunc(collection.Indexes, func(a, b store.Index) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		texts[i] = fmt.Sprintf("%s %+v %v %s %s", text, collection, of.Sequences(), of.Label, of.Parent)
	}
	if texts[0] != texts[1] {
		t.Errorf("%s is indexed by\n%s\nand was by\n%s", now.Name, texts[1], texts[0])
	}
}

// compareJudgement compares what two types say of a random change, and what the object claims.
func compareJudgement(t *testing.T, r *rand.Rand, old, now *schema.Type) {
	t.Helper()
	was, is := randomShow(r), randomShow(r)
	said := [2]string{}
	for i, of := range []*schema.Type{old, now} {
		ctx := context.Background()
		faults, kept, err := of.ValidateChange(ctx, is, was, nil)
		change := &keyword.Change{Before: was, After: is, StateBefore: "ACTIVE", State: "ACTIVE"}
		for _, fault := range faults {
			change.Faulty = append(change.Faulty, fault.Param("field").(string))
		}
		broken, wrong := of.Check(ctx, change)
		warnings, failed := of.Warnings(ctx, is, "ACTIVE")
		if err != nil || wrong != nil || failed != nil {
			t.Fatal(err, wrong, failed)
		}
		n := catalog.IndexingOf(of)
		claims, err := n.Claims(ctx, n.Claimed(), catalogPlace, is, "ACTIVE")
		if err != nil {
			t.Fatal(err)
		}
		terms, err := n.PublicTerms(ctx, is, "ACTIVE")
		if err != nil {
			t.Fatal(err)
		}
		add, drop := n.DiffTerms(is, was)
		said[i] = fmt.Sprint(texts(t, faults), texts(t, kept), texts(t, broken), texts(t, change.Kept), texts(t, warnings), claims, terms, len(add), len(drop))
		sent := of.ServedObject(is)
		of.ToStored(sent, func(name, other string) { t.Errorf("%s and %s differ", name, other) })
		if !document.Equal(sent, is) {
			t.Errorf("%v is stored as %v", is, sent)
		}
	}
	if said[0] != said[1] {
		t.Errorf("from %v to %v:\n%s\nand before:\n%s", was, is, said[1], said[0])
	}
}

// texts returns messages in order.
func texts(t *testing.T, messages []message.Message) []string {
	t.Helper()
	list := make([]string, len(messages))
	for i, m := range messages {
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		list[i] = string(text)
	}
	slices.Sort(list)
	return list
}

// randomShow returns a stored document, which need not be valid.
func randomShow(r *rand.Rand) map[string]any {
	show := map[string]any{"INNER": map[string]any{"TITLE": int64(r.IntN(2)), "text": "some words"}}
	for _, name := range properties[2:] {
		if r.IntN(3) == 0 {
			continue
		}
		switch name {
		case "SEAT", "FROM", "UNTIL", "NUMBER", "FIXED":
			show[name] = int64(r.IntN(12))
		case "STATE":
			show[name] = []string{"OPEN", "SHUT", "GONE"}[r.IntN(3)]
		case "TAGS":
			show[name] = []any{"red", "blue"}[:r.IntN(3)]
		default:
			show[name] = []any{"x", "ab", "abcd", int64(3)}[min(r.IntN(12), 3)]
		}
	}
	return show
}

var catalogPlace = store.Place{Collection: "shows", Network: "main"}
