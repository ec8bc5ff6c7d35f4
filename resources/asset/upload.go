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
)

const placeTime = 30 * time.Second

// What a form may hold besides the file, which is little.
const (
	maxParts     = 20
	maxTextBytes = 64 << 10
	maxFormBytes = 1 << 20
)

// upload is a file on its way through the write path, as Change.Kept.
type upload struct {
	// name is that of the delivery, should there be a new one: wanted, if it is
	// given and free, or fresh.
	name, wanted, fresh string
	facts
}

// Upload reads a form: its file, and in its other parts properties of the asset.
// It holds one of the places for uploads until the operation is over.
func (a *Rules) Upload(r *rest.Call, op *engine.Operation) (release func(), err error) {
	if r.Request().ContentLength > a.MaxBytes+maxFormBytes {
		return nil, a.tooLarge()
	}
	file, err := newSpool()
	if err != nil {
		return nil, err
	}
	done := func() { _ = file.release() } // a file that is left is no fault of the call
	defer func() {
		if op.Kept == nil {
			done()
		}
	}()
	part, sent, err := a.receive(r, op, file)
	if err != nil {
		return nil, about(err, op)
	}
	if err := a.wait(r.Context()); err != nil {
		return nil, err
	}
	remove := done
	done = func() {
		<-a.places
		remove()
	}
	found, err := inspect(file, sent)
	if err != nil {
		return nil, about(err, op, "/"+part)
	}
	op.Set, op.Kept = found.properties(), &upload{fresh: rand.Text(), facts: found}
	return done, nil
}

// wait waits for a place, but no longer than a client who sees no answer would.
func (a *Rules) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, placeTime)
	defer cancel()
	select {
	case a.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return engine.Translate(ctx.Err())
	}
}

func (a *Rules) tooLarge() error {
	return message.AssetTooLarge.Error(message.Params{"limit": a.MaxBytes})
}

// about adds to the messages of an error which object they speak of, and which
// place in it.
func about(err error, op *engine.Operation, field ...string) error {
	params := message.Params{"type": op.Type.Name, "objectId": op.ID}
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

// receive reads the form, and tells in which part the file was, and under which
// name.
func (a *Rules) receive(r *rest.Call, op *engine.Operation, file *spool) (part, sent string, err error) {
	form, err := r.Form()
	if err != nil {
		return "", "", err
	}
	op.Object = map[string]any{}
	part, sent, err = a.read(form, op.Object, file)
	if err == nil && part == "" {
		err = message.AssetFileMissing.Error(message.Params{"field": "/file"})
	}
	return part, sent, err
}

// read takes the form apart: the file, of which it tells in which part it was
// and under which name, and texts.
func (a *Rules) read(form *rest.Form, texts map[string]any, file *spool) (filePart, sentName string, err error) {
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
			texts[part.Name], err = text(part)
		}
		if err != nil {
			return "", "", err
		}
	}
}

func (a *Rules) copyFile(part *rest.Part, file *spool) error {
	n, err := part.Copy(file, a.MaxBytes)
	if err == nil && n > a.MaxBytes {
		return a.tooLarge()
	}
	return err
}

func text(part *rest.Part) (string, error) {
	var b bytes.Buffer
	n, err := part.Copy(&b, maxTextBytes)
	if err == nil && n > maxTextBytes {
		return "", message.BodyTooLarge.Error(message.Params{"limit": maxTextBytes})
	}
	return b.String(), err
}
