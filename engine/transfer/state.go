package transfer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Told is what an import was told: it must not change on the way.
type Told struct {
	Type            string `json:"type,omitempty"`
	Context         string `json:"context,omitempty"`
	FieldValidation string `json:"fieldValidation"`
	// Store says which store it is, without a password.
	Store string `json:"store"`
	// Report is the file of rejected lines.
	Report string `json:"report,omitempty"`
}

// Counts is what an import has done.
type Counts struct {
	// Objects counts those that were accepted; of these, Created are new and
	// Changed were there and are different now.
	Objects int64 `json:"objects"`
	Created int64 `json:"created"`
	Changed int64 `json:"changed"`
	// Rejected counts lines.
	Rejected int64 `json:"rejected"`
}

// state is the progress of an import as it is kept: how far it is, what waits,
// what was rejected. It holds no property of an object.
type state struct {
	Version int  `json:"version"`
	Told    Told `json:"told"`
	// Seed makes the ids of objects without one.
	Seed string `json:"seed"`
	// Offset and Line say how much of the file was read, SHA256 proves it.
	Offset int64  `json:"offset"`
	Line   int64  `json:"line"`
	SHA256 string `json:"sha256"`
	// Pass is 0 while the file is read; later ones read the lines that wait,
	// Reading of them, from Position in their list.
	Pass     int   `json:"pass"`
	Mode     mode  `json:"mode"`
	Reading  int64 `json:"reading"`
	Position int64 `json:"position"`
	// Waiting lines were found in this pass, and Accepted objects.
	Waiting  int64 `json:"waiting"`
	Accepted int64 `json:"accepted"`
	// ReportBytes is how long the report is.
	ReportBytes int64 `json:"reportBytes"`
	Counts
	// First tells of the first rejected lines.
	First []string `json:"first,omitempty"`
}

const stateVersion = 2

var (
	errChanged = errors.New("what was read of it has changed since: put the file back, or begin anew with --restart (objects that were written stay)")
	errDamaged = errors.New("it cannot be read as the progress of an import: begin anew with --restart")
)

// readState reads what is kept of an import; nil when there is nothing.
func readState(path string) (*state, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the progress file cannot be read: %w", err)
	}
	var s state
	if json.Unmarshal(content, &s) != nil || s.Version != stateVersion || s.Offset < 0 || s.Line < 0 || s.Position < 0 ||
		s.Reading < 0 || s.Waiting < 0 || s.ReportBytes < 0 || s.Seed == "" {
		return nil, fmt.Errorf("the progress file %s: %w", path, errDamaged)
	}
	if _, ok := sumOf(s.SHA256); !ok {
		return nil, fmt.Errorf("the progress file %s: %w", path, errDamaged)
	}
	return &s, nil
}

// write keeps the state: the old one is there until the new one is whole.
func (s *state) write(path string) error {
	content, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	if err := replace(path, content); err != nil {
		return notKept("the progress", err)
	}
	return nil
}

func notKept(what string, err error) error {
	return fmt.Errorf("%s cannot be kept: %w: make room, or name a file elsewhere with --progress", what, err)
}

// replace puts a file in place of another in one step.
func replace(path string, content []byte) error {
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// check refuses to go on with an import that was told something else.
func (s *state) check(path string, told Told) error {
	for _, c := range []struct{ what, was, is string }{
		{"the type", s.Told.Type, told.Type},
		{"--context", s.Told.Context, told.Context},
		{"--field-validation", s.Told.FieldValidation, told.FieldValidation},
		{"--store", s.Told.Store, told.Store},
		{"--rejected", s.Told.Report, told.Report},
	} {
		if c.was != c.is {
			return fmt.Errorf("%s was %s when this import began (%s tells), and is %s now: give the same again, or begin anew with --restart",
				c.what, shown(c.was), path, shown(c.is))
		}
	}
	return nil
}

func shown(value string) string {
	if value == "" {
		return "not given"
	}
	return fmt.Sprintf("%q", value)
}

// scratch opens the files in which an import keeps lines that wait.
type scratch struct {
	// progress is the file that they stand beside; "" for an import that
	// cannot go on later, whose files are gone with the process.
	progress string
}

func (s scratch) path(pass int) string {
	return fmt.Sprintf("%s.waiting-%d", s.progress, pass%2)
}

// open opens the list that a pass makes; count lines of it count.
func (s scratch) open(pass int, count int64) (*os.File, error) {
	var f *os.File
	var err error
	if s.progress == "" {
		f, err = temporary()
	} else {
		f, err = os.OpenFile(s.path(pass), os.O_RDWR|os.O_CREATE, 0o600)
	}
	if err == nil {
		err = cut(f, count*waitingSize)
	}
	if err != nil {
		return nil, notKept("the lines that wait", err)
	}
	return f, nil
}

// cut drops what was written behind a place, and goes on there.
func cut(f *os.File, length int64) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() < length {
		return fmt.Errorf("%s is shorter than it was: begin anew with --restart", f.Name())
	}
	if err := f.Truncate(length); err != nil {
		return err
	}
	_, err = f.Seek(length, 0)
	return err
}

// remove ends the keeping.
func (s scratch) remove() error {
	if s.progress == "" {
		return nil
	}
	var err error
	for _, path := range []string{s.progress, s.progress + ".new", s.path(0), s.path(1)} {
		if removed := os.Remove(path); !errors.Is(removed, fs.ErrNotExist) {
			err = errors.Join(err, removed)
		}
	}
	return err
}

// temporary is a file without a name, where that is possible: it may hold
// secrets, and nothing of it outlives the process.
func temporary() (*os.File, error) {
	f, err := os.CreateTemp("", "marquee-*")
	if err == nil {
		_ = os.Remove(filepath.Clean(f.Name())) // some systems cannot
	}
	return f, err
}
