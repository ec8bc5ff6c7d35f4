package diff_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"marquee/engine/schema/diff"
)

// TestSupplied: whether stored objects can have what the service gives them, a default, a value
// that takes the place of another one, or another name, is decided only if nothing else judges it.
func TestSupplied(t *testing.T) {
	const plain, renamed = `{"type": "string", "enum": ["A", "B"]}`, `{"type": "string", "enum": ["C", "B"], "x-was-values": {"A": "C"}}`
	const when = `, "if": {"properties": {"NAME": {"const": "A"}}, "required": ["NAME"]}, "then": {"required": ["d"]}`
	nested := func(schema, more string) string {
		return one(`{"type": "object", "properties": {"a": ` + schema + `}` + more + `}`)
	}
	const filled = `, "required": ["a"]`
	about := func(name string) string { return strings.ReplaceAll(when, "NAME", name) }
	for _, c := range []struct{ old, new, want string }{
		{one(plain), one(renamed), "enum-value-renamed [SOURCE]"},
		{one(plain) + about("c"), one(renamed) + about("c"), "enum-value-renamed [SOURCE]"},
		{one(plain) + about("a"), one(renamed) + about("a"), "enum-value-renamed undecided"},
		{nested(plain, ""), nested(renamed, ""), "enum-value-renamed [SOURCE]"},
		{nested(plain, "") + about("a"), nested(renamed, "") + about("a"), "enum-value-renamed undecided"},
		{nested(plain, `, "not": {"required": ["a"]}`), nested(renamed, `, "not": {"required": ["a"]}`), "enum-value-renamed undecided"},
		{one(`{"type": "array", "items": {"type": "object", "properties": {"a": ` + plain + `}}, "uniqueItems": true}`),
			one(`{"type": "array", "items": {"type": "object", "properties": {"a": ` + renamed + `}}, "uniqueItems": true}`), "enum-value-renamed undecided"},
		{one(`{"type": "string"}`), one(`{"type": "string", "maxLength": 1, "default": "x"}`) + filled, ""},
		{one(`{"type": "string"}`) + about("c"), one(`{"type": "string", "default": "x"}`) + about("c") + filled, ""},
		{one(`{"type": "string"}`) + about("a"), one(`{"type": "string", "default": "x"}`) + about("a") + filled, "property-required undecided"},
		{one(`{"type": "string"}`) + `, "maxProperties": 1`, one(`{"type": "string", "default": "x"}`) + filled + `, "maxProperties": 1`, "property-required undecided"},
		{one(`{"type": "string"}`) + `, "dependentRequired": {"a": ["c"]}`, one(`{"type": "string", "default": "x"}`) + filled + `, "dependentRequired": {"a": ["c"]}`, "property-required undecided"},
		// the names of properties can be judged, too
		{one(`{}`) + `, "propertyNames": {"maxLength": 1}`, `"properties": {"bb": {"x-was": "a"}}, "propertyNames": {"maxLength": 1}`, "property-renamed undecided"},
		{one(`{}`) + `, "not": {"patternProperties": {"^b": {"type": "null"}}, "required": ["c"]}`,
			`"properties": {"b": {"x-was": "a"}, "c": {}}, "not": {"patternProperties": {"^b": {"type": "null"}}, "required": ["c"]}`, "property-renamed undecided"},
		{one(`{}`) + about("c"), `"properties": {"b": {"x-was": "a"}, "c": {}, "d": {}}` + about("c"), "property-renamed [RESPONSE SOURCE]"},
		// steps are the same ones between the values that take the places of others
		{one(`{"type": "string", "enum": ["A", "B"], "x-transitions": {"A": [{"to": "B", "permission": "P"}], "B": [{"to": "A", "permission": "P"}]}}`),
			one(`{"type": "string", "enum": ["C", "B"], "x-was-values": {"A": "C"}, "x-transitions": {"C": [{"to": "B", "permission": "P"}], "B": [{"to": "C", "permission": "P"}]}}`), "enum-value-renamed [SOURCE]"},
	} {
		var said []string
		for _, d := range diff.Sets(loadType(t, c.old), loadType(t, c.new)) {
			switch {
			case !slices.Contains([]string{"enum-value-renamed", "property-required", "property-renamed", "step-guarded"}, d.Rule):
			case d.Undecided:
				said = append(said, d.Rule+" undecided")
			default:
				said = append(said, fmt.Sprint(d.Rule, " ", d.Classes))
			}
		}
		if got := strings.Join(said, "; "); got != c.want {
			t.Errorf("to %s: %q, want %q", c.new, got, c.want)
		}
	}
}
