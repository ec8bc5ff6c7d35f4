package rest

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"

	"github.com/klauspost/compress/gzip"

	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/schema"
)

// FormReader reads a form into an operation, whose ID is set if the path names the object. The
// function that it returns is called after the operation, even if that fails.
type FormReader func(r *Call, op *engine.Operation) (release func(), err error)

// formType is the media type of a form with files.
const formType = "multipart/form-data"

// maxFraming is the maximum number of bytes a form may have before the content of a part, and
// after it.
const maxFraming = 64 << 10

// WriteForm creates or updates an object of a type from a form. The path names the
// object by the parameter id, without which the object has the id in the form or a
// generated one, and, if the type has a parent, the parent by its property. A caller
// without permission is rejected before the form is read. Reading it is limited by the
// server's timeouts only, and the deadline of the call starts again afterwards.
func (r *Call) WriteForm(t *schema.Type, read FormReader) error {
	o := &objects{Call: r, t: t, parent: r.PathValue(t.Parent), id: r.PathValue("id")}
	w, op := &writing{Call: r}, engine.Operation{Type: t, ID: o.id}
	err := o.begin(w, &op, true)
	if err == nil {
		err = o.checkParent(w.batch.Network)
	}
	var release func()
	if err == nil {
		r.c.Request = r.c.Request.WithContext(r.unbound)
		release, err = read(r, &op)
	}
	if err != nil {
		if in, refused := r.incoming(); refused == nil {
			in.discard()
		}
		return err
	}
	defer release()
	r.bind()
	if err := r.confirm(uploadCost); err != nil {
		return err
	}
	if err := o.setParent(op.Object); err != nil {
		return err
	}
	return w.storeOne(op)
}

// Form is a body of multipart/form-data, read part by part.
type Form struct {
	parts *multipart.Reader
	body  *allowance
}

// Form starts to read the body as a form. Errors of a form and its parts are of type
// *message.Error.
func (r *Call) Form() (*Form, error) {
	_, parameters, err := mime.ParseMediaType(r.c.GetHeader("Content-Type"))
	if err != nil || parameters["boundary"] == "" {
		return nil, message.FormSyntax.Error(nil)
	}
	in, err := r.incoming()
	if err != nil {
		return nil, err
	}
	body := &allowance{r: in, left: maxFraming, broken: message.BodyIncomplete}
	packed, err := gzipped(r.c)
	if err != nil {
		return nil, err
	}
	if packed {
		if body.r, err = gzip.NewReader(body.r); err != nil {
			return nil, message.BodyCompression.Error(nil)
		}
		body.broken = message.BodyCompression
	}
	return &Form{parts: multipart.NewReader(body, parameters["boundary"]), body: body}, nil
}

// Part is a part of a form, to be read before the next one.
type Part struct {
	Name, FileName string
	form           *Form
	part           *multipart.Part
}

// Next returns the next part, or io.EOF after the last one.
func (f *Form) Next() (*Part, error) {
	f.body.left = maxFraming
	part, err := f.parts.NextPart()
	if err == io.EOF { // wrapped, it is an end without the final boundary
		return nil, io.EOF
	}
	if err != nil {
		return nil, f.fault(err)
	}
	if part.FormName() == "" {
		return nil, message.FormSyntax.Error(nil)
	}
	return &Part{Name: part.FormName(), FileName: part.FileName(), form: f, part: part}, nil
}

// Copy copies the content of the part to dst, at most one byte more than limit.
// Errors of dst are returned unchanged.
func (p *Part) Copy(dst io.Writer, limit int64) (int64, error) {
	p.form.body.left = limit + maxFraming
	n, err := io.Copy(dst, io.LimitReader(partReader{p}, limit+1))
	if errors.Is(err, context.Canceled) { // the client has disconnected
		err = message.BodyIncomplete.Error(nil).Caused(err)
	}
	return n, err
}

// partReader reads a part. Its errors are messages, unlike those of the writer.
type partReader struct{ *Part }

func (r partReader) Read(b []byte) (int, error) {
	n, err := r.part.Read(b)
	if err != nil && err != io.EOF {
		err = r.form.fault(err)
	}
	return n, err
}

func (f *Form) fault(err error) error {
	switch {
	case message.BodyTooSlow.Is(f.body.err):
		return f.body.err
	case f.body.err != nil:
		return f.body.broken.Error(nil).Caused(f.body.err)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return message.BodyIncomplete.Error(nil)
	}
	return message.FormSyntax.Error(nil)
}

// allowance limits how much of a body is read for the next part, because
// mime/multipart keeps the header of a part in memory.
type allowance struct {
	r    io.Reader
	left int64
	// err is the error of the body, reported to the client as broken.
	err    error
	broken *message.Definition
}

var errAllowance = errors.New("the framing of the form is too long")

func (a *allowance) Read(b []byte) (int, error) {
	if a.left <= 0 {
		return 0, errAllowance
	}
	n, err := a.r.Read(b[:min(int64(len(b)), a.left)])
	a.left -= int64(n)
	if err != nil && err != io.EOF {
		a.err = err
	}
	return n, err
}
