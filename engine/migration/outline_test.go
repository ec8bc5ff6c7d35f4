package migration

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"marquee/engine/schema"
	"marquee/schemas"
)

// loadTypes loads the type things with some properties, beside other types.
func loadTypes(t *testing.T, properties string, others fs.FS) *schema.Registry {
	t.Helper()
	folder := fstest.MapFS{"things.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "T",
		"x-resource": {"path": "things"}, "type": "object", "properties": {` + properties + `},
		"$defs": {"node": {"type": "object", "properties": {"to": {"x-ref": "things"}, "key": {"type": "string", "x-secret": true}, "child": {"$ref": "#/$defs/node"}}},
			"plain": {"type": "object", "properties": {"to": {"x-ref": "things"}, "key": {"type": "string"}, "child": {"$ref": "#/$defs/plain"}}}}}`)}}
	registry, err := schema.Load(schema.Source{FS: others}, schema.Source{Name: "s", FS: folder})
	if err != nil {
		t.Fatal(err)
	}
	return registry
}

func loadThings(t *testing.T, properties string) *schema.Type {
	t.Helper()
	things, _ := loadTypes(t, properties, fstest.MapFS{"tiers.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "T",
		"x-resource": {"path": "tiers"}, "type": "object", "properties": {"name": {"type": "string"}}}`)}}).Type("things")
	return things
}

// recalled is an outline as it comes back from the store.
func recalled(t *testing.T, o *outline) *outline {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	back := &outline{}
	if err := json.Unmarshal(text, back); err != nil {
		t.Fatal(err)
	}
	return back
}

// TestOutlinesStay: the outline of each type of the service differs in nothing
// from what was remembered of it, and is remembered in the same form.
func TestOutlinesStay(t *testing.T) {
	for _, typ := range loadTypes(t, `"node": {"$ref": "#/$defs/node"}, "map": {"type": "object", "patternProperties": {"^a": {"x-ref": "tiers"}, "b$": {"type": "string"}}, "additionalProperties": {"x-ref": "things"}},
		"tuple": {"type": "array", "prefixItems": [{"x-ref": "tiers"}, {"type": "number"}], "items": {"x-ref": "things"}}`, schemas.FS).Types() {
		now := outlineOf(typ)
		was := recalled(t, now)
		for range 3 {
			if changed := was.differences(now); len(changed) > 0 {
				t.Errorf("%s: %v", typ.Name, changed)
			}
			if said, refused := was.forms(now); len(said)+len(refused) > 0 {
				t.Errorf("%s: %v %v", typ.Name, said, refused)
			}
			before, _ := json.Marshal(was)
			was = recalled(t, was.settle(now))
			after, _ := json.Marshal(was)
			if string(before) != string(after) {
				t.Errorf("%s: %s\nbecame %s", typ.Name, before, after)
			}
			if len(after) > 64<<10 {
				t.Errorf("%s: %d bytes", typ.Name, len(after))
			}
		}
	}
}

