package diff

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"marquee/engine/document"
	"marquee/engine/schema"
)

// Types are compared under the names that are stored, their own and those of their properties, so
// that a rename (was, x-was) is no difference for what is stored. A side has the files with names
// that are stored otherwise in that form. Places and texts have the names that are written.

// storedContent returns the content of the file of a type under the stored names.
func storedContent(t *schema.Type) map[string]any {
	name := t.StoredName
	content := renamedSchema(t.Source, name)
	for _, key := range []string{"x-frozen", "x-compare", "x-exclusive", "x-warnings"} {
		if content[key] != nil {
			content[key] = renamedRule(content[key], name)
		}
	}
	rules, _ := content["x-validations"].([]any)
	content["x-validations"] = renamedExpressions(rules, name)
	if rules == nil {
		delete(content, "x-validations")
	}
	resource, _ := content["x-resource"].(map[string]any)
	resource = maps.Clone(resource)
	resource["path"] = t.Name
	delete(resource, "was")
	for _, key := range []string{"label", "parent", "search", "sort", "index", "unique", "uniqueForm", "team", "owner", "public"} {
		if resource[key] != nil {
			resource[key] = renamedRule(resource[key], name)
		}
	}
	content["x-resource"] = resource
	return content
}

// storedReferences returns a part of a schema with the stored names of the types that references
// lead to.
func storedReferences(part any, types *schema.Registry) any {
	switch v := part.(type) {
	case []any:
		list := slices.Clone(v)
		for i, item := range list {
			list[i] = storedReferences(item, types)
		}
		return list
	case map[string]any:
		renamed := make(map[string]any, len(v))
		for key, value := range v {
			path, short := value.(string)
			long, _ := value.(map[string]any)
			if key == "x-ref" && !short {
				path, _ = long["type"].(string)
			}
			t, known := types.Named(path)
			switch {
			case key != "x-ref" || !known:
				value = storedReferences(value, types)
			case short:
				value = t.Name
			default:
				long = maps.Clone(long)
				long["type"], value = t.Name, long
			}
			renamed[key] = value
		}
		return renamed
	}
	return part
}

// renamedSchema returns a schema of the object itself with other names of its members. The
// schemas of these, and those that it refers to, stay as they are.
func renamedSchema(schema map[string]any, name func(string) string) map[string]any {
	renamed := maps.Clone(schema)
	for key, value := range schema {
		members, _ := value.(map[string]any)
		list, _ := value.([]any)
		switch key {
		case "required":
			renamed[key] = renamedRule(value, name)
		case "properties", "dependentRequired", "dependentSchemas":
			of := make(map[string]any, len(members))
			for member, value := range members {
				switch inner, _ := value.(map[string]any); {
				case key == "dependentRequired":
					value = renamedRule(value, name)
				case key == "dependentSchemas" && inner != nil:
					value = renamedSchema(inner, name)
				}
				of[name(member)] = value
			}
			renamed[key] = of
		case "if", "then", "else", "not":
			if members != nil {
				renamed[key] = renamedSchema(members, name)
			}
		case "allOf", "anyOf", "oneOf":
			branches := slices.Clone(list)
			for i, branch := range branches {
				if inner, is := branch.(map[string]any); is {
					branches[i] = renamedSchema(inner, name)
				}
			}
			renamed[key] = branches
		}
	}
	return renamed
}

// renamedRule returns a part of a rule with other names of properties, as names, dotted paths
// and pointers. Conditions in it are schemas of the object.
func renamedRule(part any, name func(string) string) any {
	switch v := part.(type) {
	case string:
		if strings.HasPrefix(v, "/") {
			return document.RenamedPointer(v, name)
		}
		return document.RenamedPath(v, name)
	case []any:
		list := slices.Clone(v)
		for i, item := range list {
			list[i] = renamedRule(item, name)
		}
		return list
	case map[string]any:
		renamed := make(map[string]any, len(v))
		for key, value := range v {
			when, is := value.(map[string]any)
			switch {
			case key == "when" && is:
				value = renamedSchema(when, name)
			case key != "code" && key != "text" && key != "op":
				value = renamedRule(value, name)
			}
			renamed[name(key)] = value
		}
		return renamed
	}
	return part
}

