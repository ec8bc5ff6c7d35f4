package document

import (
	"maps"
	"strings"
)

// Renamed returns the shape of objects whose members have other names: those that name
// returns for the declared ones, which stay different from each other.
func (s *Shape) Renamed(name func(string) string) *Shape {
	renamed := *s
	renamed.Properties = make(map[string]*Shape, len(s.Properties))
	for property, member := range s.Properties {
		renamed.Properties[name(property)] = member
	}
	if s.LeftOut != nil {
		renamed.LeftOut = make(map[string]bool, len(s.LeftOut))
		for property := range s.LeftOut {
			renamed.LeftOut[name(property)] = true
		}
	}
	for _, list := range []*[]string{&renamed.Required, &renamed.Fills, &renamed.Names, &renamed.Whole} {
		names := make([]string, len(*list))
		for i, property := range *list {
			names[i] = name(property)
		}
		*list = names
	}
	return &renamed
}

// RenamedMembers returns an object with other names of its members, those that names has. The
// object itself is not changed, and shares its values with the result.
func RenamedMembers(object map[string]any, names map[string]string) map[string]any {
	if object == nil {
		return nil
	}
	renamed := maps.Clone(object)
	for from, to := range names {
		if value, there := object[from]; there {
			delete(renamed, from)
			renamed[to] = value
		}
	}
	return renamed
}

// RenamedPath returns a dotted path with another name of its first property.
func RenamedPath(path string, name func(string) string) string {
	head, rest, dotted := strings.Cut(path, ".")
	if head = name(head); dotted {
		return head + "." + rest
	}
	return head
}

// RenamedPointer returns a JSON Pointer with another name of its first property.
func RenamedPointer(pointer string, name func(string) string) string {
	head, rest, deeper := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	if pointer == "" {
		return ""
	}
	if head = "/" + EscapeToken(name(UnescapeToken(head))); deeper {
		return head + "/" + rest
	}
	return head
}
