package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strings"

	"marquee/engine/document"
)

// Amendments identifies what the type asks of stored objects (document.Shape.Amended); ""
// is nothing. It is the same for types that ask for the same.
func (t *Type) Amendments() string { return t.amendments }

// Former returns the JSON of the values that properties of the type had before, and that
// others take the places of.
func (t *Type) Former() [][]byte { return t.former }

// findFormer returns Former of a shape.
func findFormer(shape *document.Shape) (former [][]byte) {
	if !shape.Amends {
		return nil
	}
	for one := range shape.All() {
		for from := range one.Was {
			former = append(former, document.AppendString(nil, from))
		}
	}
	return former
}

// restrictFills leaves out of document.Shape.Fills what is compared with the values of other
// objects, at any depth: an object could then not be written at all.
func (t *Type) restrictFills() {
	compared := slices.Clone(t.Unique)
	for _, rule := range t.Claims() {
		compared = append(compared, rule.Reads()...)
	}
	for _, path := range compared {
		shape := t.Shape
		for _, name := range strings.Split(path, ".") {
			if shape == nil {
				break
			}
			shape.Fills = slices.DeleteFunc(shape.Fills, func(fill string) bool { return fill == name })
			shape = shape.Properties[name]
		}
		for one := range shape.All() {
			one.Fills = nil
		}
	}
}

// amend determines what the type asks of stored objects.
func (t *Type) amend() {
	t.Shape.Amends = t.Shape.AmendsMembers || len(t.Shape.Fills) > 0
	t.amendments, t.former = findAmendments(t.Shape), findFormer(t.Shape)
}

// findAmendments returns a digest of the amendments of a shape.
func findAmendments(shape *document.Shape) string {
	if !shape.Amends {
		return ""
	}
	d := amendmentDigest{sha256.New(), map[*document.Shape]int{}}
	d.add("", shape)
	return hex.EncodeToString(d.Sum(nil)[:16])
}

type amendmentDigest struct {
	hash.Hash
	numbers map[*document.Shape]int
}

// add adds a shape at a place. One that is met again is named by its number.
func (d amendmentDigest) add(at string, shape *document.Shape) {
	if shape == nil || !shape.Amends {
		return
	}
	n, met := d.numbers[shape]
	if !met {
		n = len(d.numbers)
		d.numbers[shape] = n
	}
	fmt.Fprintf(d, "%q %d\n", at, n)
	if met {
		return
	}
	for _, name := range shape.Fills {
		fmt.Fprintf(d, "fill %q %s\n", name, document.Append(nil, shape.Properties[name].Default))
	}
	for _, from := range slices.Sorted(maps.Keys(shape.Was)) {
		fmt.Fprintf(d, "was %q %q\n", from, shape.Was[from])
	}
	for _, name := range slices.Sorted(maps.Keys(shape.Properties)) {
		d.add("."+name, shape.Properties[name])
	}
	for i, member := range shape.Matching {
		d.add(fmt.Sprint("~", i), member)
	}
	for i, item := range shape.Prefix {
		d.add(fmt.Sprint("#", i), item)
	}
	d.add("*", shape.Extra)
	d.add("[]", shape.Items)
}
