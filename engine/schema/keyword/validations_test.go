package keyword_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/schema/keyword"
	"marquee/engine/schema/rule"
)

// ruled has rules of its root, of a nested object, of one that can be anywhere in a map,
// and of items.
const ruled = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
"x-resource": {"path": "tasks"}, "required": ["n"], "properties": {
	"n": {"type": "integer"}, "x": {"type": "integer"}, "y": {"type": "integer"}, "free": {"type": "string"},
	"tags": {"type": "array", "items": {"type": "string"}},
	"inner": {"type": "object", "properties": {"z": {"type": "integer"}, "free": {"type": "string"}},
		"x-validations": [{"rule": "!has(self.z) || self.z != 1", "code": "error.t.inner", "text": "T."},
			{"rule": "!has(self.z) || !has(oldSelf.z) || self.z >= oldSelf.z", "code": "error.t.grows", "text": "T."}]},
	"map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"z": {"type": "integer"}, "free": {"type": "string"}},
		"x-validations": [{"rule": "!has(self.z) || self.z != 1", "code": "error.t.map", "text": "T."}]}},
	"items": {"type": "array", "items": {"type": "object", "properties": {"z": {"type": "integer"}, "free": {"type": "string"}},
		"x-validations": [{"rule": "!has(self.z) || self.z != 1", "code": "error.t.item", "text": "T."}]}}},
	"x-validations": [
		{"rule": "!has(self.x) || !has(self.y) || self.x < self.y", "code": "error.t.order", "text": "T."},
		{"rule": "!has(self.tags) || self.tags.all(t, t != 'a')", "code": "error.t.tags", "text": "T."},
		{"rule": "!has(self.inner) || has(self.tags)", "code": "error.t.presence", "text": "T."},
		{"rule": "self.n >= oldSelf.n", "code": "error.t.n", "text": "T."},
		{"rule": "self.n != 1", "code": "error.t.created", "text": "T.", "on": ["create"]},
		{"rule": "self.objectState != 'HIDDEN' || self.n > 1", "code": "error.t.state", "text": "T.", "on": ["update"]},
		{"rule": "self.n != 2 || 'EDIT' in caller.permissions", "code": "error.t.caller", "text": "T."}]}`

// TestRatchet judges random changes of random objects, valid and invalid ones: a change is
// refused exactly if it is a creation, or touches what a broken rule reads. The model knows
// of each rule what it reads and when it holds, and nothing of CEL.
func TestRatchet(t *testing.T) {
	registry, err := schema.Load(schema.Source{FS: fstest.MapFS{"tasks.json": {Data: []byte(ruled)}}})
	if err != nil {
		t.Fatal(err)
	}
	tasks, _ := registry.Type("tasks")
	refused := 0
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := &keyword.Change{After: randomTask(r), State: randomState(r), Caller: func() rule.Caller { return rule.Caller{} }}
		if r.IntN(4) == 0 {
			c.Caller = func() rule.Caller { return rule.Caller{Permissions: []string{"EDIT"}} }
		}
		if r.IntN(4) > 0 {
			c.Before, c.StateBefore = randomTask(r), randomState(r)
			for name := range c.Before { // most changes leave most as it is
				if r.IntN(2) == 0 {
					c.After[name] = document.Clone(c.Before[name])
				}
			}
		}
		faults, err := tasks.Check(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, fault := range faults {
			got = append(got, fmt.Sprint(fault.Definition().Code, " ", fault.Param("field")))
		}
		want := expected(c, len(c.Caller().Permissions) > 0)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: from %s (%s) to %s (%s):\n%s, want\n%s", seed, document.Append(nil, c.Before), c.StateBefore, document.Append(nil, c.After), c.State, strings.Join(got, ", "), strings.Join(want, ", "))
		}
		refused += len(got)
	}
	if refused < 10_000 {
		t.Errorf("%d faults: the changes are too tame", refused)
	}
}

func randomState(r *rand.Rand) string { return []string{"ACTIVE", "HIDDEN"}[r.IntN(2)] }

func randomTask(r *rand.Rand) map[string]any {
	inner := func() map[string]any {
		object := map[string]any{}
		if r.IntN(3) > 0 {
			object["z"] = int64(r.IntN(3))
		}
		if r.IntN(2) == 0 {
			object["free"] = string(rune('a' + r.IntN(2)))
		}
		return object
	}
	object := map[string]any{"n": int64(r.IntN(4))}
	maybe := func(name string, value any) {
		if r.IntN(3) > 0 {
			object[name] = value
		}
	}
	maybe("x", int64(r.IntN(3)))
	maybe("y", int64(r.IntN(3)))
	maybe("free", string(rune('a'+r.IntN(3))))
	maybe("inner", inner())
	maybe("map", map[string]any{"a": inner(), "b": inner()})
	tags, items := []any{}, []any{}
	for range r.IntN(3) {
		tags, items = append(tags, string(rune('a'+r.IntN(3)))), append(items, inner())
	}
	maybe("tags", tags)
	maybe("items", items)
	return object
}

// expected returns the faults of a change, each with its place.
func expected(c *keyword.Change, mayEdit bool) (faults []string) {
	created := c.Before == nil
	refuse := func(broken, touched bool, code, field string) {
		if broken && (created || touched) {
			faults = append(faults, code+" "+field)
		}
	}
	differ := func(before, after map[string]any, names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return !document.Equal(before[name], after[name]) })
	}
	is := func(object map[string]any, name string, value int64) bool { return object[name] == value }
	a, b := c.After, c.Before
	x, hasX := a["x"].(int64)
	y, hasY := a["y"].(int64)
	refuse(hasX && hasY && x >= y, differ(b, a, "x", "y"), "error.t.order", "")
	tags, hasTags := a["tags"].([]any)
	refuse(slices.Contains(tags, any("a")), differ(b, a, "tags"), "error.t.tags", "")
	refuse(a["inner"] != nil && !hasTags, (b["inner"] == nil) != (a["inner"] == nil) || (b["tags"] == nil) != (a["tags"] == nil), "error.t.presence", "")
	n := a["n"].(int64)
	refuse(!created && n < number(b["n"]), differ(b, a, "n"), "error.t.n", "")
	refuse(created && n == 1, false, "error.t.created", "")
	refuse(!created && c.State == "HIDDEN" && n <= 1, differ(b, a, "n") || c.State != c.StateBefore, "error.t.state", "")
	refuse(n == 2 && !mayEdit, differ(b, a, "n"), "error.t.caller", "")

	inner, _ := a["inner"].(map[string]any)
	old, _ := b["inner"].(map[string]any)
	refuse(is(inner, "z", 1), differ(old, inner, "z"), "error.t.inner", "/inner")
	refuse(inner["z"] != nil && old["z"] != nil && number(inner["z"]) < number(old["z"]), true, "error.t.grows", "/inner")
	members, _ := a["map"].(map[string]any)
	olds, _ := b["map"].(map[string]any)
	for name, member := range members {
		inner, _ := member.(map[string]any)
		old, _ := olds[name].(map[string]any)
		refuse(is(inner, "z", 1), differ(old, inner, "z"), "error.t.map", "/map/"+name)
	}
	items, _ := a["items"].([]any)
	before, _ := b["items"].([]any)
	for i, item := range items {
		inner, _ := item.(map[string]any)
		known := slices.ContainsFunc(before, func(old any) bool { return !differ(old.(map[string]any), inner, "z") })
		refuse(is(inner, "z", 1), !known, "error.t.item", fmt.Sprint("/items/", i))
	}
	return faults
}

func number(v any) int64 {
	n, _ := v.(int64)
	return n
}
