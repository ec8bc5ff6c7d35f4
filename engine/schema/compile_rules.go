package schema

import (
	"fmt"
	"maps"
	"slices"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema/keyword"
	"marquee/engine/schema/rule"
)

// maxValueRules is the most rules that a type can have by one keyword of values.
const maxValueRules = 100

// compileRules compiles the rules of a type.
func (c *typeCompiler) compileRules(t *Type, f *File) {
	for _, k := range keyword.OfTypes() {
		if k.Rule != nil {
			k.Each(f.Content, func(at string, members map[string]any) {
				c.addRule(t, k, location{f, at}, keyword.Source{Members: members, Content: f.Content, Root: t.Shape})
			})
		}
	}
	for _, k := range keyword.OfValues() {
		if k.Rule != nil {
			c.compileValueRules(t, k)
		}
	}
}

// compileValueRules compiles the rules of the objects within the values of a type.
func (c *typeCompiler) compileValueRules(t *Type, k *keyword.Keyword) {
	var types *rule.Types
	n := 0
	eachObject(t.Shape, map[*document.Shape]bool{}, func(shape *document.Shape) {
		if !k.Has(shape) {
			return
		}
		if types == nil {
			types = rule.NewTypes(t.Shape)
		}
		for _, p := range c.shapes.places[shape] {
			k.Each(p.schema(), func(at string, members map[string]any) {
				if !p.always {
					c.l.problem(p.f, p.pointer+"/"+k.Name, k.Name+" is within a schema that does not always apply to the object", "move it to the schema around it, and write the condition in the rule")
					return
				}
				if n++; n == maxValueRules+1 {
					c.l.problem(p.f, p.pointer+at, fmt.Sprintf("%s has more than %d rules", t.Name, maxValueRules), "combine some of them")
				}
				if n <= maxValueRules {
					c.addRule(t, k, p.below(at), keyword.Source{Members: members, Of: shape, Root: t.Shape, Types: types})
				}
			})
		}
	})
}

// below returns the location at a pointer below.
func (at location) below(pointer string) location { return location{at.f, at.pointer + pointer} }

// addRule compiles a rule at a location and adds it to those of a type.
func (c *typeCompiler) addRule(t *Type, k *keyword.Keyword, where location, source keyword.Source) {
	compiler := c
	source.Declare = func(messageType, code, text string) *message.Definition {
		return compiler.declare(where.f, where.pointer, messageType, code, text)
	}
	source.Condition = func(below string) keyword.Condition {
		return condition(compiler.schema(where.f, where.pointer+below))
	}
	compiled := k.Rule(source)
	compiler = nil // rules keep the source, which must not keep the compilers and their files
	compiled.Keyword, compiled.File, compiled.At = k, where.f.Name, where.pointer
	t.Rules = append(t.Rules, compiled)
}

// eachObject calls visit for each shape of stored values, in a stable order.
func eachObject(shape *document.Shape, seen map[*document.Shape]bool, visit func(*document.Shape)) {
	if shape == nil || seen[shape] || shape == document.AnyShape {
		return
	}
	seen[shape] = true
	if visit(shape); shape.Ref != nil { // of a reference, only the id is stored
		return
	}
	for _, name := range slices.Sorted(maps.Keys(shape.Properties)) {
		eachObject(shape.Properties[name], seen, visit)
	}
	for _, others := range [][]*document.Shape{shape.Matching, {shape.Extra}, shape.Prefix, {shape.Items}} {
		for _, other := range others {
			eachObject(other, seen, visit)
		}
	}
}
