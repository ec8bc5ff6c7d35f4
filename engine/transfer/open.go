package transfer

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"marquee/engine"
)

// Open prepares an import. If there is a progress file, it continues from there.
func (im Import) Open() (*Importer, error) {
	im.Chunk = cmp.Or(im.Chunk, DefaultChunk)
	r := &Importer{Import: im, scratch: scratch{im.Progress}, networks: map[string]bool{}}
	err := r.load()
	if err == nil {
		err = r.open()
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// load reads the progress of an earlier run, or starts a new one.
func (r *Importer) load() error {
	settings := Settings{Context: r.Context, FieldValidation: fieldValidation(r.FieldValidation), Store: r.Store, Report: absolute(r.Report)}
	if r.CSV {
		settings.Format, settings.Columns = "csv", r.Columns
	}
	if r.Type != nil {
		settings.Type = r.Type.Name
	}
	if r.Progress != "" && !r.Restart {
		kept, err := readState(r.Progress)
		if err != nil {
			return err
		}
		if kept != nil {
			err := kept.check(r.Progress, settings)
			if err == nil || kept.Line > 0 {
				r.state, r.resumed, r.looked = *kept, kept.Line > 0, kept.Line > 0
				return err
			}
			// Nothing has been written, so that other settings are harmless.
		}
	}
	r.state = state{Version: stateVersion, Settings: settings, Seed: rand.Text()}
	return nil
}

func fieldValidation(v engine.FieldValidation) string {
	return [...]string{engine.BySchema: "", engine.Warn: "Warn", engine.Strict: "Strict", engine.Ignore: "Ignore"}[v]
}

func absolute(path string) string {
	if whole, err := filepath.Abs(path); err == nil && path != "" {
		return whole
	}
	return path
}

// name returns the name of the input in messages. A stream has none.
func (r *Importer) name() string {
	if r.Progress == "" {
		return "standard input"
	}
	return r.Input.Name()
}

// open opens the files at the positions in the state.
func (r *Importer) open() error {
	s := &r.state
	r.parser = parser{registry: r.Target.Registry(), t: r.Type, context: r.Context, seed: s.Seed}
	r.text = r.Input
	if r.Progress == "" {
		spool, err := temporary()
		if err != nil {
			return fmt.Errorf("a temporary file cannot be created: %w", err)
		}
		r.spool, r.text = spool, spool
	}
	read := mark{position: s.Offset, line: s.Line}
	read.sum, _ = sumOf(s.SHA256) // checked by readState; "" at the beginning
	var err error
	if r.CSV {
		err = r.openCSV(read)
	} else {
		r.in, err = newFileInput(r.Input, read)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.name(), err)
	}
	if s.Pass > 0 {
		if _, err := r.in.next(); !errors.Is(err, io.EOF) {
			return fmt.Errorf("%s has grown since it was read: import the new lines as a file of their own, or start over with --restart", r.name())
		}
		if r.before, err = r.scratch.open(s.Pass-1, s.Reading); err != nil {
			return err
		}
		r.in = newWaitingInput(r.before, s.Reading, s.Position, r.text)
	}
	if r.list, err = r.scratch.open(s.Pass, s.Waiting); err != nil {
		return err
	}
	if err := r.restoreHeld(); err != nil {
		return err
	}
	if r.Report == "" {
		return nil
	}
	if r.report, err = os.OpenFile(r.Report, os.O_RDWR|os.O_CREATE, 0o600); err == nil {
		err = cut(r.report, s.ReportBytes)
	}
	if err != nil {
		return fmt.Errorf("the report of rejected lines cannot be written: %w", err)
	}
	return nil
}

// openCSV begins to read a CSV file.
func (r *Importer) openCSV(from mark) error {
	in, err := newCSVInput(r.Input, from)
	if err != nil {
		return err
	}
	header, fault := fields(in.header, 1)
	if fault != nil {
		return errors.New("the header cannot be read: " + fault.String())
	}
	r.in, r.header = in, in.header
	r.parser.columns, err = newColumns(header, r.Columns, r.Type)
	return err
}

// restoreHeld finds the objects with waiting lines.
func (r *Importer) restoreHeld() error {
	return r.eachWaiting(func(it item) { r.held.add(it.key()) })
}