// TestOutlineDifferences: what a schema says of values that may be stored.
func TestOutlineDifferences(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{`"a": {"x-ref": "tiers"}`, `"a": {"x-ref": "things"}`, "/properties/a"},
		{`"a": {"x-ref": "tiers"}`, `"b": {"x-ref": "things"}`, ""},
		{`"a": {"type": "object"}`, `"a": {"type": "object", "properties": {"b": {"x-ref": "things"}}}`, "/properties/a/properties/b"},
		{`"a": {"type": "object", "additionalProperties": {"x-ref": "tiers"}}`, `"a": {"type": "object", "properties": {"b": {"x-ref": "things"}}}`, "/properties/a/properties/b"},
		{`"a": {"type": "object", "properties": {"b": {"x-ref": "tiers"}}}`, `"a": {"type": "object", "additionalProperties": {"x-ref": "things"}}`, "/properties/a/properties/b"},
		{`"a": {"type": "object", "patternProperties": {"^b": {"x-ref": "tiers"}}}`, `"a": {"type": "object", "patternProperties": {"^b": {"x-ref": "things"}}}`, "/properties/a/patternProperties/^b"},
		{`"a": {"type": "object", "patternProperties": {"^b": {"x-ref": "tiers"}}}`, `"a": {"type": "object", "patternProperties": {"^c": {"x-ref": "things"}}}`, "/properties/a/patternProperties/^c"},
		{`"a": {"type": "array", "items": {"x-ref": "tiers"}}`, `"a": {"type": "array", "prefixItems": [{"x-ref": "things"}]}`, "/properties/a/prefixItems/0"},
		{`"a": {"type": "string"}`, `"a": {"type": "array", "items": {"x-ref": "things"}}`, "/properties/a"},
		{`"a": {"type": "integer"}`, `"a": {"type": "number"}`, ""},
		{`"a": {"type": "number"}`, `"a": {"type": ["integer", "null"]}`, ""},
		{`"a": {"type": "string"}`, `"a": {"type": ["string", "number"]}`, ""},
		{`"a": {"type": ["string", "number"]}`, `"a": {"type": "number"}`, "/properties/a"},
		{`"a": {"type": "string"}`, `"a": {"enum": [1, 2]}`, "/properties/a"},
		{`"a": {"enum": [1, 2]}`, `"a": {"type": "number"}`, ""},
		{`"a": {"type": "string"}`, `"a": {}`, ""},
		{`"a": {}`, `"a": {"type": "string"}`, "/properties/a"},
		{`"a": {"type": "array", "items": {"type": "string"}}`, `"a": {"type": "array", "items": {"type": "number"}}`, "/properties/a/items"},
		{`"a": {"type": "object", "additionalProperties": {"type": "string"}}`, `"a": {"type": "object", "additionalProperties": {"type": "number"}}`, "/properties/a/additionalProperties"},
		{`"a": {"type": "string"}`, `"b": {"type": "number"}`, ""},
		{`"a": {"type": "string"}`, `"a": {"type": "null"}`, "/properties/a"},
		{`"a": {"type": "null"}`, `"a": {"type": "string"}`, ""},
		{`"a": {"type": "string"}`, `"a": {"not": {"type": "string"}}`, "/properties/a"},
		{`"a": {"type": "number"}`, `"a": {"not": {"type": ["string", "null"]}}`, ""},
		{`"a": {"type": "number"}`, `"a": {"not": {"type": "integer"}}`, ""},
		{`"a": {"type": "string"}`, `"a": {"not": {"type": "string", "maxLength": 2}}`, ""},
		{`"a": {"not": {"type": "string"}}`, `"a": {"type": ["array", "boolean", "number", "object"]}`, ""},
		{`"a": {"type": "number"}`, `"a": {"oneOf": [{"type": "string"}, {"minimum": 3}]}`, ""},
		{`"a": {"type": "number"}`, `"a": {"oneOf": [{"type": "string"}, {"type": "boolean"}, false]}`, "/properties/a"},
		{`"a": {"oneOf": [{"type": "string"}, {"minimum": 3}]}`, `"a": {"type": "string"}`, "/properties/a"},
		{`"a": {"anyOf": [{"type": "string"}, {"type": "number"}]}`, `"a": {"type": ["number", "string"]}`, ""},
		{`"a": {"type": ["number", "string"]}`, `"a": {"type": ["number", "string"], "if": {"type": "string"}, "then": {"maxLength": 2}}`, ""},
		{`"a": {"type": ["number", "string"]}`, `"a": {"if": {"type": "string"}, "then": {"maxLength": 2}, "else": {"type": "object"}}`, "/properties/a"},
		{`"a": {"type": "number"}`, `"a": {"if": {"type": "string"}, "then": {"maxLength": 2}}`, ""},
		{`"a": {"if": {"type": "string"}, "then": {"maxLength": 2}}`, `"a": {"type": "string"}`, "/properties/a"},
		{`"o": {"type": "object", "properties": {"k": {"type": "string"}}, "if": {"required": ["k"]}, "then": {"properties": {"a": {"type": "string"}}}}`, `"o": {"type": "object", "properties": {"k": {"type": "string"}, "a": {"type": "string"}}}`, "/properties/o/properties/a"},
		{`"o": {"type": "object", "properties": {"a": {"type": "number"}}}`, `"o": {"type": "object", "properties": {"a": {}}, "if": {"required": ["a"]}, "then": {"properties": {"a": {"type": "string"}}}}`, ""},
		{`"o": {"type": "object", "properties": {"a": {"type": ["string", "number"]}}}`, `"o": {"type": "object", "if": {"required": ["k"]}, "then": {"properties": {"k": {"type": "string"}, "a": {"type": "string"}}}, "else": {"properties": {"a": {"type": "boolean"}}}}`, "/properties/o/properties/a"},
		{`"o": {"type": "object", "oneOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"a": {"type": "number"}}}]}`, `"o": {"type": "object", "oneOf": [{"properties": {"a": {"type": "string"}}}]}`, "/properties/o/properties/a"},
		{`"a": {"$ref": "#/$defs/node"}`, `"a": {"$ref": "#/$defs/plain"}`, "refused /properties/a/properties/child/properties/key, refused /properties/a/properties/key"},
		{`"a": {"$ref": "#/$defs/plain"}`, `"a": {"$ref": "#/$defs/node"}`, "/properties/a/properties/child/properties/key=sealed, /properties/a/properties/key=sealed"},
		{`"a": {"type": "string"}`, `"a": {"type": "string", "x-secret": true}`, "/properties/a=sealed"},
		{`"a": {"type": "object"}`, `"a": {"type": "object", "properties": {"b": {"type": "string", "x-secret": true}}}`, "/properties/a/properties/b, /properties/a/properties/b=sealed"},
		{`"a": {"type": "string", "x-secret": true}`, `"a": {"type": "string"}`, "refused /properties/a"},
		{`"a": {"type": "string", "x-secret": true}`, `"a": {"type": "string", "x-secret": false}`, "/properties/a=plain"},
		{`"a": {"type": "string", "x-secret": true}`, `"b": {"type": "string"}`, ""},
		{`"a": {"type": "object", "properties": {"b": {"type": "string", "x-secret": true}}}`, `"a": {"type": "object"}`, "refused /properties/a/properties/b"},
	} {
		was, now := recalled(t, outlineOf(loadThings(t, c.before))), outlineOf(loadThings(t, c.after))
		got := slices.Collect(maps.Keys(was.differences(now)))
		said, refused := was.forms(now)
		for place, form := range said {
			got = append(got, place+"="+form)
		}
		for _, place := range refused {
			got = append(got, "refused "+place)
		}
		slices.Sort(got)
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s became %s: %s", c.before, c.after, text)
		}
		// What is not declared for a while is remembered.
		gap := recalled(t, was.settle(outlineOf(loadThings(t, `"z": {"type": "string"}`))))
		if again := fmt.Sprint(gap.differences(now)); again != fmt.Sprint(was.differences(now)) {
			t.Errorf("%s became %s, after a while: %s", c.before, c.after, again)
		}
		if again, _ := gap.forms(now); fmt.Sprint(again) != fmt.Sprint(said) {
			t.Errorf("%s became %s, after a while: %s", c.before, c.after, again)
		}
	}
}

