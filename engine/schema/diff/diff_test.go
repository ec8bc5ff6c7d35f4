package diff_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"marquee/engine/schema"
	"marquee/engine/schema/diff"
	"marquee/schemas/base"
)

// renames returns a schema that mentions a property everywhere.
func renames(name string) string {
	return strings.ReplaceAll(`"x-resource": {"path": "things", "label": "team", "sort": ["NAME"], "index": [["NAME", "createTime"]],
		"unique": ["NAME", {"properties": ["NAME", "team"], "when": {"properties": {"NAME": {"const": 1}}, "required": ["NAME"]}}],
		"public": {"when": {"properties": {"NAME": {"const": 2}}}}},
		"required": ["NAME"], "properties": {"NAME": {"type": "integer"}, "end": {"type": "integer"}, "team": {"type": "string"}},
		"allOf": [{"if": {"properties": {"NAME": {"const": 1}}, "required": ["NAME"]}, "then": {"required": ["team"]}}],
		"dependentRequired": {"NAME": ["end"], "team": ["NAME"]}, "dependentSchemas": {"NAME": {"required": ["end"]}},
		"x-frozen": {"code": "error.a.b", "text": "T", "when": {"properties": {"NAME": {"const": 3}}}, "except": ["NAME"]},
		"x-compare": [{"left": "NAME", "op": "<", "right": "end"}],
		"x-exclusive": [{"properties": ["team"], "from": "NAME", "to": "end"}],
		"x-validations": [{"rule": "self.NAME > 0 && (oldSelf.NAME < self.NAME)", "code": "error.c.d", "text": "T", "field": "/NAME"}]`, "NAME", name)
}

