package rule_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"marquee/engine/document"
	"marquee/engine/schema/rule"
)

// ten are rules such as types have.
var ten = []string{
	`self.n >= 0`,
	`!has(self.d) || self.d < 1000.0`,
	`!has(self.begin) || !has(self.end) || self.begin < self.end`,
	`self.?s.orValue("").size() <= 100`,
	`!has(self.inner) || self.inner.x <= self.n`,
	`!has(self.items) || self.items.all(i, i.price >= 0.0)`,
	`!has(self.thing) || self.thing != "none"`,
	`!has(self.b) || self.b || self.n > 1`,
	`!has(self.words) || self.words.isUnique()`,
	`self.n >= oldSelf.n || "EDIT" in caller.permissions`,
}

// BenchmarkCompile compiles ten rules for each of 500 types, and reports the memory that
// they take.
func BenchmarkCompile(b *testing.B) {
	shape := shapeOf(b, shapes)
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		var kept []*rule.Rule
		for range 500 {
			types := rule.NewTypes(shape)
			for _, source := range ten {
				compiled, problems := types.Compile(shape, source, true)
				if len(problems) > 0 {
					b.Fatal(source, problems)
				}
				kept = append(kept, compiled)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MB")
		runtime.KeepAlive(kept)
	}
}

// BenchmarkHolds evaluates each of the rules.
func BenchmarkHolds(b *testing.B) {
	shape := shapeOf(b, shapes)
	in := &rule.Input{Now: noon, State: "ACTIVE", OldState: "ACTIVE", Caller: func() rule.Caller { return rule.Caller{ID: "ann", Permissions: []string{"EDIT", "VIEW"}} }}
	in.Self = decode(b, `{"n": 5, "d": 2.5, "s": "text", "b": true, "begin": "2026-01-01T00:00:00.000Z", "end": "2026-01-02T00:00:00.000Z", "thing": "a",
		"words": ["a", "b", "c"], "inner": {"x": 3}, "items": [{"price": 1}, {"price": 2.5}, {"price": 3}]}`)
	in.OldSelf, _ = document.Clone(in.Self).(map[string]any)
	types := rule.NewTypes(shape)
	for _, source := range ten {
		compiled, problems := types.Compile(shape, source, true)
		if len(problems) > 0 {
			b.Fatal(source, problems)
		}
		b.Run(source, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if holds, err := compiled.Holds(context.Background(), in); !holds || err != nil {
					b.Fatal(holds, err)
				}
			}
		})
	}
}

// BenchmarkTooComplex evaluates a rule that would loop 3,000³ times.
func BenchmarkTooComplex(b *testing.B) {
	shape := shapeOf(b, shapes)
	compiled, problems := rule.NewTypes(shape).Compile(shape, `has(self.list) && self.list.all(i, self.list.all(j, self.list.all(k, i + j + k > 0)))`, false)
	if len(problems) > 0 {
		b.Fatal(problems)
	}
	list := make([]any, 3000)
	for i := range list {
		list[i] = int64(i + 1)
	}
	in := &rule.Input{Self: map[string]any{"list": list}}
	for b.Loop() {
		if holds, err := compiled.Holds(context.Background(), in); holds || !errors.Is(err, rule.ErrTooComplex) {
			b.Fatal(holds, err)
		}
	}
}
