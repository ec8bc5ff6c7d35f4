package document

import (
	"slices"
	"strings"
)

// Hidden calls found with the place of each value in a stored document that the shape does not
// declare, or that is writeOnly.
func (s *Shape) Hidden(object map[string]any, found func(at Pointer)) {
	w := undeclaredWalk{found: found, hidden: true}
	w.value(s, object, make(Pointer, 0, 8))
}

// Undeclared calls found with the place of each value in a stored document that the shape does
// not declare. Clients see it if the value around it is plain.
func (s *Shape) Undeclared(object map[string]any, found func(at Pointer)) {
	w := undeclaredWalk{found: found}
	w.value(s, object, make(Pointer, 0, 8))
}

// DropUndeclared removes the values that the shape does not declare from a stored document,
// and reports whether there were any.
func (s *Shape) DropUndeclared(object map[string]any) (dropped bool) {
	w := undeclaredWalk{found: func(Pointer) { dropped = true }, drop: true}
	w.value(s, object, make(Pointer, 0, 8))
	return dropped
}

type undeclaredWalk struct {
	found func(at Pointer)
	// hidden and drop are those of Hidden and DropUndeclared.
	hidden, drop bool
}

func (w *undeclaredWalk) value(s *Shape, value any, at Pointer) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			if inner := s.Member(name); inner == nil || w.hidden && inner.WriteOnly {
				w.found(at.At(name))
				if w.drop {
					delete(v, name)
				}
			} else if inner.Ref == nil {
				w.value(inner, member, at.At(name))
			}
		}
	case []any:
		for i, item := range v {
			if inner := s.Item(i); inner != nil && inner.Ref == nil {
				w.value(inner, item, at.Index(i))
			}
		}
	}
}

// Prune removes the values at a place (Place) that the shape does not declare from a stored
// document, and reports whether there were any.
func (s *Shape) Prune(object map[string]any, place string) bool {
	return s.prune(object, strings.Split(place, "/")[1:])
}

func (s *Shape) prune(value any, place []string) (pruned bool) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			inner, token := s.Member(name), EscapeToken(name)
			if inner != nil && s.Properties[name] == nil {
				token = anyToken
			}
			switch {
			case token != place[0]:
			case inner == nil && len(place) == 1:
				delete(v, name)
				pruned = true
			case inner != nil && inner.Ref == nil && len(place) > 1:
				pruned = inner.prune(member, place[1:]) || pruned
			}
		}
	case []any:
		for i, item := range v {
			if inner := s.Item(i); inner != nil && inner.Ref == nil && place[0] == anyToken && len(place) > 1 {
				pruned = inner.prune(item, place[1:]) || pruned
			}
		}
	}
	return pruned
}

// Declares reports whether the shape declares values at a place.
func (s *Shape) Declares(place string) bool {
	shapes := []*Shape{s}
	for _, token := range strings.Split(place, "/")[1:] {
		var inner []*Shape
		for _, shape := range shapes {
			if shape.Ref != nil {
				return true
			}
			if token != anyToken {
				inner = append(inner, shape.Member(UnescapeToken(token)))
				continue
			}
			inner = append(append(inner, shape.Extra, shape.Items), shape.Matching...)
			inner = append(inner, shape.Prefix...)
		}
		shapes = slices.DeleteFunc(inner, func(shape *Shape) bool { return shape == nil })
	}
	return len(shapes) > 0
}

// anyToken stands in a place for the indexes of items, and for names that are data.
const anyToken = "*"

// Place returns a JSON Pointer into a document with * in place of the indexes of items, and
// of the names that are data. The shape may be nil.
func (s *Shape) Place(pointer string) string {
	if pointer == "" {
		return ""
	}
	tokens := strings.Split(pointer, "/")[1:]
	for i, token := range tokens {
		name, index := UnescapeToken(token), token != "" && strings.Trim(token, "0123456789") == ""
		switch {
		case s == nil && index:
			tokens[i] = anyToken
		case s == nil:
		case s.Properties[name] != nil:
			s = s.Properties[name]
		case s.Element != nil && index:
			tokens[i], s = anyToken, s.Element
		default:
			if s = s.Member(name); s != nil {
				tokens[i] = anyToken
			}
		}
	}
	return "/" + strings.Join(tokens, "/")
}
