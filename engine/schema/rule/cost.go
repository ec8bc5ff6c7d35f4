package rule

import (
	"fmt"
	"math"
	"regexp/syntax"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/parser"
)

const (
	// charactersPerStep is how many characters are read in the time of one step.
	charactersPerStep = 10
	// maxPattern is the most instructions of a pattern, each of which can take its time for
	// each character, and maxMatching the most of them that one match takes.
	maxPattern, maxMatching = 1000, MaxCost * charactersPerStep
)

// estimate bounds the cost of the rule. The problem is that it costs too much even for
// usual objects.
func (r *Rule) estimate(e *environment, checked *cel.Ast, patterns []string) *Problem {
	expected, err := e.EstimateCost(checked, &estimator{e.self, usual, patterns})
	if err != nil {
		problem := explain(err.Error())
		return &problem
	}
	if expected.Max > MaxCost {
		return &Problem{Text: fmt.Sprintf("the rule can take %d steps for one object, and at most %d are allowed", expected.Max, MaxCost),
			Cure: "state a smaller maxItems, maxLength or maxProperties for what it reads, or nest fewer loops"}
	}
	bound, err := e.EstimateCost(checked, &estimator{e.self, largest, patterns})
	if err != nil {
		problem := explain(err.Error())
		return &problem
	}
	r.bound = bound.Max
	return nil
}

// estimator estimates sizes by the bounds of a schema.
type estimator struct {
	self     *form
	sizes    sizes
	patterns []string
}

// EstimateCallCost implements cost.Estimator, as costs does for values.
func (e *estimator) EstimateCallCost(function, overload string, target *cost.AstNode, args []cost.AstNode) *cost.CallEstimate {
	if target != nil {
		args = append([]cost.AstNode{*target}, args...)
	}
	// A character has at most four bytes.
	bytes := func(node cost.AstNode) uint64 { return cost.SafeMultiply(4, cost.EstimateSize(e, node).Max) }
	most := func(n uint64) *cost.CallEstimate {
		return cost.NewCallEstimate(cost.Estimate{Max: cost.SafeAdd(1, n)}, nil)
	}
	switch overload {
	case overloads.AddList:
		if !accumulates(args[0].Expr()) {
			size := cost.SafeAdd(cost.EstimateSize(e, args[0]).Max, cost.EstimateSize(e, args[1]).Max)
			call := most(size)
			call.ResultSize = &cost.SizeEstimate{Max: size}
			return call
		}
	case overloads.Equals, overloads.NotEquals, overloads.InList, overloads.InMap:
		if slices.ContainsFunc(args, func(arg cost.AstNode) bool { return aggregates[arg.Type().Kind()] }) {
			return most(e.nodes(args))
		}
	case overloads.Matches, overloads.MatchesString:
		largestPattern := 1
		for _, pattern := range e.patterns {
			largestPattern = max(largestPattern, patternSize(pattern))
		}
		return most(cost.SafeMultiply(bytes(args[0]), uint64(largestPattern)) / charactersPerStep)
	}
	if len(args) == 2 && args[0].Type().Kind() == types.StringKind && args[1].Type().Kind() == types.StringKind {
		if n, known := textCost(function, bytes(args[0]), bytes(args[1])); known {
			call := most(n)
			if function == operators.Add {
				call.ResultSize = &cost.SizeEstimate{Max: cost.SafeAdd(cost.EstimateSize(e, args[0]).Max, cost.EstimateSize(e, args[1]).Max)}
			}
			return call
		}
	}
	if modelled[overload] {
		return nil
	}
	n := uint64(0)
	for i, arg := range args {
		switch k := arg.Type().Kind(); {
		case k == types.StringKind:
			n = cost.SafeAdd(n, bytes(arg)/charactersPerStep)
		case k == types.ListKind && i == 0 && listFunctions[function]:
			n = cost.SafeAdd(n, cost.EstimateSize(e, arg).Max)
		}
	}
	call := most(n)
	if result := textFunctions[function]; result && len(args) > 0 {
		call.ResultSize = &cost.SizeEstimate{Max: cost.EstimateSize(e, args[0]).Max}
	}
	return call
}

// nodes returns the most values within arguments that are compared.
func (e *estimator) nodes(args []cost.AstNode) (most uint64) {
	if e.sizes == usual {
		return usual.items * usual.characters / charactersPerStep
	}
	for _, arg := range args {
		f := e.form(arg.Path())
		n, written := literals(arg.Expr())
		switch {
		case written:
			most = cost.SafeAdd(most, n)
		case f != nil:
			most = cost.SafeAdd(most, f.nodes(4))
		case aggregates[arg.Type().Kind()]:
			return math.MaxUint64
		}
	}
	return most
}

