package asset

import (
	"bufio"
	"errors"
	"io"
)

const (
	// maxTokenBytes is the maximum length of a tag, a text or a comment, which the
	// decoder keeps in memory several times. A picture can be embedded in an attribute.
	maxTokenBytes = 4 << 20
	// maxAttributes is the maximum number of equals signs in a start tag, and so of
	// attributes, each of which takes much more memory than it has bytes.
	maxAttributes = 1000
)

var errTokenTooLarge = errors.New("a token of the markup is too large")

// tokenReader ends the content of a decoder when one of its tokens becomes too large.
// The decoder reads it byte by byte, so that it knows where tokens begin.
type tokenReader struct {
	from *bufio.Reader
	// read is the number of bytes of the present token, first its first two bytes.
	read  int
	first [2]byte
	// equals counts the equals signs of a start tag.
	equals int
	last   byte
	err    error
}

func newTokenReader(r io.Reader) *tokenReader { return &tokenReader{from: bufio.NewReader(r)} }

// next begins a token. The decoder has found the end of a text when it has read the
// first byte of what follows.
func (t *tokenReader) next() {
	t.read, t.equals = 0, 0
	if t.last == '<' {
		t.read, t.first[0] = 1, '<'
	}
}

// ReadByte implements io.ByteReader.
func (t *tokenReader) ReadByte() (byte, error) {
	if t.err != nil {
		return 0, t.err
	}
	c, err := t.from.ReadByte()
	if err != nil {
		return 0, err
	}
	if t.read < len(t.first) {
		t.first[t.read] = c
	}
	t.read++
	t.last = c
	if c == '=' && t.first[0] == '<' && t.first[1] != '!' && t.first[1] != '?' {
		t.equals++
	}
	if t.read > maxTokenBytes || t.equals > maxAttributes {
		t.err = errTokenTooLarge
	}
	return c, t.err
}

// Read implements io.Reader.
func (t *tokenReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	c, err := t.ReadByte()
	if err != nil {
		return 0, err
	}
	p[0] = c
	return 1, nil
}
