// Package rule compiles and evaluates the rules of x-validations, which are written in CEL
// (https://cel.dev): types of values that follow from a document.Shape, what a rule reads,
// what it costs, and whether an object meets it. It imports document, and nothing else of
// the project; no other package imports the implementation of CEL. Begin with Types and
// Types.Compile.
package rule

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"marquee/engine/document"
)

const (
	// MaxCost is the most that one evaluation of a rule may cost. A step, such as reading a
	// property or comparing two numbers, costs about 1, and takes about 100 ns.
	MaxCost = 500_000
	// MaxCallCost is the most that the evaluations for all objects of one call may cost.
	MaxCallCost = 10_000_000
	// maxUncounted is the most that an evaluation can cost whose steps are not counted.
	maxUncounted = 200
	// MaxText is the maximum number of characters of a rule.
	MaxText = 4096
	// checkEvery is the number of iterations after which an evaluation looks at its
	// deadline.
	checkEvery = 1000
)

// ErrTooComplex is the error of an evaluation that would cost more than MaxCost.
var ErrTooComplex = errors.New("the rule is too complex for the object")

// ErrExhausted is the error of an evaluation when those before it have cost MaxCallCost.
var ErrExhausted = errors.New("the rules are too complex for the objects of the call")

// Budget is what the evaluations of one call have cost. Any number of goroutines may use it
// at once.
type Budget struct{ spent atomic.Uint64 }

// spend adds what an evaluation has cost.
func (b *Budget) spend(r *Rule, details *cel.EvalDetails) {
	steps := r.Bound()
	if details != nil && details.ActualCost() != nil {
		steps = *details.ActualCost()
	}
	b.spent.Add(steps)
}

// Caller is who writes, as rules see it.
type Caller struct {
	// ID is the id of the user, "" for the service itself.
	ID string
	// Permissions are those that the caller holds where the object is.
	Permissions []string
}

// Input is what rules are evaluated for, one after another. Only Set changes its objects once
// a rule has been evaluated. It implements interpreter.Activation: its variables.
type Input struct {
	// Self is the object as it is to be stored, and OldSelf as it is stored, nil if it is
	// new. State and OldState are the values of objectState, for the root of a type.
	Self, OldSelf   map[string]any
	State, OldState string
	// Now is the time of the write.
	Now time.Time
	// Caller is called by rules that read caller. Nil is one without permissions.
	Caller func() Caller
	// Budget limits what the evaluations of a call cost. Nil is no limit.
	Budget *Budget

	// form is that of the rule that is evaluated, and self the value of Self in it once it has
	// been read, as rules read it again and again.
	form *form
	self ref.Val
}

// Set replaces the object and its stored version.
func (in *Input) Set(self, old map[string]any) { in.Self, in.OldSelf, in.self = self, old, nil }

// Rule is a compiled rule. It is immutable.
type Rule struct {
	program cel.Program
	self    *form
	// bound is the most that an evaluation can cost.
	bound uint64
	loops bool
	reads reads
	old   bool
	// varies reports whether the rule reads a variable.
	varies bool
	// simpler is the keyword that says the same, if there is one.
	simpler     Simpler
	permissions []Permission
}

// Permission is the name of a permission that a rule looks for among those of the caller.
type Permission struct {
	Name string
	// Line and Column are its place in the text of the rule, from 1.
	Line, Column int
}

// Permissions returns the permissions that the rule names, as in "NAME" in caller.permissions.
func (r *Rule) Permissions() []Permission { return r.permissions }

// Bound returns the most that an evaluation can cost, MaxCost if the counter stops it.
func (r *Rule) Bound() uint64 { return min(r.bound, MaxCost) }

// IsConstant reports whether the rule reads no variable, and says the same of all objects.
func (r *Rule) IsConstant() bool { return !r.varies }

// ReadsOld reports whether the rule reads oldSelf, so that it applies to updates alone.
func (r *Rule) ReadsOld() bool { return r.old }

// Holds evaluates the rule. A rule whose evaluation fails, such as one that reads a
// property which is not set, does not hold. The error is ErrTooComplex, ErrExhausted, or that of the
// context.
func (r *Rule) Holds(ctx context.Context, in *Input) (bool, error) {
	holds, _, err := r.evaluate(ctx, in)
	return holds, err
}

func (r *Rule) evaluate(ctx context.Context, in *Input) (bool, *cel.EvalDetails, error) {
	if err := ctx.Err(); err != nil {
		return false, nil, err
	}
	if in.Budget != nil && in.Budget.spent.Load() > MaxCallCost {
		return false, nil, ErrExhausted
	}
	if in.form != r.self {
		in.form, in.self = r.self, nil
	}
	var (
		out     ref.Val
		details *cel.EvalDetails
		err     error
	)
	if r.loops {
		out, details, err = r.program.ContextEval(ctx, in)
	} else {
		out, details, err = r.program.Eval(in)
	}
	if in.Budget != nil {
		in.Budget.spend(r, details)
	}
	if err == nil {
		return out == types.True, details, nil
	}
	var cancelled interpreter.EvalCancelledError
	switch {
	case errors.As(err, &cancelled) && cancelled.Cause == interpreter.CostLimitExceeded:
		return false, details, ErrTooComplex
	case ctx.Err() != nil:
		return false, details, ctx.Err()
	}
	return false, details, nil
}

// Parent implements interpreter.Activation.
func (in *Input) Parent() interpreter.Activation { return nil }

// ResolveName implements interpreter.Activation.
func (in *Input) ResolveName(name string) (any, bool) {
	switch name {
	case "self":
		if in.self == nil {
			in.self = in.form.root(in.Self, in.State)
		}
		return in.self, true
	case "oldSelf":
		if in.OldSelf == nil {
			return nil, false
		}
		return in.form.root(in.OldSelf, in.OldState), true
	case "now":
		return types.Timestamp{Time: in.Now}, true
	case "caller":
		var caller Caller
		if in.Caller != nil {
			caller = in.Caller()
		}
		held := caller.Permissions[:min(len(caller.Permissions), maxPermissions)]
		return callerForm.value(map[string]any{"id": caller.ID, "permissions": document.Array(held)}), true
	}
	return nil, false
}

// Problem is a mistake in a rule.
type Problem struct {
	// Line and Column are the place in the text of the rule, from 1; 0 for the whole rule.
	Line, Column int
	// Text describes the mistake, Cure how to correct it.
	Text, Cure string
}
