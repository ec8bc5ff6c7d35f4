package rest

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/rest/header"
	"marquee/engine/schema"
)

// writeParameters are the parameters of every write.
var writeParameters = []string{"fieldValidation", "validateOnly"}

// writing is a batch that a call stores and answers.
type writing struct {
	*Call
	batch engine.Batch
}

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

// Dropped adds a Warning header for each unknown property that was dropped. Listed
// responses have several objects.
func (r *Call) Dropped(listed bool, unknown []engine.Unknown) {
	for _, one := range unknown {
		text := "unknown property " + one.Path + " of " + one.Type + " was dropped"
		if listed {
			text += fmt.Sprintf(" (object %d)", one.Index)
		}
		r.c.Writer.Header().Add("Warning", warning(text))
	}
}

// warnFollowing adds a Warning header for each type of which more objects will change.
func warnFollowing(header http.Header, types []string) {
	for _, name := range types {
		warn(header, message.WarningDependantsFollow.With(message.Params{"type": name}))
	}
}

// warn adds a Warning header.
func warn(header http.Header, m message.Message) {
	header.Add("Warning", warning(m.Code()+": "+m.String()))
}

// begin reads the parameters and conditions of a write, and checks the rights (admit), before
// the body is read.
func (o *objects) begin(w *writing, op *engine.Operation, one bool) error {
	if err := w.options(o.t); err != nil {
		return err
	}
	if err := conditions(o.c.Request.Header, op, one); err != nil {
		return err
	}
	return o.admit(w.batch.Network)
}

// writeObject creates or updates the object that the path names.
func (o *objects) writeObject() error {
	w, op := &writing{Call: o.Call}, engine.Operation{Type: o.t, ID: o.id, MergePatch: patches(o.c.Request)}
	if err := o.begin(w, &op, true); err != nil {
		return err
	}
	body, err := o.Body(MaxBodyBytes)
	if err != nil {
		return err
	}
	if op.Object, err = document.DecodeObject(body, limits(o.Context())); err != nil {
		return err
	}
	if err := o.checkParent(w.batch.Network); err != nil {
		return err
	}
	if err := o.setParent(op.Object); err != nil {
		return err
	}
	return w.storeOne(op)
}

// setParent sets the parent of an object to the one in the path.
func (o *objects) setParent(object map[string]any) error {
	if o.t.Parent == "" {
		return nil
	}
	given := object[o.t.Parent]
	if reference, ok := given.(map[string]any); ok {
		given = reference["id"]
	}
	if given != nil && given != o.parent {
		return message.IDMismatch.Error(message.Params{"field": "/" + o.t.Parent, "value": given, "id": o.parent})
	}
	object[o.t.Parent] = o.parent
	return nil
}

// writeObjects creates or updates the objects of the body, all or none.
func (o *objects) writeObjects() error {
	w := &writing{Call: o.Call, batch: engine.Batch{Listed: true}}
	if err := w.options(o.t); err != nil {
		return err
	}
	if err := o.admit(w.batch.Network); err != nil {
		return err
	}
	body, err := o.Body(MaxBodyBytes)
	if err != nil {
		return err
	}
	objects, bare, err := document.DecodeObjects(body, limits(o.Context()))
	if err != nil {
		return err
	}
	for _, object := range objects {
		op := engine.Operation{Type: o.t, Object: object}
		if err := conditions(o.c.Request.Header, &op, len(objects) == 1); err != nil {
			return err
		}
		w.batch.Operations = append(w.batch.Operations, op)
	}
	return w.storeList(bare)
}

// batch creates or updates objects of several types, all or none.
func batch(r *Call) error {
	body, err := r.Body(batchLimit(r.s.Engine, r.caller, r.parameters["context"]))
	if err != nil {
		return err
	}
	limits := limits(r.Context())
	limits.Object = 0
	envelope, err := document.DecodeObject(body, limits)
	if err != nil {
		return err
	}
	operations, ok := envelope["operations"].([]any)
	if !ok || len(envelope) != 1 {
		return message.BatchMember.Error(message.Params{"field": "/operations"})
	}
	if len(operations) > limits.Objects {
		return message.TooManyObjects.Error(message.Params{"limit": limits.Objects})
	}
	var faults message.Faults
	w, owned := &writing{Call: r, batch: engine.Batch{Listed: true}}, &schema.Type{Global: true}
	for i, entry := range operations {
		op, err := w.operation(i, entry, &faults)
		if err != nil {
			return err
		}
		if len(body) > document.DefaultLimits.Object && len(document.Append(nil, op.Object)) > document.DefaultLimits.Object {
			return message.ObjectTooLarge.Error(message.Params{"limit": document.DefaultLimits.Object, "index": i})
		}
		if op.Type != nil && !op.Type.Global {
			owned = op.Type
		}
		w.batch.Operations = append(w.batch.Operations, op)
	}
	if err := w.options(owned); err != nil {
		return err
	}
	if err := faults.Err(); err != nil {
		return err
	}
	return w.storeList(false)
}

