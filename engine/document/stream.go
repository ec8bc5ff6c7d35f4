package document

import (
	"bufio"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"marquee/engine/message"
)

// ObjectReader decodes an array of objects, or one object, one at a time, in
// memory that does not depend on their number. Errors are those of DecodeObjects.
type ObjectReader struct {
	d *decoder
	// bounded limits how much of a file is buffered; nil for input in memory.
	bounded *boundedReader
	// count is the number of objects read; single is true for an input that is
	// not an array.
	count         int
	began, single bool
}

// NewObjectReader returns a reader of a file. Positions of errors are found by
// reading the file again.
func NewObjectReader(file io.ReaderAt, limits Limits) *ObjectReader {
	r := &ObjectReader{d: newDecoder(nil, limits), bounded: &boundedReader{file: bufio.NewReaderSize(io.NewSectionReader(file, 0, maxFile), 1<<16)}}
	r.d.file, r.d.text = file, jsontext.NewDecoder(r.bounded)
	return r
}

const (
	// maxFile exceeds the size of any file.
	maxFile = 1 << 62
	// maxSpace is the maximum white space before an object of limited size.
	maxSpace = 1 << 16
)

// Next decodes the next object and returns its size in bytes. It returns io.EOF at
// the end of valid input.
func (r *ObjectReader) Next() (object map[string]any, size int64, err error) {
	d := r.d
	if r.bounded != nil {
		r.bounded.left = maxFile
		if d.limits.Object > 0 {
			r.bounded.left = int64(d.limits.Object) + maxSpace
		}
	}
	if !r.began {
		if err := r.begin(); err != nil {
			return nil, 0, err
		}
	}
	if r.single && r.count > 0 || !r.single && d.text.PeekKind() == ']' {
		return nil, 0, r.end()
	}
	if d.limits.Objects > 0 && r.count == d.limits.Objects {
		return nil, 0, message.TooManyObjects.Error(message.Params{"limit": d.limits.Objects})
	}
	d.index, d.start = r.count, d.next()
	value, err := d.value()
	if err != nil {
		return nil, 0, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, 0, message.BodyNotObjects.Error(message.Params{"index": d.index})
	}
	r.count++
	return object, d.text.InputOffset() - d.start, nil
}

func (r *ObjectReader) begin() error {
	r.began = true
	switch r.d.text.PeekKind() {
	case '{':
		r.single = true
		return nil
	case '[':
		r.d.list, r.d.names = true, map[string]string{}
		if _, err := r.d.text.ReadToken(); err != nil {
			return r.d.syntax(err)
		}
		return nil
	}
	if _, err := r.d.value(); err != nil {
		return err
	}
	return message.BodyNotObjects.Error(nil)
}

func (r *ObjectReader) end() error {
	if !r.single {
		if _, err := r.d.text.ReadToken(); err != nil {
			return r.d.syntax(err)
		}
	}
	if err := r.d.end(); err != nil {
		return err
	}
	if err := r.d.faults.Err(); err != nil {
		return err
	}
	return io.EOF
}

// boundedReader limits how far a file is read at once: the JSON library buffers
// strings and white space completely.
type boundedReader struct {
	file io.Reader
	left int64
}

var errTooLong = errors.New("document: an object is too long")

// readError is an error of the file itself.
type readError struct{ error }

func (e *readError) Unwrap() error { return e.error }

func (r *boundedReader) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, errTooLong
	}
	read, err := r.file.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(read)
	if err != nil && err != io.EOF {
		err = &readError{err}
	}
	return read, err
}
