package openapi

import (
	"maps"
	"reflect"
	"slices"
)

// join replaces the components for requests that are the same as those for
// responses, and those for merge patches that are the same as either, also in paths.
func (c *components) join(paths object) {
	for found := true; found; {
		found = false
		for _, name := range slices.Sorted(maps.Keys(c.done)) {
			found = c.replace(name+request.suffix(), name, paths) || found
			if in, patch := c.done[name+request.suffix()], c.done[name+mergePatch.suffix()]; in != nil && patch != nil && reflect.DeepEqual(neverNull(in), neverNull(patch)) {
				c.done[name+request.suffix()] = patch // a write takes null for an absent member
			}
			found = c.replace(name+mergePatch.suffix(), name, paths) || c.replace(name+mergePatch.suffix(), name+request.suffix(), paths) || found
		}
	}
}

// neverNull returns a schema without the type null where it is beside another type.
func neverNull(value any) any {
	switch v := value.(type) {
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = neverNull(item)
		}
		return out
	case object:
		out := object{}
		for name, member := range v {
			out[name] = neverNull(member)
		}
		if types, _ := v["type"].([]any); len(types) == 2 && types[1] == "null" {
			out["type"] = types[0]
		}
		return out
	}
	return value
}

// replace replaces a component by another one if they are the same.
func (c *components) replace(name, other string, paths object) bool {
	if c.done[name] == nil || c.done[other] == nil || !same(c.done[name], c.done[other]) {
		return false
	}
	delete(c.done, name)
	for _, s := range c.done {
		redirect(s, name, other)
	}
	redirect(paths, name, other)
	return true
}

// same reports whether two components differ in their titles alone.
func same(a, b object) bool {
	untitled := func(s object) object {
		s = maps.Clone(s)
		delete(s, "title")
		return s
	}
	return reflect.DeepEqual(untitled(a), untitled(b))
}

// redirect makes the references to one component lead to another.
func redirect(value any, from, to string) {
	eachObject(value, func(o object) {
		if o["$ref"] == "#/components/schemas/"+from {
			o["$ref"] = "#/components/schemas/" + to
		}
	})
}

// eachObject calls visit with each object of a value, those around others first.
func eachObject(value any, visit func(object)) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			eachObject(item, visit)
		}
	case object:
		visit(v)
		for _, member := range v {
			eachObject(member, visit)
		}
	}
}
