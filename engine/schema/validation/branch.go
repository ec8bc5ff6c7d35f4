package validation

import (
	"net/url"
	"slices"
	"strings"

	"marquee/engine/document"
	"marquee/engine/message"
)

// branch is a schema of an anyOf or a oneOf that does not accept a value.
type branch struct {
	parts []part
	// listed are the only values that it accepts, and members those of its properties. They
	// are nil if neither const nor enum lists them.
	listed  []any
	members map[string][]any
	faults  []message.Message
}

// part is a schema that applies to a value, and the URL of its file.
type part struct {
	url    string
	schema map[string]any
}

// branch returns the branch at an absolute location.
func (r Schemas) branch(location string) branch {
	base, _, _ := strings.Cut(location, "#")
	return r.branchOf(base, r.keyword(location))
}

func (r Schemas) branchOf(base string, schema any) branch {
	b := branch{parts: r.parts(base, schema), members: map[string][]any{}}
	b.listed = listed(b.parts)
	for _, p := range b.parts {
		properties, _ := p.schema["properties"].(map[string]any)
		for name, property := range properties {
			if values := listed(r.parts(p.url, property)); values != nil {
				b.members[name] = values
			}
		}
	}
	return b
}

// parts returns a schema and those that it applies with $ref and allOf.
func (r Schemas) parts(base string, schema any) []part {
	content, ok := schema.(map[string]any)
	if !ok {
		return nil
	}
	parts := []part{{base, content}}
	if ref, ok := content["$ref"].(string); ok {
		if from, err := url.Parse(base); err == nil {
			if to, err := from.Parse(ref); err == nil {
				file, _, _ := strings.Cut(to.String(), "#")
				parts = append(parts, r.parts(file, document.Lookup(r[file], to.Fragment))...)
			}
		}
	}
	all, _ := content["allOf"].([]any)
	for _, one := range all {
		parts = append(parts, r.parts(base, one)...)
	}
	return parts
}

// listed returns the values that const or enum lists, nil if other values are valid.
func listed(parts []part) []any {
	for _, p := range parts {
		if value, ok := p.schema["const"]; ok {
			return []any{value}
		}
		if values, ok := p.schema["enum"].([]any); ok {
			return values
		}
	}
	return nil
}

var nouns = map[any]string{
	"array": "an array", "boolean": "a boolean", "integer": "an integer", "null": "null", "number": "a number",
	"object": "an object", "string": "a string",
}

// restrictions describe keywords, with the type of values that they restrict.
var restrictions = []struct{ keyword, kind, before, after string }{
	{"properties", "object", "", ""},
	{"required", "object", "with ", ""},
	{"minProperties", "object", "of at least ", " properties"},
	{"maxProperties", "object", "of at most ", " properties"},
	{"minItems", "array", "of at least ", " items"},
	{"maxItems", "array", "of at most ", " items"},
	{"minimum", "number", "of at least ", ""},
	{"exclusiveMinimum", "number", "greater than ", ""},
	{"maximum", "number", "of at most ", ""},
	{"exclusiveMaximum", "number", "less than ", ""},
	{"multipleOf", "number", "divisible by ", ""},
	{"minLength", "string", "of at least ", " characters"},
	{"maxLength", "string", "of at most ", " characters"},
	{"pattern", "string", "matching ", ""},
	{"format", "string", "in the format ", ""},
}

// names say what a branch accepts, one or the other: its title, the values that it lists,
// its types with their restrictions, or what its own branches accept.
func (r Schemas) names(b branch) (names []string) {
	for _, p := range b.parts {
		if title, ok := p.schema["title"].(string); ok {
			return []string{title}
		}
		for _, keyword := range []string{"anyOf", "oneOf"} {
			inner, _ := p.schema[keyword].([]any)
			for _, one := range inner {
				names = append(names, r.names(r.branchOf(p.url, one))...)
			}
		}
	}
	if b.listed != nil {
		names = nil
		for _, value := range b.listed {
			names = append(names, string(document.Append(nil, value)))
		}
		return names
	}
	if types := b.types(); types != nil {
		return types
	}
	if names == nil {
		return []string{"another value"}
	}
	return names
}

// Titles returns the titles in names of the alternatives to the schema of an object, and to those
// of the objects on a path of properties, of which a part is about something.
func (r Schemas) Titles(base string, schema any, path []string, about func(part any) bool) (titles []string) {
	for _, p := range r.parts(base, schema) {
		for _, keyword := range []string{"anyOf", "oneOf"} {
			alternatives, _ := p.schema[keyword].([]any)
			for _, one := range alternatives {
				parts := r.parts(p.url, one)
				titled := slices.IndexFunc(parts, func(p part) bool { _, ok := p.schema["title"].(string); return ok })
				if titled >= 0 && slices.ContainsFunc(parts, func(p part) bool { return about(p.schema) }) {
					titles = append(titles, parts[titled].schema["title"].(string))
				}
				titles = append(titles, r.Titles(p.url, one, path, about)...)
			}
		}
		for _, keyword := range []string{"then", "else"} {
			titles = append(titles, r.Titles(p.url, p.schema[keyword], path, about)...)
		}
		dependent, _ := p.schema["dependentSchemas"].(map[string]any)
		for _, one := range dependent {
			titles = append(titles, r.Titles(p.url, one, path, about)...)
		}
		if properties, _ := p.schema["properties"].(map[string]any); len(path) > 1 {
			titles = append(titles, r.Titles(p.url, properties[path[0]], path[1:], about)...)
		}
	}
	return titles
}

// types names the types that a branch accepts, or those that it restricts if it accepts
// all, with their restrictions.
func (b branch) types() (names []string) {
	var kinds, restricted []any
	texts := map[any][]string{}
	for _, p := range b.parts {
		switch t := p.schema["type"].(type) {
		case string:
			kinds = []any{t}
		case []any:
			kinds = t
		}
		for _, by := range restrictions {
			value, ok := p.schema[by.keyword]
			if !ok {
				continue
			}
			restricted = append(restricted, by.kind)
			switch by.keyword {
			case "properties":
				continue
			case "required":
				value = b.required(value)
			}
			texts[by.kind] = append(texts[by.kind], by.before+joined(value, " and ")+by.after)
		}
	}
	texts["integer"] = texts["number"]
	if kinds == nil {
		kinds = distinct(restricted)
	}
	for _, kind := range kinds {
		names = append(names, strings.TrimSpace(nouns[kind]+" "+strings.Join(texts[kind], ", ")))
	}
	return names
}

// required returns the names of required properties, with the value if only one is listed.
func (b branch) required(value any) (texts []any) {
	names, _ := value.([]any)
	for _, name := range names {
		text, _ := name.(string)
		if values := b.members[text]; len(values) == 1 {
			text += " " + string(document.Append(nil, values[0]))
		}
		texts = append(texts, text)
	}
	return texts
}

// distinct returns the values without repetitions, in their order.
func distinct[T any](values []T) []T {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(values), func(value T) bool {
		text := string(document.Append(nil, value))
		again := seen[text]
		seen[text] = true
		return again
	})
}
