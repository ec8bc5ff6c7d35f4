package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"marquee/engine/store"
)

// source is a reader that records whether it was closed, and may fail to close.
type source struct {
	io.Reader
	closed bool
	fails  error
}

func (s *source) Close() error {
	s.closed = true
	return s.fails
}

// TestPieces checks that the pieces do not depend on how the reader delivers
// its bytes, and that errors are returned.
func TestPieces(t *testing.T) {
	own := errors.New("own")
	readers := map[string]func(io.Reader) io.Reader{
		"plain":         func(r io.Reader) io.Reader { return r },
		"byte by byte":  iotest.OneByteReader,
		"halves":        iotest.HalfReader,
		"end with data": iotest.DataErrReader,
	}
	for name, wrap := range readers {
		for _, c := range []struct {
			data string
			size int64
			want string
		}{
			{"", 0, ""},
			{"a", 1, "0:a"},
			{"abcd", 4, "0:abcd"},
			{"abcde", 5, "0:abcd 1:e"},
			{"abcdefgh", 8, "0:abcd 1:efgh"},
			{"abcdefghi", 9, "0:abcd 1:efgh 2:i"},
			{"a", 0, "error"},
			{"", 1, "error"},
			{"abc", 4, "error"},
			{"abcde", 4, "error"},
			{"abcd", 5, "error"},
			{"abcdefghi", 8, "error"},
		} {
			t.Run(fmt.Sprintf("%s/%s as %d", name, c.data, c.size), func(t *testing.T) {
				var got []string
				s := &source{Reader: wrap(strings.NewReader(c.data))}
				err := store.Pieces(func() (io.ReadCloser, error) { return s, nil }, c.size, 4, func(n int, data []byte) error {
					got = append(got, fmt.Sprintf("%d:%s", n, data))
					return nil
				})
				if code, ok := store.CodeOf(err); c.want == "error" && (!ok || code != store.CodeInternal) || c.want != "error" && err != nil {
					t.Errorf("error %v", err)
				}
				if text := strings.Join(got, " "); c.want != "error" && text != c.want {
					t.Errorf("got %q, want %q", text, c.want)
				}
				if int64(len(strings.Join(got, ""))) > c.size+int64(2*len(got)) {
					t.Errorf("got more than %d bytes: %q", c.size, got)
				}
				if !s.closed {
					t.Error("the reader was not closed")
				}
			})
		}
	}
	for name, c := range map[string]struct {
		open  func() (io.ReadCloser, error)
		piece error
		want  error
	}{
		"opening fails":                              {func() (io.ReadCloser, error) { return nil, own }, nil, own},
		"reading fails":                              {opened(io.MultiReader(strings.NewReader("abcdef"), iotest.ErrReader(own)), nil), nil, own},
		"reading fails at the end":                   {opened(io.MultiReader(strings.NewReader("abcdefgh"), iotest.ErrReader(own)), nil), nil, own},
		"reading ends too early, as the reader says": {opened(iotest.ErrReader(io.ErrUnexpectedEOF), nil), nil, io.ErrUnexpectedEOF},
		"closing fails":                              {opened(strings.NewReader("abcdefgh"), own), nil, own},
		"a piece is not taken":                       {opened(strings.NewReader("abcdefgh"), nil), own, own},
		"nothing fails (control)":                    {opened(bytes.NewReader(make([]byte, 8)), nil), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if err := store.Pieces(c.open, 8, 4, func(int, []byte) error { return c.piece }); err != c.want {
				t.Errorf("got %v, want %v as it is", err, c.want)
			}
		})
	}
}

func opened(r io.Reader, closing error) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return &source{Reader: r, fails: closing}, nil }
}
