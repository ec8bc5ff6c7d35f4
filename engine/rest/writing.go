package rest

import (
	"context"
	"net/http"

	"marquee/engine"
	"marquee/engine/budget"
	"marquee/engine/message"
	"marquee/engine/schema"
)

// writing is a batch that a call stores and answers.
type writing struct {
	*Call
	batch engine.Batch
}

// writeParameters are the parameters of every write.
var writeParameters = []string{"fieldValidation", "validateOnly"}

// options reads the parameters of a write.
func (w *writing) options(t *schema.Type) error {
	err := w.parameters.Only(writeParameters...)
	if err != nil {
		return err
	}
	if w.batch.Network, err = w.Network(t); err != nil {
		return err
	}
	if w.batch.ValidateOnly, err = w.parameters.Boolean("validateOnly"); err != nil {
		return err
	}
	w.batch.FieldValidation, err = w.parameters.FieldValidation()
	return err
}

// store stores the batch, unless the request repeats an earlier one.
func (w *writing) store() (*engine.Result, error) {
	w.Spend(len(w.batch.Operations))
	if w.batch.Idempotency != nil {
		w.charges.spend(len(w.batch.Operations) + 1)
	}
	result, err := w.s.Engine.Write(w.Sharing(), w.caller, w.batch)
	switch {
	case err != nil:
		return nil, err
	case result.Repeated != nil:
		w.c.Header(idempotencyReplayed, "true")
	case w.s.Stored != nil && !w.batch.ValidateOnly:
		w.s.Stored(w.Call, result.Changes)
	}
	WarnDropped(w.Header(), w.batch.Listed, result.Unknown)
	w.warnFollowing(result.Following)
	return result, nil
}

// storeOne stores one object and responds with it.
func (w *writing) storeOne(op engine.Operation) error {
	w.batch.Operations = []engine.Operation{op}
	result, err := w.store()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.Context()), renderTime)
	defer cancel()
	var answer oneAnswer
	if err := w.render(ctx, result, &answer); err != nil {
		if ctx.Err() != nil {
			return message.DeadlineExceeded.Error(nil).Caused(err)
		}
		return err
	}
	object, status := answer.object, http.StatusOK
	if object.Version == "" { // gone for the caller since an earlier request has written it
		return w.NoContent()
	}
	if result.Created() && !w.batch.ValidateOnly {
		status = http.StatusCreated
		w.c.Header("Location", object.Path)
	}
	if !w.batch.ValidateOnly {
		w.c.Header("ETag", object.ETag())
	}
	switch minimal := prefersMinimal(w.c, result.Stored().Once()); {
	case minimal && status == http.StatusCreated:
		return empty(w.c, status)
	case minimal:
		return w.NoContent()
	}
	write(w.c, status, jsonType, object.JSON)
	return nil
}

// storeList stores the batch and responds with its objects. With bare, the client sent one
// object that is not in a list.
func (w *writing) storeList(bare bool) error {
	result, err := w.store()
	if err != nil {
		return err
	}
	if bare && result.Created() && !w.batch.ValidateOnly {
		var created oneAnswer
		if err := w.render(w.Context(), result, &created, "id"); err != nil {
			return err
		}
		if created.object.Path != "" { // it is still there
			w.c.Header("Location", created.object.Path)
		}
	}
	return w.answerAll(result)
}

// render renders the objects of a result, with some properties or, if none are named, all of
// them.
func (w *writing) render(ctx context.Context, result *engine.Result, answer engine.Answer, properties ...string) error {
	switch {
	case result.Repeated != nil:
		if err := budget.Reserve(w.Sharing(), pageCost); err != nil {
			return err
		}
		return w.s.Engine.Repeat(ctx, w.caller, w.batch.Network, result.Repeated.Objects, !w.batch.Listed, answer, properties...)
	case len(properties) > 0:
		return w.s.Engine.Outline(w.caller, w.batch.Network, result.Stored(), answer, properties...)
	}
	return w.s.Engine.Render(ctx, w.caller, w.batch.Network, result.Stored(), answer)
}

// answerAll sends the response to a successful write of several objects. It can be written
// after the deadline of the call: a write that has been stored is reported as stored.
func (w *writing) answerAll(result *engine.Result) error {
	minimal := prefersMinimal(w.c, result.Stored().Once())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.Context()), renderTime)
	defer cancel()
	answer := &streamAnswer{file: w.s.Spool.Create(context.WithoutCancel(w.Context()), w.account())}
	defer answer.file.Close()
	var properties []string
	if minimal {
		properties = []string{"id"}
	}
	err := w.render(ctx, result, answer, properties...)
	if err != nil && result.Repeated == nil && (message.SpoolFull.Is(err) || ctx.Err() != nil) {
		w.Log().Warn("a response shows its objects by id and url only", "cause", err)
		var outline outlineAnswer
		if err := w.s.Engine.Outline(w.caller, w.batch.Network, result.Stored(), &outline, "id", "url"); err != nil {
			return err
		}
		outline.send(w.Call)
		return nil
	}
	if err != nil {
		return err
	}
	return answer.send(w.Call)
}
