package layout

import (
	"sort"
	"strings"
	"unicode/utf8"
)

// Kind is the kind of a fault.
type Kind int

const (
	// TooLong: the html has more than MaxHTML characters.
	TooLong Kind = iota + 1
	// NotText: the html is not UTF-8, or contains a NUL.
	NotText
	// BadSlot: double braces contain something other than a tag.
	BadSlot
	// UnclosedSlot: `{{` without `}}`.
	UnclosedSlot
	// UnsafePlace: values cannot be escaped safely where the slot is.
	UnsafePlace
	// AmbiguousPlace: because of the text before the slot, parsers may differ on
	// whether it is in html, a script or a style.
	AmbiguousPlace
	// UnsafeURL: the slot is in a URL whose scheme or characters make SafeURL
	// reject it with any value.
	UnsafeURL
)

// Fault is a reason why a template is refused.
type Fault struct {
	Kind Kind
	// Line and Column count from 1, Column in characters.
	Line, Column int
	// Tag is that of the slot, if the fault concerns one.
	Tag string
}

// MaxFaults is the maximum number of faults that Parse returns.
const MaxFaults = 100

type faultAt struct {
	kind   Kind
	offset int
	tag    string
}

// locate turns offsets into lines and columns, in one pass over the html.
func locate(html string, found []faultAt) []Fault {
	sort.SliceStable(found, func(i, j int) bool { return found[i].offset < found[j].offset })
	if len(found) > MaxFaults {
		found = found[:MaxFaults]
	}
	faults := make([]Fault, 0, len(found))
	line, column, at := 1, 1, 0
	for _, f := range found {
		for at < f.offset {
			r, width := utf8.DecodeRuneInString(html[at:])
			at += width
			column++
			if r == '\n' {
				line, column = line+1, 1
			}
		}
		faults = append(faults, Fault{Kind: f.kind, Line: line, Column: column, Tag: strings.Clone(f.tag)})
	}
	return faults
}
