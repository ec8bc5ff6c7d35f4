package store

import (
	"fmt"
	"io"
	"time"
)

// Blob describes a stored blob.
type Blob struct {
	Key
	Size int64
	// Time is when the blob was last put by the store's clock, in UTC with
	// milliseconds.
	Time time.Time
}

// Pieces cuts the bytes of a reader into pieces of the given length, numbered
// from 0; the last may be shorter. A piece is valid until the call of piece
// returns. Pieces closes the reader, and returns errors of open, of the reader
// and of piece unchanged. Codes: CodeInternal when the reader yields fewer or
// more bytes than size, even after pieces were delivered.
func Pieces(open func() (io.ReadCloser, error), size int64, length int, piece func(n int, data []byte) error) (err error) {
	r, err := open()
	if err != nil {
		return err
	}
	defer func() {
		if closed := r.Close(); err == nil {
			err = closed
		}
	}()
	buffer := make([]byte, min(int64(length), size+1))
	read, end := int64(0), false
	for n := 0; !end && read <= size; n++ {
		filled, err := fill(r, buffer)
		if end = err == io.EOF; err != nil && !end {
			return err
		}
		if read += int64(filled); filled > 0 && read <= size {
			if err := piece(n, buffer[:filled]); err != nil {
				return err
			}
		}
	}
	switch {
	case read < size:
		return &Error{Code: CodeInternal, Text: fmt.Sprintf("the reader of a blob of %d bytes ended after %d", size, read)}
	case read > size:
		return &Error{Code: CodeInternal, Text: fmt.Sprintf("the reader of a blob of %d bytes did not end", size)}
	}
	return nil
}

// fill reads until the buffer is full or the reader ends. Unlike io.ReadFull,
// it never makes up io.ErrUnexpectedEOF, which the reader itself may return.
func fill(r io.Reader, buffer []byte) (n int, err error) {
	for n < len(buffer) && err == nil {
		var more int
		more, err = r.Read(buffer[n:])
		n += more
	}
	return n, err
}
