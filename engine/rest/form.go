package rest

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"strings"

	"github.com/klauspost/compress/gzip"

	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/schema"
)

// Upload reads a body of multipart/form-data into the operation on the object
// that the path names. What it returns is called when the operation is over,
// however it ends.
type Upload func(r *Call, op *engine.Operation) (release func(), err error)

// maxFraming is how many bytes of a form may stand before the content of a
// part, and behind it.
const maxFraming = 64 << 10

// writeUpload creates or updates the object that the path names by what a form
// holds. Who may not is told so before the form has been read. The deadline
// begins anew behind it: what a client takes to send it has a limit of its own,
// that of the server.
func (r *Call) writeUpload(upload Upload, t *schema.Type, parent, id string) error {
	var batch engine.Batch
	op := engine.Operation{Type: t, ID: id}
	err := r.admitUpload(&batch, &op, parent)
	unbound := r.c.MustGet(unboundKey).(context.Context)
	var release func()
	if err == nil {
		r.c.Request = r.c.Request.WithContext(unbound)
		release, err = upload(r, &op)
	}
	if err != nil {
		drain(r.c.Request)
		return err
	}
	defer release()
	ctx, cancel := context.WithTimeout(unbound, r.s.Deadline)
	defer cancel()
	r.c.Request = r.c.Request.WithContext(ctx)
	if err := setParent(t, op.Object, parent); err != nil {
		return err
	}
	return r.WriteOne(batch, op)
}

// admitUpload reads all of the request but its body.
func (r *Call) admitUpload(batch *engine.Batch, op *engine.Operation, parent string) error {
	if err := r.options(op.Type, batch); err != nil {
		return err
	}
	if err := r.conditions(op, true); err != nil {
		return err
	}
	if err := r.s.Engine.Access.MayWrite(r.caller, op.Type, batch.Network, op.ID, false); err != nil {
		return err
	}
	return r.checkParent(op.Type, batch.Network, parent)
}

// Form is a body of multipart/form-data, read part by part.
type Form struct {
	parts *multipart.Reader
	body  *allowance
}

// Form begins to read the body. Errors of a form and its parts are
// *message.Error.
func (r *Call) Form() (*Form, error) {
	_, parameters, err := mime.ParseMediaType(r.c.GetHeader("Content-Type"))
	if err != nil || parameters["boundary"] == "" {
		return nil, message.FormSyntax.Error(nil)
	}
	body := &allowance{r: r.c.Request.Body, left: maxFraming, broken: message.BodyIncomplete}
	switch encoding := strings.ToLower(r.c.GetHeader("Content-Encoding")); encoding {
	case "", "identity":
	case "gzip":
		if body.r, err = gzip.NewReader(body.r); err != nil {
			return nil, message.BodyCompression.Error(nil)
		}
		body.broken = message.BodyCompression
	default:
		return nil, message.ContentEncoding.Error(message.Params{"value": encoding})
	}
	return &Form{parts: multipart.NewReader(body, parameters["boundary"]), body: body}, nil
}

// Part is a part of a form. It must be read before the next one.
type Part struct {
	Name, FileName string
	form           *Form
	part           *multipart.Part
}

// Next goes on to the next part; behind the last one, it answers io.EOF.
func (f *Form) Next() (*Part, error) {
	f.body.left = maxFraming
	part, err := f.parts.NextPart()
	if err == io.EOF { // an end that is missing is wrapped
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

// Copy writes the content of the part, but not more than one byte beyond a
// limit. Errors of dst are returned as they are.
func (p *Part) Copy(dst io.Writer, limit int64) (int64, error) {
	p.form.body.left = limit + maxFraming
	return io.Copy(dst, io.LimitReader(reading{p}, limit+1))
}

// reading gives a part's errors as messages, which tells them from those of a
// writer.
type reading struct{ *Part }

func (r reading) Read(b []byte) (int, error) {
	n, err := r.part.Read(b)
	if err != nil && err != io.EOF {
		err = r.form.fault(err)
	}
	return n, err
}

func (f *Form) fault(err error) error {
	switch {
	case f.body.err != nil:
		return f.body.broken.Error(nil).Caused(f.body.err)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return message.BodyIncomplete.Error(nil)
	}
	return message.FormSyntax.Error(nil)
}

// allowance reads a body as far as its next part may go: the header of a part
// is kept in memory.
type allowance struct {
	r    io.Reader
	left int64
	// err is that of the body, which the broken message stands for.
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
