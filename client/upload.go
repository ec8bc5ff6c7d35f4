package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"mime/multipart"
	"net/http"
	"slices"
)

// errOnce says that the content of a request cannot be sent again.
var errOnce = errors.New("client: the content of the request cannot be read again")

// Upload sends any number of objects to the upload of the type, such as
// segments/upload, in one transaction and without keeping them in memory. The sequence
// is iterated anew if the request is sent again, as after a lost response, so each
// object needs its id. A sequence that can be iterated only once needs Attempts 1.
func (o Objects[T]) Upload(ctx context.Context, objects iter.Seq[T], options ...WriteOption) error {
	r := &request{method: http.MethodPost, path: o.path + "/upload", query: o.network.query(nil), idempotent: true}
	r.set("Content-Type", "application/json")
	r.set("Prefer", "return=minimal")
	r.body = func() (*body, error) {
		next, stop := iter.Pull(objects)
		return newBody(&array[T]{next: next}, -1, stop), nil
	}
	for _, option := range options {
		option(r)
	}
	_, err := o.network.client.send(ctx, r, nil)
	return err
}

// array reads as the JSON array of the values of a sequence.
type array[T any] struct {
	next   func() (T, bool)
	buffer bytes.Buffer
	begun  bool
	done   bool
}

// Read implements io.Reader.
func (a *array[T]) Read(p []byte) (int, error) {
	for a.buffer.Len() == 0 {
		if a.done {
			return 0, io.EOF
		}
		if err := a.fill(); err != nil {
			return 0, err
		}
	}
	return a.buffer.Read(p)
}

func (a *array[T]) fill() error {
	value, more := a.next()
	if !more {
		a.done = true
		if !a.begun {
			a.buffer.WriteByte('[')
		}
		a.buffer.WriteByte(']')
		return nil
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	if a.begun {
		a.buffer.WriteByte(',')
	} else {
		a.buffer.WriteByte('[')
	}
	a.begun = true
	a.buffer.Write(encoded)
	return nil
}

// File is a file to be uploaded.
type File struct {
	// Name is the name of the file, such as banner.png.
	Name string
	// Content is read from where it is. If it is an io.Seeker, as an os.File is, the
	// request can be sent again.
	Content io.Reader
	// Properties are further properties of the object, such as objectState.
	Properties map[string]string
}

// SaveFile creates an object with a file, or replaces the file, such as an asset, and
// returns the object.
func (o Objects[T]) SaveFile(ctx context.Context, id string, file File, options ...WriteOption) (saved T, err error) {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	for _, name := range slices.Sorted(maps.Keys(file.Properties)) {
		if err := w.WriteField(name, file.Properties[name]); err != nil {
			return saved, fmt.Errorf("client: %w", err)
		}
	}
	if _, err := w.CreateFormFile("file", file.Name); err != nil {
		return saved, fmt.Errorf("client: %w", err)
	}
	before := bytes.Clone(form.Bytes())
	form.Reset()
	if err := w.Close(); err != nil {
		return saved, fmt.Errorf("client: %w", err)
	}
	after := form.Bytes()
	rewind := rewinder(file.Content)
	r := &request{method: http.MethodPost, path: o.at(id), query: o.network.query(nil), idempotent: true}
	r.set("Content-Type", w.FormDataContentType())
	r.body = func() (*body, error) {
		if err := rewind(); err != nil {
			return nil, err
		}
		return newBody(io.MultiReader(bytes.NewReader(before), file.Content, bytes.NewReader(after)), -1, nil), nil
	}
	for _, option := range options {
		option(r)
	}
	_, err = o.network.client.send(ctx, r, &saved)
	return saved, err
}

// rewinder returns a function that is called before each read of a content, and puts it
// back to where it was at the first.
func rewinder(content io.Reader) func() error {
	var start int64
	used, seeker := false, io.Seeker(nil)
	if s, can := content.(io.Seeker); can {
		if at, err := s.Seek(0, io.SeekCurrent); err == nil {
			start, seeker = at, s
		}
	}
	return func() error {
		switch {
		case !used:
			used = true
			return nil
		case seeker == nil:
			return errOnce
		}
		_, err := seeker.Seek(start, io.SeekStart)
		return err
	}
}