// selfMember is a property of the object in an expression.
var selfMember = regexp.MustCompile("\\b(self|oldSelf)(\\.\\??`?)([A-Za-z0-9_-]+)")

// renamedExpressions returns rules of x-validations with other names of properties.
func renamedExpressions(rules []any, name func(string) string) []any {
	renamed := slices.Clone(rules)
	for i, rule := range renamed {
		members, _ := rule.(map[string]any)
		members = maps.Clone(members)
		if text, is := members["rule"].(string); is {
			members["rule"] = selfMember.ReplaceAllStringFunc(text, func(found string) string {
				parts := selfMember.FindStringSubmatch(found)
				return parts[1] + parts[2] + name(parts[3])
			})
		}
		if pointer, is := members["field"].(string); is {
			members["field"] = document.RenamedPointer(pointer, name)
		}
		renamed[i] = members
	}
	return renamed
}

// writtenRule returns a rule, as JSON, with the names of properties that are written in the type.
// Without one, it is a rule of a value within the objects.
func writtenRule(t *schema.Type, keyword, text string) string {
	rule, err := document.Decode([]byte(text), document.Limits{})
	switch {
	case t == nil || err != nil:
		return text
	case keyword == "x-validations":
		rule = renamedExpressions([]any{rule}, t.ServedName)[0]
	default:
		rule = renamedRule(rule, t.ServedName)
	}
	return string(document.Append(nil, rule))
}

// written returns the pointer as it is in the file of a type, of one into storedContent.
func written(t *schema.Type, pointer string) string {
	tokens := strings.Split(pointer, "/")
	for i, token := range tokens[:len(tokens)-1] {
		if token == "properties" || token == "dependentSchemas" || token == "dependentRequired" || token == "uniqueForm" {
			tokens[i+1] = document.EscapeToken(t.ServedName(document.UnescapeToken(tokens[i+1])))
			break // what follows is within a member
		}
	}
	return strings.Join(tokens, "/")
}

// renamed compares the names of two types, and of their properties.
func (c *comparison) renamed(old, new *schema.Type) {
	at := c.new.root(new)
	earlier, later := old.Served(), new.Served()
	if earlier.Name != later.Name {
		c.report("type-renamed", widened, at.in("x-resource", "path"), "the type "+earlier.Name+" is called "+later.Name+" in answers, and requests can use both paths", "")
	}
	for _, path := range lost(old.RequestPaths(), new.RequestPaths()) {
		cure := "add the path to was, at the end"
		switch _, taken := c.new.registry.Named(path); {
		case taken:
			cure = ""
		case len(later.Was) == 0: // the rename was taken back
			cure = "write was, with " + later.Name + " first and the path at the end"
		}
		c.report("path-removed", []Class{Request, Source}, at.in("x-resource", "path"), "the type "+later.Name+" can no longer be reached by the path "+path, cure)
	}
	before, after := acceptedNames(old), acceptedNames(new)
	v := c.new.value(nil, at)
	judged := len(v.all("propertyNames")) > 0 || v.judges("propertyNames", judging...) || v.judges("patternProperties", judging...)
	for _, stored := range slices.Sorted(maps.Keys(before)) {
		if after[stored] == nil {
			continue
		}
		was, is := old.ServedName(stored), new.ServedName(stored)
		place := at.in("properties", stored)
		switch text := "the property " + was + " is called " + is + " in answers, and requests can use both names"; {
		case was == is:
		case judged:
			c.undecided("property-renamed", place, text+"; whether the schemas of names accept it is not decided")
		default:
			c.report("property-renamed", widened, place, text, "")
		}
		for _, name := range lost(before[stored], after[stored]) {
			cure := "add the name to x-was, at the end"
			if len(new.FormerNames(stored)) == 0 {
				cure = "write x-was, with " + is + " first and the name at the end"
			}
			c.report("name-removed", []Class{Request, Source}, place, "the property "+is+" can no longer be called "+name+" in requests", cure)
		}
	}
}

// acceptedNames returns the names that requests can use for each property, by the stored one.
func acceptedNames(t *schema.Type) map[string][]string {
	names := map[string][]string{}
	for stored := range t.Shape.Properties {
		names[stored] = append(t.FormerNames(stored), t.ServedName(stored))
	}
	return names
}
