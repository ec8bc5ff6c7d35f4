package schema

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"marquee/engine/document"
	"marquee/engine/message"
)

// TestFaultsOfStored judges changes of objects that were stored under an earlier schema.
func TestFaultsOfStored(t *testing.T) {
	const names = `"names": {"type": "array", "items": {"type": "object", "required": ["a"], "properties": {"a": {"maxLength": 2}, "b": {}}}}, "x": {}`
	const either = `"e": {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, "x": {}`
	const open = `"state": {}, "price": {}, "note": {}`
	const priced = `"if": {"properties": {"state": {"const": "OPEN"}}, "required": ["state"]}, "then": {"required": ["price"]}`
	for _, c := range []struct{ properties, more, stored, object, faults, kept string }{
		{`"a": {"maxLength": 2}, "x": {}`, ``, `{"a": "abc"}`, `{"a": "abc", "x": 1}`, ``, `error.value.too.long /a`},
		{`"a": {"maxLength": 2}`, ``, `{"a": "abc"}`, `{"a": "abd"}`, `error.value.too.long /a`, ``},
		{`"a": {"maxLength": 2}, "b": {"maxLength": 2}`, ``, `{"a": "abc"}`, `{"a": "abc", "b": "abc"}`, `error.value.too.long /b`, `error.value.too.long /a`},
		{`"a": {"maxLength": 2}`, ``, ``, `{"a": "abc"}`, `error.value.too.long /a`, ``},
		{`"a": {"type": "integer"}`, ``, `{"a": "1"}`, `{"a": "1", "b": 1}`, ``, `error.value.type /a`},
		// a missing member
		{`"a": {}, "x": {}`, `"required": ["a"]`, `{"x": 1}`, `{"x": 2}`, ``, `error.property.required /a`},
		{`"a": {}, "x": {}`, `"required": ["a", "x"]`, `{"x": 1}`, `{}`, `error.property.required /x`, `error.property.required /a`},
		{`"o": {"type": "object", "required": ["a"]}`, ``, `{}`, `{"o": {}}`, `error.property.required /o/a`, ``},
		{`"o": {"type": "object", "required": ["a"]}`, ``, `{"o": {"b": 1}}`, `{"o": {"b": 2}}`, ``, `error.property.required /o/a`},
		{`"a": {}, "b": {}, "x": {}`, `"dependentRequired": {"a": ["b"]}`, `{"a": 1}`, `{"a": 1, "x": 1}`, ``, `error.property.required /b`},
		{`"a": {}, "b": {}, "x": {}`, `"dependentRequired": {"a": ["b"]}`, `{"x": 1}`, `{"x": 1, "a": 1}`, `error.property.required /b`, ``},
		// items
		{names, ``, `{"names": [{"a": "abc"}, {"b": 1}]}`, `{"names": [{"a": "ab"}, {"b": 1}, {"a": "abc"}]}`, ``, `error.property.required /names/1/a; error.value.too.long /names/2/a`},
		{names, ``, `{"names": [{"a": "abc"}]}`, `{"names": [{"a": "abc"}, {"a": "abc"}]}`, `error.value.too.long /names/1/a`, `error.value.too.long /names/0/a`},
		{names, ``, `{"names": [{"b": 1}]}`, `{"names": [{"b": 2}]}`, `error.property.required /names/0/a`, ``},
		{`"l": {"type": "array", "maxItems": 1}, "x": {}`, ``, `{"l": [1, 2]}`, `{"l": [1, 2], "x": 1}`, ``, `error.items.too.many /l`},
		{`"l": {"type": "array", "maxItems": 1}`, ``, `{"l": [1, 2, 3]}`, `{"l": [1, 2]}`, `error.items.too.many /l`, ``},
		// values that several schemas judge
		{either, ``, `{"e": {}}`, `{"e": {}, "x": 1}`, ``, `error.value.not.allowed /e`},
		{either, ``, `{"e": {"c": 1}}`, `{"e": {"c": 2}}`, ``, `error.value.not.allowed /e`},
		{either, ``, `{"e": {"a": 1}}`, `{"e": {}}`, `error.value.not.allowed /e`, ``},
		{either, ``, `{}`, `{"e": {}}`, `error.value.not.allowed /e`, ``},
		{`"e": {"type": "object", "anyOf": [{"maxProperties": 1}]}`, ``, `{"e": {"a": 1, "b": 1}}`, `{"e": {"a": 1, "b": 2}}`, `error.properties.too.many /e`, ``},
		{`"n": {"not": {"const": 1}}, "x": {}`, ``, `{"n": 1}`, `{"n": 1, "x": 1}`, ``, `error.value.excluded /n`},
		{open, priced, `{"state": "OPEN"}`, `{"state": "OPEN", "note": 1}`, ``, `error.property.required /price`},
		{open, priced, `{"state": "DONE"}`, `{"state": "OPEN"}`, `error.property.required /price`, ``},
		{open, priced, `{"state": "OPEN", "price": 1}`, `{"state": "OPEN"}`, `error.property.required /price`, ``},
		{`"a": {}, "b": {}, "x": {}`, `"dependentSchemas": {"a": {"required": ["b"]}}`, `{"x": 1}`, `{"x": 1, "a": 1}`, `error.property.required /b`, ``},
		{`"a": {}, "b": {}, "x": {}`, `"dependentSchemas": {"a": {"required": ["b"]}}`, `{"a": 1}`, `{"a": 1, "x": 1}`, ``, `error.property.required /b`},
		// a second fault of the same value
		{`"a": {}, "b": {}, "c": {}`, `"dependentRequired": {"a": ["b"], "c": ["b"]}`, `{"a": 1}`, `{"a": 1, "c": 1}`, `error.property.required /b`, `error.property.required /b`},
		{`"a": {"maxLength": 3}, "b": {}`, `"dependentSchemas": {"b": {"properties": {"a": {"maxLength": 2}}}}`, `{"a": "abcd"}`, `{"a": "abcd", "b": 1}`, `error.value.too.long /a`, `error.value.too.long /a`},
		{`"a": {"maxLength": 3}, "b": {}`, `"dependentSchemas": {"b": {"properties": {"a": {"maxLength": 2}}}}`, `{"a": "abcd", "b": 1}`, `{"a": "abcd", "b": 2}`, ``, `error.value.too.long /a`},
		// what is the same and was valid
		{open + `, "a": {}`, `"dependentSchemas": {"a": {` + priced + `}}`, `{"state": "OPEN"}`, `{"state": "OPEN", "a": 1}`, `error.property.required /price`, ``},
		{`"l": {"type": "array", "prefixItems": [{"maxLength": 1}, {"maxLength": 2}]}`, ``, `{"l": ["a", "bb"]}`, `{"l": ["bb", "a"]}`, `error.value.too.long /l/0`, ``},
		{`"l": {"type": "array", "prefixItems": [{}], "items": {"maxLength": 1}}, "x": {}`, ``, `{"l": ["aa", "bb"]}`, `{"l": ["x", "bb", "aa"]}`, `error.value.too.long /l/2`, `error.value.too.long /l/1`},
	} {
		t.Run(c.object+" for "+c.stored, func(t *testing.T) {
			var stored map[string]any
			if c.stored != "" {
				stored = decode(t, c.stored)
			}
			faults, kept, err := load(t, c.properties, c.more).ValidateChange(context.Background(), decode(t, c.object), stored, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := placesOf(faults); got != c.faults {
				t.Errorf("faults %q, want %q", got, c.faults)
			}
			if got := placesOf(kept); got != c.kept {
				t.Errorf("kept %q, want %q", got, c.kept)
			}
		})
	}
}

// TestCostOfStoredFaults: what is tolerated takes time in proportion to its size, and the
// texts of faults count.
func TestCostOfStoredFaults(t *testing.T) {
	of := load(t, `"m": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string", "minLength": 2}}}, "x": {}`, ``)
	took := func(n int) time.Duration {
		members := map[string]any{}
		for i := range n {
			members[fmt.Sprint(i)] = []any{"a"}
		}
		least := time.Hour
		for range 3 {
			begun := time.Now()
			faults, kept, err := of.ValidateChange(context.Background(), map[string]any{"m": members, "x": "1"}, map[string]any{"m": document.Clone(members)}, nil)
			if len(faults) > 0 || len(kept) != n || err != nil {
				t.Fatalf("%d faults, %d are kept, %v", len(faults), len(kept), err)
			}
			least = min(least, time.Since(begun))
		}
		return least
	}
	if few, many := took(1_500), took(15_000); many > 40*few {
		t.Errorf("1,500 faults take %v, and 15,000 take %v", few, many)
	}

	values := strings.Repeat(`"`+strings.Repeat("a", 100)+`", `, 100) + `"b"`
	listed := load(t, `"l": {"type": "array", "items": {"enum": [`+values+`]}}, "x": {}`, ``)
	for n, want := range map[int]string{5_000: "", 20_000: "error.object.too.complex "} {
		object := map[string]any{"l": slices.Repeat([]any{"c"}, n)}
		faults, _, err := listed.ValidateChange(context.Background(), map[string]any{"l": object["l"], "x": "1"}, object, nil)
		if got := placesOf(faults); got != want || err != nil {
			t.Errorf("%d items: %q, %v", n, got, err)
		}
		valid := map[string]any{"l": append(slices.Repeat([]any{"b"}, n), "c")}
		if faults, _, err := listed.ValidateChange(context.Background(), valid, nil, nil); len(faults) != 1 || err != nil || placesOf(faults) == "error.object.too.complex " {
			t.Errorf("%d valid items: %v, %v", n, placesOf(faults), err)
		}
	}
}

// placesOf returns the codes and places of faults.
func placesOf(faults []message.Message) string {
	var lines []string
	for _, fault := range faults {
		lines = append(lines, fmt.Sprint(fault.Code(), " ", fault.Param("field")))
	}
	slices.Sort(lines)
	return strings.Join(lines, "; ")
}
