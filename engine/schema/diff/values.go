package diff

import (
	"fmt"
	"slices"
	"strings"

	"marquee/engine/document"
)

// Combinations of classes.
var (
	tightened = []Class{Stored, Request}
	loosened  = []Class{Response}
	narrowed  = []Class{Stored, Request, Source}
	widened   = []Class{Response, Source}
)

// values compares the schemas of a value.
func (c *comparison) values(old, new value) {
	switch {
	case old.never() && new.never():
		return
	case new.never():
		c.report("value-refused", narrowed, new.refused, "no value is accepted any more", "")
		return
	case old.never():
		c.report("value-accepted", widened, old.refused, "a value is accepted where none was", "")
		return
	case len(old.schemas) == 0 && len(new.schemas) == 0:
		return
	}
	key := fmt.Sprint(old.key(), "\n\n", new.key(), c.judged)
	if c.done[key] {
		return
	}
	c.done[key] = true
	if c.left--; c.left < 0 {
		c.undecided("too-complex", new.first(), "the schemas combine in too many ways to be compared")
		return
	}
	common := c.valueTypes(old, new)
	c.enums(old, new)
	c.bounds(common, old, new)
	c.constraints(common, old, new)
	c.annotations(old, new)
	c.rules(old, new)
	if common["object"] {
		c.members(old, new)
	}
	if common["array"] {
		c.items(old, new)
	}
}

// jsonTypes are the types of values.
var jsonTypes = []string{"null", "boolean", "string", "array", "object", "integer", "number"}

// types returns the types that a value can have, all without a keyword.
func (v value) types() map[string]bool {
	types := map[string]bool{}
	for _, name := range jsonTypes {
		types[name] = true
	}
	for _, s := range v.all("type") {
		names, is := s.value.([]any)
		if !is {
			names = []any{s.value}
		}
		for _, name := range jsonTypes {
			if !slices.Contains(names, any(name)) && (name != "integer" || !slices.Contains(names, any("number"))) {
				delete(types, name)
			}
		}
	}
	return types
}

// valueTypes compares the types of a value and returns those of both sides.
func (c *comparison) valueTypes(old, new value) (common map[string]bool) {
	before, after := old.types(), new.types()
	common = map[string]bool{}
	var lost, gained []string
	for _, name := range jsonTypes {
		switch {
		case before[name] && after[name]:
			common[name] = true
		case before[name]:
			lost = append(lost, name)
		case after[name]:
			gained = append(gained, name)
		}
	}
	if i := slices.Index(lost, "number"); i >= 0 && common["integer"] { // an integer is a number where it is stored
		lost = slices.Delete(lost, i, i+1)
		c.report("type-narrowed", narrowed, placeOf(old, new, "type"), "the value can no longer be a number with a fraction", "keep the type until no stored value has a fraction")
	}
	if len(lost) > 0 {
		at := placeOf(old, new, "type")
		c.report("type-narrowed", narrowed, at, "the value can no longer be "+alternatives(lost)+", and the set is refused while a stored value is", "keep the type, or use a new property")
	}
	if len(gained) > 0 {
		at := placeOf(old, new, "type")
		c.report("type-widened", widened, at, "the value can also be "+alternatives(gained), "")
	}
	return common
}

// placeOf returns the place of a keyword in the new set, or else that of the value; in the
// old set if the new one has no schema of the value.
func placeOf(old, new value, keyword string) place {
	v := new
	if len(new.schemas) == 0 {
		v = old
	}
	if stated := v.all(keyword); len(stated) > 0 {
		return stated[0].at
	}
	return v.first()
}

func alternatives(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// listed returns the JSON of the values that enum and const allow; open reports whether
// there is neither.
func (v value) listed() (values []string, open bool) {
	open = true
	for _, name := range []string{"enum", "const"} {
		for _, s := range v.all(name) {
			list, _ := s.value.([]any)
			if name == "const" {
				list = []any{s.value}
			}
			var texts []string
			for _, item := range list {
				texts = append(texts, string(document.Append(nil, item)))
			}
			if open {
				values, open = texts, false
			} else {
				values = slices.DeleteFunc(values, func(text string) bool { return !slices.Contains(texts, text) })
			}
		}
	}
	return values, open
}

// enums compares the values that enum and const allow.
func (c *comparison) enums(old, new value) {
	before, wasOpen := old.listed()
	after, isOpen := new.listed()
	at := placeOf(old, new, "enum")
	switch {
	case wasOpen && isOpen:
	case wasOpen:
		c.report("enum-added", narrowed, at, "only listed values are accepted: "+some(after), "list every value that is in use")
	case isOpen:
		c.report("enum-removed", widened, at, "values that were not listed are accepted", "")
	default:
		gone, renamed := c.renamedValues(new, lost(before, after))
		switch {
		case len(renamed) == 0:
		case c.judged:
			c.undecided("enum-value-renamed", placeOf(old, new, "x-was-values"), "other values take the places of "+some(renamed)+", and whether conditions accept them is not decided")
		default:
			c.report("enum-value-renamed", []Class{Source}, placeOf(old, new, "x-was-values"), "other values take the places of "+some(renamed), "")
		}
		if len(gone) > 0 {
			c.report("enum-value-removed", narrowed, at, "these values are no longer accepted: "+some(gone), "keep the values that are in use")
		}
		if gained := lost(after, before); len(gained) > 0 {
			c.report("enum-value-added", widened, at, "readers may receive new values: "+some(gained), "")
		}
	}
}

// some lists texts, not too many.
func some(texts []string) string {
	const most = 10
	if len(texts) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(texts[:most], ", "), len(texts)-most)
	}
	return strings.Join(texts, ", ")
}
