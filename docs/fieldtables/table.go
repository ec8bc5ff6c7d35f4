package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"marquee/engine/schema/keyword"
)

// table is a field table of a page.
type table struct {
	page  string
	files fs.FS
	rows  strings.Builder
}

func (t table) write(s schema) string {
	t.members("", s)
	if t.rows.Len() == 0 { // not an object with fields
		return strings.Join(append([]string{"Type: " + t.kind(s) + "."}, constraints(s)...), " ") + "\n"
	}
	return "| Field | Type | Description |\n|---|---|---|\n" + t.rows.String()
}

// members writes the rows of the properties of an object, and of what they
// hold: nested names are joined by dots, and [] means the items of an array.
func (t *table) members(prefix string, s schema) {
	for _, variant := range variants(s, "anyOf") {
		if variant.has("properties") {
			s = variant
		}
	}
	required := s.texts("required")
	properties := s.child("properties")
	for _, name := range properties.names {
		property := properties.child(name)
		t.row("`"+prefix+name+"`", property, slices.Contains(required, name))
		t.below(prefix+name, property)
	}
}

// below writes the rows of what a property holds.
func (t *table) below(at string, s schema) {
	switch {
	case s.has("$ref"):
	case s.has("items"):
		t.below(at+"[]", s.child("items"))
	case s.has("properties"):
		t.members(at+".", s)
	case s.has("additionalProperties"):
		for _, variant := range variants(s.child("additionalProperties"), "anyOf") {
			t.below(at+".*", variant)
		}
	}
}

// variants are a schema itself and those of one of its applicators.
func variants(s schema, applicator string) []schema {
	var list []schema
	_ = json.Unmarshal(s.members[applicator], &list)
	return append([]schema{s}, list...)
}

func (t *table) row(name string, s schema, required bool) {
	notes := constraints(s)
	if required {
		notes = append([]string{"**Required.**"}, notes...)
	}
	description := strings.Join(append([]string{s.text("description")}, notes...), " ")
	fmt.Fprintf(&t.rows, "| %s | %s | %s |\n", name, cell(t.kind(s)), cell(strings.TrimSpace(description)))
}

func cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\n", " "), "|", `\|`)
}

// kind returns the type of a value, with links to its description.
func (t *table) kind(s schema) string {
	if ref := s.child("x-ref"); ref.text("form") == "object" && !refers(s) {
		return "string or reference to " + t.typeLink(ref.text("type"))
	} else if ref.has("type") {
		return "reference to " + t.typeLink(ref.text("type"))
	} else if name := s.text("x-ref"); name != "" {
		return "reference to " + t.typeLink(name)
	}
	if ref := s.text("$ref"); ref != "" {
		target, err := readSchema(t.files, "common/"+path.Base(ref))
		if err != nil {
			panic(err) // the engine has loaded these schemas
		}
		title := target.text("title")
		return "[" + title + "](" + t.relative(sharedPage) + "#" + strings.ReplaceAll(strings.ToLower(title), " ", "-") + ")"
	}
	var names []string
	for _, name := range s.texts("type") {
		switch {
		case name == "array":
			name = "array of " + t.kind(s.child("items"))
		case name == "object" && s.has("additionalProperties") && !s.has("properties") && len(s.child("additionalProperties").names) > 0:
			name = "map of " + t.kind(s.child("additionalProperties"))
		}
		if format := s.text("format"); format != "" && name != "null" {
			name += " (" + format + ")"
		}
		names = append(names, name)
	}
	for _, variant := range variants(s, "anyOf")[1:] {
		names = append(names, t.kind(variant))
	}
	if len(names) == 0 {
		return "any"
	}
	return strings.Join(names, " or ")
}

// refers reports whether a schema is that of references, also in a variant.
func refers(s schema) bool {
	return slices.ContainsFunc(variants(s, "anyOf"), func(v schema) bool { return path.Base(v.text("$ref")) == "reference.json" })
}

func (t *table) typeLink(name string) string {
	return "[" + name + "](" + t.relative(typePages+"/"+name+".md") + ")"
}

// relative is the way from the page to another one.
func (t *table) relative(to string) string {
	at := t.page
	if i := strings.Index(at, "docs/"); i > 0 {
		at = at[i:]
	}
	way, err := filepath.Rel(filepath.Dir(at), to)
	if err != nil {
		panic(err) // both are below docs
	}
	if way == "." || filepath.Clean(at) == to {
		return filepath.Base(to)
	}
	return filepath.ToSlash(way)
}

// constraints are the sentences about the values that a property can have.
func constraints(s schema) []string {
	var notes []string
	if items := s.child("items"); s.has("items") && !items.has("properties") {
		if each := constraints(items); len(each) > 0 {
			text := strings.Join(each, " ")
			notes = append(notes, "Each item: "+strings.ToLower(text[:1])+text[1:])
		}
	}
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	for _, k := range keyword.All() {
		if k.Table != "" && s.has(k.Name) && string(s.members[k.Name]) != "false" {
			add("%s", k.Table)
		}
	}
	if names := s.texts("enum"); len(names) > 0 {
		add("One of %s.", codes(names))
	}
	if names := s.child("propertyNames").texts("enum"); len(names) > 0 {
		add("The keys are %s.", codes(names))
	}
	notes = append(notes, bounds(s)...)
	if s.isTrue("uniqueItems") {
		add("No duplicates.")
	}
	if s.has("pattern") {
		add("Matches `%s`.", s.text("pattern"))
	}
	if s.has("default") {
		add("Default: `%s`.", s.members["default"])
	}
	return notes
}

// bounds describes the lengths and the numbers that a schema allows.
func bounds(s schema) (notes []string) {
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	value := func(name string) string { return string(s.members[name]) }
	for _, bound := range []struct{ least, most, format, equal string }{
		{"minLength", "maxLength", "%s characters.", "Exactly %s characters."},
		{"minItems", "maxItems", "%s items.", "Exactly %s items."},
	} {
		switch least, most := value(bound.least), value(bound.most); {
		case least != "" && least == most:
			add(bound.equal, least)
		case least != "" && most != "":
			add(bound.format, least+" to "+most)
		case most != "":
			add("At most "+bound.format, most)
		case least == "1":
			add("Must not be empty.")
		case least != "":
			add("At least "+bound.format, least)
		}
	}
	switch least, most := value("minimum"), value("maximum"); {
	case least != "" && most != "":
		add("From %s to %s.", least, most)
	case least != "":
		add("At least %s.", least)
	case most != "":
		add("At most %s.", most)
	}
	if s.has("exclusiveMinimum") {
		add("Greater than %s.", value("exclusiveMinimum"))
	}
	return notes
}
