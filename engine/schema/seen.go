package schema

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema/keyword"
)

// maxReadable is the most permissions that the properties of a type can name: there is a
// form of the type for each set of those that a caller lacks.
const maxReadable = 8

// seen are the forms of a type for callers who lack some of its permissions.
type seen struct {
	// permissions are those that properties of the type name, in order.
	permissions []string
	// forms are made when they are first needed, by the permissions that are lacking.
	forms sync.Map
}

// Readable returns the permissions with which properties of the type are read.
func (t *Type) Readable() []string {
	if t.seen == nil {
		return nil
	}
	return t.seen.permissions
}

// Narrowed reports whether the type is one of Without that lacks a property.
func (t *Type) Narrowed() bool { return t.concealed != nil }

// Without returns the type as it is for a caller who lacks some of the permissions of
// Readable: the properties with these do not exist. It has the rules of the type, and
// Check reports those about such a property without saying so.
func (t *Type) Without(lacks func(permission string) bool) *Type {
	if t.served != nil {
		return t.served.Without(lacks).stored
	}
	var lacking []string
	for _, permission := range t.Readable() {
		if lacks(permission) {
			lacking = append(lacking, permission)
		}
	}
	if len(lacking) == 0 || t.Narrowed() {
		return t
	}
	key := strings.Join(lacking, " ")
	form, made := t.seen.forms.Load(key)
	if !made {
		form, _ = t.seen.forms.LoadOrStore(key, t.without(func(permission string) bool { return slices.Contains(lacking, permission) }))
	}
	return form.(*Type)
}

// NamesUnseen reports whether the parameters of a fault at a place say that a property below
// it is allowed or expected which a type of Without lacks, or have the title of what does.
func (t *Type) NamesUnseen(pointer string, params message.Params) bool {
	if t.served != nil && t.served.NamesUnseen(t.ServedPointer(pointer), params) {
		return true
	}
	for _, path := range leftOut(t.Shape) {
		if !strings.HasPrefix(document.Pointer(path).String(), pointer+"/") {
			continue
		}
		if name := path[len(path)-1]; mentions(params["allowed"], name) || mentions(params["expected"], name) || t.entitlesUnseen(path, params["expected"]) {
			return true
		}
	}
	return false
}

// entitlesUnseen reports whether the texts of what is expected have the title of an alternative
// that mentions a property which a type of Without lacks.
func (t *Type) entitlesUnseen(path []string, expected any) bool {
	texts, _ := expected.(string)
	if texts == "" {
		return false
	}
	base := baseURL + t.Path
	titles := t.rules.Schemas.Titles(base, t.rules.Schemas[base], path, func(part any) bool { return mentions(part, path[len(path)-1]) })
	return slices.ContainsFunc(titles, func(title string) bool { return strings.Contains(" or "+texts+" or ", " or "+title+" or ") })
}

func (t *Type) without(lacks func(string) bool) *Type {
	n := *t
	n.Shape = t.Shape.Without(lacks)
	hidden := leftOut(n.Shape)
	n.Source = withoutProperties(t.Source, hidden)
	exists := func(name string) bool {
		_, shape := n.resolve(strings.Split(name, "."))
		return shape != nil || CommonField(name)
	}
	n.Sort, n.Search, n.Unique = kept(t.Sort, exists), kept(t.Search, exists), kept(t.Unique, exists)
	n.Indexes = kept(t.Indexes, func(i Index) bool { return exists(i.Property) && (i.Order == "" || exists(i.Order)) })
	n.UniqueForms = kept(t.UniqueForms, func(f UniqueForm) bool { return exists(f.Property) })
	n.ClaimRules = kept(t.ClaimRules, func(rule *keyword.ClaimRule) bool {
		when, _ := document.Decode(rule.When, document.Limits{Depth: 1000})
		return !slices.ContainsFunc(rule.Properties, func(name string) bool { return !exists(name) }) &&
			!slices.ContainsFunc(hidden, func(path []string) bool { return mentions(when, path[len(path)-1]) })
	})
	n.concealed = map[*keyword.Rule]bool{}
	for _, rule := range t.Rules {
		if t.concerns(rule, hidden) {
			n.concealed[rule] = true
		}
	}
	n.Rules = kept(t.Rules, func(rule *keyword.Rule) bool { return !n.concealed[rule] && !t.mentionsAny(rule, hidden) })
	n.withStored(t)
	return &n
}

func kept[T any](list []T, keep func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), func(item T) bool { return !keep(item) })
}

// leftOut returns the paths to the members that a shape from Without leaves out.
func leftOut(root *document.Shape) (paths [][]string) {
	above := map[*document.Shape]bool{}
	var visit func(shape *document.Shape, at []string)
	visit = func(shape *document.Shape, at []string) {
		if !shape.HasReadable || above[shape] {
			return
		}
		above[shape] = true
		for _, name := range slices.Sorted(maps.Keys(shape.LeftOut)) {
			paths = append(paths, append(slices.Clone(at), name))
		}
		for _, name := range slices.Sorted(maps.Keys(shape.Properties)) {
			visit(shape.Properties[name], append(slices.Clone(at), name))
		}
		delete(above, shape)
	}
	visit(root, nil)
	return paths
}

// concerns reports whether a rule may read one of some properties, or a value with one.
func (t *Type) concerns(rule *keyword.Rule, hidden [][]string) bool {
	if rule.Reads == nil {
		return t.mentionsAny(rule, hidden)
	}
	return slices.ContainsFunc(hidden, func(path []string) bool { return rule.Reads(path) })
}

// mentionsAny reports whether a rule mentions one of some properties, or a value with one,
// besides those that are exempt from it. One of another file may.
func (t *Type) mentionsAny(rule *keyword.Rule, hidden [][]string) bool {
	if rule.File != t.File {
		return true
	}
	written, _ := document.Lookup(t.Source, rule.At).(map[string]any)
	written = maps.Clone(written)
	delete(written, "except")
	return slices.ContainsFunc(hidden, func(path []string) bool {
		return mentions(written, path[0]) || mentions(written, path[len(path)-1])
	})
}

// mentionsPath reports whether a part of a schema has the first and the last name of a path.
func mentionsPath(part any, path []string) bool {
	return mentions(part, path[0]) && mentions(part, path[len(path)-1])
}

// mentions reports whether a part of a schema has a name as that of a member, or as a word
// in a text.
func mentions(part any, name string) bool {
	switch v := part.(type) {
	case string:
		return slices.Contains(words(v, "_-"), name) || slices.Contains(words(v, "_"), name)
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return mentions(item, name) })
	case map[string]any:
		for key, value := range v {
			if key == name || mentions(value, name) {
				return true
			}
		}
	}
	return false
}

// words splits a text at all characters but letters, digits and some others.
func words(text, others string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune(others, r)
	})
}
