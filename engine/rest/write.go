package rest

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"marquee/engine"
	"marquee/engine/budget"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/rest/header"
	"marquee/engine/schema"
)

// writeParameters are the parameters of every write.
var writeParameters = []string{"fieldValidation", "validateOnly"}

// options reads the parameters of a write.
func (r *Call) options(t *schema.Type, batch *engine.Batch) error {
	err := r.Only(writeParameters...)
	if err != nil {
		return err
	}
	if batch.Network, err = r.Network(t); err != nil {
		return err
	}
	if batch.ValidateOnly, err = r.Boolean("validateOnly"); err != nil {
		return err
	}
	batch.FieldValidation, err = r.FieldValidation()
	return err
}

// FieldValidation returns the parameter fieldValidation.
func (r *Call) FieldValidation() (engine.FieldValidation, error) {
	switch value, given := r.parameters["fieldValidation"]; {
	case !given:
		return engine.BySchema, nil
	case value == "Warn":
		return engine.Warn, nil
	case value == "Strict":
		return engine.Strict, nil
	case value == "Ignore":
		return engine.Ignore, nil
	}
	return engine.BySchema, message.ParameterInvalid.Error(message.Params{"parameter": "fieldValidation", "expected": "Warn, Strict or Ignore"})
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
func (r *Call) warnFollowing(types []string) {
	for _, name := range types {
		r.warn(message.WarningDependantsFollow.With(message.Params{"type": name}))
	}
}

// warn adds a Warning header.
func (r *Call) warn(m message.Message) {
	r.c.Writer.Header().Add("Warning", warning(m.Code()+": "+m.String()))
}

// writeObject creates or updates the object that the path names.
func (o *objects) writeObject() error {
	var batch engine.Batch
	if err := o.options(o.t, &batch); err != nil {
		return err
	}
	op := engine.Operation{Type: o.t, ID: o.id, MergePatch: o.patches()}
	if err := o.conditions(&op, true); err != nil {
		return err
	}
	if err := o.admit(batch.Network); err != nil {
		return err
	}
	body, err := o.Body(MaxBodyBytes)
	if err != nil {
		return err
	}
	if op.Object, err = document.DecodeObject(body, o.limits()); err != nil {
		return err
	}
	if err := o.checkParent(batch.Network); err != nil {
		return err
	}
	if err := o.setParent(op.Object); err != nil {
		return err
	}
	return o.writeOne(batch, op)
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

// writeOne stores one object and responds with it.
func (r *Call) writeOne(batch engine.Batch, op engine.Operation) error {
	batch.Operations = []engine.Operation{op}
	result, err := r.store(batch)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), renderTime)
	defer cancel()
	var answer oneAnswer
	if err := r.s.Engine.Render(ctx, r.caller, batch.Network, result.Stored(), &answer); err != nil {
		if ctx.Err() != nil {
			return message.DeadlineExceeded.Error(nil).Caused(err)
		}
		return err
	}
	object, status := answer.object, http.StatusOK
	if result.Changes[0].Created() && !batch.ValidateOnly {
		status = http.StatusCreated
		r.c.Header("Location", object.Path)
	}
	if !batch.ValidateOnly {
		r.c.Header("ETag", object.ETag())
	}
	switch minimal := r.prefersMinimal(result.Stored().Once()); {
	case minimal && status == http.StatusCreated:
		return r.empty(status)
	case minimal:
		return r.empty(http.StatusNoContent)
	}
	write(r.c, status, jsonType, object.JSON)
	return nil
}

// writeObjects creates or updates the objects of the body, all or none.
func (o *objects) writeObjects() error {
	batch := engine.Batch{Listed: true}
	if err := o.options(o.t, &batch); err != nil {
		return err
	}
	if err := o.admit(batch.Network); err != nil {
		return err
	}
	body, err := o.Body(MaxBodyBytes)
	if err != nil {
		return err
	}
	objects, bare, err := document.DecodeObjects(body, o.limits())
	if err != nil {
		return err
	}
	for _, object := range objects {
		op := engine.Operation{Type: o.t, Object: object}
		if err := o.conditions(&op, len(objects) == 1); err != nil {
			return err
		}
		batch.Operations = append(batch.Operations, op)
	}
	return o.storeList(batch, bare)
}

// batch creates or updates objects of several types, all or none.
func (r *Call) batch() error {
	batch := engine.Batch{Listed: true}
	body, err := r.Body(r.batchLimit())
	if err != nil {
		return err
	}
	limits := r.limits()
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
	owned := &schema.Type{Global: true}
	for i, entry := range operations {
		op, err := r.operation(i, entry, &faults)
		if err != nil {
			return err
		}
		if len(body) > document.DefaultLimits.Object && len(document.Append(nil, op.Object)) > document.DefaultLimits.Object {
			return message.ObjectTooLarge.Error(message.Params{"limit": document.DefaultLimits.Object, "index": i})
		}
		if op.Type != nil && !op.Type.Global {
			owned = op.Type
		}
		batch.Operations = append(batch.Operations, op)
	}
	if err := r.options(owned, &batch); err != nil {
		return err
	}
	if err := faults.Err(); err != nil {
		return err
	}
	return r.storeList(batch, false)
}

// operationMembers are the members that an operation can have.
var operationMembers = []string{"type", "object", "ifMatch", "ifNoneMatch"}

// operationConditions are the members of an operation that stand for headers.
var operationConditions = [...]struct{ member, header string }{{"ifMatch", "If-Match"}, {"ifNoneMatch", "If-None-Match"}}

func (r *Call) operation(i int, entry any, faults *message.Faults) (op engine.Operation, err error) {
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
	t, ok := r.s.Engine.Registry().Type(name)
	if !ok || !t.Writable() || r.mustKnow(t) != nil {
		faults.Add(message.BatchTypeUnknown.With(message.Params{"field": at + "/type", "index": i, "type": name}))
		return engine.Operation{}, nil
	}
	op.Type, op.Object = t, object
	err = r.conditions(&op, false)
	return op, err
}

// Sharing returns the context with which a route calls Engine.Write itself: the write uses
// the memory that Body has taken.
func (r *Call) Sharing() context.Context { return budget.With(r.Context(), r.share) }

func (r *Call) store(batch engine.Batch) (*engine.Result, error) {
	r.Spend(len(batch.Operations))
	result, err := r.s.Engine.Write(r.Sharing(), r.caller, batch)
	if err != nil {
		return nil, err
	}
	r.Dropped(batch.Listed, result.Unknown)
	r.warnFollowing(result.Following)
	return result, nil
}

// storeList stores a batch and responds with its objects. With bare, the client sent one
// object that is not in a list.
func (r *Call) storeList(batch engine.Batch, bare bool) error {
	result, err := r.store(batch)
	if err != nil {
		return err
	}
	if bare && result.Changes[0].Created() && !batch.ValidateOnly {
		var created oneAnswer
		if err := r.s.Engine.Outline(r.caller, batch.Network, result.Stored(), &created, "id"); err != nil {
			return err
		}
		r.c.Header("Location", created.object.Path)
	}
	return r.answerAll(batch.Network, result)
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
