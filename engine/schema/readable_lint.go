package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"marquee/engine/document"
	"marquee/engine/schema/keyword"
)

// byNames is the form of pointers to declarations in properties alone.
var byNames = regexp.MustCompile(`^(/properties/[^/]+)+$`)

// readable checks that properties with x-readable are reached by fixed names, and that
// nothing that all callers see depends on them.
func (c *typeLint) readable() {
	if len(c.t.Readable()) == 0 {
		return
	}
	if len(c.t.Readable()) > maxReadable {
		c.problem("/x-resource", fmt.Sprintf("the properties name more than %d permissions", maxReadable), "use one for several of them")
	}
	if slices.Contains(KeptTypes, c.t.Name) {
		c.problem("/x-resource/path", "the properties of "+c.t.Name+" have no x-readable", "leave it out")
	}
	before := map[reached]bool{}
	c.readableWithin(c.t.Shape, true, before)
	for r := range before { // afterwards, as readableValue is silent where there is a problem
		for name, member := range r.shape.Properties {
			c.readableNetwork(name, member)
		}
	}
	for name, shape := range c.t.Shape.Properties {
		if shape.Readable != "" && (CommonField(name) || name == c.t.Parent) {
			c.readableProblem(shape, name+" is part of the path of an object, which everybody reads", "leave it out")
		}
	}
	c.readableByAll()
}

// reached is a value, and whether it was reached by fixed names.
type reached struct {
	shape *document.Shape
	fixed bool
}

// readableWithin checks a value and those within it, except those that have been reached in
// the same way before.
func (c *typeLint) readableWithin(shape *document.Shape, fixed bool, before map[reached]bool) {
	if !shape.HasReadable || before[reached{shape, fixed}] {
		return
	}
	before[reached{shape, fixed}] = true
	if shape.Readable != "" {
		c.readableValue(shape, fixed)
	}
	members := map[*document.Shape]bool{}
	for _, member := range shape.Properties {
		members[member] = true
		c.readableWithin(member, fixed, before)
	}
	shape.Children(func(child *document.Shape) bool {
		if !members[child] {
			c.readableWithin(child, false, before)
		}
		return false
	})
}

// readableValue checks a value with the keyword.
func (c *typeLint) readableValue(shape *document.Shape, fixed bool) {
	if shape.Readable == c.t.Read && c.t.Public == nil {
		c.readableProblem(shape, "everybody who sees objects of the type has "+shape.Readable, "name another permission")
	}
	for _, p := range c.l.shapes.places[shape] {
		if _, there := p.schema()["x-readable"]; !there || c.l.reported(p.f, p.pointer+"/x-readable") {
			continue
		}
		if !fixed || p.f != c.f || !byNames.MatchString(p.pointer) {
			c.l.problem(p.f, p.pointer+"/x-readable", "x-readable is on a value that is not always reached by the same names",
				"write it in the properties of the type, or of an object that these declare in place")
		}
	}
}

// readableNetwork checks that a member with the keyword does not name the network of a
// reference, which its url shows.
func (c *typeLint) readableNetwork(name string, member *document.Shape) {
	if member.Readable == "" {
		return
	}
	for shape := range c.t.Shape.All() {
		if shape.Ref != nil && shape.Ref.Network == name {
			c.readableProblem(member, "a reference has its network in "+name+", and shows it", "remove one of them")
			return
		}
	}
}

// readableByAll checks that neither a warning nor the condition of public depends on a
// property with the keyword: everybody who sees an object learns both.
func (c *typeLint) readableByAll() {
	hidden := leftOut(c.t.Shape.Without(func(string) bool { return true }))
	for _, path := range hidden {
		if mentionsPath(publicWhen(c.t.Source), path) {
			c.problem(publicAt+"/when", strings.Join(path, ".")+" is x-readable, and everybody would see what it is", "name properties that everybody reads")
		}
	}
	for _, rule := range c.t.Rules {
		if rule.Warns == nil {
			continue
		}
		written, _ := document.Lookup(c.t.Source, rule.At).(map[string]any)
		for _, path := range hidden {
			for _, key := range []string{"when", "unless", "field"} {
				if mentionsPath(written[key], path) {
					c.problem(rule.At+"/"+key, strings.Join(path, ".")+" is x-readable, and everybody sees the warnings of an object", "write a rule of x-validations, or leave the warning out")
				}
			}
		}
	}
}

// searched checks that a property that is searched can be read by all.
func (c *typeLint) searched(at, name string) {
	shape := c.t.Shape
	for _, step := range strings.Split(name, ".") {
		if shape.Element != nil {
			shape = shape.Element
		}
		if shape = shape.Member(step); shape == nil {
			return
		}
		if shape.Readable != "" {
			c.problem(at, name+" is x-readable, and q searches the words of all properties together", "leave it out")
			return
		}
	}
}

// readableProblem reports a problem with the keyword of a value.
func (c *typeLint) readableProblem(shape *document.Shape, text, cure string) {
	c.l.problems = append(c.l.problems, c.l.shapes.at(shape, keyword.Readable.Name, "", text, cure))
}
