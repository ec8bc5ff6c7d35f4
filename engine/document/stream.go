package document

import (
	"bufio"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"marquee/engine/message"
)

// ObjectReader decodes an array of objects, or one object, one after the other:
// what it takes does not grow with their number. Faults are those of
// DecodeObjects.
type ObjectReader struct {
	d *decoder
	// near bounds what is held of a file; nil for one that is in memory.
	near *near
	// count is how many objects were read, of an array or, when single, of one.
	count         int
	began, single bool
}

// NewObjectReader reads a file from its beginning. What is wrong with it is
// looked for in the file again.
func NewObjectReader(file io.ReaderAt, limits Limits) *ObjectReader {
	r := &ObjectReader{d: newDecoder(nil, limits), near: &near{file: bufio.NewReaderSize(io.NewSectionReader(file, 0, maxFile), 1<<16)}}
	r.d.file, r.d.text = file, jsontext.NewDecoder(r.near)
	return r
}

const (
	// maxFile is more than any file has.
	maxFile = 1 << 62
	// maxSpace is how much white space may stand before an object whose size is
	// limited.
	maxSpace = 1 << 16
)

// Next decodes the next object, of a number of bytes; io.EOF is the end of an
// input that is valid as a whole.
func (r *ObjectReader) Next() (object map[string]any, size int64, err error) {
	d := r.d
	if r.near != nil {
		r.near.left = maxFile
		if d.limits.Object > 0 {
			r.near.left = int64(d.limits.Object) + maxSpace
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

// near reads a file as far as it may be held: the JSON library holds a text,
// or white space, until it has all of it.
type near struct {
	file io.Reader
	left int64
}

var errTooLong = errors.New("document: an object is too long")

// readError is that of the file.
type readError struct{ error }

func (e *readError) Unwrap() error { return e.error }

func (n *near) Read(p []byte) (int, error) {
	if n.left == 0 {
		return 0, errTooLong
	}
	read, err := n.file.Read(p[:min(int64(len(p)), n.left)])
	n.left -= int64(read)
	if err != nil && err != io.EOF {
		err = &readError{err}
	}
	return read, err
}
