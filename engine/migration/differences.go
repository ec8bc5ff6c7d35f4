package migration

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/schema"
)

// differences returns the places for which a newer outline declares what may not hold
// for the stored values, with the declaration: the text of a reference, or the types, one where
// lists are ordered by it. A place is a JSON Pointer into a schema without $ref.
func (o *outline) differences(newer *outline) map[string]string {
	d := differing{seen: map[[2]*outlineNode]bool{}, found: map[string]string{}}
	for name, kind := range newer.ordered {
		path := strings.Split(name, ".")
		if n := o.at(path); n != nil && o.ordered[name] != kind && !slices.Equal(n.kinds, []string{kind}) {
			d.found[propertyPlace(path)] = kind
		}
	}
	d.compare(o.root, newer.root, nil)
	return d.found
}

// maxCompared bounds the comparison: it may have no end where patterns for the names
// of members have changed in recursive schemas.
const maxCompared = 100_000

type differing struct {
	seen  map[[2]*outlineNode]bool
	found map[string]string
}

func (d *differing) compare(old, newer *outlineNode, at document.Pointer) {
	pair := [2]*outlineNode{old, newer}
	if old == nil || newer == nil || d.seen[pair] || len(d.seen) == maxCompared {
		return
	}
	d.seen[pair] = true
	if ref := newer.refs[0]; ref != "" && !slices.Equal(old.refs, newer.refs) {
		d.found[at.String()] = ref
	} else if narrows(old.held, newer.kinds) {
		d.found[at.String()] = cmp.Or(strings.Join(newer.kinds, " "), "null")
	}
	eachPair(old, newer, at, d.compare)
}

// narrows reports whether values of some types may not have any of others.
func narrows(old, newer []string) bool {
	return !slices.Contains(newer, anyKind) && slices.ContainsFunc(old, func(kind string) bool { return !slices.Contains(newer, kind) })
}

// eachPair calls visit for the members and items of a value, as both outlines describe
// them.
func eachPair(old, newer *outlineNode, at document.Pointer, visit func(old, newer *outlineNode, at document.Pointer)) {
	names := slices.Sorted(maps.Keys(newer.members))
	for name := range old.members {
		if newer.members[name] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		visit(old.member(name), newer.member(name), append(at, "properties", name))
	}
	keys := slices.Sorted(maps.Keys(newer.matching))
	same := slices.Equal(keys, slices.Sorted(maps.Keys(old.matching)))
	for _, key := range keys {
		was := old.matching[key]
		if !same {
			was = old.unnamed()
		}
		visit(was, newer.matching[key], append(at, "patternProperties", key))
	}
	for _, key := range slices.Sorted(maps.Keys(old.matching)) {
		if newer.matching[key] == nil {
			visit(old.matching[key], newer.beyond(), append(at, "additionalProperties"))
		}
	}
	if o, n := old.beyond(), newer.beyond(); o != anything || n != anything {
		visit(o, n, append(at, "additionalProperties"))
	}
	for i := range max(len(old.prefix), len(newer.prefix)) {
		visit(old.item(i), newer.item(i), append(at, "prefixItems", strconv.Itoa(i)))
	}
	if o, n := old.item(-1), newer.item(-1); o != anything || n != anything {
		visit(o, n, append(at, "items"))
	}
}

// propertyPlace returns the place of a property in a schema.
func propertyPlace(path []string) string {
	var at document.Pointer
	for _, name := range path {
		at = append(at, "properties", name)
	}
	return at.String()
}

// placeOf returns the place in a type's schema that declares the value at a place of a
// document.
func placeOf(t *schema.Type, value document.Pointer) string {
	var at document.Pointer
	shape := t.Shape
	for _, token := range value {
		switch {
		case shape == nil:
			return at.String()
		case shape.Properties[token] != nil:
			at, shape = append(at, "properties", token), shape.Properties[token]
		case (shape.Items != nil || shape.Prefix != nil) && isIndex(token):
			i, _ := strconv.Atoi(token)
			if i < len(shape.Prefix) {
				at = append(at, "prefixItems", token)
			} else {
				at = append(at, "items")
			}
			shape = shape.Item(i)
		case shape.Patterns != nil && shape.Member(token) != shape.Extra:
			at, shape = append(at, "patternProperties"), shape.Member(token)
		default:
			at, shape = append(at, "additionalProperties"), shape.Extra
		}
	}
	return at.String()
}

// servedPlace returns a place in a type's schema with the present name of the property.
func servedPlace(t *schema.Type, place string) string {
	tokens := strings.Split(place, "/")
	if len(tokens) > 2 && tokens[1] == "properties" {
		tokens[2] = document.EscapeToken(t.ServedName(document.UnescapeToken(tokens[2])))
	}
	return strings.Join(tokens, "/")
}

// forms returns the places of which a newer outline stores strings in another form,
// with that form. Refused are those that cease to be secret without an explicit
// "x-secret": false.
func (o *outline) forms(newer *outline) (declared map[string]string, refused []string) {
	f := forms{on: map[[2]*outlineNode]bool{}, declared: map[string]string{}}
	f.compare(o.root, newer.root, nil)
	return f.declared, f.refused
}

// forms compares all places, not only all nodes, as each must be named.
type forms struct {
	on       map[[2]*outlineNode]bool
	visited  int
	declared map[string]string
	refused  []string
}

func (f *forms) compare(old, newer *outlineNode, at document.Pointer) {
	pair := [2]*outlineNode{old, newer}
	if f.visited++; old == nil || newer == nil || f.on[pair] || f.visited > maxCompared {
		return
	}
	f.on[pair] = true
	defer delete(f.on, pair)
	switch form := newer.forms[0]; {
	case form == catalog.SealedForm && slices.Contains(old.forms, catalog.PlainForm):
		f.declared[at.String()] = catalog.SealedForm
	case form == catalog.PlainForm && slices.Contains(old.forms, catalog.SealedForm) && newer.exposed:
		f.declared[at.String()] = catalog.PlainForm
	case form == catalog.PlainForm && slices.Contains(old.forms, catalog.SealedForm):
		f.refused = append(f.refused, at.String())
	}
	if newer == anything && !old.holdsSealed(map[*outlineNode]bool{}) {
		return
	}
	eachPair(old, newer, at, f.compare)
}

// holdsSealed reports whether the value or one below it may be encrypted.
func (n *outlineNode) holdsSealed(seen map[*outlineNode]bool) bool {
	if n == nil || seen[n] {
		return false
	}
	seen[n] = true
	return slices.Contains(n.forms, catalog.SealedForm) ||
		slices.ContainsFunc(n.inner(), func(inner *outlineNode) bool { return inner.holdsSealed(seen) })
}