// rules has a change for each rule, and one that only just avoids it. They are the members
// of a type besides $schema and type; without x-resource, its path is things.
var rules = []struct {
	rule, classes  string
	old, new, near string
}{
	{"type-removed", "STORED REQUEST RESPONSE SOURCE", one(`{}`), `"x-resource": {"path": "others"}, "properties": {}`, one(`{"type": "string"}`)},
	{"scope-changed", "STORED REQUEST RESPONSE SOURCE", with(``), with(`"scope": "global"`), with(`"scope": "network"`)},
	{"method-removed", "REQUEST SOURCE", with(`"methods": ["GET", "POST", "PUT"]`), with(`"methods": ["GET", "POST"]`), with(`"methods": ["PUT", "GET", "POST"]`)},
	{"id-required", "REQUEST", with(``), with(`"id": "required"`), with(`"id": "generated"`)},
	{"id-property-changed", "REQUEST RESPONSE SOURCE", with(`"idProperty": "number"`), with(``), with(`"idProperty": "number", "group": "A"`)},
	{"permission-changed", "REQUEST", with(`"permission": "MANAGE_THINGS"`), with(`"permission": "MANAGE_ALL"`), with(`"permissions": {"write": "MANAGE_THINGS", "create": "MANAGE_THINGS"}`)},
	{"permission-changed", "REQUEST RESPONSE", secret(`"permission": "V"`), secret(`"permission": "W"`), secret(`"permissions": {"write": "V", "create": "V"}`)},
	{"permission-changed", "REQUEST", secret(`"permission": "V"`), secret(`"permissions": {"write": "V", "create": "W"}`), secret(`"permission": "V"`)},
	{"read-permission-changed", "REQUEST RESPONSE SOURCE", with(`"permissions": {"write": "W"}`), with(`"permissions": {"read": "R", "write": "W"}`), with(`"permission": "W"`)},
	{"read-permission-changed", "REQUEST RESPONSE", with(`"permissions": {"read": "S", "write": "W"}`), with(`"permissions": {"read": "R", "write": "W"}`), with(`"permissions": {"read": "S", "write": "W", "create": "W"}`)},
	{"read-permission-changed", "REQUEST RESPONSE", with(`"permission": "W", "public": {}`), with(`"permissions": {"read": "R", "write": "W"}, "public": {}`), with(`"permissions": {"write": "W"}, "public": {}`)},
	{"visibility-changed", "RESPONSE", team(`"team": "team"`), team(``), team(`"team": ["team"]`)},
	{"visibility-changed", "REQUEST RESPONSE", team(``), team(`"team": "team"`), team(`"group": "A"`)},
	{"visibility-changed", "RESPONSE", owner(``), owner(`"owner": "user"`), owner(`"group": "A"`)},
	{"visibility-changed", "REQUEST RESPONSE", owner(`"owner": "user"`), owner(``), owner(`"owner": ["user"]`)},
	{"visibility-changed", "RESPONSE", with(`"public": ` + when(`"A"`)), with(`"public": ` + when(`"A", "B"`)), with(`"public": ` + when(`"A"`) + `, "group": "A"`)},
	{"visibility-changed", "REQUEST RESPONSE", with(`"public": ` + when(`"A", "B"`)), with(`"public": ` + when(`"A"`)), with(`"public": ` + when(`"B", "A"`))},
	{"visibility-changed", "RESPONSE", with(``), with(`"public": {}`), with(`"group": "A"`)},
	{"visibility-changed", "REQUEST RESPONSE", one(`{"type": "string", "x-readable": "R"}`), `"x-resource": {"path": "things", "public": {}}, ` + one(`{"type": "string", "x-readable": "R"}`), one(`{"type": "string", "x-readable": "R", "title": "A"}`)},
	{"visibility-changed", "REQUEST RESPONSE", with(`"public": {}`), with(``), with(`"public": {}, "group": "A"`)},
	{"visibility-changed", "REQUEST RESPONSE SOURCE", with(`"permissions": {"read": "R", "write": "W"}, "public": {}`), with(`"permissions": {"read": "R", "write": "W"}`), with(`"permissions": {"read": "R", "write": "W"}, "public": {}, "group": "A"`)},
	{"visibility-changed", "RESPONSE", with(`"permissions": {"read": "R", "write": "W"}`), with(`"permission": "W"`), with(`"permissions": {"read": "S", "write": "W"}`)},
	{"visibility-changed", "RESPONSE", one(`{"type": "string", "x-readable": "R"}`), one(`{"type": "string"}`), one(`{"type": "string", "x-readable": "S"}`)},
	{"visibility-changed", "RESPONSE", one(`{"type": "string", "x-secret": true}`), one(`{"type": "string", "x-secret": false}`), one(`{"type": "string", "x-secret": true, "title": "A"}`)},
	{"visibility-changed", "RESPONSE", one(`{"type": "string", "writeOnly": true}`), one(`{"type": "string"}`), one(`{"type": "string", "writeOnly": true, "title": "A"}`)},
	{"label-changed", "RESPONSE", with(`"label": "a"`), with(`"label": "b"`), with(`"label": "a", "sort": ["b"]`)},
	{"parent-changed", "REQUEST RESPONSE SOURCE", parent(``), parent(`"parent": "team"`), parent(`"group": "A"`)},
	{"parent-changed", "REQUEST RESPONSE SOURCE", parent(`"parent": "team"`), parent(``), parent(`"parent": "team", "group": "A"`)},
	{"removal-added", "RESPONSE", with(``), with(`"methods": ["GET", "PUT", "DELETE"]`), with(`"methods": ["GET", "PUT"]`)},
	{"erasure-removed", "REQUEST SOURCE", one(`{"type": "string", "x-personal": true}`), one(`{"type": "string"}`), `"properties": {"a": {"type": "string"}, "c": {"type": "number", "x-personal": true}, "d": {"type": "number"}}`},
	{"title-changed", "SOURCE", `"title": "Thing", ` + one(`{}`), `"title": "Good", ` + one(`{}`), `"title": "Thing", ` + one(`{"title": "Good"}`)},
	{"pages-removed", "RESPONSE SOURCE", with(``), with(`"page": false`), with(`"page": true`)},
	{"path-reserved", "STORED REQUEST", with(`"paths": ["x"]`), with(`"paths": ["x", "y"]`), with(``)},
	{"sort-removed", "REQUEST SOURCE", with(`"sort": ["a", "b"]`), with(`"sort": ["b"]`), with(`"sort": ["b", "a"]`)},
	{"search-removed", "REQUEST SOURCE", with(`"search": ["a"]`), with(``), with(`"search": ["a", "b"]`)},
	{"search-changed", "RESPONSE", with(`"search": ["a", "b"]`), with(`"search": ["b"]`), with(`"search": ["b", "a"]`)},
	{"unique-added", "STORED REQUEST", with(`"unique": ["a"]`), with(`"unique": ["a", "b"]`), with(`"unique": ["a"], "sort": ["b"]`)},
	{"unique-added", "STORED REQUEST", with(`"unique": [{"properties": ["b"], "when": ` + condition(`"A"`) + `}]`), with(`"unique": ["b"]`), with(`"unique": [{"properties": ["b"], "when": ` + condition(`"A"`) + `}], "sort": ["b"]`)},
	{"unique-added", "STORED REQUEST", with(`"unique": ["b"]`), with(`"unique": [["a", "b"]]`), with(`"unique": [{"properties": ["b"], "when": ` + condition(`"A"`) + `}]`)},
	{"unique-removed", "RESPONSE", with(`"unique": ["a", "b"]`), with(`"unique": ["a"]`), with(`"unique": ["b", "a"]`)},
	{"rule-added", "STORED REQUEST", one(`{}`), one(`{}`) + compare, one(`{"title": "A"}`)},
	{"rule-added", "REQUEST", one(`{}`) + frozen(`"a", "c"`), one(`{}`) + frozen(`"c"`), one(`{}`) + frozen(`"c", "a", "d"`)},
	{"rule-added", "STORED REQUEST", one(`{}`) + validation("1"), one(`{}`) + validation("2"), one(`{}`) + validation("1")},
	{"rule-added", "STORED REQUEST", one(`{"type": "string"}`) + exclusive(`"A"`), one(`{"type": "string"}`) + exclusive(`"A", "B"`), one(`{"type": "string"}`) + exclusive(`"A"`)},
	{"rule-added", "STORED REQUEST", one(`{"type": "string"}`) + exclusive(`"A", "B"`), one(`{"type": "string"}`) + exclusive(`"A", "C"`), one(`{"type": "string"}`) + exclusive(`"B"`)},
	{"rule-removed", "RESPONSE", one(`{"type": "string"}`) + exclusive(`"A", "B"`), one(`{"type": "string"}`) + exclusive(`"B"`), one(`{"type": "string"}`) + exclusive(`"A", "B", "C"`)},
	{"rule-removed", "RESPONSE", one(`{}`) + compare, one(`{}`), one(`{}`) + compare},
	{"rule-removed", "RESPONSE", one(`{}`) + validation("1"), one(`{}`) + validation("2"), one(`{}`) + validation("1")},
	{"type-narrowed", "STORED REQUEST SOURCE", one(`{"type": ["string", "integer"]}`), one(`{"type": "string"}`), one(`{"type": ["integer", "string"]}`)},
	{"type-widened", "RESPONSE SOURCE", one(`{"type": "integer"}`), one(`{"type": "number"}`), one(`{"allOf": [{"type": "integer"}]}`)},
	{"enum-added", "STORED REQUEST SOURCE", one(`{"type": "string"}`), one(`{"type": "string", "enum": ["A"]}`), one(`{"type": "string", "examples": ["A"]}`)},
	{"enum-removed", "RESPONSE SOURCE", one(`{"type": "string", "enum": ["A"]}`), one(`{"type": "string"}`), one(`{"type": "string", "const": "A"}`)},
	{"enum-value-removed", "STORED REQUEST SOURCE", one(`{"enum": ["A", "B"]}`), one(`{"enum": ["A"]}`), one(`{"enum": ["B", "A"]}`)},
	{"enum-value-renamed", "SOURCE", one(`{"type": "string", "enum": ["A", "B"]}`), one(`{"type": "string", "enum": ["C", "B"], "x-was-values": {"A": "C"}}`), one(`{"type": "string", "enum": ["A", "B", "C"]}`)},
	{"former-value-removed", "STORED REQUEST", one(`{"type": "string", "enum": ["C", "B"], "x-was-values": {"A": "C"}}`), one(`{"type": "string", "enum": ["C", "B"]}`), one(`{"type": "string", "enum": ["C", "B"], "x-was-values": {"A": "C", "D": "B"}}`)},
	{"enum-value-added", "RESPONSE SOURCE", one(`{"enum": ["A", "B"]}`), one(`{"enum": ["A", "B", "C"]}`), one(`{"allOf": [{"enum": ["A", "B", "C"]}, {"enum": ["B", "A"]}]}`)},
	{"bound-tightened", "STORED REQUEST", one(`{"type": "number", "minimum": 1}`), one(`{"type": "number", "exclusiveMinimum": 1}`), one(`{"type": "number", "minimum": 1.0}`)},
	{"bound-loosened", "RESPONSE", one(`{"type": "string", "maxLength": 5}`), one(`{"type": "string", "maxLength": 6}`), one(`{"type": "string", "maxLength": 5, "description": "A"}`)},
	{"constraint-added", "STORED REQUEST", one(`{"type": "string"}`), one(`{"type": "string", "pattern": "^a"}`), one(`{"type": "string", "title": "^a"}`)},
	{"bound-tightened", "STORED REQUEST SOURCE", one(`{"type": "object"}`), one(`{"type": "object", "minProperties": 1}`), one(`{"type": "object", "title": "A"}`)},
	{"bound-tightened", "STORED REQUEST", one(`{"type": "object", "minProperties": 1}`), one(`{"type": "object", "minProperties": 2}`), one(`{"type": "object"}`)},
	{"bound-loosened", "RESPONSE SOURCE", one(`{"type": "object", "maxProperties": 1}`), one(`{"type": "object"}`), one(`{"type": "object", "maxProperties": 1, "title": "A"}`)},
	{"constraint-added", "STORED REQUEST SOURCE", one(`{"type": "string"}`), one(`{"type": "string", "format": "date"}`), one(`{"type": "string", "title": "date"}`)},
	{"constraint-removed", "RESPONSE", one(`{"type": "string", "pattern": "^a"}`), one(`{"type": "string"}`), one(`{"type": "string", "allOf": [{"pattern": "^a"}]}`)},
	{"constraint-removed", "RESPONSE SOURCE", one(`{"type": "array", "uniqueItems": true}`), one(`{"type": "array"}`), one(`{"type": "array", "allOf": [{"uniqueItems": true}]}`)},
	{"constraint-loosened", "RESPONSE SOURCE", one(`{"anyOf": [{"type": "string"}, {"type": "null"}]}`), one(`{"anyOf": [{"type": "string"}, {"type": "null"}, {"type": "integer"}]}`), one(`{"anyOf": [{"type": "null"}, {"type": "string", "title": "A"}]}`)},
	{"constraint-changed", "undecided", one(`{"type": "string", "pattern": "^a"}`), one(`{"type": "string", "pattern": "^(a|b)"}`), one(`{"type": "string", "pattern": "^a", "title": "A"}`)},
	{"property-removed", "STORED REQUEST SOURCE", `"properties": {"a": {}, "b": {}}`, `"properties": {"a": {}}`, `"properties": {"a": {}, "b": {}, "c": {}}`},
	{"property-removed", "STORED REQUEST SOURCE", one(`{"x-was": "z"}`), one(`{}`), one(`{"x-was": ["z", "y"]}`)},
	{"property-renamed", "RESPONSE SOURCE", renames("a"), strings.Replace(renames("b"), `{"type": "integer"}`, `{"type": "integer", "x-was": "a"}`, 1), renames("a")},
	{"type-widened", "RESPONSE SOURCE", `"properties": {"a": {"type": "string"}}`, `"properties": {"a": {"type": ["string", "integer"], "x-was": "z"}}`, `"properties": {"a": {"type": "string", "x-was": "z"}}`},
	{"property-renamed", "RESPONSE SOURCE", one(`{"x-was": "z"}`), `"properties": {"b": {"x-was": ["z", "a"]}}`, one(`{"x-was": ["z", "y"]}`)},
	{"name-removed", "REQUEST SOURCE", one(`{"x-was": ["z", "y"]}`), one(`{"x-was": ["z"]}`), one(`{"x-was": ["z", "y", "x"]}`)},
	{"property-undeclared", "SOURCE", `"properties": {"a": {}, "b": {}}, "additionalProperties": {}`, `"properties": {"a": {}}, "additionalProperties": {}`, `"properties": {"b": {}, "a": {}}, "additionalProperties": {}`},
	{"property-required", "STORED REQUEST SOURCE", one(`{"type": "string"}`), one(`{"type": "string"}`) + `, "required": ["a"]`, one(`{"type": "string", "default": "x"}`) + `, "required": ["a"]`},
	{"property-required", "STORED", `"properties": {"a": {"x-ref": "teams"}}`, `"properties": {"a": {"x-ref": "teams", "default": "main"}}, "required": ["a"]`, `"properties": {"a": {"x-ref": "teams", "default": "main"}}`},
	{"property-optional", "RESPONSE SOURCE", one(`{}`) + `, "required": ["a"]`, one(`{}`), one(`{}`) + `, "allOf": [{"required": ["a"]}]`},
	{"default-removed", "REQUEST", one(`{"type": "string", "default": "x"}`) + `, "required": ["a"]`, one(`{"type": "string"}`) + `, "required": ["a"]`, one(`{"type": "string", "default": "y"}`) + `, "required": ["a"]`},
	{"members-closed", "STORED REQUEST SOURCE", one(`{"type": "object"}`), one(`{"type": "object", "properties": {"b": {}}}`), one(`{"type": "object", "title": "A"}`)},
	{"members-opened", "RESPONSE SOURCE", one(`{"type": "object", "properties": {"b": {}}}`), one(`{"type": "object", "properties": {"b": {}}, "additionalProperties": true}`), one(`{"type": "object", "properties": {"b": {}, "c": {}}}`)},
	{"members-refused", "REQUEST", one(`{"type": "object", "properties": {"b": {}}}`), one(`{"type": "object", "properties": {"b": {}}, "additionalProperties": false}`), one(`{"type": "object", "properties": {"b": {"title": "B"}}}`)},
	{"pattern-added", "undecided", one(`{"type": "object"}`), one(`{"type": "object", "patternProperties": {"^b": {"type": "string"}}, "additionalProperties": true}`), one(`{"type": "object", "description": "^b"}`)},
	{"pattern-removed", "undecided", one(`{"type": "object", "patternProperties": {"^b": {"type": "string"}}, "additionalProperties": true}`), one(`{"type": "object", "additionalProperties": true}`), one(`{"type": "object", "patternProperties": {"^b": {"type": "string", "title": "B"}}, "additionalProperties": true}`)},
	{"value-refused", "STORED REQUEST SOURCE", one(`{"type": "object", "properties": {"b": {}}}`), one(`{"type": "object", "properties": {"b": false}}`), one(`{"type": "object", "properties": {"b": true}}`)},
	{"value-accepted", "RESPONSE SOURCE", one(`{"type": "object", "properties": {"b": false}}`), one(`{"type": "object", "properties": {"b": {}}}`), one(`{"type": "object", "properties": {"b": false, "c": {}}}`)},
	{"keyword-added", "REQUEST", one(`{"type": "string"}`), one(`{"type": "string", "x-immutable": true}`), one(`{"type": "string", "x-personal": true}`)},
	{"keyword-added", "REQUEST RESPONSE", one(`{"type": "string"}`), one(`{"type": "string", "x-secret": true}`), one(`{"type": "string", "x-secret": false}`)},
	{"keyword-added", "RESPONSE", one(`{"type": "object", "properties": {"b": {"type": "string"}}}`), one(`{"type": "object", "x-complete": true, "properties": {"b": {"type": "string"}}}`), one(`{"type": "object", "title": "A", "properties": {"b": {"type": "string"}}}`)},
	{"keyword-added", "STORED REQUEST RESPONSE SOURCE", one(`{"type": "string"}`), one(`{"type": "string", "writeOnly": true}`), one(`{"type": "string", "writeOnly": false}`)},
	{"keyword-added", "REQUEST RESPONSE SOURCE", one(`{"type": "string"}`), one(`{"type": "string", "x-readable": "R"}`), one(`{"type": "string", "title": "R"}`)},
	{"keyword-changed", "REQUEST RESPONSE", one(`{"type": "string", "x-readable": "R"}`), one(`{"type": "string", "x-readable": "S"}`), one(`{"type": "string", "x-readable": "R", "title": "A"}`)},
	{"keyword-removed", "RESPONSE SOURCE", one(`{"type": "object", "x-complete": true, "properties": {"b": {"type": "string"}}}`), one(`{"type": "object", "properties": {"b": {"type": "string"}}}`), one(`{"type": "object", "x-complete": true, "properties": {"b": {"type": "string"}, "c": {"type": "string"}}}`)},
	{"keyword-removed", "RESPONSE", one(`{"type": "string", "x-personal": true}`), one(`{"type": "string"}`), one(`{"type": "string", "x-personal": true, "title": "A"}`)},
	{"keyword-changed", "REQUEST", one(`{"enum": ["A", "B", "C"], "x-initial": ["A", "B"]}`), one(`{"enum": ["A", "B", "C"], "x-initial": ["B"]}`), one(`{"enum": ["A", "B", "C"], "x-initial": ["C", "B", "A"]}`)},
	{"keyword-changed", "REQUEST", one(`{"enum": ["A", "B"], "x-initial": ["A"]}`), one(`{"enum": ["A", "B"], "x-initial": ["B"]}`), one(`{"enum": ["A", "B"], "x-initial": ["A"], "x-personal": true}`)},
	{"step-removed", "REQUEST", one(`{"type": "string", "enum": ["A", "B"], "x-transitions": {"A": ["B"], "B": ["A"]}}`), one(`{"type": "string", "enum": ["A", "B"], "x-transitions": {"A": ["B"], "B": []}}`), one(`{"type": "string", "enum": ["A", "B"]}`)},
	{"step-removed", "REQUEST", one(`{"type": "string", "enum": ["A", "B", "C"], "x-initial": ["A"], "x-transitions": {"A": ["B"], "B": ["C"]}}`), one(`{"type": "string", "enum": ["A", "B", "C"], "x-initial": ["A"], "x-transitions": {"A": ["B", "C"], "B": ["A"]}}`), one(`{"type": "string", "enum": ["A", "B", "C"], "x-initial": ["A", "C"], "x-transitions": {"A": ["B", "C"], "B": ["C", "A"]}}`)},
	{"step-removed", "REQUEST", one(`{"type": "string", "enum": ["A", "B", "C"], "x-transitions": {"A": ["C"]}}`), one(`{"type": "string", "enum": ["A", "B", "C"], "x-transitions": {"A": ["C"], "B": ["C"]}}`), one(`{"type": "string", "enum": ["A", "B", "C"], "x-transitions": {"A": ["C"], "B": ["C", "A"]}}`)},
	{"step-removed", "REQUEST", one(`{"type": "string", "enum": ["A", "B", "C"], "x-initial": ["A"], "x-transitions": {"A": ["C"], "B": ["A"]}}`), one(`{"type": "string", "enum": ["A", "B", "C"], "x-initial": ["C"], "x-transitions": {"A": ["C"]}}`), one(`{"type": "string", "enum": ["A", "B", "C"], "x-initial": ["A"], "x-transitions": {"A": ["C"]}}`)},
	{"step-guarded", "REQUEST", one(`{"type": "string", "enum": ["A", "B"], "x-transitions": {"A": ["B"], "B": []}}`), one(`{"type": "string", "enum": ["A", "B"], "x-transitions": {"A": [{"to": "B", "permission": "P"}], "B": []}}`), one(`{"type": "string", "enum": ["A", "B"], "x-transitions": {"A": ["B"], "B": ["A"]}}`)},
	{"type-renamed", "RESPONSE SOURCE", `"x-resource": {"path": "parts"}, "properties": {}`, with(`"was": "parts"`), `"x-resource": {"path": "parts", "was": "things"}, "properties": {}`},
	{"path-removed", "REQUEST SOURCE", with(`"was": ["parts", "items"]`), with(`"was": "parts"`), with(`"was": ["parts", "pieces", "items"]`)},
	{"type-removed", "STORED REQUEST RESPONSE SOURCE", with(`"was": "parts"`), with(``), with(`"was": ["parts", "pieces"]`)},
	{"too-complex", "undecided", one(`{}`), cyclic(27), cyclic(8)},
	{"accepts-nothing", "", one(`{}`), with(`"accepts": [{"rule": "property-removed", "at": "/properties/z", "reason": "R"}]`), one(`{}`)},
}

