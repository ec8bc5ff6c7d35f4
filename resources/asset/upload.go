package asset

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"time"

	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/rest"
	"marquee/engine/store"
	"marquee/resources/catalogue"
)

// uploadWait is the maximum time that an upload waits for others to finish.
const uploadWait = 30 * time.Second

// The limits of a form besides its file.
const (
	maxParts     = 20
	maxTextBytes = 64 << 10 // of the names and values of all texts together
	maxFormBytes = 1 << 20
)

// upload is an inspected file on its way through the write path, as Change.Kept.
type upload struct {
	// name is that of a new delivery: wanted, if that is set and unused, else fresh.
	name, wanted, fresh string
	facts
}

// upload creates or updates an asset from a form with its file.
func (a *Rules) upload(r *rest.Call) error {
	t, err := r.Engine().Type(collection)
	if err != nil {
		return err
	}
	return r.WriteForm(t, a.readUpload)
}

// readUpload reads a form, which has a file and, in its other parts, properties of
// the asset. It counts as one of the concurrent uploads until release is called.
func (a *Rules) readUpload(r *rest.Call, op *engine.Operation) (release func(), err error) {
	if r.Request().ContentLength > a.MaxBytes+maxFormBytes {
		return nil, a.tooLarge()
	}
	file := receive(r.SpoolBody())
	done := func() { _ = file.Close() } // a failure leaves a temporary file, which is not the caller's fault
	defer func() {
		if op.Kept == nil {
			done()
		}
	}()
	part, sent, err := a.readForm(r, op, file)
	if err != nil {
		return nil, withObject(err, op)
	}
	next, err := a.awaitTurn(r, op)
	if err != nil {
		return nil, err
	}
	done = both(next, done)
	if err := a.awaitUpload(r.Context()); err != nil {
		return nil, err
	}
	done = both(func() { <-a.uploads }, done)
	found, err := inspect(r.Context(), file, sent, a.MaxBytes)
	if err != nil {
		return nil, withObject(store.Translate(err), op, "/"+part)
	}
	op.Set, op.Kept = found.properties(), &upload{fresh: rand.Text(), facts: found}
	return done, nil
}

func both(first, then func()) func() {
	return func() {
		first()
		then()
	}
}

// awaitTurn waits, in a network with a quota, until this server has stored the
// uploads before it, because their transactions would conflict. The caller must call
// next when its own is stored.
func (a *Rules) awaitTurn(r *rest.Call, op *engine.Operation) (next func(), err error) {
	if a.NetworkQuota <= 0 {
		return func() {}, nil
	}
	network, err := r.Network(op.Type)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), uploadWait)
	defer cancel()
	stored, _ := a.turns.LoadOrStore(network, make(chan struct{}, 1))
	turn := stored.(chan struct{})
	select {
	case turn <- struct{}{}:
		next = func() { <-turn }
	case <-ctx.Done():
		return nil, store.Translate(ctx.Err())
	}
	if err := a.countOnce(ctx, r.Engine().Store, network); err != nil {
		next()
		return nil, store.Translate(err)
	}
	return next, nil
}

// awaitUpload waits until fewer than uploadsAtOnce uploads are being processed, for
// at most uploadWait.
func (a *Rules) awaitUpload(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, uploadWait)
	defer cancel()
	select {
	case a.uploads <- struct{}{}:
		return nil
	case <-ctx.Done():
		return store.Translate(ctx.Err())
	}
}

func (a *Rules) tooLarge() error {
	return catalogue.AssetTooLarge.Error(message.Params{"limit": a.MaxBytes})
}

// withObject adds the object, if it has an id yet, and optionally a property, to the messages of an error.
func withObject(err error, op *engine.Operation, field ...string) error {
	params := message.Params{"type": op.Type.Name}
	if op.ID != "" {
		params["objectId"] = op.ID
	}
	for _, pointer := range field {
		params["field"] = pointer
	}
	var known *message.Error
	if errors.As(err, &known) {
		for i, m := range known.Messages {
			known.Messages[i] = m.Adding(params)
		}
	}
	return err
}

// readForm reads the form. It returns the name of the part with the file, and the
// name of the file.
func (a *Rules) readForm(r *rest.Call, op *engine.Operation, file *received) (part, sent string, err error) {
	form, err := r.Form()
	if err != nil {
		return "", "", err
	}
	op.Object = map[string]any{}
	part, sent, err = a.read(form, op.Object, file)
	if err == nil && part == "" {
		err = catalogue.AssetFileMissing.Error(message.Params{"field": "/file"})
	}
	return part, sent, err
}

// read reads the parts of the form into file and texts.
func (a *Rules) read(form *rest.Form, texts map[string]any, file *received) (filePart, sentName string, err error) {
	left := maxTextBytes
	for n := 0; ; n++ {
		part, err := form.Next()
		if err == io.EOF {
			return filePart, sentName, nil
		}
		if err != nil {
			return "", "", err
		}
		isFile := part.Name == "file" || part.Name == "asset"
		_, twice := texts[part.Name]
		switch {
		case n == maxParts:
			return "", "", message.FormTooManyParts.Error(message.Params{"limit": maxParts})
		case isFile && filePart != "", twice:
			return "", "", message.FormPartRepeated.Error(message.Params{"part": part.Name})
		case isFile:
			filePart, sentName = part.Name, part.FileName
			err = a.copyFile(part, file)
		default:
			var value string
			value, err = text(part, left-len(part.Name))
			texts[part.Name] = value
			left -= len(part.Name) + len(value)
		}
		if err != nil {
			return "", "", err
		}
	}
}

func (a *Rules) copyFile(part *rest.Part, file *received) error {
	n, err := part.Copy(file, a.MaxBytes)
	if err == nil && n > a.MaxBytes {
		return a.tooLarge()
	}
	return err
}

// text reads a part of at most limit bytes.
func text(part *rest.Part, limit int) (string, error) {
	var b bytes.Buffer
	n, err := part.Copy(&b, int64(max(limit, 0)))
	if err == nil && n > int64(limit) {
		return "", message.BodyTooLarge.Error(message.Params{"limit": maxTextBytes})
	}
	return b.String(), err
}
