// Package transfer imports objects from JSON lines or CSV and exports them as JSON lines
// (docs/how-to/import-and-export.md), and writes through the engine, which may be that of
// another process (Target). It imports engine,
// document, keyword, message, schema and store, but neither HTTP nor applications. Begin with
// Import.Open and Importer.Run, or with Export.Write.
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

// Import describes an import.
type Import struct {
	Target Target
	// Input is a file or a stream.
	Input *os.File
	// CSV reports whether the input is CSV, whose header has the paths of properties,
	// instead of lines of JSON. Columns are the paths of columns with other names, "" for
	// a column that is left out. Type is required then.
	CSV     bool
	Columns map[string]string
	// Type is the type of all objects; nil if each line is an envelope.
	Type *schema.Type
	// Context is the network of lines that specify none, or "".
	Context         string
	FieldValidation engine.FieldValidation
	// Chunk is the number of lines in a transaction; 0 is DefaultChunk.
	Chunk int
	// Strict stops the import at the first invalid line.
	Strict bool
	// Progress is the progress file and Report the file of rejected lines, each ""
	// for none. Restart ignores earlier progress.
	Progress, Report string
	Restart          bool
	// Files and Folder are those of Local, to which the target passes the lines on.
	Files  map[string]Files
	Folder *os.Root
	// Store identifies the store in the progress file. It must not contain a
	// password.
	Store string
	// Each is called after every chunk.
	Each func(Status)
}

// DefaultChunk is the default number of lines in a transaction.
const DefaultChunk = 1000

const (
	// chunkBytes is the maximum size of the lines of a transaction.
	chunkBytes = 16 << 20
	// groupLines and groupBytes bound a transaction of lines with circular
	// references.
	groupLines = 10_000
	groupBytes = 256 << 20
)

// Status is the progress of an import.
type Status struct {
	Counts
	// Bytes and Lines are how much of the file has been read.
	Bytes, Lines int64
	// Waiting is the number of lines that refer to objects which do not exist yet.
	Waiting int64
	// Retrying reports whether the whole file has been read, and waiting lines are
	// tried again.
	Retrying bool
}

// mode is how a pass treats lines that refer to missing objects.
type mode string

const (
	waits   mode = ""        // they wait for the next pass
	ordered mode = "ordered" // the same, and the lines are in order of dependency
	last    mode = "last"    // they are rejected
)

// Importer is a running import.
type Importer struct {
	Import
	state    state
	resumed  bool
	parser   parser
	scratch  scratch
	in       input
	header   []byte      // of a CSV file
	text     io.ReaderAt // contains the waiting lines
	spool    *os.File    // the same for a stream
	list     *os.File    // lists the lines that wait in this pass
	before   *os.File    // lists the lines that this pass reads
	report   *os.File
	held     held
	carried  *item
	looked   bool // whether the first line has been checked
	networks map[string]bool
	dropped  []string
}

// Resumed reports whether the import continues an earlier one, and the last line
// that was read.
func (r *Importer) Resumed() (line int64, resumed bool) { return r.state.Line, r.resumed }

// Status returns the progress of the import.
func (r *Importer) Status() Status {
	return Status{Counts: r.state.Counts, Bytes: r.state.Offset, Lines: r.state.Line, Waiting: r.state.Waiting + r.left(), Retrying: r.state.Pass > 0}
}

// left returns the number of listed lines that this pass has not read yet.
func (r *Importer) left() int64 { return r.state.Reading - r.state.Position/waitingSize }

// First returns descriptions of the first rejected lines, and Dropped of the first
// unknown properties that were dropped in this run.
func (r *Importer) First() []string   { return r.state.First }
func (r *Importer) Dropped() []string { return r.dropped }

// Run imports all lines. After an error, another import with the same progress
// file continues after the last chunk that was written.
func (r *Importer) Run(ctx context.Context) error {
	if err := r.save(); err != nil {
		return err
	}
	for {
		if err := r.pass(ctx); err != nil {
			if !r.looked { // there is no progress to continue
				return errors.Join(err, r.scratch.remove())
			}
			return err
		}
		if r.state.Waiting == 0 {
			return r.scratch.remove()
		}
		if err := r.nextPass(); err != nil {
			return err
		}
	}
}

// pass imports the lines of one pass.
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

// nextPass begins the pass that reads the lines which had to wait in this one. If a
// pass writes nothing, the next one is the last.
func (r *Importer) nextPass() error {
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
	if err := r.saveState(); err != nil { // before the list that was read is overwritten
		return err
	}
	var err error
	r.list, err = r.scratch.open(s.Pass, 0)
	r.in = newWaitingInput(r.before, s.Reading, 0, r.text)
	return err
}

// save records that everything before the current position is done.
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
	return r.saveState()
}

// saveState writes the state after the files that it refers to are on disk.
func (r *Importer) saveState() error {
	if r.Progress == "" {
		return nil
	}
	if err := r.list.Sync(); err != nil {
		return cannotSave("the waiting lines", err)
	}
	if r.report != nil {
		if err := r.report.Sync(); err != nil {
			return fmt.Errorf("the report of rejected lines cannot be written: %w", err)
		}
	}
	return r.state.write(r.Progress)
}

// Close closes all files except the input.
func (r *Importer) Close() error {
	for _, f := range []*os.File{r.spool, r.list, r.before} {
		if f != nil {
			f.Close()
			if r.Progress == "" {
				_ = os.Remove(f.Name()) // if open files cannot be removed on this system
			}
		}
	}
	if r.report != nil {
		return r.report.Close()
	}
	return nil
}
