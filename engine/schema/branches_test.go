package schema

import "testing"

const (
	figures = `"c": {"oneOf": [
		{"type": "object", "properties": {"kind": {"const": "circle"}, "r": {"type": "integer"}}, "required": ["kind", "r"], "additionalProperties": false},
		{"$ref": "#/$defs/square"}]}`
	square = `"$defs": {"square": {"type": "object", "properties": {"kind": {"enum": ["square", "box"]}, "w": {"type": "integer"}},
		"required": ["kind", "w"], "additionalProperties": false}}`
	answers     = `[{"const": "yes"}, {"type": "integer", "minimum": 10}]`
	locations   = `"p": {"oneOf": [{"title": "Address", "type": "object", "required": ["street"]}, {"$ref": "#/$defs/at"}]}`
	coordinates = `"$defs": {"at": {"title": "Coordinates", "type": "object", "required": ["lat", "lon"]}}`
)

// A value that no branch of a oneOf or an anyOf accepts is refused with what the branches
// accept. A branch is demanded only if the value selects it.
func TestBranches(t *testing.T) {
	for _, c := range []struct{ properties, more, object, want string }{
		// A property that each branch fixes to values of its own selects a branch.
		{figures, square, `{"c": {"kind": "tri"}}`, `error.value.enum allowed=circle, square, box field=/c/kind`},
		{figures, square, `{"c": {"kind": 1, "r": 1}}`, `error.value.enum allowed=circle, square, box field=/c/kind`},
		{figures, square, `{"c": {"kind": "box", "r": 1}}`, `error.property.unknown field=/c/r type=the schema; error.property.required field=/c/w`},
		{figures, square, `{"c": {"kind": "circle", "r": "1"}}`, `error.value.type expected=integer field=/c/r`},
		{figures, square, `{"c": {}}`, `error.value.not.allowed expected=an object with kind "circle" and r or an object with kind and w field=/c keyword=oneOf`},
		{figures, square, `{"c": 1}`, `error.value.not.allowed expected=an object with kind "circle" and r or an object with kind and w field=/c keyword=oneOf`},
		{`"a": {"oneOf": [{"properties": {"colour": {"enum": ["red", "blue"]}, "kind": {"const": "x"}}}, {"properties": {"colour": {"enum": ["red", "green"]}, "kind": {"const": "y"}}}]}`, ``,
			`{"a": {"kind": "x", "colour": "green"}}`, `error.value.enum allowed=red, blue field=/a/colour`},
		{`"a": {"oneOf": [{"properties": {"kind": {"const": "x"}, "v": {"const": 1}}}, {"properties": {"kind": {"const": "x"}, "v": {"const": 2}}}, {"properties": {"kind": {"const": "y"}, "v": {"const": 1}}}]}`, ``,
			`{"a": {"kind": "x", "v": 3}}`, `error.value.enum allowed=1, 2 field=/a/v`},
		{`"a": {"oneOf": [{"properties": {"kind": {"const": "x"}, "n": {"type": "integer"}, "m": {"type": "integer"}}}, {"properties": {"kind": {"const": "y"}, "n": {"type": "string"}}}]}`, ``,
			`{"a": {"kind": "x", "n": "1", "m": "2"}}`, `error.value.type expected=integer field=/a/m; error.value.type expected=integer field=/a/n`},
		{`"a": {"oneOf": [{"allOf": [{"properties": {"k/k": {"const": "x"}, "b": true}}], "required": ["b"]}, {"properties": {"k/k": {"const": "y"}}}]}`, ``,
			`{"a": {"k/k": "x"}}`, `error.property.required field=/a/b`},
		{`"kind": true, "r": true`, `"oneOf": [{"properties": {"kind": {"const": "x"}}, "required": ["kind", "r"]}, {"properties": {"kind": {"const": "y"}}, "required": ["kind"]}]`,
			`{"kind": "x"}`, `error.property.required field=/r`},

		// A branch that accepts listed values is named beside the others.
		{`"b": {"oneOf": ` + answers + `}`, ``, `{"b": "no"}`, `error.value.not.allowed expected="yes" or an integer of at least 10 field=/b keyword=oneOf`},
		{`"b": {"anyOf": ` + answers + `}`, ``, `{"b": "no"}`, `error.value.not.allowed expected="yes" or an integer of at least 10 field=/b keyword=anyOf`},
		{`"b": {"oneOf": ` + answers + `}`, ``, `{"b": true}`, `error.value.not.allowed expected="yes" or an integer of at least 10 field=/b keyword=oneOf`},
		{`"b": {"oneOf": ` + answers + `}`, ``, `{"b": 9}`, `error.value.too.small field=/b limit=10`},
		{`"b": {"anyOf": [{"enum": ["A", 1, null]}, {"type": "string", "format": "date"}]}`, ``, `{"b": "B"}`,
			`error.value.not.allowed expected="A" or 1 or null or a string in the format date field=/b keyword=anyOf`},

		// The type of the value selects a branch.
		{`"a": {"anyOf": [{"type": "string", "minLength": 2}, {"type": "integer"}]}`, ``, `{"a": "x"}`, `error.value.too.short field=/a limit=2`},
		{`"a": {"anyOf": [{"type": "string"}, {"type": "integer"}]}`, ``, `{"a": true}`, `error.value.not.allowed expected=a string or an integer field=/a keyword=anyOf`},
		{`"a": {"oneOf": [{"type": ["string", "null"], "maxLength": 3}, {"type": "integer"}]}`, ``, `{"a": {}}`,
			`error.value.not.allowed expected=a string of at most 3 characters or null or an integer field=/a keyword=oneOf`},
		{`"a": {"oneOf": [{"type": "integer"}, {"type": "number"}]}`, ``, `{"a": 1}`, `error.value.ambiguous field=/a keyword=oneOf`},
		{`"a": {"anyOf": [{"type": "integer"}, {"anyOf": [{"required": ["b"]}, {"required": ["c", "d"]}]}]}`, ``, `{"a": {}}`,
			`error.value.not.allowed expected=an object with b or an object with c and d field=/a keyword=anyOf`},
		{`"a": {"anyOf": [{"type": "integer"}, {"type": "array"}, {"anyOf": [{"type": "null"}, {"type": "boolean"}]}]}`, ``, `{"a": {}}`,
			`error.value.not.allowed expected=an integer or an array or null or a boolean field=/a keyword=anyOf`},

		// Titles name branches.
		{locations, coordinates, `{"p": "x"}`, `error.value.not.allowed expected=Address or Coordinates field=/p keyword=oneOf`},
		{locations, coordinates, `{"p": {}}`, `error.value.not.allowed expected=Address or Coordinates field=/p keyword=oneOf`},
		{`"a": true, "b": true`, `"oneOf": [{"title": "By a", "required": ["a"]}, {"required": ["b"]}]`, `{}`,
			`error.value.not.allowed expected=By a or an object with b field= keyword=oneOf`},

		// No branch is demanded where another is as near.
		{`"a": {"anyOf": [{"minimum": 5}, {"multipleOf": 2}]}`, ``, `{"a": 1}`,
			`error.value.not.allowed expected=a number of at least 5 or a number divisible by 2 field=/a keyword=anyOf`},
		{`"a": {"anyOf": [{"not": {"minimum": 5}}, {"type": "string"}, true]}`, ``, `{"a": 6}`, ``},
		{`"a": {"anyOf": [{"not": {"minimum": 5}}, {"minimum": 7, "exclusiveMaximum": 9}]}`, ``, `{"a": 6}`,
			`error.value.not.allowed expected=another value or a number of at least 7, less than 9 field=/a keyword=anyOf`},
		{`"a": {"anyOf": [{"required": ["b", "c"]}, {"required": ["d"]}]}`, ``, `{"a": {"b": 1}}`,
			`error.value.not.allowed expected=an object with b and c or an object with d field=/a keyword=anyOf`},

		// The faults of the nearest branch follow if the value has what that one requires.
		{`"a": {"oneOf": [{"required": ["b"], "properties": {"b": {"type": "integer"}, "c": true}}, {"required": ["c"]}]}`, ``, `{"a": {"b": "1"}}`,
			`error.value.not.allowed expected=an object with b or an object with c field=/a keyword=oneOf; error.value.type expected=integer field=/a/b`},
	} {
		if got := faultsOf(load(t, c.properties, c.more), decode(t, c.object)); got != c.want {
			t.Errorf("%s, %s\n  got  %s\n  want %s", c.properties, c.object, got, c.want)
		}
	}
}
