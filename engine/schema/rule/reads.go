package rule

import (
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"marquee/engine/document"
)

// reads are the paths that a rule reads, of self and oldSelf. One that ends at an array or
// object reads everything in it.
type reads [][]string

// chain returns the path of an expression that reads a member of self or of oldSelf, as
// in self.a.b, has(self.a) or self.?a.
func chain(e ast.Expr) ([]string, bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return nil, e.AsIdent() == "self" || e.AsIdent() == "oldSelf"
	case ast.SelectKind:
		path, ok := chain(e.AsSelect().Operand())
		return append(path, e.AsSelect().FieldName()), ok
	case ast.CallKind:
		c := e.AsCall()
		if c.FunctionName() != "_?._" || len(c.Args()) != 2 || c.Args()[1].Kind() != ast.LiteralKind {
			return nil, false
		}
		name, literal := c.Args()[1].AsLiteral().(types.String)
		path, ok := chain(c.Args()[0])
		return append(path, string(name)), ok && literal
	}
	return nil, false
}

// least returns the paths without those that others include.
func (r reads) least() reads {
	slices.SortFunc(r, slices.Compare)
	var least reads
	for _, path := range r {
		if n := len(least); n > 0 && len(least[n-1]) <= len(path) && slices.Equal(least[n-1], path[:len(least[n-1])]) {
			continue
		}
		least = append(least, path)
	}
	return least
}

// Touched reports whether anything that the rule reads differs between two versions of an
// object.
func (r *Rule) Touched(in *Input) bool {
	return slices.ContainsFunc(r.reads, func(path []string) bool {
		if r.self.stateful && (len(path) == 0 || path[0] == stateName) && in.State != in.OldState {
			return true
		}
		return !document.Equal(at(in.OldSelf, path), at(in.Self, path))
	})
}

// Reads reports whether the rule reads the value at a JSON Pointer below an object, a
// value around it, or one within it.
func (r *Rule) Reads(pointer string) bool {
	tokens := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	return slices.ContainsFunc(r.reads, func(path []string) bool {
		n := min(len(path), len(tokens))
		return pointer == "" || slices.EqualFunc(path[:n], tokens[:n], func(name, token string) bool { return name == document.UnescapeToken(token) })
	})
}

// Key is the same for objects that are equal in what the rule reads.
func (r *Rule) Key(self map[string]any) string {
	var key []byte
	for _, path := range r.reads {
		key = append(document.Append(key, at(self, path)), '\n')
	}
	return string(key)
}

// at returns the value at a path, nil if there is none.
func at(self map[string]any, path []string) any {
	var value any = self
	for _, name := range path {
		members, _ := value.(map[string]any)
		value = members[name]
	}
	return value
}
