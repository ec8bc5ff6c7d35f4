package schema

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"marquee/engine/document"
	"marquee/engine/query"
	"marquee/engine/schema/keyword"
)

// lint checks what a meta-schema cannot express: that names exist, and that types
// are consistent with each other.
func (l *loader) lint(types []*Type) {
	byName := map[string]*Type{}
	byFile := map[string]*File{}
	for _, f := range l.files {
		byFile[f.Name] = f
	}
	for _, t := range types {
		if t.Name == "" {
			continue // has been reported
		}
		if other, taken := byName[t.Name]; taken {
			f, by := byFile[t.File], byFile[other.File]
			if f.Source < by.Source { // the later source has to change
				f, by = by, f
			}
			l.problem(f, "/x-resource/path", "the path "+t.Name+" is taken by "+f.Others(by), "choose another path")
			continue
		}
		byName[t.Name] = t
	}
	for _, t := range types {
		c := &typeLint{l: l, f: byFile[t.File], t: t, types: byName, files: byFile}
		c.seen = c.as(t)
		c.check()
	}
}

// reserved are the engine's own paths below /api/v1, which types cannot have.
var reserved = []string{"batch", "audit", "changes", "messagedefinitions", "notifications", "openapi"}

type typeLint struct {
	l     *loader
	f     *File
	t     *Type
	types map[string]*Type
	files map[string]*File
	// seen is the type as keywords see it.
	seen *keyword.Type
}

func (c *typeLint) problem(pointer, text, cure string) { c.l.problem(c.f, pointer, text, cure) }

// taken reports whether a path of the type is the first segment of a path that belongs to the
// service.
func (c *typeLint) taken(name string) bool {
	return slices.ContainsFunc(slices.Concat(reserved, c.l.options.Paths), func(path string) bool {
		first, below, _ := strings.Cut(path, "/")
		return first == name && !slices.Contains(c.t.Paths, below)
	})
}

func (c *typeLint) check() {
	if c.taken(c.t.Name) {
		c.problem("/x-resource/path", c.t.Name+" is a path of the service", "choose another path")
	}
	c.was()
	c.permission()
	c.removals()
	c.public()
	c.former()
	c.implied()
	for name := range c.t.Shape.Properties {
		if !document.PlainName(name) {
			c.problem("/properties/"+document.EscapeToken(name), "a property name consists of letters, digits, _ and -", "rename it")
		}
	}
	c.names()
	c.rules()
	c.conditions()
	c.annotations()
	c.readable()
}

func (c *typeLint) names() {
	for i, name := range c.t.Sort {
		c.ordered(fmt.Sprintf("/x-resource/sort/%d", i), name, false)
	}
	declared, _ := document.Lookup(c.t.Source, "/x-resource/index").([]any)
	for i, entry := range declared {
		at := fmt.Sprintf("/x-resource/index/%d", i)
		names := keyword.Strings(entry)
		if len(names) == 0 {
			continue // has been reported
		}
		c.ordered(at, names[0], len(names) == 1)
		if len(names) == 2 && !CommonField(names[1]) {
			c.ordered(at, names[1], false)
		}
	}
	c.unique()
	c.exclusive()
	c.uniqueForms()
	for i, name := range c.t.Search {
		at := fmt.Sprintf("/x-resource/search/%d", i)
		c.scalar(at, name, true)
		c.searched(at, name)
	}
	c.columns()
	c.label()
	c.parent()
	c.owners()
}

// columns checks the columns of lists in the console.
func (c *typeLint) columns() {
	resource, _ := c.t.Source["x-resource"].(map[string]any)
	for i, name := range keyword.Strings(resource["columns"]) {
		if c.t.Shape.Properties[name] == nil && !CommonField(name) {
			c.problem(fmt.Sprintf("/x-resource/columns/%d", i), "there is no property "+name, "name a property at the top level, or a common field")
		}
	}
}

// scalar checks a property that can be queried.
func (c *typeLint) scalar(at, name string, multiple bool) {
	field, shape := c.t.resolve(strings.Split(name, "."))
	switch {
	case c.uncertain(name):
	case shape == nil || shape == document.AnyShape:
		c.problem(at, "there is no property "+name, "name a property of the schema, by a dotted path")
	case field.Multiple() && !multiple, field.Kind == query.Object && len(shape.Kinds()) == 1:
		c.problem(at, name+" is not a single value", "name a property that holds a string, number or boolean")
	case field.Multiple() && field.Kind != query.String:
		c.problem(at, "only arrays of strings and of references can have an index", "")
	case shape.Secret, shape.WriteOnly:
		c.problem(at, name+" is secret and cannot be queried", "leave it out")
	case c.t.derived(name):
		c.problem(at, name+" is derived, not stored, and cannot be queried", "leave it out")
	}
}

