// Package transfer brings objects into a store and out of it, as lines of
// JSON (docs/import-export.md). What it writes goes the way of every write.
package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"marquee/engine"
	"marquee/engine/schema"
)

// Import says what is imported, and how.
type Import struct {
	Engine *engine.Engine
	// Input is the file, or a stream.
	Input *os.File
	// Type is that of all objects; nil where each line is an envelope.
	Type *schema.Type
	// Context is the network of lines that name none, or "".
	Context         string
	FieldValidation engine.FieldValidation
	// Chunk is how many lines are one transaction, 0 for DefaultChunk.
	Chunk int
	// Strict stops at the first fault.
	Strict bool
	// Progress is the file that keeps the progress, "" for none; Report that
	// of rejected lines, or "". Restart forgets the progress that there is.
	Progress, Report string
	Restart          bool
	// Files are those of types, by their names; Folder is where they are, or
	// nil.
	Files  map[string]Files
	Folder *os.Root
	// Store names the store in the progress; it must hold no password.
	Store string
	// Each is told after every chunk.
	Each func(Status)
}

// DefaultChunk is how many lines are one transaction.
const DefaultChunk = 1000

const (
	// chunkBytes is how many bytes of lines are one transaction.
	chunkBytes = 16 << 20
	// groupLines and groupBytes bound a transaction of lines that refer to each
	// other in a circle.
	groupLines = 10_000
	groupBytes = 256 << 20
)

// Status is how far an import is.
type Status struct {
	Counts
	// Bytes of the file were read, and Lines.
	Bytes, Lines int64
	// Waiting lines refer to what is not there yet.
	Waiting int64
	// Again tells that the file was read and waiting lines are tried again.
	Again bool
}

// mode is how a pass treats lines that refer to what is not there.
type mode string

const (
	waits   mode = ""
	ordered mode = "ordered"
	last    mode = "last"
)

// Importer is an import on its way.
type Importer struct {
	Import
	state    state
	resumed  bool
	parser   parser
	scratch  scratch
	in       input
	text     io.ReaderAt // what waiting lines are read from
	spool    *os.File    // that, for a stream
	list     *os.File    // of the lines that wait in this pass
	before   *os.File    // the list that this pass reads
	report   *os.File
	held     held
	carried  *item
	looked   bool // at the first line
	networks map[string]bool
	dropped  []string
}

// Resumed tells whether the import goes on where an earlier one stopped, and
// the line that it had read last.
func (r *Importer) Resumed() (line int64, resumed bool) { return r.state.Line, r.resumed }

// Status tells how far the import is.
func (r *Importer) Status() Status {
	return Status{Counts: r.state.Counts, Bytes: r.state.Offset, Lines: r.state.Line, Waiting: r.state.Waiting + r.left(), Again: r.state.Pass > 0}
}

// left is how many lines of a list are still to be read.
func (r *Importer) left() int64 { return r.state.Reading - r.state.Position/waitingSize }

// First tells of the first rejected lines, and Dropped of the first unknown
// properties that were dropped in this run.
func (r *Importer) First() []string   { return r.state.First }
func (r *Importer) Dropped() []string { return r.dropped }

// Run imports to the end. After an error, what was written is noted, and
// another import goes on there where progress is kept.
func (r *Importer) Run(ctx context.Context) error {
	if err := r.save(); err != nil {
		return err
	}
	for {
		if err := r.pass(ctx); err != nil {
			return err
		}
		if r.state.Waiting == 0 {
			return r.scratch.remove()
		}
		if err := r.turn(); err != nil {
			return err
		}
	}
}

// pass reads its input to the end.
func (r *Importer) pass(ctx context.Context) error {
	for {
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		items, end, err := r.chunk()
		if err == nil {
			err = r.write(ctx, items)
		}
		if err == nil {
			err = r.save()
		}
		if err != nil {
			return err
		}
		if r.Each != nil {
			r.Each(r.Status())
		}
		if end {
			return nil
		}
	}
}

// turn begins the pass that reads what had to wait in this one. As long as
// each pass writes something, there is hope for the rest.
func (r *Importer) turn() error {
	s := &r.state
	next := waits
	switch {
	case s.Pass > 0 && s.Accepted == 0:
		next = last
	case s.Waiting <= maxOrdered:
		next = ordered
		if err := r.order(); err != nil {
			return err
		}
	}
	s.Pass++
	s.Mode, s.Reading, s.Position, s.Waiting, s.Accepted = next, s.Waiting, 0, 0, 0
	if r.before != nil {
		r.before.Close()
	}
	r.before = r.list
	r.held.clear()
	if err := r.keep(); err != nil { // before the list is overwritten that was read
		return err
	}
	var err error
	r.list, err = r.scratch.open(s.Pass, 0)
	r.in = newWaitingInput(r.before, s.Reading, 0, r.text)
	return err
}

// save notes that all before the present place is done.
func (r *Importer) save() error {
	s, at := &r.state, r.in.mark()
	if r.carried != nil {
		at = r.carried.start
	}
	if s.Pass == 0 {
		s.Offset, s.Line, s.SHA256 = at.position, at.line, sumText(at.sum)
	} else {
		s.Position = at.position
	}
	return r.keep()
}

// keep writes the state, when what it speaks of is on disk.
func (r *Importer) keep() error {
	if r.Progress == "" {
		return nil
	}
	if err := r.list.Sync(); err != nil {
		return notKept("the lines that wait", err)
	}
	if r.report != nil {
		if err := r.report.Sync(); err != nil {
			return fmt.Errorf("the report of rejected lines cannot be written: %w", err)
		}
	}
	return r.state.write(r.Progress)
}

// Close gives back the files. The input is the caller's.
func (r *Importer) Close() error {
	for _, f := range []*os.File{r.spool, r.list, r.before} {
		if f != nil {
			f.Close()
			if r.Progress == "" {
				_ = os.Remove(f.Name()) // where it could not be removed before
			}
		}
	}
	if r.report != nil {
		return r.report.Close()
	}
	return nil
}
