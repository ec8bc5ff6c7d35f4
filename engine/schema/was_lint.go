package schema

import (
	"fmt"
	"maps"
	"slices"

	"marquee/engine/document"
)

// was checks that the objects of the type cannot be taken for those of another one.
func (c *typeLint) was() {
	const at = "/x-resource/was"
	if len(c.t.Was) > 0 && slices.Contains(KeptTypes, c.t.Name) {
		c.problem(at, c.t.Name+" is a type of every application and keeps its path", "remove it")
		return
	}
	for i, name := range c.t.Was {
		if name == c.t.Name && i < len(c.t.Was)-1 {
			continue // a later rename was taken back
		}
		below := ""
		if _, several := document.Lookup(c.t.Source, at).([]any); several {
			below = fmt.Sprint("/", i)
		}
		if text, cure := c.wrongPath(name); text != "" {
			c.problem(at+below, text, cure)
		}
	}
}

// wrongPath returns why the type cannot have had a path, or "".
func (c *typeLint) wrongPath(name string) (text, cure string) {
	switch other := c.types[name]; {
	case name == c.t.Name:
		return "the type has this path now", "remove it"
	case c.taken(name):
		return name + " is a path of the service", "name a path of an earlier schema"
	case other != nil && slices.Contains(other.Was, c.t.Name):
		return c.t.Name + " and " + name + " each had the path of the other, so that their objects cannot be told apart", "give one of them a new path"
	case other != nil:
		return name + " is the path of another type, so that its objects cannot be those of " + c.t.Name, "give one of them a new path"
	}
	for _, other := range slices.Sorted(maps.Keys(c.types)) {
		if other < c.t.Name && slices.Contains(c.types[other].Was, name) {
			return other + " was called " + name + ", too", "name it at one of them"
		}
	}
	return "", ""
}
