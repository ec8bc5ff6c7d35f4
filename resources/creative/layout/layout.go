// Package layout renders the html of creatives from a layout and the values of
// its slots, so that no value can become markup or script. It imports nothing of
// the project; begin with Parse, then placeSlots in markup.go.
//
// A slot is accepted only in a known place for which values can be escaped. The
// parser is stricter than browsers: where they could read a layout differently,
// it refuses the slots that follow.
//
// The package does not protect against a script of the layout that itself uses a
// value unsafely.
package layout

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"
)

const (
	// MaxHTML is the number of characters that a template may have.
	MaxHTML = 1_000_000
	// MaxRendered is the number of bytes that a rendering may have.
	MaxRendered = 1 << 20
)

// ErrTooLarge is the error of a rendering that would exceed MaxRendered.
var ErrTooLarge = errors.New("rendered html is too large")

// Value is the value of a slot.
type Value struct {
	content string
	isURL   bool
}

// Text returns a value that is shown as text.
func Text(content string) Value { return Value{content: content} }

// URL returns a value that is a URL. If SafeURL rejects it, `#` is rendered,
// wherever the slot is.
func URL(address string) Value { return Value{content: address, isURL: true} }

// Template is a parsed layout. It is safe for concurrent use.
type Template struct {
	pieces []piece
	tags   []string
	size   sizes
	bytes  int
}

// Parse parses the html of a layout in linear time. It returns either a template
// or faults. The only possible error is that of the context.
func Parse(ctx context.Context, html string) (*Template, []Fault, error) {
	if !utf8.ValidString(html) {
		return nil, []Fault{{Kind: NotText, Line: 1, Column: 1}}, nil
	}
	if utf8.RuneCountInString(html) > MaxHTML {
		return nil, []Fault{{Kind: TooLong, Line: 1, Column: 1}}, nil
	}
	if nul := strings.IndexByte(html, 0); nul >= 0 {
		return nil, locate(html, []faultAt{{kind: NotText, offset: nul}}), nil
	}
	slots, faults := findSlots(html)
	if len(faults) > 0 {
		return nil, locate(html, faults), nil
	}
	m, err := placeSlots(ctx, html, slots)
	if err != nil {
		return nil, nil, err
	}
	if faults = m.faults; len(faults) == 0 {
		faults, err = try(ctx, m.pieces, slots)
	}
	if err != nil || len(faults) > 0 {
		return nil, locate(html, faults), err
	}
	t := &Template{pieces: m.pieces, tags: tagsOf(slots), size: sizesOf(m.pieces)}
	t.bytes = len(html) + bytesPerPiece*(len(m.pieces)+len(slots)) + bytesPerTag*len(t.tags)
	return t, nil, nil
}

// The approximate memory for a piece and for a tag.
const (
	bytesPerPiece = 100
	bytesPerTag   = 200
)

// CountSlots returns an upper bound of the slots in html: the number of opening
// double braces.
func CountSlots(html string) int { return strings.Count(html, "{{") }

func tagsOf(slots []slot) []string {
	var tags []string
	seen := map[string]bool{}
	for _, s := range slots {
		if !seen[s.tag] {
			seen[s.tag] = true
			tags = append(tags, s.tag)
		}
	}
	return tags
}

// Slots returns the distinct tags in the order of their first appearance. The
// caller must not change it.
func (t *Template) Slots() []string { return t.tags }

// HasSlot reports whether the template has a slot with the tag.
func (t *Template) HasSlot(tag string) bool {
	_, has := t.size.uses[tag]
	return has
}

// Bytes returns the approximate memory use of the template.
func (t *Template) Bytes() int { return t.bytes }

// Fits reports whether a rendering with the values has at most MaxRendered bytes.
// A URL counts in full, even if SafeURL rejects it.
func (t *Template) Fits(values map[string]Value) bool {
	return t.fits(&renderer{values: values})
}

// Render fills the slots. A slot without a value is empty; values without a slot
// are ignored. The only possible error is ErrTooLarge, before any rendering.
func (t *Template) Render(values map[string]Value) (string, error) {
	r := renderer{values: values}
	if !t.fits(&r) {
		return "", ErrTooLarge
	}
	for _, p := range t.pieces {
		r.piece(p)
	}
	return r.out.String(), nil
}
