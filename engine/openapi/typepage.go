package openapi

import (
	_ "embed"
	"html/template"
	"maps"
	"slices"
	"strings"

	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/schema/dialect"
	"marquee/engine/schema/keyword"
)

// typePage is what the page of a type shows: above all what OpenAPI has no words for.
type typePage struct {
	*schema.Type
	Properties []property
	// Entries are the values and rules with a keyword, by its name.
	Entries map[string][]keyword.Entry
	// Conditions are the members of allOf, as they are written.
	Conditions string
	ReferredBy []link
	// types are those that references lead to, and files the schemas that a $ref can refer to.
	types *schema.Registry
	files map[string]map[string]any
}

// property is a property of a type, with the names of those around it.
type property struct {
	Path, Kind, Description string
	// Target is the type that a reference refers to, or "" if its reader does not know it.
	Target string
	Rules  []string
}

// link is a property of another type.
type link struct{ Type, Path string }

//go:embed page/type.html
var typeTemplateText string

// renderType returns the page of a type.
func renderType(types *schema.Registry, t *schema.Type) ([]byte, error) {
	p := newTypePage(types, t)
	p.walk("", t.Shape, p.meant(definition{typeFile(t), t.Source}), nil)
	for _, rule := range t.Rules {
		if rule.Show != nil {
			entry := rule.Show()
			entry.Except = slices.DeleteFunc(slices.Clone(entry.Except), func(name string) bool { return t.Shape.LeftOut[name] })
			p.Entries[rule.Keyword.Name] = append(p.Entries[rule.Keyword.Name], entry)
		}
	}
	if t.Source["allOf"] != nil {
		p.Conditions = keyword.Indented(dialect.Subschemas("allOf", t.Source["allOf"], p.known))
	}
	for _, other := range types.Types() {
		q := newTypePage(types, other)
		q.walk("", other.Shape, q.meant(definition{typeFile(other), other.Source}), nil)
		for _, property := range q.Properties {
			if property.Target == t.Name {
				p.ReferredBy = append(p.ReferredBy, link{other.Name, property.Path})
			}
		}
	}
	page, err := template.New("type").Funcs(template.FuncMap{"join": strings.Join}).Parse(typeTemplateText +
		sections("sections", func(k *keyword.Keyword) bool { return k.Order < keyword.Standard }) +
		sections("later", func(k *keyword.Keyword) bool { return k.Order > keyword.Standard }))
	if err != nil {
		return nil, err
	}
	return execute(page, p)
}

// known returns a schema as it is written, without the types that its reader does not know.
func (p *typePage) known(value any) any {
	s, ok := value.(object)
	if !ok {
		return value
	}
	out := object{}
	for name, value := range s {
		if name != "x-ref" || knows(p.types, value) {
			out[name] = dialect.Subschemas(name, value, p.known)
		}
	}
	return out
}

// maxPageDepth is how deep properties are listed.
const maxPageDepth = 8

func newTypePage(types *schema.Registry, t *schema.Type) typePage {
	files := types.Shared()
	files[typeFile(t)] = t.Source
	return typePage{Type: t, types: types, files: files, Entries: map[string][]keyword.Entry{}}
}

// walk adds the properties below a place, which the definitions describe.
func (p *typePage) walk(prefix string, shape *document.Shape, definitions []definition, above []*document.Shape) {
	if shape == nil || slices.Contains(above, shape) || len(above) == maxPageDepth {
		return
	}
	above = append(slices.Clip(above), shape)
	for _, name := range slices.Sorted(maps.Keys(shape.Properties)) {
		inner, at := shape.Properties[name], prefix+name
		outer := p.member(definitions, "properties", name)
		described := outer
		for inner.Element != nil && inner.Ref == nil {
			inner, at = inner.Element, at+"[]"
			described = p.member(described, "items", "")
		}
		required := slices.ContainsFunc(definitions, func(d definition) bool {
			names, _ := d.source["required"].([]any)
			return slices.Contains(names, any(name))
		})
		p.add(at, shape.Properties[name], inner, outer, described, required)
		if inner.Ref == nil { // what a reference shows is the target's
			p.walk(at+".", inner, described, above)
			p.walk(at+".*.", inner.Extra, p.member(described, "additionalProperties", ""), above)
		}
	}
}

// add adds a property. Inner is its shape, or that of its items, and each is described
// by the definitions that follow.
func (p *typePage) add(at string, shape, inner *document.Shape, outer, described []definition, required bool) {
	added := property{Path: at, Kind: kind(shape, outer)}
	if inner != shape && len(inner.Types) > 0 {
		added.Kind = "array of " + kind(inner, described)
	}
	if len(outer) > 0 {
		added.Description, _ = outer[0].source["description"].(string)
	}
	if inner.Ref != nil {
		if _, known := p.types.Type(inner.Ref.Type); known {
			added.Target = p.types.Path(inner.Ref.Type)
		}
	}
	if required {
		added.Rules = append(added.Rules, "required")
	}
	note := func(k *keyword.Keyword) {
		of := shape
		if !k.Has(of) {
			of = inner
		}
		if !k.Has(of) || k.Rule != nil && p.Narrowed() && first(outer, k.Name) == nil && first(described, k.Name) == nil {
			return // a narrowed schema leaves out rules that mention what it lacks
		}
		if k.Note != nil {
			added.Rules = append(added.Rules, k.Note(of)...)
		}
		p.Entries[k.Name] = append(p.Entries[k.Name], keyword.Entry{Path: at, Shape: of})
	}
	all := keyword.OfValues()
	i := slices.IndexFunc(all, func(k *keyword.Keyword) bool { return k.Order > keyword.Standard })
	for _, k := range all[:i] {
		note(k)
	}
	if inner.Ref == nil {
		added.Rules = append(added.Rules, bounds(outer)...)
		if inner != shape {
			for _, bound := range bounds(described) {
				added.Rules = append(added.Rules, "each item: "+bound)
			}
		}
	}
	for _, k := range all[i:] {
		note(k)
	}
	p.Properties = append(p.Properties, added)
}

// sections is the template of the sections of keywords before or after those of JSON
// Schema, those of values first.
func sections(name string, shown func(*keyword.Keyword) bool) string {
	text := `{{define "` + name + `"}}`
	for _, k := range slices.Concat(keyword.OfValues(), keyword.OfTypes()) {
		if shown(k) {
			text += `{{with index .Entries "` + k.Name + `"}}` + k.Section + "\n{{end}}"
		}
	}
	return text + "{{end}}"
}