// ordered checks a field of an index or an order: values of different kinds have no
// common order.
func (c *typeLint) ordered(at, name string, multiple bool) {
	before := len(c.l.problems)
	c.scalar(at, name, multiple)
	field, shape := c.t.resolve(strings.Split(name, "."))
	if len(c.l.problems) > before || shape == nil || c.uncertain(name) || CommonField(name) || field.Multiple() {
		return
	}
	if kinds := shape.Kinds(); len(kinds) != 1 {
		c.problem(at, name+" holds "+cmp.Or(strings.Join(kinds, " or "), "values of any kind")+", and values of different kinds have no common order",
			"give the property one type, besides null")
	}
}

func (c *typeLint) uniqueForms() {
	for _, f := range c.t.UniqueForms {
		at := "/x-resource/uniqueForm/" + f.Property
		if c.l.omitted.covers(c.f, "/x-resource/unique") || c.uncertain(f.Property) {
			continue
		}
		if !slices.Contains(c.t.Unique, f.Property) {
			c.problem(at, f.Property+" is not unique", "name it in unique, too")
		} else if _, shape := c.t.resolve(strings.Split(f.Property, ".")); shape != nil && !shape.Is("string") {
			c.problem(at, f.Property+" is not a string and has no form "+f.Form, "leave it out")
		}
	}
}

func (c *typeLint) label() {
	label := c.t.Label
	member := c.t.Shape.Properties[label]
	switch {
	case label == "", c.uncertain(label):
	case member == nil || !member.Is("string"):
		c.problem("/x-resource/label", "there is no string property "+label, "name one, or leave label out")
	case member.Secret, member.WriteOnly, member.Derived, member.Readable != "":
		c.problem("/x-resource/label", label+" is not visible to everyone who can see a reference", "name another property")
	}
}

func (c *typeLint) parent() {
	parent := c.t.Parent
	if parent == "" || c.uncertain(parent) || c.l.omitted.at[location{c.f, "/required"}] {
		return
	}
	member := c.t.Shape.Properties[parent]
	if member == nil || member.Ref == nil || !keyword.Immutable.Has(member) || !slices.Contains(keyword.Strings(c.t.Source["required"]), parent) {
		c.problem("/x-resource/parent", parent+" is not a required x-immutable reference", "name one; its id becomes part of the path")
	}
}

// permission checks that roles can hold the permissions of the type.
func (c *typeLint) permission() {
	resource, _ := c.t.Source["x-resource"].(map[string]any)
	several, _ := resource["permissions"].(map[string]any)
	if several != nil && resource["permission"] != nil {
		c.problem("/x-resource/permission", "permission is the same as write in permissions", "leave permission out")
	}
	c.held("/x-resource/permission", resource["permission"])
	for _, key := range slices.Sorted(maps.Keys(several)) {
		c.held("/x-resource/permissions/"+key, several[key])
	}
}

// held checks that roles can hold a permission.
func (c *typeLint) held(at string, value any) {
	name, _ := value.(string)
	if name == AllPermissions {
		c.problem(at, name+" stands for every permission", "choose another name")
	} else if name != "" && !permissionName.MatchString(name) && !slices.Contains(c.l.builtIn, name) {
		c.problem(at, name+" is not the name of a permission", "write up to 64 capitals, digits and _, such as MANAGE_WARDS")
	}
}

func (c *typeLint) rules() {
	for _, rule := range c.t.Rules {
		f := c.files[rule.File]
		if rule.Notes != nil {
			for _, note := range rule.Notes(c.seen) {
				c.l.note(f, rule.At, note)
			}
		}
		if rule.Lint != nil {
			rule.Lint(c.seen, func(below, text, cure string) { c.l.problem(f, rule.At+below, text, cure) })
		}
	}
}

// as returns a type as keywords see it.
func (c *typeLint) as(t *Type) *keyword.Type {
	of := &typeLint{l: c.l, f: c.files[t.File], t: t, types: c.types, files: c.files}
	return &keyword.Type{
		Name: t.Name, Global: t.Global, Removable: t.Removable(), Shape: t.Shape, Source: t.Source, Common: CommonField, Uncertain: of.uncertain,
		Omitted: func(pointer string) bool { return c.l.omitted.covers(of.f, pointer) },
		Other: func(name string) (*keyword.Type, bool) {
			if other := c.types[name]; other != nil {
				return c.as(other), true
			}
			return nil, !c.l.mayName(name)
		},
	}
}