// literals returns the number of values in a list of literals, false for another expression.
func literals(e ast.Expr) (n uint64, is bool) {
	switch e.Kind() {
	case ast.LiteralKind:
		text, _ := e.AsLiteral().(types.String)
		return 1 + uint64(len(text))/charactersPerStep, true
	case ast.ListKind:
		n = 1
		for _, element := range e.AsList().Elements() {
			inner, is := literals(element)
			if !is {
				return 0, false
			}
			n += inner
		}
		return n, true
	}
	return 0, false
}

// nodes returns the most values within a value, looking as deep as a number of levels.
func (f *form) nodes(levels int) uint64 {
	all := largest.items + 1
	if levels == 0 {
		return all
	}
	n := uint64(1)
	switch {
	case f.kind == text && f.most > 0:
		n += uint64(f.most) * 4 / charactersPerStep
	case (f.kind == list || f.kind == mapping) && f.most > 0:
		n += cost.SafeMultiply(uint64(f.most), f.element.nodes(levels-1))
	case f.kind == object:
		for _, m := range f.members {
			if n += m.nodes(levels - 1); n > all {
				break
			}
		}
	case f.kind == text, f.kind == list, f.kind == mapping, f.kind == anything:
		return all
	}
	return min(n, all)
}

// accumulates reports whether an expression is the list that a loop makes, to which an item
// is added without copying it.
func accumulates(e ast.Expr) bool {
	return e.Kind() == ast.IdentKind && e.AsIdent() == parser.HiddenAccumulatorName
}

// aggregates are the kinds of values that have others within them.
var aggregates = map[types.Kind]bool{types.ListKind: true, types.MapKind: true, types.StructKind: true, types.DynKind: true, types.OpaqueKind: true}

var (
	listFunctions = map[string]bool{"sum": true, "min": true, "max": true, "isSorted": true, "isUnique": true}
	textFunctions = map[string]bool{"lowerAscii": true, "upperAscii": true, "trim": true, "substring": true}
	// modelled are the calls whose cost the implementation knows.
	modelled = func() map[string]bool {
		set := map[string]bool{}
		for _, m := range cost.StandardOverloadModels {
			set[m.ID] = true
		}
		return set
	}()
)

// costs counts what calls cost that the implementation counts as one step whatever the
// sizes of their arguments. It has the sizes of patterns.
type costs map[string]int

func newCosts(patterns []string) costs {
	c := costs{}
	for _, pattern := range patterns {
		c[pattern] = patternSize(pattern)
	}
	return c
}

// textCost returns the steps of an operation on two texts of some bytes, false for another
// one. The implementation would count the characters of both, which takes longer than the
// operation.
func textCost(function string, a, b uint64) (steps uint64, known bool) {
	switch function {
	case operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		return min(a, b) / charactersPerStep, true
	case overloads.StartsWith, overloads.EndsWith:
		return b / charactersPerStep, true
	case overloads.Contains, operators.Add:
		return cost.SafeAdd(a, b) / charactersPerStep, true
	}
	return 0, false
}

// CallCost implements cost.ActualCostEstimator.
func (c costs) CallCost(function, overload string, args []ref.Val, _ ref.Val) *uint64 {
	n := uint64(1)
	if len(args) == 2 {
		a, isFirst := args[0].(types.String)
		b, isSecond := args[1].(types.String)
		if isFirst && isSecond {
			if steps, known := textCost(function, uint64(len(a)), uint64(len(b))); known {
				n += steps
				return &n
			}
		}
	}
	switch function {
	case operators.Add:
		_, isFirst := args[0].(traits.Lister)
		_, isSecond := args[1].(traits.Lister)
		if _, grows := args[0].(traits.MutableLister); grows || !isFirst || !isSecond {
			break
		}
		n = cost.SafeAdd(n, cost.ActualSize(args[0]), cost.ActualSize(args[1]))
		return &n
	case operators.Equals, operators.NotEquals:
		if !isAggregate(args[0]) || !isAggregate(args[1]) {
			return nil
		}
		n += uint64(min(nodes(args[0], MaxCost), nodes(args[1], MaxCost))) // #nosec G115 -- no count is negative
		return &n
	case operators.In:
		n += uint64(nodes(args[1], MaxCost)) // #nosec G115 -- no count is negative
		return &n
	case overloads.Matches:
		s, _ := args[0].(types.String)
		pattern, _ := args[1].(types.String)
		n += uint64(len(s) * max(1, c[string(pattern)]) / charactersPerStep)
		return &n
	}
	if modelled[overload] {
		return nil
	}
	for i, arg := range args {
		switch v := arg.(type) {
		case types.String:
			n += uint64(len(v) / charactersPerStep)
		default:
			if i == 0 && listFunctions[function] {
				n += cost.ActualSize(v)
			}
		}
	}
	return &n
}

func isAggregate(v ref.Val) bool {
	switch v.Type() {
	case types.ListType, types.MapType, types.OptionalType:
		return true
	}
	_, is := v.(*objectValue)
	return is
}

// patternSize returns the number of instructions of a pattern, which can each be executed
// for each character.
func patternSize(pattern string) int {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return math.MaxInt
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return math.MaxInt
	}
	return len(program.Inst)
}