// texts has changes, each with a part of what is said of it.
var texts = []struct{ text, old, new string }{
	{"the type things is removed: its objects can no longer be read", one(`{}`), `"x-resource": {"path": "others"}, "properties": {}`},
	{"the method PUT, and PATCH with it, is no longer supported", with(``), with(`"methods": ["GET", "HEAD", "POST"]`)},
	{"can no longer be read, until the former scope is served again", with(`"scope": "global"`), with(``)},
	{"team: roles of scope TEAM show only the objects of their teams", team(``), team(`"team": "team"`)},
	{"team: roles of scope TEAM show all objects", team(`"team": "team"`), team(``)},
	{"owner: roles of scope OWN show what belongs to their holders", owner(``), owner(`"owner": "user"`)},
	{"owner: roles of scope OWN show no object any more", owner(`"owner": "user"`), owner(``)},
	{"public: anybody sees objects that only roles showed", with(``), with(`"public": {}`)},
	{"and owners no longer see properties with x-readable", one(`{"type": "string", "x-readable": "R"}`), `"x-resource": {"path": "things", "public": {}}, ` + one(`{"type": "string", "x-readable": "R"}`)},
	{"who does not see the parent of objects can neither list nor write them", parent(``), parent(`"parent": "team"`)},
	{"public: only roles show objects that anybody saw; this concerns names in references to them, too", with(`"public": {}`), with(`"public": ` + when(`"A"`))},
	{"public: other objects are public", with(`"public": ` + when(`"A"`)), with(`"public": ` + when(`"B"`))},
	{"fields and excludeIfMissing cannot name it", one(`{"type": "object", "properties": {"b": {"type": "string"}}}`), one(`{"type": "object", "properties": {"b": {"type": "string", "writeOnly": true}}}`)},
	{`one more rule of unique values, and the set is refused while stored objects share them: ["b","d"]`, `"x-resource": {"path": "things"}, "properties": {"a": {"type": "string"}, "d": {"type": "string"}}`, `"x-resource": {"path": "things", "unique": [["b", "d"]]}, "properties": {"b": {"type": "string", "x-was": "a"}, "d": {"type": "string"}}`},
	{"the property b is called c in answers", `"properties": {"b": {"type": "string"}}`, `"properties": {"c": {"type": "string", "x-was": "b"}}`},
}

