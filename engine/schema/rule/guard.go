package rule

import (
	"errors"
	"regexp"

	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

var errPattern = errors.New("the pattern does not compile")

// stop ends an evaluation with ErrTooComplex.
func stop() { panic(interpreter.EvalCancelledError{Cause: interpreter.CostLimitExceeded}) }

// guard returns a call that looks at the sizes of its arguments before it is evaluated: the
// counter knows a cost afterwards, and one call can take any time. A list in which the
// same list is many times has more values than memory holds.
func guard(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	call, ok := i.(interpreter.InterpretableCall)
	if !ok {
		return i, nil
	}
	evaluate := map[string]func(a, b ref.Val) ref.Val{operators.Equals: equal, operators.NotEquals: differ, operators.In: contains, operators.Add: add}[call.Function()]
	if evaluate == nil {
		return i, nil
	}
	return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(values ...ref.Val) ref.Val {
		return evaluate(values[0], values[1])
	}), nil
}

func equal(a, b ref.Val) ref.Val {
	if isAggregate(a) && isAggregate(b) && min(nodes(a, MaxCost), nodes(b, MaxCost)) >= MaxCost {
		stop()
	}
	return types.Equal(a, b)
}

func differ(a, b ref.Val) ref.Val { return types.Bool(equal(a, b) != types.True) }

func contains(item, in ref.Val) ref.Val {
	if nodes(in, MaxCost) >= MaxCost {
		stop()
	}
	container, ok := in.(traits.Container)
	if !ok {
		return types.MaybeNoSuchOverloadErr(in)
	}
	return container.Contains(item)
}

// add copies lists that are joined. The implementation would keep both, and look for each
// item in as many lists as were joined.
func add(a, b ref.Val) ref.Val {
	first, isFirst := a.(traits.Lister)
	second, isSecond := b.(traits.Lister)
	if _, grows := a.(traits.MutableLister); grows || !isFirst || !isSecond {
		adder, ok := a.(traits.Adder)
		if !ok {
			return types.MaybeNoSuchOverloadErr(a)
		}
		return adder.Add(b)
	}
	size := cost.SafeAdd(cost.ActualSize(a), cost.ActualSize(b))
	if size >= MaxCost {
		stop()
	}
	items := make([]ref.Val, 0, size)
	for _, list := range []traits.Lister{first, second} {
		for it := list.Iterator(); it.HasNext() == types.True; {
			items = append(items, it.Next())
		}
	}
	return types.NewRefValList(anyForm, items)
}

// matching compiles the patterns of an overload of matches, and refuses texts that would
// take too long.
func matching(overload string) *interpreter.RegexOptimization {
	return &interpreter.RegexOptimization{Function: "matches", OverloadID: overload, RegexIndex: 1, Factory: func(call interpreter.InterpretableCall, pattern string) (interpreter.InterpretableCall, error) {
		compiled, err := regexp.Compile(pattern)
		if err != nil {
			return nil, errPattern
		}
		steps := patternSize(pattern)
		return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(values ...ref.Val) ref.Val {
			s, ok := values[0].(types.String)
			if !ok {
				return types.NewErr("only texts match patterns")
			}
			if len(s) > maxMatching/steps {
				stop()
			}
			return types.Bool(compiled.MatchString(string(s)))
		}), nil
	}}
}
