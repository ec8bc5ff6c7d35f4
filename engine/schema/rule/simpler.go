package rule

import (
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
)

// Simpler is a keyword that says the same as a rule.
type Simpler struct {
	// Keyword is x-compare, x-immutable or x-frozen.
	Keyword string
	// Left and Right are the properties that x-compare compares by Op, and Left is the one
	// that is immutable.
	Left, Op, Right string
}

// Simpler returns the keyword that says the same as the rule, if it is one of the root of a
// type and there is one.
func (r *Rule) Simpler() (Simpler, bool) { return r.simpler, r.simpler.Keyword != "" }

var compared = map[string]string{operators.Less: "<", operators.LessEquals: "<=", operators.Greater: ">", operators.GreaterEquals: ">="}

// simpler returns the keyword that says the same as an expression, if there is one: a
// disjunction of the relation, and of what must not be set for it.
func (r *Rule) findSimpler(e ast.Expr) (s Simpler) {
	all := operands(e, operators.LogicalOr)
	relations := slices.DeleteFunc(slices.Clone(all), absent)
	if len(relations) != 1 {
		if frozen(all) {
			s.Keyword = "x-frozen"
		}
		return s
	}
	c := relations[0]
	if c.Kind() != ast.CallKind || len(c.AsCall().Args()) != 2 {
		return s
	}
	left, right := c.AsCall().Args()[0], c.AsCall().Args()[1]
	a, old, missing := property(left)
	b, older, _ := property(right)
	switch op := c.AsCall().FunctionName(); {
	case a == "" || b == "":
	case compared[op] != "" && !old && !older && r.comparable(a, b):
		if asksOnly(all, "self", a, b) {
			s = Simpler{"x-compare", a, compared[op], b}
		}
	case op == operators.Equals && old != older && a == b && a != stateName:
		if len(all) == 1 && !missing || len(all) > 1 && asksOnly(all, "oldSelf", a) {
			s = Simpler{Keyword: "x-immutable", Left: a}
		}
	}
	return s
}

// comparable reports whether x-compare can compare properties of the root.
func (r *Rule) comparable(left, right string) bool {
	kinds := []kind{r.self.members[left].kind, r.self.members[right].kind}
	numbers := func(k kind) bool { return k == integer || k == number }
	return numbers(kinds[0]) && numbers(kinds[1]) || kinds[0] == kinds[1] && (kinds[0] == instant || kinds[0] == day)
}

// operands returns the operands of nested calls of an operator.
func operands(e ast.Expr, operator string) []ast.Expr {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operator {
		return []ast.Expr{e}
	}
	var all []ast.Expr
	for _, arg := range e.AsCall().Args() {
		all = append(all, operands(arg, operator)...)
	}
	return all
}

// property returns the name in self.name or oldSelf.name, "" for another expression, and whether
// it is written as self.?name, which can be compared where the property is not set.
func property(e ast.Expr) (name string, old, missing bool) {
	var of ast.Expr
	switch {
	case e.Kind() == ast.SelectKind && !e.AsSelect().IsTestOnly():
		of, name = e.AsSelect().Operand(), e.AsSelect().FieldName()
	case e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.OptSelect:
		of = e.AsCall().Args()[0]
		name, missing = optionalField(e), true
	default:
		return "", false, false
	}
	if of.Kind() != ast.IdentKind || of.AsIdent() != "self" && of.AsIdent() != "oldSelf" {
		return "", false, false
	}
	return name, of.AsIdent() == "oldSelf", missing
}

// asked returns the variable and the property in !has(variable.property).
func asked(e ast.Expr) (variable, name string) {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operators.LogicalNot {
		return "", ""
	}
	inner := e.AsCall().Args()[0]
	if inner.Kind() != ast.SelectKind || !inner.AsSelect().IsTestOnly() || inner.AsSelect().Operand().Kind() != ast.IdentKind {
		return "", ""
	}
	return inner.AsSelect().Operand().AsIdent(), inner.AsSelect().FieldName()
}

func absent(e ast.Expr) bool {
	_, name := asked(e)
	return name != ""
}

// asksOnly reports whether a disjunction asks only for some properties of a variable.
func asksOnly(all []ast.Expr, variable string, names ...string) bool {
	return !slices.ContainsFunc(all, func(e ast.Expr) bool {
		of, name := asked(e)
		return name != "" && (of != variable || !slices.Contains(names, name))
	})
}

// frozen reports whether a disjunction is self == oldSelf or a condition on oldSelf.
func frozen(all []ast.Expr) bool {
	whole := 0
	for _, e := range all {
		switch {
		case same(e):
			whole++
		case !readsOnlyOld(e):
			return false
		}
	}
	return whole == 1 && len(all) > 1
}

func same(e ast.Expr) bool {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operators.Equals {
		return false
	}
	names := []string{}
	for _, arg := range e.AsCall().Args() {
		if arg.Kind() == ast.IdentKind {
			names = append(names, arg.AsIdent())
		}
	}
	slices.Sort(names)
	return slices.Equal(names, []string{"oldSelf", "self"})
}

func readsOnlyOld(e ast.Expr) bool {
	reads := false
	only := true
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(inner ast.Expr) {
		if inner.Kind() == ast.IdentKind && slices.Contains(variableNames, inner.AsIdent()) {
			reads = true
			only = only && inner.AsIdent() == "oldSelf"
		}
	}))
	return reads && only
}