// TestTexts: a text says whom a change concerns, and names what is written in the files.
func TestTexts(t *testing.T) {
	for _, c := range texts {
		if found := diff.Sets(loadType(t, c.old), loadType(t, c.new)); !slices.ContainsFunc(found, func(d diff.Difference) bool { return strings.Contains(d.Text, c.text) }) {
			t.Errorf("%s: %v", c.text, found)
		}
	}
}

const compare = `, "x-compare": [{"left": "c", "op": "<", "right": "d"}]`

// frozen is x-frozen with properties that can change.
func frozen(except string) string {
	return `, "x-frozen": {"code": "error.frozen", "text": "Frozen.", "when": {"required": ["a"]}, "except": [` + except + `]}`
}

// validation is a rule in CEL with a limit.
func validation(limit string) string {
	return fmt.Sprintf(`, "x-validations": [{"rule": "!has(self.c) || self.c > %s.0", "code": "error.things.small", "text": "It is too small."}]`, limit)
}

// one is a type with a property a, and two numbers.
func one(schema string) string {
	return `"properties": {"a": ` + schema + `, "c": {"type": "number"}, "d": {"type": "number"}}`
}

// cyclic is a type with definitions each of which has the one before twice, and the first one
// the last.
func cyclic(levels int) string {
	definitions := []string{fmt.Sprintf(`"d0": {"type": "object", "additionalProperties": {"$ref": "#/$defs/d%d"}}`, levels)}
	for i := range levels {
		definitions = append(definitions, fmt.Sprintf(`"d%d": {"type": "object", "additionalProperties": {"$ref": "#/$defs/d%[2]d"}, "patternProperties": {"^a": {"$ref": "#/$defs/d%[2]d"}}}`, i+1, i))
	}
	return one(fmt.Sprintf(`{"$ref": "#/$defs/d%d"}`, levels)) + `, "$defs": {` + strings.Join(definitions, ", ") + `}`
}

