package transfer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Settings are the settings of an import that must not change while it is in progress.
type Settings struct {
	Type            string `json:"type,omitempty"`
	Context         string `json:"context,omitempty"`
	FieldValidation string `json:"fieldValidation"`
	// Format is "csv", or "" for lines of JSON.
	Format  string            `json:"format,omitempty"`
	Columns map[string]string `json:"columns,omitempty"`
	// Store identifies the store, without a password.
	Store string `json:"store"`
	// Report is the file of rejected lines.
	Report string `json:"report,omitempty"`
}

// Counts are the results of an import.
type Counts struct {
	// Objects counts accepted objects, of which Created were created and Changed
	// were updated with a change.
	Objects int64 `json:"objects"`
	Created int64 `json:"created"`
	Changed int64 `json:"changed"`
	// Rejected counts rejected lines.
	Rejected int64 `json:"rejected"`
}

// state is the content of the progress file. It contains no properties of objects.
type state struct {
	Version  int      `json:"version"`
	Settings Settings `json:"told"`
	// Seed is the seed of generated ids.
	Seed string `json:"seed"`
	// Offset and Line are how much of the file has been read, and SHA256 is the
	// hash of that part.
	Offset int64  `json:"offset"`
	Line   int64  `json:"line"`
	SHA256 string `json:"sha256"`
	// Pass is 0 while the file is read. A later pass reads waiting lines: Reading
	// of them, from Position in their list.
	Pass     int   `json:"pass"`
	Mode     mode  `json:"mode"`
	Reading  int64 `json:"reading"`
	Position int64 `json:"position"`
	// Waiting and Accepted count the waiting lines and accepted objects of this
	// pass.
	Waiting  int64 `json:"waiting"`
	Accepted int64 `json:"accepted"`
	// ReportBytes is the length of the report.
	ReportBytes int64 `json:"reportBytes"`
	Counts
	// First describes the first rejected lines.
	First []string `json:"first,omitempty"`
}

const stateVersion = 2

var (
	errChanged = errors.New("the part that was read has changed since: restore the file, or start over with --restart (objects that were written remain)")
	errDamaged = errors.New("it does not contain the progress of an import: start over with --restart")
)

// readState reads a progress file. It returns nil if there is none.
func readState(path string) (*state, error) {
	content, err := os.ReadFile(path) // #nosec G304 -- the operator chooses the file
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

// write saves the state. The old file exists until the new one is complete.
func (s *state) write(path string) error {
	content, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	if err := replace(path, content); err != nil {
		return cannotSave("the progress", err)
	}
	return nil
}

func cannotSave(what string, err error) error {
	return fmt.Errorf("%s cannot be saved: %w: free disk space, or name another file with --progress", what, err)
}

// replace replaces a file atomically.
func replace(path string, content []byte) error {
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) // #nosec G304 -- the operator chooses the file
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// check returns an error if an import was started with other settings.
func (s *state) check(path string, settings Settings) error {
	for _, c := range []struct{ what, was, is string }{
		{"--format", s.Settings.Format, settings.Format},
		{"--columns", columnsText(s.Settings.Columns), columnsText(settings.Columns)},
		{"the type", s.Settings.Type, settings.Type},
		{"--context", s.Settings.Context, settings.Context},
		{"--field-validation", s.Settings.FieldValidation, settings.FieldValidation},
		{"--store", s.Settings.Store, settings.Store},
		{"--rejected", s.Settings.Report, settings.Report},
	} {
		if c.was != c.is {
			return fmt.Errorf("%s was %s when this import started (see %s) and is %s now: use the same value, or start over with --restart",
				c.what, quotedOrUnset(c.was), path, quotedOrUnset(c.is))
		}
	}
	return nil
}

func columnsText(columns map[string]string) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		pairs = append(pairs, name+"="+columns[name])
	}
	return strings.Join(pairs, ",")
}

func quotedOrUnset(value string) string {
	if value == "" {
		return "not set"
	}
	return fmt.Sprintf("%q", value)
}

// scratch manages the lists of waiting lines.
type scratch struct {
	// progress is the progress file, which is in the same folder; "" for an import
	// that cannot be continued, whose lists do not outlive the process.
	progress string
}

func (s scratch) path(pass int) string {
	return fmt.Sprintf("%s.waiting-%d", s.progress, pass%2)
}

// open opens the list that a pass writes, which has count entries.
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
		return nil, cannotSave("the waiting lines", err)
	}
	return f, nil
}

// cut truncates a file, and continues at its end.
func cut(f *os.File, length int64) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() < length {
		return fmt.Errorf("%s has become shorter: start over with --restart", f.Name())
	}
	if err := f.Truncate(length); err != nil {
		return err
	}
	_, err = f.Seek(length, 0)
	return err
}

// remove removes the progress file and the lists.
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

// temporary creates a file that does not outlive the process if the system
// supports that, as it may contain secrets.
func temporary() (*os.File, error) {
	f, err := os.CreateTemp("", "marquee-*")
	if err == nil {
		_ = os.Remove(filepath.Clean(f.Name())) // fails on some systems
	}
	return f, err
}
