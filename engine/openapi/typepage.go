package openapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"marquee/engine/document"
	"marquee/engine/schema"
)

// typePage is what the page of a type shows: above all what OpenAPI has no words for.
type typePage struct {
	*schema.Type
	Properties  []property
	Transitions []transitions
	Comparisons []rule
	Frozen      *rule
	Warnings    []rule
	// Conditions are the members of allOf, as they are written.
	Conditions string
	ReferredBy []link
	// files are the schemas that a $ref can refer to.
	files map[string]map[string]any
}

// property is a property of a type, with the names of those around it.
type property struct {
	Path, Kind, Description string
	// Target is the type that a reference refers to, or "".
	Target string
	Rules  []string
}

// transitions are the values that may follow each value of a property.
type transitions struct {
	Path string
	From []next
}

type next struct {
	Value string
	To    []string
}

// rule is a rule of a type with its message. When is the condition under which it
// holds, as it is written; Except lists the properties that it does not concern.
type rule struct {
	Text, Code, When string
	Except           []string
}

// link is a property of another type.
type link struct{ Type, Path string }

//go:embed page/type.html
var typeTemplateText string

var typeTemplate = template.Must(template.New("type").Funcs(template.FuncMap{"join": strings.Join}).Parse(typeTemplateText))

// renderType returns the page of a type.
func renderType(types *schema.Registry, t *schema.Type) ([]byte, error) {
	p := newTypePage(types, t)
	p.walk("", t.Shape, p.meant(definition{typeFile(t), t.Source}), nil)
	for _, c := range t.Compare {
		p.Comparisons = append(p.Comparisons, rule{Text: strings.Join(c.Left, ".") + " " + c.Op + " " + strings.Join(c.Right, "."), Code: c.Fault.Code})
	}
	if frozen, ok := t.Source["x-frozen"].(object); ok && t.Frozen != nil {
		p.Frozen = &rule{t.Frozen.Fault.Text, t.Frozen.Fault.Code, indented(frozen["when"]), t.Frozen.Except}
	}
	written, _ := t.Source["x-warnings"].([]any)
	for i, w := range t.Warnings {
		warning := rule{Text: w.Message.Definition().Text, Code: w.Message.Code()}
		if i < len(written) {
			members, _ := written[i].(object)
			members = maps.Clone(members)
			delete(members, "text")
			delete(members, "code")
			warning.When = indented(members)
		}
		p.Warnings = append(p.Warnings, warning)
	}
	if t.Source["allOf"] != nil {
		p.Conditions = indented(t.Source["allOf"])
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
	var b bytes.Buffer
	err := typeTemplate.Execute(&b, p)
	return b.Bytes(), err
}

// maxPageDepth is how deep properties are listed.
const maxPageDepth = 8

func newTypePage(types *schema.Registry, t *schema.Type) typePage {
	files := maps.Clone(types.Shared())
	files[typeFile(t)] = t.Source
	return typePage{Type: t, files: files}
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
		added.Target = inner.Ref.Type
	}
	for _, is := range []struct {
		holds bool
		text  string
	}{
		{required, "required"}, {shape.ReadOnly, "read-only"}, {shape.WriteOnly, "never returned"},
		{shape.Secret || inner.Secret, "secret: encrypted in the store, returned to those who may write the type"},
		{shape.Immutable, "cannot change once set"}, {shape.Derived, "computed when the object is read"}, {shape.UniqueItems, "no duplicates"},
	} {
		if is.holds {
			added.Rules = append(added.Rules, is.text)
		}
	}
	if inner.Ref == nil {
		added.Rules = append(added.Rules, bounds(outer)...)
		if inner != shape {
			for _, bound := range bounds(described) {
				added.Rules = append(added.Rules, "each item: "+bound)
			}
		}
	}
	if shape.HasDefault {
		added.Rules = append(added.Rules, "default "+string(document.Append(nil, shape.Default)))
	}
	if inner.Ref != nil && len(inner.Ref.Where) > 0 {
		for _, name := range slices.Sorted(maps.Keys(inner.Ref.Where)) {
			added.Rules = append(added.Rules, fmt.Sprintf("the target must have %s = %s", name, inner.Ref.Where[name]))
		}
	}
	p.Properties = append(p.Properties, added)
	if len(inner.Transitions) > 0 {
		all := transitions{Path: at}
		for _, value := range slices.Sorted(maps.Keys(inner.Transitions)) {
			all.From = append(all.From, next{value, inner.Transitions[value]})
		}
		p.Transitions = append(p.Transitions, all)
	}
}

// indented returns a part of a schema as it can be read.
func indented(value any) string {
	var b bytes.Buffer
	if err := json.Indent(&b, document.Append(nil, value), "", "  "); err != nil {
		return ""
	}
	return b.String()
}