// TestTypesAreSettled: once objects were checked, values have the types that the schema
// declares, until others may be written. Of objects that an earlier version has checked, nothing
// is known.
func TestTypesAreSettled(t *testing.T) {
	text, number, both := loadThings(t, `"a": {"type": "string"}`), loadThings(t, `"a": {"type": "number"}`), loadThings(t, `"a": {"type": ["number", "string"]}`)
	changed := recalled(t, recalled(t, outlineOf(text).with(outlineOf(number))).settle(outlineOf(number)))
	if found := changed.differences(outlineOf(number)); len(found) > 0 {
		t.Errorf("settled: %v", found)
	}
	if found := changed.differences(outlineOf(text)); len(found) != 1 {
		t.Errorf("back to texts: %v", found)
	}
	if found := recalled(t, changed.with(outlineOf(both))).differences(outlineOf(number)); len(found) != 1 {
		t.Errorf("after texts may have been written again: %v", found)
	}
	earlier := &outline{}
	if err := json.Unmarshal([]byte(`{"nodes": [{"kinds": ["object"], "members": {"a": 1}}, {"kinds": ["number", "string"]}]}`), earlier); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if found := earlier.differences(outlineOf(number)); len(found) > 0 {
			t.Errorf("of an earlier version: %v", found)
		}
		earlier = recalled(t, recalled(t, earlier.with(outlineOf(number))))
	}
	if found := recalled(t, earlier.settle(outlineOf(number))).differences(outlineOf(text)); len(found) != 1 {
		t.Errorf("once it is settled: %v", found)
	}
}
