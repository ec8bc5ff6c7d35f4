package schema

import (
	"fmt"
	"slices"
	"strings"

	"marquee/engine/document"
	"marquee/engine/query"
)

// lint checks what a meta-schema cannot say: that names lead somewhere, and
// that types fit each other.
func (l *loader) lint(types []*Type) {
	byName := map[string]*Type{}
	byFile := map[string]*file{}
	for _, f := range l.files {
		byFile[f.name] = f
	}
	for _, t := range types {
		if other, taken := byName[t.Name]; taken {
			l.problem(byFile[t.File], "/x-resource/path", "the path "+t.Name+" is taken by "+other.File, "choose another path")
			continue
		}
		byName[t.Name] = t
	}
	for _, t := range types {
		c := &typeLint{l: l, f: byFile[t.File], t: t, types: byName}
		c.check()
	}
}

// reserved are the first segments of /api/v1 that are no types.
var reserved = []string{"batch", "audit", "messagedefinitions", "notifications", "openapi", "devices", "location", "targetingquery"}

type typeLint struct {
	l     *loader
	f     *file
	t     *Type
	types map[string]*Type
}

func (c *typeLint) problem(pointer, text, cure string) { c.l.problem(c.f, pointer, text, cure) }

func (c *typeLint) check() {
	if slices.Contains(reserved, c.t.Name) {
		c.problem("/x-resource/path", c.t.Name+" is a path of the service", "choose another path")
	}
	for name := range c.t.Shape.Properties {
		if CommonField(name) && name != "url" || name == c.t.IDProperty {
			c.problem("/properties/"+document.EscapeToken(name), name+" is implied", "leave it out")
		}
	}
	for name := range c.t.Shape.Properties {
		if !plainName(name) {
			c.problem("/properties/"+document.EscapeToken(name), "a property name consists of letters, digits, _ and -", "rename it")
		}
	}
	c.names()
	c.rules()
	c.transitions()
	c.shapes(c.t.Shape, map[*document.Shape]bool{})
}

func (c *typeLint) names() {
	scalar := func(at, name string, multiple bool) {
		field, shape := c.t.resolve(strings.Split(name, "."))
		switch {
		case shape == nil || shape == document.AnyShape:
			c.problem(at, "there is no property "+name, "name a property of the schema, by a dotted path")
		case field.Kind == query.Object, field.Multiple() && !multiple:
			c.problem(at, name+" is no single value", "name a property that holds a string, number or boolean")
		case field.Multiple() && field.Kind != query.String:
			c.problem(at, "only arrays of strings and of references can have an index", "")
		case shape.Secret, shape.WriteOnly:
			c.problem(at, name+" is secret, and cannot be asked for", "leave it out")
		case c.t.derived(name):
			c.problem(at, name+" is derived and not stored, and cannot be asked for", "leave it out")
		}
	}
	for i, name := range c.t.Sort {
		scalar(fmt.Sprintf("/x-resource/sort/%d", i), name, false)
	}
	declared, _ := lookup(c.t.Source, "/x-resource/index").([]any)
	for i, entry := range declared {
		at := fmt.Sprintf("/x-resource/index/%d", i)
		names := stringList(entry)
		scalar(at, names[0], len(names) == 1)
		if len(names) == 2 && !CommonField(names[1]) {
			scalar(at, names[1], false)
		}
	}
	for i, name := range c.t.Unique {
		scalar(fmt.Sprintf("/x-resource/unique/%d", i), name, false)
	}
	for i, name := range c.t.Search {
		scalar(fmt.Sprintf("/x-resource/search/%d", i), name, true)
	}
	if label := c.t.Label; label != "" && (c.t.Shape.Properties[label] == nil || !c.t.Shape.Properties[label].Is("string")) {
		c.problem("/x-resource/label", "there is no string property "+label, "")
	}
	if parent := c.t.Parent; parent != "" {
		member := c.t.Shape.Properties[parent]
		if member == nil || member.Ref == nil || !member.Immutable || !slices.Contains(stringList(c.t.Source["required"]), parent) {
			c.problem("/x-resource/parent", parent+" is no required x-immutable reference", "name one, whose id stands in the path")
		}
	}
	for i, path := range c.t.Team {
		c.team(fmt.Sprintf("/x-resource/team/%d", i), path)
	}
}

// team checks that a path leads to teams or sites.
func (c *typeLint) team(at, path string) {
	t := c.t
	for _, name := range strings.Split(path, ".") {
		if name == "id" && path == "id" {
			break
		}
		shape := t.Shape.Properties[name]
		if shape != nil && shape.Items != nil {
			shape = shape.Items
		}
		if shape == nil || shape.Ref == nil || c.types[shape.Ref.Type] == nil {
			c.problem(at, name+" is no reference of "+t.Name, "a team path leads from reference to reference")
			return
		}
		t = c.types[shape.Ref.Type]
	}
	if t.Name != "teams" && t.Name != "sites" {
		c.problem(at, path+" leads to "+t.Name, "a team path ends at teams or sites")
	}
}

