// Package layout renders the html of creatives from a layout and the values of
// its slots, such that no value can become markup or script.
//
// A slot is accepted only in a place that is known and can be escaped. The
// reader of html here is stricter than browsers are: where they could differ on
// the reading of a layout, the slots that follow are refused.
//
// What a script of the layout does with a string that it was given is the
// layout's own affair.
package layout

import (
	"errors"
	"strings"
	"unicode/utf8"
)

const (
	// MaxHTML is the number of characters that a template may have.
	MaxHTML = 1_000_000
	// MaxRendered is the number of bytes that a rendering may have.
	MaxRendered = 4_000_000
)

// ErrTooLarge is the error of a rendering that would exceed MaxRendered.
var ErrTooLarge = errors.New("rendered html is too large")

// Value is what a slot is filled with.
type Value struct {
	content string
	isURL   bool
}

// Text is a value to be read by people.
func Text(content string) Value { return Value{content: content} }

// URL is an address. Where SafeURL refuses it, `#` is rendered, in whatever
// place the slot stands.
func URL(address string) Value { return Value{content: address, isURL: true} }

// Template is a layout that was parsed. It may be used by several goroutines.
type Template struct {
	pieces []piece
	tags   []string
}

// Parse reads the html of a layout. When there are faults there is no template.
func Parse(html string) (*Template, []Fault) {
	if !utf8.ValidString(html) {
		return nil, []Fault{{Kind: NotText, Line: 1, Column: 1}}
	}
	if utf8.RuneCountInString(html) > MaxHTML {
		return nil, []Fault{{Kind: TooLong, Line: 1, Column: 1}}
	}
	if nul := strings.IndexByte(html, 0); nul >= 0 {
		return nil, locate(html, []faultAt{{kind: NotText, offset: nul}})
	}
	slots, faults := findSlots(html)
	if len(faults) > 0 {
		return nil, locate(html, faults)
	}
	pieces, faults := placeSlots(html, slots)
	if len(faults) == 0 {
		faults = try(pieces, slots)
	}
	if len(faults) > 0 {
		return nil, locate(html, faults)
	}
	return &Template{pieces: pieces, tags: tagsOf(slots)}, nil
}

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

// Slots answers the tags, each once, in the order in which they first appear.
func (t *Template) Slots() []string {
	return append([]string(nil), t.tags...)
}

// Render fills the slots. A slot without a value is empty; values without a
// slot are ignored. The only error is ErrTooLarge.
func (t *Template) Render(values map[string]Value) (string, error) {
	r := renderer{values: values, limit: MaxRendered}
	for _, p := range t.pieces {
		if err := r.piece(p); err != nil {
			return "", err
		}
	}
	return r.out.String(), nil
}
