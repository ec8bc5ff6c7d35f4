package catalog

import (
	"slices"
	"strconv"
	"strings"

	"marquee/engine/document"
	"marquee/engine/schema"
)

// shapeAt returns the shape of a place in a schema, nil where the schema allows no
// value.
func shapeAt(shape *document.Shape, place string) *document.Shape {
	tokens := strings.Split(place, "/")[1:]
	for i := 0; i < len(tokens) && shape != nil; i++ {
		switch tokens[i] {
		case "properties":
			i++
			shape = shape.Member(document.UnescapeToken(tokens[i]))
		case "items":
			shape = itemOr(shape, len(shape.Prefix))
		case "prefixItems":
			i++
			n, _ := strconv.Atoi(tokens[i])
			shape = itemOr(shape, n)
		case "patternProperties":
			i++
			var found *document.Shape
			for matched, member := range shape.Matching {
				if member != nil && PatternKey(shape, matched) == document.UnescapeToken(tokens[i]) {
					found = member
				}
			}
			shape = found
		default:
			if shape.Extra == nil && shape.Properties == nil && shape.Patterns == nil {
				shape = document.AnyShape
			} else {
				shape = shape.Extra
			}
		}
	}
	return shape
}

func itemOr(shape *document.Shape, i int) *document.Shape {
	if item := shape.Item(i); item != nil {
		return item
	}
	return document.AnyShape
}

// Agrees reports whether a schema declares at a place what Indexing.Declared holds, or
// allows no value there.
func Agrees(t *schema.Type, place, what string) bool {
	shape := shapeAt(t.Shape, place)
	switch {
	case shape == nil:
		return true
	case what == SealedForm, what == PlainForm:
		return true // which every write obeys
	case strings.HasPrefix(what, "{"):
		return ReferenceText(shape.Ref) == what
	}
	allowed := strings.Fields(what)
	within := func(kinds []string) bool {
		return kinds != nil && !slices.ContainsFunc(kinds, func(kind string) bool { return !slices.Contains(allowed, kind) })
	}
	return within(shape.Kinds()) || within(shape.StoredKinds())
}

// PatternKey names a combination of a shape's patterns.
func PatternKey(shape *document.Shape, matched int) string {
	var texts []string
	for i, pattern := range shape.Patterns {
		if matched&(1<<i) != 0 {
			texts = append(texts, pattern.String())
		}
	}
	slices.Sort(texts)
	return strings.Join(texts, PatternSeparator)
}

// PatternSeparator separates the patterns of a key. No sensible pattern contains it
// and, unlike U+0000, every store can keep it.
const PatternSeparator = "\x1f"

// ReferenceText returns the canonical text of a reference, "" for none.
func ReferenceText(ref *document.Reference) string {
	if ref == nil {
		return ""
	}
	where := map[string]any{}
	for name, value := range ref.Where {
		where[name] = value
	}
	return string(document.Append(nil, map[string]any{"type": ref.Type, "where": where, "network": ref.Network, "object": ref.Object}))
}

// dottedPlace returns the name in queries of the property at a place.
func dottedPlace(place string) string {
	var names []string
	tokens := strings.Split(place, "/")[1:]
	for i := 0; i < len(tokens); i++ {
		switch tokens[i] {
		case "properties":
			i++
			names = append(names, document.UnescapeToken(tokens[i]))
		case "prefixItems", "patternProperties":
			i++
		}
	}
	return strings.Join(names, ".")
}

// The forms in which a string is stored.
const (
	PlainForm  = "plain"
	SealedForm = "sealed"
)