// with is a type with more members of x-resource.
func with(members string) string {
	if members != "" {
		members = ", " + members
	}
	return `"x-resource": {"path": "things"` + members + `}, "properties": {"a": {"type": "string"}, "b": {"type": "string"}}`
}

// secret is with, and one of the properties is a secret.
func secret(members string) string {
	return strings.Replace(with(members), `"b": {"type": "string"}`, `"b": {"type": "string", "x-secret": true}`, 1)
}

func team(members string) string {
	return strings.TrimSuffix(with(members), "}") + `, "team": {"$ref": "common/reference.json", "x-ref": "teams"}}`
}

func owner(members string) string {
	return strings.TrimSuffix(with(members), "}") + `, "user": {"$ref": "common/reference.json", "x-ref": "users"}}`
}

// condition accepts objects by their property a.
func condition(values string) string {
	return `{"properties": {"a": {"enum": [` + values + `]}}, "required": ["a"]}`
}

func when(values string) string { return `{"when": ` + condition(values) + `}` }

func exclusive(values string) string {
	return `, "x-exclusive": [{"properties": ["a"], "from": "c", "to": "d", "when": ` + condition(values) + `}]`
}

func parent(members string) string {
	return strings.TrimSuffix(with(members), "}") + `, "team": {"$ref": "common/reference.json", "x-ref": "teams", "x-immutable": true}}, "required": ["team"]`
}

