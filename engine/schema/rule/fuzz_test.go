package rule_test

import (
	"context"
	"testing"

	"marquee/engine/document"
	"marquee/engine/schema/rule"
)

// FuzzRules compiles rules and evaluates them for documents, valid and invalid: nothing
// panics, and no evaluation costs more than was computed before.
func FuzzRules(f *testing.F) {
	shape := shapeOf(f, shapes)
	const object = `{"n": 5, "d": 2.5, "s": "text", "b": true, "begin": "2026-01-01T00:00:00.000Z", "end": "soon", "thing": "a", "any": [[1]], "either": "x",
		"list": [1, 2, 3], "words": ["a", "b", "c"], "map": {"a": 1}, "free": {"x": {}}, "inner": {"x": 3}, "items": [{"price": 1}, {"price": 2.5, "node": {"child": {}}}]}`
	for _, source := range append(ten, `self.?list.orValue([]).map(i, self.?words.orValue([])).size() > 1`, `has(self.any) && [self.any, self.any] == [self.any]`,
		`self.?inner == oldSelf.?inner`, `has(self.s) && (self.s + self.s).contains(self.s)`, `has(self.s) && self.s.matches("^[a-z]+$")`, `self.n in self.?list.orValue([])`,
		`has(self.free) && self.free == {"x": {}}`, `has(self.words) && self.words.exists(w, w.lowerAscii() + "x" in self.words)`, `self == oldSelf`, `[self].all(o, o.n > 1)`,
		`has(self.list) && self.list.filter(i, i > 1).sum() > self.list.min()`, `has(self.map) && self.map.all(k, size(k) > 0 && self.map[k] > 0)`) {
		f.Add(source, object, `{"n": 1}`)
	}
	f.Fuzz(func(t *testing.T, source, after, before string) {
		types := rule.NewTypes(shape)
		compiled, problems := types.Compile(shape, source, true)
		if len(problems) > 0 {
			return
		}
		in := &rule.Input{State: "ACTIVE", OldState: "ACTIVE", Now: noon, Caller: func() rule.Caller { return rule.Caller{ID: "ann", Permissions: []string{"EDIT"}} }}
		in.Self, _ = document.DecodeObject([]byte(after), document.Limits{Depth: 64})
		in.OldSelf, _ = document.DecodeObject([]byte(before), document.Limits{Depth: 64})
		if in.Self == nil || in.OldSelf == nil {
			return
		}
		if _, err := compiled.Holds(context.Background(), in); err != nil && err != rule.ErrTooComplex {
			t.Fatal(err)
		}
		compiled.Touched(in)
		compiled.Key(in.Self)
		compiled.Reads("/a/0/b")
		if cost, ended := types.Cost(shape, compiled, source, in); ended && cost > compiled.Bound() {
			t.Errorf("%s costs %d for %s, and was to cost at most %d", source, cost, after, compiled.Bound())
		}
	})
}
