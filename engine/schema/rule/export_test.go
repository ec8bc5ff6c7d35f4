package rule

import (
	"context"

	"marquee/engine/document"
)

// Cost compiles a rule with a counter, whatever its bound, and returns what an evaluation
// costs, false if it was stopped or did not end with a result.
func (t *Types) Cost(shape *document.Shape, r *Rule, source string, in *Input) (cost uint64, ended bool) {
	e, err := t.environment(t.of(shape, "self"))
	if err != nil {
		panic(err)
	}
	checked, issues := e.Compile(source)
	if issues.Err() != nil {
		panic(issues.Err())
	}
	found := inspection{rule: &Rule{}, types: t, ast: checked.NativeRep(), old: true}
	found.inspect()
	counted := *r
	if counted.program, err = e.Program(checked, r.options(found.patterns, true)...); err != nil {
		panic(err)
	}
	_, details, err := counted.evaluate(context.Background(), in)
	if err != nil || details == nil || details.ActualCost() == nil {
		return 0, false
	}
	return *details.ActualCost(), true
}

// Spent returns what the evaluations have cost.
func (b *Budget) Spent() uint64 { return b.spent.Load() }
