package files

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Problem is a mistake in a schema file.
type Problem struct {
	// File and Pointer, a JSON Pointer, are the location.
	File, Pointer string
	// Line and Column are the place in the file, from 1; 0 if unknown. Columns count
	// characters.
	Line, Column int
	// Hint reports whether the schema does what it says, and could say it better. It is
	// not a mistake.
	Hint bool
	// Text describes the mistake, Cure how to correct it.
	Text, Cure string
	// Objects describe the stored objects that are at fault, or groups of them.
	Objects []string
}

// String returns the problem on one line. Control characters of names and values in the file,
// which could forge a line or control a terminal, are replaced.
func (p Problem) String() string {
	var text string
	if p.Hint {
		text = "hint: "
	}
	text += p.File
	if p.Pointer != "" {
		text += "#" + p.Pointer
	}
	text += ": " + p.Text
	if len(p.Objects) > 0 {
		text += ": " + strings.Join(p.Objects, "; ")
	}
	if p.Cure != "" {
		text += " (" + p.Cure + ")"
	}
	if p.Line > 0 {
		text += ", line " + strconv.Itoa(p.Line)
	}
	if p.Column > 0 {
		text += ", column " + strconv.Itoa(p.Column)
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// Problems is the error of Load: all mistakes found.
type Problems []Problem

// Error returns the problems, one on each line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// Passing reports whether the problems can pass without a change of the schemas, because
// one of them is that of stored objects.
func (p Problems) Passing() bool {
	return slices.ContainsFunc(p, func(problem Problem) bool { return len(problem.Objects) > 0 })
}

// Sorted returns the problems in the order of their texts, each once, with the lines of
// those that have a pointer into a file.
func (p Problems) Sorted(files map[string]*File) Problems {
	byName := map[string]*File{}
	for _, f := range files {
		byName[f.Name] = f
	}
	for i, problem := range p {
		if f := byName[problem.File]; f != nil && problem.Line == 0 {
			p[i].Line = f.Line(problem.Pointer)
		}
	}
	slices.SortFunc(p, func(a, b Problem) int { return strings.Compare(a.String(), b.String()) })
	return slices.CompactFunc(p, func(a, b Problem) bool { return a.String() == b.String() })
}