// loadType loads a type with the built-in ones.
func loadType(t *testing.T, members string) *schema.Registry {
	t.Helper()
	if !strings.Contains(members, "x-resource") {
		members = `"x-resource": {"path": "things"}, ` + members
	}
	text := `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",` + "\n" + members + "}"
	registry, err := schema.Load(schema.Source{FS: base.FS}, schema.Source{Name: "new", FS: fstest.MapFS{"things.json": {Data: []byte(text)}}})
	if err != nil {
		t.Fatalf("%s: %v", members, err)
	}
	return registry
}

// TestRules shows each rule by a change, and another change that only just avoids it.
func TestRules(t *testing.T) {
	shown := map[string]bool{}
	for _, c := range rules {
		shown[c.rule] = true
		t.Run(c.rule, func(t *testing.T) {
			old := loadType(t, c.old)
			found := diff.Sets(old, loadType(t, c.new))
			i := slices.IndexFunc(found, func(d diff.Difference) bool { return d.Rule == c.rule })
			if i < 0 {
				t.Fatalf("it is not found; only %v", found)
			}
			classes := strings.Trim(fmt.Sprint(found[i].Classes), "[]")
			if found[i].Undecided {
				classes = "undecided"
			}
			if classes != c.classes {
				t.Errorf("its classes are %s", classes)
			}
			if found[i].Line == 0 || found[i].File != "new/things.json" || found[i].Text == "" {
				t.Errorf("it is at %+v", found[i])
			}
			if found = diff.Sets(old, loadType(t, c.near)); slices.ContainsFunc(found, func(d diff.Difference) bool { return d.Rule == c.rule }) {
				t.Errorf("what avoids it has %v", found)
			}
		})
	}
	page, err := os.ReadFile("../../../docs/reference/schema-changes.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z][a-z-]+)` \\|").FindAllStringSubmatch(string(page), -1) {
		if rule := row[1]; !shown[rule] {
			t.Errorf("the page has the rule %s, which is not shown here", rule)
		}
		delete(shown, row[1])
	}
	if len(shown) > 0 {
		t.Errorf("the page lacks %v", shown)
	}
}

