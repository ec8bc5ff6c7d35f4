package rule

import (
	"cmp"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"marquee/engine/document"
)

// read is a path that a rule reads, of self or oldSelf. One that ends at an array or object
// reads everything in it, unless it only asks whether it is there.
type read struct {
	path  []string
	tests bool
	// of is the form of the value if a rule does not see all within it, or nil.
	of *form
}

type reads []read

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
	rank := map[bool]int{false: 0, true: 1}
	slices.SortFunc(r, func(a, b read) int {
		return cmp.Or(slices.Compare(a.path, b.path), rank[a.tests]-rank[b.tests])
	})
	var least reads
	for _, next := range r {
		includes := func(other read) bool {
			return (!other.tests || next.tests && len(other.path) == len(next.path)) && len(other.path) <= len(next.path) && slices.Equal(other.path, next.path[:len(other.path)])
		}
		if !slices.ContainsFunc(least, includes) {
			least = append(least, next)
		}
	}
	return least
}

// Touched reports whether anything that the rule reads differs between two versions of an
// object.
func (r *Rule) Touched(in *Input) bool {
	return slices.ContainsFunc(r.reads, func(next read) bool {
		if r.self.stateful && (len(next.path) == 0 || next.path[0] == stateName) && in.State != in.OldState {
			return true
		}
		before, deep := at(in.OldSelf, next.path)
		after, deeper := at(in.Self, next.path)
		if next.tests || deep != deeper {
			return deep != deeper
		}
		return !document.Equal(next.of.visible(before), next.of.visible(after))
	})
}

// Reads reports whether the rule reads the value at a JSON Pointer below an object, a
// value around it, or one within it.
func (r *Rule) Reads(pointer string) bool {
	tokens := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	return slices.ContainsFunc(r.reads, func(next read) bool {
		n := min(len(next.path), len(tokens))
		return pointer == "" || slices.EqualFunc(next.path[:n], tokens[:n], func(name, token string) bool { return name == document.UnescapeToken(token) })
	})
}

// Key is the same for objects that are equal in what the rule reads.
func (r *Rule) Key(self map[string]any) string {
	var key []byte
	for _, next := range r.reads {
		value, deep := at(self, next.path)
		if next.tests {
			value = int64(deep)
		}
		key = append(document.Append(key, next.of.visible(value)), '\n')
	}
	return string(key)
}

// at returns the value at a path, and how many names of the path lead to values, as a
// negative number if what they lead to has no members.
func at(self map[string]any, path []string) (value any, deep int) {
	value = self
	for _, name := range path {
		members, is := value.(map[string]any)
		if !is {
			return nil, -deep
		}
		if value = members[name]; value == nil {
			return nil, deep
		}
		deep++
	}
	return value, deep
}

// at returns the form at a path, or nil.
func (f *form) at(path []string) *form {
	for _, name := range path {
		m := f.members[name]
		if m == nil {
			return nil
		}
		f = m.form
	}
	return f
}

// hides reports whether a value of the form can have something within it that rules do not
// see.
func (f *form) hides(seen map[*form]bool) bool {
	if f == nil || seen[f] {
		return false
	}
	seen[f] = true
	if f.partial || f.element.hides(seen) {
		return true
	}
	for _, m := range f.members {
		if m.hides(seen) {
			return true
		}
	}
	return false
}

// visible returns what rules see of a value of the form, all of it if there is no form.
func (f *form) visible(value any) any {
	if f == nil {
		return value
	}
	switch v := value.(type) {
	case []any:
		if f.kind != list {
			return value
		}
		items := make([]any, len(v))
		for i, item := range v {
			items[i] = f.element.visible(item)
		}
		return items
	case map[string]any:
		if f.kind != object && f.kind != mapping {
			return value
		}
		members := make(map[string]any, len(v))
		for name, inner := range v {
			if f.kind == mapping {
				members[name] = f.element.visible(inner)
			} else if m := f.members[name]; m != nil && inner != nil {
				members[name] = m.visible(inner)
			}
		}
		return members
	}
	return value
}
