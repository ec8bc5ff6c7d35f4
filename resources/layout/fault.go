package layout

import (
	"sort"
	"unicode/utf8"
)

// Kind says what is wrong with a template.
type Kind int

const (
	// TooLong: the html has more than MaxHTML characters.
	TooLong Kind = iota + 1
	// NotText: the html is not UTF-8, or holds a NUL.
	NotText
	// BadSlot: double braces hold something that is not a tag.
	BadSlot
	// UnclosedSlot: `{{` without `}}`.
	UnclosedSlot
	// UnsafePlace: no value can be proven harmless where the slot stands.
	UnsafePlace
	// AmbiguousPlace: readers of html, script or style may differ on where the
	// slot stands, because of what is written before it.
	AmbiguousPlace
	// UnsafeURL: the slot is in a URL that is never rendered as it is, because
	// of its scheme or of its characters.
	UnsafeURL
)

// Fault is one reason why a template is refused.
type Fault struct {
	Kind Kind
	// Line and Column count from 1, Column in characters.
	Line, Column int
	// Tag names the slot, where the fault is about one.
	Tag string
}

// MaxFaults bounds how many faults one template is told of.
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
		faults = append(faults, Fault{Kind: f.kind, Line: line, Column: column, Tag: f.tag})
	}
	return faults
}
