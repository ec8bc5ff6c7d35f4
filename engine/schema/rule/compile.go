package rule

import (
	"cmp"
	"fmt"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"

	"marquee/engine/document"
)

// Compile compiles a rule of the objects of a shape. Old reports whether it can read
// oldSelf. Without problems there is a rule.
func (t *Types) Compile(shape *document.Shape, source string, old bool) (*Rule, []Problem) {
	self := t.of(shape, "self'")
	if self.kind != object && self.kind != mapping {
		return nil, []Problem{{Text: "only objects have rules", Cure: `write "type": "object"`}}
	}
	if self.kind == mapping && shape.HoldsHidden() {
		return nil, []Problem{{Text: "the object can have values within it that are secret, writeOnly or derived", Cure: "declare the members that the rule reads in properties"}}
	}
	e, err := t.environment(self)
	if err != nil {
		return nil, []Problem{explain(err.Error())}
	}
	t.refused = map[string]string{}
	parsed, issues := e.Parse(source)
	if issues.Err() != nil {
		return nil, t.problems(issues)
	}
	if problems := unchecked(parsed.NativeRep()); len(problems) > 0 {
		return nil, problems
	}
	checked, issues := e.Check(parsed)
	if issues.Err() != nil {
		return nil, t.problems(issues)
	}
	if !checked.OutputType().IsExactType(types.BoolType) {
		return nil, []Problem{{Text: "the rule is of type " + cel.FormatCELType(checked.OutputType()), Cure: "a rule is a condition: true or false"}}
	}
	r := &Rule{self: self}
	in := inspection{rule: r, types: t, ast: checked.NativeRep(), old: old}
	if in.inspect(); len(in.problems) > 0 {
		return nil, in.sorted()
	}
	r.reads = in.reads.least()
	for i, next := range r.reads {
		if f := self.at(next.path); f.hides(map[*form]bool{}) {
			r.reads[i].of = f
		}
	}
	if shape == t.root {
		r.simpler = r.findSimpler(checked.NativeRep().Expr())
	}
	if problem := r.estimate(e, checked, in.patterns); problem != nil {
		return nil, []Problem{*problem}
	}
	if r.program, err = e.Program(checked, r.options(in.patterns, r.bound > maxUncounted)...); err != nil {
		return nil, []Problem{explain(err.Error())}
	}
	return r, nil
}

// unchecked returns the problems of a rule whose types must not be checked: a computed key
// has a type of its own, so that the type of a map in maps would double with each level.
func unchecked(parsed *ast.AST) []Problem {
	in := inspection{ast: parsed}
	ast.PreOrderVisit(parsed.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.MapKind {
			return
		}
		for _, entry := range e.AsMap().Entries() {
			if key := entry.AsMapEntry().Key(); key.Kind() != ast.LiteralKind {
				in.problem(key.ID(), "a key of a map is computed", `write the key as text, as in {"a": 1}`)
			}
		}
	}))
	return in.sorted()
}

// options are those of the program. Its steps are counted only if they can be too many.
func (r *Rule) options(patterns []string, counted bool) []cel.ProgramOption {
	options := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize), cel.OptimizeRegex(matching(overloads.Matches), matching(overloads.MatchesString))}
	if r.loops {
		options = append(options, cel.InterruptCheckFrequency(checkEvery))
	}
	if counted {
		options = append(options, cel.CustomDecoratorV2(guard), cel.CostTracking(newCosts(patterns)), cel.CostLimit(MaxCost))
	}
	return options
}

// inspection finds what a checked rule reads, and what the checker allows but a rule must
// not have.
type inspection struct {
	rule  *Rule
	types *Types
	ast   *ast.AST
	old   bool

	reads    reads
	patterns []string
	// tested are the members that the rule asks for before it reads them, or at least
	// somewhere; untested are the places where it reads members that may not be set.
	tested   map[*member]bool
	untested map[*member]unsafeRead
	problems []Problem
}

// unsafeRead is a place where a rule reads a member that may not be set.
type unsafeRead struct {
	id   int64
	name string
}

func (in *inspection) inspect() {
	in.tested, in.untested = map[*member]bool{}, map[*member]unsafeRead{}
	in.expression(in.ast.Expr())
	for m, place := range in.untested {
		if !in.tested[m] {
			in.problem(place.id, place.name+" is optional, and a rule that reads a property which is not set refuses the object",
				fmt.Sprintf("ask for it first, as in !has(….%s) || …, require it, or give it a default", place.name))
		}
	}
}

func (in *inspection) problem(id int64, text, cure string) {
	p := Problem{Text: text, Cure: cure}
	if at := in.ast.SourceInfo().GetStartLocation(id); at.Line() > 0 {
		p.Line, p.Column = at.Line(), at.Column()+1
	}
	in.problems = append(in.problems, p)
}

func (in *inspection) sorted() []Problem {
	slices.SortFunc(in.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Text, b.Text))
	})
	return in.problems
}

