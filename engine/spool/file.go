package spool

import (
	"context"
	"errors"
	"io"
	"os"
)

// File is a temporary file. One goroutine writes it from beginning to end; after
// that, it can be read any number of times. It must be closed.
//
// Errors have the code error.spool.full if there is no room or the folder cannot
// be used, and error.deadline.exceeded if the context has ended.
type File struct {
	spool  *Spool
	ctx    context.Context
	caller string
	// received reports whether the file was created by Receive.
	received bool

	size int64
	// small is the content while it is in memory.
	small   []byte
	file    *os.File // nil while the content is in memory
	unnamed bool
	// taken is the part of the budget that the file holds; looked is the size up to
	// which the disk is known to have room.
	taken, looked int64
}

// Write implements io.Writer. It appends to the file.
func (f *File) Write(p []byte) (int, error) {
	if f.ctx.Err() != nil {
		return 0, ended(f.ctx)
	}
	if f.file == nil {
		if f.fits(len(p)) {
			f.small = append(f.small, p...)
			f.size += int64(len(p))
			return len(p), nil
		}
		if err := f.toDisk(); err != nil {
			return 0, err
		}
	}
	n, err := f.append(p)
	f.size += int64(n)
	return n, err
}

// fits tries to make room for n more bytes in memory.
func (f *File) fits(n int) bool {
	need := len(f.small) + n
	if need > inMemory {
		return false
	}
	if need <= cap(f.small) && f.small != nil {
		return true
	}
	size := minInMemory
	for size < need {
		size *= 2
	}
	if !f.spool.takeMemory(f.caller, int64(size-cap(f.small))) {
		return false
	}
	f.small = append(make([]byte, 0, size), f.small...)
	return true
}

// toDisk moves the content from memory to the disk. After an error, it is still in
// memory.
func (f *File) toDisk() error {
	var err error
	if f.file, f.unnamed, err = f.spool.open(); err != nil {
		f.file = nil
		return f.spool.full(err)
	}
	f.spool.begin(f)
	if f.small == nil {
		return nil
	}
	if _, err = f.append(f.small); err != nil {
		return errors.Join(err, f.leaveDisk())
	}
	f.forget()
	return nil
}

// leaveDisk removes the file from the disk.
func (f *File) leaveDisk() error {
	if f.file == nil {
		return nil
	}
	err := discard(f.file, f.unnamed)
	f.spool.end(f)
	f.spool.give(f.caller, f.taken)
	f.file, f.taken, f.looked = nil, 0, 0
	return err
}

// forget discards the content in memory.
func (f *File) forget() {
	if f.small != nil {
		f.spool.giveMemory(f.caller, int64(cap(f.small)))
		f.small = nil
	}
}

func (f *File) append(p []byte) (int, error) {
	n := int64(len(p))
	if f.taken+n > f.looked {
		ahead := max(n, lookEvery)
		if err := f.spool.room(ahead); err != nil {
			return 0, f.spool.full(err)
		}
		f.looked = f.taken + ahead
	}
	if err := f.spool.take(f, n); err != nil {
		return 0, err
	}
	f.taken += n
	written, err := f.file.Write(p)
	if err != nil {
		err = f.spool.full(err)
	}
	return written, err
}

// Size returns the number of bytes that have been written.
func (f *File) Size() int64 { return f.size }

// ReadAt implements io.ReaderAt.
func (f *File) ReadAt(p []byte, offset int64) (int, error) {
	if f.file != nil {
		n, err := f.file.ReadAt(p, offset)
		if err != nil && !errors.Is(err, io.EOF) {
			err = f.spool.full(err)
		}
		return n, err
	}
	if offset >= int64(len(f.small)) {
		return 0, io.EOF
	}
	n := copy(p, f.small[offset:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Reader returns a reader of the file, which is complete from then on. Readers are
// independent of each other.
func (f *File) Reader() *io.SectionReader {
	if f.received && f.file != nil {
		f.spool.end(f)
	}
	return io.NewSectionReader(f, 0, f.size)
}

// Reset empties the file and releases its part of the budget.
func (f *File) Reset() error {
	f.forget()
	f.size = 0
	if f.file == nil {
		return nil
	}
	if err := f.file.Truncate(0); err != nil {
		return f.spool.full(err)
	}
	if _, err := f.file.Seek(0, io.SeekStart); err != nil {
		return f.spool.full(err)
	}
	f.spool.give(f.caller, f.taken)
	f.taken, f.looked = 0, 0
	return nil
}

// Close removes the file. It can be called several times.
func (f *File) Close() error {
	f.forget()
	f.size = 0
	return f.leaveDisk()
}
