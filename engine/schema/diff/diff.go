// Package diff compares two sets of schemas: what the change means for stored objects and
// for clients (docs/reference/schema-changes.md). It imports document and schema. Begin
// reading with Sets, then comparison.values.
package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"marquee/engine/schema"
)

// Class is what a difference breaks.
type Class string

// The classes.
const (
	// Stored: stored objects become invalid, or cannot be read any more.
	Stored Class = "STORED"
	// Request: a write or a query that was accepted is refused.
	Request Class = "REQUEST"
	// Response: a reader may receive what it did not expect.
	Response Class = "RESPONSE"
	// Source: clients that were generated from the OpenAPI document no longer compile.
	Source Class = "SOURCE"
)

// Classes lists the classes.
var Classes = []Class{Stored, Request, Response, Source}

// Difference is a difference between two sets that breaks something, or may.
type Difference struct {
	// Rule names the kind of the difference.
	Rule string `json:"rule"`
	// Type is the type in which it was found first.
	Type string `json:"type"`
	// File and Pointer, a JSON Pointer, are the place, with its Line from 1; Old reports
	// whether they are those of the old set, because the new one has no such place.
	File    string `json:"file"`
	Pointer string `json:"pointer"`
	Line    int    `json:"line"`
	Old     bool   `json:"old,omitempty"`
	// Classes are what it breaks; if Undecided is true, what it may break.
	Classes   []Class `json:"classes"`
	Undecided bool    `json:"undecided,omitempty"`
	// Text explains the difference, Cure is what can be done.
	Text string `json:"text"`
	Cure string `json:"cure,omitempty"`
	// Accepted is the reason for which the new file accepts the difference, "" if it does
	// not.
	Accepted string `json:"accepted,omitempty"`
}

// String returns the difference on one line.
func (d Difference) String() string {
	classes := strings.Trim(fmt.Sprint(d.Classes), "[]")
	if d.Undecided {
		classes = "undecided, possibly " + classes
	}
	place := d.File + "#" + d.Pointer
	if d.Old {
		place += " (old)"
	}
	text := fmt.Sprintf("%s: %s: %s [%s]", place, d.Rule, d.Text, classes)
	switch {
	case d.Accepted != "":
		text += ", accepted: " + d.Accepted
	case d.Cure != "":
		text += " (" + d.Cure + ")"
	}
	return fmt.Sprintf("%s, line %d", text, d.Line)
}

// Is reports whether the difference is, or may be, of a class.
func (d Difference) Is(class Class) bool { return slices.Contains(d.Classes, class) }

// typeRemoved is the rule of a type that the new set lacks.
const typeRemoved = "type-removed"

// maxSteps is the maximum number of steps of a comparison. What remains is undecided.
const maxSteps = 1_000_000

// Sets returns the differences between two sets, sorted by their places. Nothing is
// reported of a change that breaks nothing, such as an optional property that is added.
// What cannot be decided is reported as undecided.
func Sets(old, new *schema.Registry) []Difference {
	return Of(old, new, func(*schema.Type) bool { return true })
}

// Of is Sets for some types of the old set.
func Of(old, new *schema.Registry, compared func(*schema.Type) bool) []Difference {
	c := &comparison{old: newSide(old), new: newSide(new), done: map[string]bool{}, left: maxSteps}
	for _, t := range old.Types() {
		if !compared(t) {
			continue
		}
		next, there := new.Type(t.Name)
		if there {
			c.typeName, c.at = next.Served().Name, c.new.root(next)
			c.types(t, next)
			continue
		}
		name, cure := t.Served().Name, "keep the type, name its path in was if another type takes its place, or export its objects first"
		if _, taken := new.Named(name); taken {
			cure = "keep was as it is, or export its objects first"
		}
		c.typeName = name
		c.report(typeRemoved, Classes, c.old.root(t), "the type "+name+" is removed: its objects can no longer be read, and while there are any, a start is refused without --known-types-only", cure+"; accepts of another type, at /"+name+", accepts it")
	}
	c.accept()
	slices.SortFunc(c.found, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Text, b.Text))
	})
	return slices.CompactFunc(c.found, func(a, b Difference) bool {
		return a.File == b.File && a.Pointer == b.Pointer && a.Rule == b.Rule && a.Text == b.Text
	})
}

// comparison compares two sets.
type comparison struct {
	old, new *side
	// typeName is the type that is compared, and at its place in the new set.
	typeName string
	at       place
	found    []Difference
	// done are the pairs of values that have been compared, or are being compared.
	done map[string]bool
	left int
	// judged reports whether what surrounds a value may refuse another one.
	judged bool
}

// report adds a difference.
func (c *comparison) report(rule string, classes []Class, at place, text, cure string) {
	c.add(Difference{Rule: rule, Classes: classes, Text: text, Cure: cure}, at)
}

// undecided adds a difference that may have all classes.
func (c *comparison) undecided(rule string, at place, text string) {
	c.add(Difference{Rule: rule, Classes: Classes, Undecided: true, Text: text}, at)
}

// add adds a difference at a place of either set; without a place, at the type.
func (c *comparison) add(d Difference, at place) {
	at = cmp.Or(at, c.at)
	d.Old = at.file != c.new.file(at.file.Path)
	side := c.new
	if d.Old {
		side = c.old
	}
	if t := side.renamed[at.file.Path]; t != nil {
		at.pointer = written(t, at.pointer)
	}
	d.Type, d.File, d.Pointer, d.Line = c.typeName, at.file.Name, at.pointer, at.file.Line(at.pointer)
	c.found = append(c.found, d)
}
