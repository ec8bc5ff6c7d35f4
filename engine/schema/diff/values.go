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
	key := old.key() + "\n\n" + new.key()
	if c.done[key] {
		return
	}
	c.done[key] = true
	if c.left--; c.left < 0 {
		c.undecided("too-complex", new.first(), false, "the schemas combine in too many ways to be compared")
		return
	}
	switch {
	case old.never && new.never:
		return
	case new.never:
		c.report("value-refused", narrowed, new.refused, false, "no value is accepted any more", "")
		return
	case old.never:
		c.report("value-accepted", widened, old.refused, true, "a value is accepted where none was", "")
		return
	}
	if len(old.schemas) == 0 && len(new.schemas) == 0 {
		return
	}
	common := c.valueTypes(old, new)
	c.enums(old, new)
	c.bounds(common, old, new)
	c.constraints(common, old, new)
	c.annotations(old, new)
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
	if len(lost) > 0 {
		at, isOld := c.placeOf(old, new, "type")
		c.report("type-narrowed", narrowed, at, isOld, "the value can no longer be "+alternatives(lost), "keep the type, or use a new property")
	}
	if len(gained) > 0 {
		at, isOld := c.placeOf(old, new, "type")
		c.report("type-widened", widened, at, isOld, "the value can also be "+alternatives(gained), "")
	}
	return common
}

// placeOf returns the place of a keyword in the new set, or in the old one if it is only
// there.
func (c *comparison) placeOf(old, new value, keyword string) (at place, isOld bool) {
	if stated := new.all(keyword); len(stated) > 0 {
		return stated[0].at, false
	}
	if first := new.first(); first.file != nil {
		return first, false
	}
	if stated := old.all(keyword); len(stated) > 0 {
		return stated[0].at, true
	}
	return old.first(), true
}

func alternatives(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// listed returns the JSON of the values that enum and const allow; any reports whether
// they allow all.
func (v value) listed() (values []string, any bool) {
	any = true
	for _, name := range []string{"enum", "const"} {
		for _, s := range v.all(name) {
			list, _ := s.value.([]interface{})
			if name == "const" {
				list = []interface{}{s.value}
			}
			var texts []string
			for _, item := range list {
				texts = append(texts, string(document.Append(nil, item)))
			}
			if any {
				values, any = texts, false
			} else {
				values = slices.DeleteFunc(values, func(text string) bool { return !slices.Contains(texts, text) })
			}
		}
	}
	return values, any
}

// enums compares the values that enum and const allow.
func (c *comparison) enums(old, new value) {
	before, anyBefore := old.listed()
	after, anyAfter := new.listed()
	at, isOld := c.placeOf(old, new, "enum")
	switch {
	case anyBefore && anyAfter:
	case anyBefore:
		c.report("enum-added", narrowed, at, isOld, "only listed values are accepted: "+some(after), "list every value that is in use")
	case anyAfter:
		c.report("enum-removed", widened, at, isOld, "values that were not listed are accepted", "")
	default:
		if gone := lost(before, after); len(gone) > 0 {
			c.report("enum-value-removed", narrowed, at, isOld, "these values are no longer accepted: "+some(gone), "keep the values that are in use")
		}
		if gained := lost(after, before); len(gained) > 0 {
			c.report("enum-value-added", widened, at, isOld, "readers may receive new values: "+some(gained), "")
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