// expression inspects an expression and those within it.
func (in *inspection) expression(e ast.Expr) {
	if path, ok := chain(e); ok {
		in.reads = append(in.reads, read{path: path, tests: e.Kind() == ast.SelectKind && e.AsSelect().IsTestOnly()})
	}
	switch e.Kind() {
	case ast.IdentKind:
		in.rule.varies = in.rule.varies || slices.Contains(variableNames, e.AsIdent())
		if e.AsIdent() == "oldSelf" {
			if in.rule.old = true; !in.old {
				in.problem(e.ID(), "items have no oldSelf", "write the rule at an object around the array")
			}
		}
	case ast.SelectKind:
		s := e.AsSelect()
		in.member(e.ID(), s.Operand(), s.FieldName(), s.IsTestOnly())
		in.operand(s.Operand())
	case ast.CallKind:
		in.call(e)
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			in.expression(element)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			in.expression(entry.AsMapEntry().Key())
			in.expression(entry.AsMapEntry().Value())
		}
	case ast.LiteralKind:
		switch e.AsLiteral().(type) {
		case types.Uint, types.Bytes:
			in.problem(e.ID(), "documents have no bytes and no unsigned integers", "write a text without b, and a number without u")
		}
	case ast.StructKind:
		in.problem(e.ID(), "a rule cannot make objects", "")
	case ast.ComprehensionKind:
		in.comprehension(e)
	}
}

// operand inspects what a member is read of. A path through it is part of a longer one.
func (in *inspection) operand(e ast.Expr) {
	before := in.reads
	in.expression(e)
	if _, ok := chain(e); ok {
		in.reads = before
	}
}

func (in *inspection) call(e ast.Expr) {
	c := e.AsCall()
	args := c.Args()
	switch name := c.FunctionName(); {
	case unlisted[name]:
		in.problem(e.ID(), "rules have no function "+name, "see the functions in docs/reference/schema-vocabulary.md")
	case name == "_?._" && len(args) == 2:
		field, _ := args[1].AsLiteral().(types.String)
		in.member(e.ID(), args[0], string(field), true)
		in.operand(args[0])
		return
	case name == operators.In:
		in.permission(args[0], args[1])
	case name == "matches":
		pattern := args[len(args)-1]
		literal, is := types.String(""), pattern.Kind() == ast.LiteralKind
		if is {
			literal, is = pattern.AsLiteral().(types.String)
		}
		if !is {
			in.problem(pattern.ID(), "the pattern of matches is computed", "write the pattern as text")
		} else if size := patternSize(string(literal)); size > maxPattern {
			in.problem(pattern.ID(), fmt.Sprintf("the pattern takes more than %d steps per character", maxPattern), "use smaller repetition counts")
		} else {
			in.patterns = append(in.patterns, string(literal))
		}
	}
	if c.IsMemberFunction() {
		in.expression(c.Target())
	}
	for _, arg := range args {
		in.expression(arg)
	}
}

// permission notes a literal that is looked for in caller.permissions.
func (in *inspection) permission(item, list ast.Expr) {
	if list.Kind() != ast.SelectKind || list.AsSelect().FieldName() != "permissions" || in.ast.GetType(list.AsSelect().Operand().ID()) != callerForm.cel || item.Kind() != ast.LiteralKind {
		return
	}
	if name, is := item.AsLiteral().(types.String); is {
		at := in.ast.SourceInfo().GetStartLocation(item.ID())
		in.rule.permissions = append(in.rule.permissions, Permission{string(name), at.Line(), at.Column() + 1})
	}
}

// unlisted are the functions of the library of optional values that rules do without.
var unlisted = map[string]bool{"first": true, "last": true, "optional.unwrap": true, "unwrapOpt": true}

func (in *inspection) comprehension(e ast.Expr) {
	c := e.AsComprehension()
	in.rule.loops = true
	for _, name := range []string{c.IterVar(), c.IterVar2(), c.AccuVar()} {
		if slices.Contains(variableNames, name) {
			in.problem(e.ID(), name+" is the name of a variable of all rules", "choose another name")
		}
	}
	for _, inner := range []ast.Expr{c.IterRange(), c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result()} {
		in.expression(inner)
	}
}

var variableNames = []string{"self", "oldSelf", "now", "caller"}

// member notes that a member is read, or asked for.
func (in *inspection) member(id int64, operand ast.Expr, name string, tested bool) {
	of := in.ast.GetType(operand.ID())
	if of.TypeName() == "optional_type" && len(of.Parameters()) == 1 {
		of, tested = of.Parameters()[0], true
	}
	f := in.types.named[of.TypeName()]
	if f == nil || f.members[name] == nil {
		return
	}
	switch m := f.members[name]; {
	case tested:
		in.tested[m] = true
	case !m.set:
		if _, known := in.untested[m]; !known {
			in.untested[m] = unsafeRead{id, name}
		}
	}
}
