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

// Open makes an import ready; where progress is kept, to go on there.
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

// load finds the progress of an earlier run, or begins anew.
func (r *Importer) load() error {
	told := Told{Context: r.Context, FieldValidation: fieldValidation(r.FieldValidation), Store: r.Store, Report: absolute(r.Report)}
	if r.Type != nil {
		told.Type = r.Type.Name
	}
	if r.Progress != "" && !r.Restart {
		kept, err := readState(r.Progress)
		if err != nil {
			return err
		}
		if kept != nil {
			err := kept.check(r.Progress, told)
			if err == nil || kept.Line > 0 {
				r.state, r.resumed, r.looked = *kept, kept.Line > 0, kept.Line > 0
				return err
			}
			// It had not come further than the first chunk: nothing is lost.
		}
	}
	r.state = state{Version: stateVersion, Told: told, Seed: rand.Text()}
	return nil
}

func fieldValidation(v engine.FieldValidation) string {
	return [...]string{engine.Warn: "Warn", engine.Strict: "Strict", engine.Ignore: "Ignore"}[v]
}

func absolute(path string) string {
	if whole, err := filepath.Abs(path); err == nil && path != "" {
		return whole
	}
	return path
}

// open opens the files at the place that the state tells.
func (r *Importer) open() error {
	s := &r.state
	r.parser = parser{registry: r.Engine.Registry(), t: r.Type, context: r.Context, seed: s.Seed}
	r.text = r.Input
	if r.Progress == "" {
		spool, err := temporary()
		if err != nil {
			return fmt.Errorf("a temporary file cannot be made: %w", err)
		}
		r.spool, r.text = spool, spool
	}
	read := mark{position: s.Offset, line: s.Line}
	read.sum, _ = sumOf(s.SHA256) // checked by readState; none at the beginning
	in, err := newFileInput(r.Input, read)
	if err != nil {
		return fmt.Errorf("%s: %w", r.Input.Name(), err)
	}
	r.in = in
	if s.Pass > 0 {
		if _, err := in.next(); !errors.Is(err, io.EOF) {
			return fmt.Errorf("%s has grown since it was read: import what is new by itself, or begin anew with --restart", r.Input.Name())
		}
		if r.before, err = r.scratch.open(s.Pass-1, s.Reading); err != nil {
			return err
		}
		r.in = newWaitingInput(r.before, s.Reading, s.Position, r.text)
	}
	if r.list, err = r.scratch.open(s.Pass, s.Waiting); err != nil {
		return err
	}
	if err := r.holdAgain(); err != nil {
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

// holdAgain finds out which objects have a line that waits.
func (r *Importer) holdAgain() error {
	return r.eachWaiting(func(it item) { r.held.add(it.key()) })
}
