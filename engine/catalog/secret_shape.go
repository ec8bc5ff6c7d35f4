package catalog

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"marquee/engine/document"
)

// ApplyForms returns a shape whose secrets follow what is noted for all servers:
// places noted as sealed become secret and, with open, places noted as plain cease to
// be.
func ApplyForms(shape *document.Shape, declared map[string]string, open bool) *document.Shape {
	for _, place := range slices.Sorted(maps.Keys(declared)) {
		secret := declared[place] == SealedForm
		if !secret && (declared[place] != PlainForm || !open) {
			continue
		}
		if at := shapeAt(shape, place); at != nil && at.Secret != secret {
			shape = withSecret(shape, strings.Split(place, "/")[1:], secret)
		}
	}
	return shape
}

// withSecret returns a copy of the shape in which the place at the path is secret, or
// is not.
func withSecret(shape *document.Shape, path []string, secret bool) *document.Shape {
	if shape == nil {
		shape = document.AnyShape
	}
	own := *shape
	own.Plain, own.HasSecrets = false, true
	switch {
	case len(path) == 0:
		own.Secret = secret
	case path[0] == "properties":
		name := document.UnescapeToken(path[1])
		if own.Properties == nil && own.Extra == nil {
			own.Extra = document.AnyShape
		}
		member := shape.Member(name)
		if own.Properties = maps.Clone(own.Properties); own.Properties == nil {
			own.Properties = map[string]*document.Shape{}
		}
		own.Properties[name] = withSecret(member, path[2:], secret)
	case path[0] == "items":
		own.Items = withSecret(own.Items, path[1:], secret)
	case path[0] == "prefixItems":
		i, _ := strconv.Atoi(path[1])
		for own.Prefix = slices.Clone(own.Prefix); len(own.Prefix) <= i; {
			own.Prefix = append(own.Prefix, itemOr(shape, len(own.Prefix)))
		}
		own.Prefix[i] = withSecret(own.Prefix[i], path[2:], secret)
	case path[0] == "patternProperties":
		own.Matching = slices.Clone(own.Matching)
		for matched, member := range own.Matching {
			if member != nil && PatternKey(shape, matched) == document.UnescapeToken(path[1]) {
				own.Matching[matched] = withSecret(member, path[2:], secret)
			}
		}
	default:
		own.Extra = withSecret(own.Extra, path[1:], secret)
	}
	return &own
}