// operationMembers are the members that an operation can have.
var operationMembers = []string{"type", "object", "ifMatch", "ifNoneMatch"}

// operationConditions are the members of an operation that stand for headers.
var operationConditions = [...]struct{ member, header string }{{"ifMatch", "If-Match"}, {"ifNoneMatch", "If-None-Match"}}

func (w *writing) operation(i int, entry any, faults *message.Faults) (op engine.Operation, err error) {
	members, _ := entry.(map[string]any)
	name, named := members["type"].(string)
	object, given := members["object"].(map[string]any)
	at := fmt.Sprintf("/operations/%d", i)
	if !named || !given {
		return op, message.BatchMember.Error(message.Params{"field": at})
	}
	for _, member := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(operationMembers, member) {
			return op, message.BatchMember.Error(message.Params{"field": at + "/" + document.EscapeToken(member)})
		}
	}
	for _, condition := range operationConditions {
		value, conditional := members[condition.member]
		if !conditional {
			continue
		}
		text, is := value.(string)
		if text != "" && !header.IsAny(text) && !strings.Contains(text, `"`) { // JSON quotes the tag already
			text = `"` + text + `"`
		}
		if !is || !restrict(&op, condition.header, text, true) {
			return op, message.BatchCondition.Error(message.Params{"field": at + "/" + condition.member})
		}
	}
	t, ok := w.s.Engine.Registry().Type(name)
	if !ok || !t.Writable() || mustKnow(w.s.Engine.Access, w.caller, t, w.parameters["context"]) != nil {
		faults.Add(message.BatchTypeUnknown.With(message.Params{"field": at + "/type", "index": i, "type": name}))
		return engine.Operation{}, nil
	}
	op.Type, op.Object = t, object
	err = conditions(w.c.Request.Header, &op, false)
	return op, err
}

// store stores the batch.
func (w *writing) store() (*engine.Result, error) {
	w.Spend(len(w.batch.Operations))
	result, err := w.s.Engine.Write(w.Sharing(), w.caller, w.batch)
	if err != nil {
		return nil, err
	}
	w.Dropped(w.batch.Listed, result.Unknown)
	warnFollowing(w.Header(), result.Following)
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
	if err := w.s.Engine.Render(ctx, w.caller, w.batch.Network, result.Stored(), &answer); err != nil {
		if ctx.Err() != nil {
			return message.DeadlineExceeded.Error(nil).Caused(err)
		}
		return err
	}
	object, status := answer.object, http.StatusOK
	if result.Changes[0].Created() && !w.batch.ValidateOnly {
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
	if bare && result.Changes[0].Created() && !w.batch.ValidateOnly {
		var created oneAnswer
		if err := w.s.Engine.Outline(w.caller, w.batch.Network, result.Stored(), &created, "id"); err != nil {
			return err
		}
		w.c.Header("Location", created.object.Path)
	}
	return w.answerAll(result)
}

// answerAll sends the response to a successful write of several objects. It can be written
// after the deadline of the call: a write that has been stored is reported as stored.
func (w *writing) answerAll(result *engine.Result) error {
	minimal := prefersMinimal(w.c, result.Stored().Once())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.Context()), renderTime)
	defer cancel()
	answer := &streamAnswer{file: w.s.Spool.Create(context.WithoutCancel(w.Context()), w.account())}
	defer answer.file.Close()
	var err error
	if minimal {
		err = w.s.Engine.Outline(w.caller, w.batch.Network, result.Stored(), answer, "id")
	} else {
		err = w.s.Engine.Render(ctx, w.caller, w.batch.Network, result.Stored(), answer)
	}
	if err != nil && (message.SpoolFull.Is(err) || ctx.Err() != nil) {
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

// warning returns the value of a Warning header (code 299, persistent). All but
// printable ASCII is percent-encoded.
func warning(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c < 0x20 || c > 0x7e || c == '"' || c == '\\' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
		if b.Len() > 200 {
			b.WriteString("...")
			break
		}
	}
	return `299 marquee "` + b.String() + `"`
}