func (c *typeLint) rules() {
	property := func(at, name string) {
		if c.t.Shape.Properties[name] == nil && !CommonField(name) {
			c.problem(at, "there is no property "+name, "")
		}
	}
	if c.t.Frozen != nil {
		for _, name := range c.t.Frozen.Except {
			property("/x-frozen/except", name)
		}
	}
	for i, rule := range c.t.Compare {
		at := fmt.Sprintf("/x-compare/%d", i)
		property(at+"/left", rule.Left[0])
		property(at+"/right", rule.Right[0])
	}
	for i, warning := range c.t.Warnings {
		for k, r := range warning.unless {
			c.relation(fmt.Sprintf("/x-warnings/%d/unless/%d", i, k), r)
		}
	}
}

// relation checks that two sides can be worked out and compared.
func (c *typeLint) relation(at string, r Relation) {
	left, right := c.side(at+"/left", r.Left), c.side(at+"/right", r.Right)
	if left != "" && right != "" && left != right {
		c.problem(at, "a "+left+" and a "+right+" cannot be compared", "name properties of one kind")
	}
}

// side is what a side of a relation holds, or "" after a problem.
func (c *typeLint) side(at string, names []string) string {
	kind := ""
	for _, name := range names {
		member := c.t.Shape.Properties[name]
		switch {
		case member == nil:
			c.problem(at, "there is no property "+name, "")
			return ""
		case member.Is("number"), member.Is("integer"):
			kind = "number"
		case member.Is("string") && len(names) == 1:
			kind = "text"
		default:
			c.problem(at, name+" cannot be worked out here", "name a number or a text, or multiply numbers")
			return ""
		}
	}
	return kind
}

// transitions checks that x-transitions speaks of values of the property.
func (c *typeLint) transitions() {
	for name, member := range c.t.Shape.Properties {
		for from, to := range member.Transitions {
			for _, value := range append([]string{from}, to...) {
				if !enumHas(c.t, name, value) {
					c.problem("/properties/"+document.EscapeToken(name)+"/x-transitions", value+" is no value of the property", "name values of its enum")
				}
			}
		}
	}
}

// shapes checks what can stand anywhere in a type.
func (c *typeLint) shapes(shape *document.Shape, seen map[*document.Shape]bool) {
	if shape == document.AnyShape || seen[shape] {
		return
	}
	seen[shape] = true
	if shape.Ref != nil {
		c.reference(shape.Ref)
		return
	}
	if shape.Items != nil && shape.Items.Secret {
		c.problem("", "the items of an array cannot be x-secret", "make each secret a property of its own")
	}
	anyChild(shape, func(child *document.Shape) bool {
		if shape != c.t.Shape && (child.Immutable || child.Transitions != nil) && !c.topLevel(child) {
			c.problem("", "x-immutable and x-transitions are rules of top-level properties", "put the property there")
		}
		c.shapes(child, seen)
		return false
	})
}

// topLevel reports whether a shape is one of a top-level property too.
func (c *typeLint) topLevel(shape *document.Shape) bool {
	for _, member := range c.t.Shape.Properties {
		if member == shape {
			return true
		}
	}
	return false
}

// reference checks that an x-ref leads to a type, and that what it demands of
// its target cannot change there.
func (c *typeLint) reference(ref *document.Reference) {
	at := c.l.refs[ref]
	problem := func(below, text, cure string) { c.l.problem(at.f, at.pointer+below, text, cure) }
	target, ok := c.types[ref.Type]
	if !ok {
		problem("", "there is no type "+ref.Type, "name the path of a type")
		return
	}
	if c.t.Global && !target.Global && ref.Network == "" {
		problem("", c.t.Name+" are global, and must say in which network "+ref.Type+" are", `add "network"`)
	}
	for name, value := range ref.Where {
		below := "/where/" + document.EscapeToken(name)
		if property := target.Shape.Properties[name]; property == nil || !property.Immutable {
			problem(below, "what is demanded of "+ref.Type+" could change: "+name+" is not x-immutable there", "make it x-immutable")
		} else if !enumHas(target, name, value) {
			problem(below, value+" is no value of "+name+" of "+ref.Type, "name a value of its enum")
		}
	}
}

// enumHas reports whether the enum of a property, if it has one in its own
// words, holds a value.
func enumHas(t *Type, property, value string) bool {
	enum, ok := lookup(t.Source, "/properties/"+document.EscapeToken(property)+"/enum").([]any)
	return !ok || slices.Contains(enum, any(value))
}
