package store

import (
	"fmt"
	"io"
	"time"
)

// Blob says which bytes are kept under a key.
type Blob struct {
	Key
	Size int64
	// Time is when it was last put, by the store's clock, in UTC with
	// milliseconds.
	Time time.Time
}

// Pieces gives what open yields to piece, for adapters: in order, numbered from
// 0, each of a length but the last, which may be shorter. A piece is lent. The
// reader is closed. Errors of open, of its reader and of piece are returned as
// they are. Codes: CodeInternal when there are fewer or more bytes than size;
// pieces may have been given by then.
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
		return &Error{Code: CodeInternal, Text: fmt.Sprintf("a blob of %d bytes was given only %d", size, read)}
	case read > size:
		return &Error{Code: CodeInternal, Text: fmt.Sprintf("a blob of %d bytes was given more", size)}
	}
	return nil
}

// fill reads until the buffer is full or the reader ends. Unlike io.ReadFull,
// it leaves io.ErrUnexpectedEOF to readers, of which it may be the own error.
func fill(r io.Reader, buffer []byte) (n int, err error) {
	for n < len(buffer) && err == nil {
		var more int
		more, err = r.Read(buffer[n:])
		n += more
	}
	return n, err
}
