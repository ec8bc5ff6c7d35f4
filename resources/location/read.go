package location

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The limits of Read. Not every JSON parser reads an id beyond MaxID exactly.
const (
	MaxLineBytes      = 1 << 20
	MaxLocations      = 2_000_000
	MaxNameCharacters = 200
	MaxAlternates     = 1000
	MaxID             = 1<<53 - 1
)

// Kind is the kind of a fault.
type Kind string

const (
	NotReadable   Kind = "NOT_READABLE"   // the reader failed with the wrapped error
	LineTooLong   Kind = "LINE_TOO_LONG"  // more than MaxLineBytes
	NotAnObject   Kind = "NOT_AN_OBJECT"  // not a JSON object in valid UTF-8 without duplicate names
	UnknownField  Kind = "UNKNOWN_FIELD"  // see Field
	FieldRequired Kind = "FIELD_REQUIRED" // see Field
	FieldInvalid  Kind = "FIELD_INVALID"  // see Field
	DuplicateID   Kind = "DUPLICATE_ID"   // an earlier line has the id
	TooMany       Kind = "TOO_MANY"       // more than MaxLocations
)

// FaultError is the reason why a gazetteer cannot be read.
type FaultError struct {
	Line  int // from 1
	Kind  Kind
	Field string
	cause error
}

func (e *FaultError) Error() string {
	if e.Field != "" {
		return fmt.Sprintf("line %d: %s: %.100q", e.Line, e.Kind, e.Field)
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Kind)
}

func (e *FaultError) Unwrap() error { return e.cause }

// Read reads locations, one JSON object per line:
//
//	{"id": 3143244, "type": "CITY", "name": "Oslo", "alternateNames": ["Kristiania"],
//	 "region": "Oslo", "country": "Norway", "population": 1082575}
//
// id, type (CITY, REGION or COUNTRY) and name are required. Names have at most
// MaxNameCharacters, no control characters, and at least one letter or digit; region
// and country may be empty. Read skips blank lines and a byte order mark. It reads all
// locations or fails with a *FaultError.
func Read(r io.Reader) ([]Location, error) { return read(r, MaxLocations) }

func read(r io.Reader, limit int) ([]Location, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, MaxLineBytes)
	var locations []Location
	seen := map[int64]struct{}{}
	n := 0
	for lines.Scan() {
		n++
		line := lines.Bytes()
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\uFEFF"))
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		l, fault := readLine(line)
		if fault == nil {
			if _, again := seen[l.ID]; again {
				fault = &FaultError{Kind: DuplicateID, Field: "id"}
			} else if len(locations) == limit {
				fault = &FaultError{Kind: TooMany}
			}
		}
		if fault != nil {
			fault.Line = n
			return nil, fault
		}
		seen[l.ID] = struct{}{}
		locations = append(locations, l)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, &FaultError{Line: n + 1, Kind: LineTooLong}
	case err != nil:
		return nil, &FaultError{Line: n + 1, Kind: NotReadable, cause: err}
	}
	return locations, nil
}

// fields are the properties of a line, in the order in which faults are reported.
var fields = []struct {
	name     string
	required bool
	read     func(l *Location, value jsontext.Value) bool
}{
	{"id", true, func(l *Location, v jsontext.Value) bool {
		return decodeInto(v, '0', &l.ID) && l.ID >= 1 && l.ID <= MaxID
	}},
	{"type", true, func(l *Location, v jsontext.Value) bool {
		return decodeInto(v, '"', &l.Type) && slices.Contains(Types, l.Type)
	}},
	{"name", true, func(l *Location, v jsontext.Value) bool {
		return decodeInto(v, '"', &l.Name) && found(l.Name)
	}},
	{"alternateNames", false, func(l *Location, v jsontext.Value) bool {
		return decodeInto(v, '[', &l.Alternates) && len(l.Alternates) <= MaxAlternates &&
			!slices.ContainsFunc(l.Alternates, func(name string) bool { return !found(name) })
	}},
	{"region", false, func(l *Location, v jsontext.Value) bool {
		return decodeInto(v, '"', &l.Region) && (l.Region == "" || found(l.Region))
	}},
	{"country", false, func(l *Location, v jsontext.Value) bool {
		return decodeInto(v, '"', &l.Country) && (l.Country == "" || found(l.Country))
	}},
	{"population", false, func(l *Location, v jsontext.Value) bool {
		return decodeInto(v, '0', &l.Population) && l.Population >= 0 && l.Population <= MaxID
	}},
}

func readLine(line []byte) (Location, *FaultError) {
	var l Location
	var members map[string]jsontext.Value
	if err := json.Unmarshal(line, &members); err != nil || members == nil {
		return l, &FaultError{Kind: NotAnObject}
	}
	for _, field := range fields {
		value, given := members[field.name]
		switch {
		case given && !field.read(&l, value):
			return l, &FaultError{Kind: FieldInvalid, Field: field.name}
		case !given && field.required:
			return l, &FaultError{Kind: FieldRequired, Field: field.name}
		}
		delete(members, field.name)
	}
	if len(members) > 0 {
		return l, &FaultError{Kind: UnknownField, Field: slices.Min(slices.Collect(maps.Keys(members)))}
	}
	return l, nil
}

// decodeInto decodes a value other than null.
func decodeInto(value jsontext.Value, kind jsontext.Kind, into any) bool {
	return value.Kind() == kind && json.Unmarshal(value, into) == nil
}

// found reports whether a name can be shown and found.
func found(name string) bool {
	return utf8.RuneCountInString(name) <= MaxNameCharacters && forms(name) != nil &&
		!slices.ContainsFunc([]rune(name), unicode.IsControl)
}