// TestSame finds nothing between a set and itself, or what differs in texts only.
func TestSame(t *testing.T) {
	for _, c := range rules {
		for _, members := range []string{c.old, c.new} {
			if strings.Contains(members, "accepts") || c.rule == "too-complex" {
				continue
			}
			if found := diff.Sets(loadType(t, members), loadType(t, members)); len(found) > 0 {
				t.Errorf("%s: %v", members, found)
			}
		}
	}
}

// TestRenamed: of a type that mentions a property everywhere, nothing but the name in answers
// changes, and rules are compared as before.
func TestRenamed(t *testing.T) {
	renamed := strings.Replace(renames("beta"), `{"type": "integer"}`, `{"type": "integer", "x-was": "alpha"}`, 1)
	found := diff.Sets(loadType(t, renames("alpha")), loadType(t, renamed))
	if len(found) != 1 || found[0].Rule != "property-renamed" || found[0].Pointer != "/properties/beta" {
		t.Errorf("%v", found)
	}
	if names := diff.Concerned(loadType(t, renames("alpha")), loadType(t, renamed)); len(names) > 0 {
		t.Errorf("stored objects of %v are concerned", names)
	}
	stricter := strings.Replace(renamed, `"type": "integer", `, `"type": "integer", "maximum": 5, `, 1)
	found = diff.Sets(loadType(t, renames("alpha")), loadType(t, stricter))
	if len(found) != 2 || found[0].Rule != "bound-tightened" && found[1].Rule != "bound-tightened" || found[0].Line == 1 {
		t.Errorf("%v", found)
	}
	if found = diff.Sets(loadType(t, renamed), loadType(t, renames("alpha"))); len(found) != 2 || found[1].Rule != "property-renamed" {
		t.Errorf("back: %v", found)
	}
}

// TestRenamedType: nothing but the path changes, in whatever schema refers to the type.
func TestRenamedType(t *testing.T) {
	load := func(path, was, target string) *schema.Registry {
		return loadType(t, fmt.Sprintf(`"x-resource": {"path": %q%s}, "properties": {"one": {"type": "string", "x-ref": %q},
			"all": {"type": "array", "items": {"type": "string", "x-ref": {"type": %q}}}, "either": {"type": "object", "properties": {"a": {"type": "boolean"}, "b": {"type": "string"}}, "if": {"required": ["a"]}, "then": {"properties": {"b": {"x-ref": %q}}}}}`,
			path, was, target, target, target))
	}
	old, renamed := load("parts", "", "parts"), load("things", `, "was": "parts"`, "things")
	if found := diff.Sets(old, renamed); len(found) != 1 || found[0].Rule != "type-renamed" || found[0].Pointer != "/x-resource/path" || found[0].Type != "things" {
		t.Errorf("%v", found)
	}
	if names := diff.Concerned(old, renamed); len(names) > 0 {
		t.Errorf("stored objects of %v are concerned", names)
	}
	back := diff.Sets(renamed, old)
	if slices.SortFunc(back, func(a, b diff.Difference) int { return strings.Compare(a.Rule, b.Rule) }); len(back) != 2 || back[0].Rule != "path-removed" || back[1].Rule != "type-renamed" {
		t.Errorf("back: %v", back)
	}
	if back[0].Cure != "write was, with parts first and the path at the end" {
		t.Errorf("a rename that is taken back has the cure %s", back[0].Cure)
	}
	if found := diff.Sets(renamed, load("parts", `, "was": ["parts", "things"]`, "parts")); len(found) != 1 || found[0].Rule != "type-renamed" {
		t.Errorf("back, with the path between: %v", found)
	}
	elsewhere := diff.Sets(old, load("things", `, "was": "parts"`, "teams"))
	if !slices.ContainsFunc(elsewhere, func(d diff.Difference) bool {
		return d.Rule == "keyword-changed" && d.Pointer == "/properties/one/x-ref"
	}) {
		t.Errorf("references to another type: %v", elsewhere)
	}
	accepted := load("things", `, "was": "parts", "accepts": [{"rule": "type-renamed", "at": "/x-resource/path", "reason": "R"}]`, "things")
	if found := diff.Sets(old, accepted); len(found) != 1 || found[0].Accepted != "R" {
		t.Errorf("%v", found)
	}
}

// TestAccepted names an intended difference in the new file.
func TestAccepted(t *testing.T) {
	old := loadType(t, `"properties": {"a": {}, "b": {}}`)
	found := diff.Sets(old, loadType(t, `"x-resource": {"path": "things", "accepts": [{"rule": "property-removed", "at": "/properties/b", "reason": "nobody has one"}]}, "properties": {"a": {}}`))
	if len(found) != 1 || found[0].Accepted != "nobody has one" {
		t.Errorf("%v", found)
	}
}

