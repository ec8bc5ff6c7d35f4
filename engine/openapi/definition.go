package openapi

import (
	"fmt"
	"strings"

	"marquee/engine/document"
)

// definition is a schema as it is written, in a file to which its references are
// relative.
type definition struct {
	file   string
	source object
}

// meant returns the definitions of a value: d, what its $ref leads to, and the branch of
// its anyOf if there is only one that is not null.
func (p *typePage) meant(d definition) []definition {
	all := []definition{d}
	for i := 0; i < len(all) && len(all) <= maxPageDepth; i++ {
		at, s := all[i].file, all[i].source
		if ref, ok := s["$ref"].(string); ok {
			to := target(at, ref)
			if found, ok := document.Lookup(p.files[to.file], to.pointer).(object); ok {
				all = append(all, definition{to.file, found})
			}
		}
		var branches []object
		variants, _ := s["anyOf"].([]any)
		for _, v := range variants {
			if branch, ok := v.(object); ok && branch["type"] != "null" {
				branches = append(branches, branch)
			}
		}
		if len(branches) == 1 {
			all = append(all, definition{at, branches[0]})
		}
	}
	return all
}

// member returns the definitions of a value inside a value: the schema at a keyword, or
// its member with a name.
func (p *typePage) member(definitions []definition, keyword, name string) []definition {
	for _, d := range definitions {
		s, _ := d.source[keyword].(object)
		if name != "" {
			s, _ = s[name].(object)
		}
		if s != nil {
			return p.meant(definition{d.file, s})
		}
	}
	return nil
}

// kind is the type of a value, with the format of a string.
func kind(shape *document.Shape, definitions []definition) string {
	name := strings.Join(shape.Types, " or ")
	if format, ok := first(definitions, "format").(string); ok {
		name += " (" + format + ")"
	}
	return name
}

// first returns the value of a keyword in the first definition that has it, or nil.
func first(definitions []definition, keyword string) any {
	for _, d := range definitions {
		if value := d.source[keyword]; value != nil {
			return value
		}
	}
	return nil
}

// bounds are the rules about which values are accepted.
func bounds(definitions []definition) (rules []string) {
	value := func(keyword string) string {
		if found := first(definitions, keyword); found != nil {
			return string(document.Append(nil, found))
		}
		return ""
	}
	if allowed, ok := first(definitions, "enum").([]any); ok {
		var names []string
		for _, one := range allowed {
			if name, ok := one.(string); ok {
				names = append(names, name)
			} else {
				names = append(names, string(document.Append(nil, one)))
			}
		}
		rules = append(rules, "one of "+strings.Join(names, ", "))
	}
	for _, r := range []struct{ least, most, unit string }{
		{"minLength", "maxLength", " characters"}, {"minItems", "maxItems", " items"}, {"minimum", "maximum", ""}, {"minProperties", "maxProperties", " members"},
	} {
		switch least, most := value(r.least), value(r.most); {
		case least != "" && most != "":
			rules = append(rules, fmt.Sprintf("from %s to %s%s", least, most, r.unit))
		case least == "1" && r.unit != "":
			rules = append(rules, "not empty")
		case least != "":
			rules = append(rules, fmt.Sprintf("at least %s%s", least, r.unit))
		case most != "":
			rules = append(rules, fmt.Sprintf("at most %s%s", most, r.unit))
		}
	}
	if least := value("exclusiveMinimum"); least != "" {
		rules = append(rules, "greater than "+least)
	}
	if most := value("exclusiveMaximum"); most != "" {
		rules = append(rules, "less than "+most)
	}
	if pattern, ok := first(definitions, "pattern").(string); ok {
		rules = append(rules, "matches "+pattern)
	}
	return rules
}
