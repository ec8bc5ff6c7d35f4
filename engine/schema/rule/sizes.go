package rule

import (
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// sizes are the sizes of values without a bound.
type sizes struct{ items, characters, members uint64 }

var (
	// largest are the most that a document of 1 MiB can have.
	largest = sizes{items: 1 << 19, characters: 1 << 20, members: 1 << 18}
	// usual are assumed to judge whether a rule asks for too much: the author of a schema
	// need not state bounds that do not matter.
	usual = sizes{items: 10, characters: 100, members: 10}
)

// EstimateSize implements cost.Estimator.
func (e *estimator) EstimateSize(node cost.AstNode) *cost.SizeEstimate {
	if f := e.form(node.Path()); f != nil && f.kind != anything {
		return e.size(f)
	}
	return e.computed(node)
}

// size returns the size of a value by its form, nil for one without a size.
func (e *estimator) size(f *form) *cost.SizeEstimate {
	most := uint64(f.most) // #nosec G115 -- no bound of a schema is negative
	switch {
	case f.kind != list && f.kind != mapping && f.kind != text:
		return nil
	case f.most > 0:
	case f.kind == list:
		most = e.sizes.items
	case f.kind == mapping:
		most = e.sizes.members
	default:
		most = e.sizes.characters
	}
	return &cost.SizeEstimate{Max: most}
}

// form returns the form at a path, or nil.
func (e *estimator) form(path []string) *form {
	if len(path) == 0 {
		return nil
	}
	f := map[string]*form{"self": e.self, "oldSelf": e.self, "caller": callerForm}[path[0]]
	for _, step := range path[1:] {
		if f == nil {
			return nil
		}
		switch {
		case step == "@items", step == "@values":
			f = f.element
		case step == "@keys":
			f = textForm
		case f.members[step] != nil:
			f = f.members[step].form
		default:
			return nil
		}
	}
	return f
}

// computed returns the size of a value that is not at a place of the object: it is not known,
// but usually like that of others, or that of the place which an optional is read from.
func (e *estimator) computed(node cost.AstNode) *cost.SizeEstimate {
	if e.sizes != usual || node.ComputedSize() != nil {
		return nil
	}
	if node.Type().Kind() != types.OpaqueKind {
		return usualSize(node.Type())
	}
	held := usualSize(node.Type().Parameters()[0])
	if f := e.form(place(node.Expr())); f != nil && e.size(f) != nil {
		held = e.size(f)
	}
	if held == nil {
		held = &cost.SizeEstimate{Max: usual.characters}
	}
	return &cost.SizeEstimate{Max: cost.SafeAdd(1, held.Max), Elem: held}
}

// usualSize returns the usual size of a value of a type, nil for one without a size.
func usualSize(t *types.Type) *cost.SizeEstimate {
	switch t.Kind() {
	case types.StringKind, types.DynKind:
		return &cost.SizeEstimate{Max: usual.characters}
	case types.ListKind, types.MapKind:
		return &cost.SizeEstimate{Max: usual.items, Key: &cost.SizeEstimate{Max: usual.characters}, Elem: &cost.SizeEstimate{Max: usual.characters}}
	}
	return nil
}

// place returns the path of an expression that names a place of the object, also as an
// optional, nil for another one.
func place(e ast.Expr) []string {
	var of ast.Expr
	name := ""
	switch e.Kind() {
	case ast.IdentKind:
		return []string{e.AsIdent()}
	case ast.SelectKind:
		of, name = e.AsSelect().Operand(), e.AsSelect().FieldName()
	case ast.CallKind:
		if e.AsCall().FunctionName() != operators.OptSelect {
			return nil
		}
		of, name = e.AsCall().Args()[0], optionalField(e)
	default:
		return nil
	}
	if path := place(of); path != nil {
		return append(path, name)
	}
	return nil
}

// optionalField returns the name in of.?name.
func optionalField(e ast.Expr) string {
	name, _ := e.AsCall().Args()[1].AsLiteral().(types.String)
	return string(name)
}