// TestAcceptedRemoval: the file of another type accepts that a type is removed, and no other
// difference of that type.
func TestAcceptedRemoval(t *testing.T) {
	load := func(accepts string, types ...string) *schema.Registry {
		files := fstest.MapFS{}
		for _, name := range types {
			files[name+".json"] = &fstest.MapFile{Data: fmt.Appendf(nil, `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "x-resource": {"path": "%s", "accepts": [%s]}, "properties": {"a": {}}}`, name, accepts)}
			accepts = ""
		}
		loaded, err := schema.Load(schema.Source{FS: base.FS}, schema.Source{Name: "new", FS: files})
		if err != nil {
			t.Fatal(err)
		}
		return loaded
	}
	old := load("", "things", "wards", "wardsold")
	for _, c := range []struct{ rule, at, accepted string }{
		{"type-removed", "/wards", "type-removed wards R"},
		{"type-removed", "/wards/x", "accepts-nothing things "},
		{"type-removed", "", "accepts-nothing things "},
		{"property-removed", "/wards", "accepts-nothing things "},
	} {
		var noted []string
		for _, d := range diff.Sets(old, load(fmt.Sprintf(`{"rule": "%s", "at": "%s", "reason": "R"}`, c.rule, c.at), "things")) {
			if d.Accepted != "" || d.Rule == "accepts-nothing" {
				noted = append(noted, fmt.Sprint(d.Rule, " ", d.Type, " ", d.Accepted))
			}
		}
		if got := strings.Join(noted, "; "); got != c.accepted {
			t.Errorf("%s at %q: %q, want %q", c.rule, c.at, got, c.accepted)
		}
	}
}

// TestShared compares definitions each of which has the one before twice, as far as a set
// may have them, and moved ones: the comparison is as long as the files, not as the paths
// through them.
func TestShared(t *testing.T) {
	chain := func(name, keyword, last string) string {
		defs := []string{`"` + name + `0": ` + last}
		for i := range 8 {
			defs = append(defs, fmt.Sprintf(`"%[1]s%[2]d": {"%[3]s": [{"$ref": "#/$defs/%[1]s%[4]d"}, {"allOf": [{"$ref": "#/$defs/%[1]s%[4]d"}]}]}`, name, i+1, keyword, i))
		}
		return `"properties": {"a": {"$ref": "#/$defs/` + name + `8"}}, "$defs": {` + strings.Join(defs, ", ") + `}`
	}
	for _, keyword := range []string{"anyOf", "oneOf", "prefixItems"} {
		old := loadType(t, chain("d", keyword, `{"type": "string"}`))
		if found := diff.Sets(old, loadType(t, chain("d", keyword, `{"type": "integer"}`))); len(found) == 0 || len(found) > 20 {
			t.Errorf("%s: %v", keyword, found)
		}
		if found := diff.Sets(old, loadType(t, chain("e", keyword, `{"type": "string"}`))); len(found) > 0 {
			t.Errorf("%s: definitions with other names differ: %v", keyword, found)
		}
	}
}

// BenchmarkSets loads a set of 500 types with 50 properties, and compares it with a set in which
// each of these was another one. It reports the processor time, and the memory that the process
// has had at most.
func BenchmarkSets(b *testing.B) {
	load := func(most int) *schema.Registry {
		files := fstest.MapFS{}
		for n := range 500 {
			var properties []string
			for p := range 50 {
				properties = append(properties, fmt.Sprintf(`"p%d": {"type": "string", "maxLength": %d, "description": "a property"}`, p, most))
			}
			files[fmt.Sprintf("t%d.json", n)] = &fstest.MapFile{Data: fmt.Appendf(nil, `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "x-resource": {"path": "t%s"}, "properties": {%s}}`,
				strings.Repeat("a", n/26+1)+string(rune('a'+n%26)), strings.Join(properties, ", "))}
		}
		loaded, err := schema.Load(schema.Source{FS: base.FS}, schema.Source{Name: "new", FS: files})
		if err != nil {
			b.Fatal(err)
		}
		loaded.DropValidation()
		return loaded
	}
	used := func() (time.Duration, int64) {
		var usage syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
			b.Fatal(err)
		}
		return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), usage.Maxrss >> 10
	}
	most := 100
	old := load(most)
	before, _ := used()
	for b.Loop() {
		most++
		if found := diff.Sets(old, load(most)); len(found) != 500*50 {
			b.Fatal(len(found))
		}
	}
	after, peak := used()
	b.ReportMetric((after-before).Seconds()/float64(b.N), "cpu-s/op")
	b.ReportMetric(float64(peak), "MB")
}

// TestNever compares values with the schema false beside others without a schema.
func TestNever(t *testing.T) {
	members := func(value string) string {
		return one(fmt.Sprintf(`{"type": "object", "properties": {"list": {"type": "array"}, "more": %[1]s, "other": %[1]s}}`, value))
	}
	for rule, sides := range map[string][2]string{"value-refused": {"true", "false"}, "value-accepted": {"false", "true"}} {
		var at []string
		for _, d := range diff.Sets(loadType(t, members(sides[0])), loadType(t, members(sides[1]))) {
			at = append(at, d.Rule+" "+d.Pointer)
		}
		if want := []string{rule + " /properties/a/properties/more", rule + " /properties/a/properties/other"}; !slices.Equal(at, want) {
			t.Errorf("%v, want %v", at, want)
		}
	}
}
