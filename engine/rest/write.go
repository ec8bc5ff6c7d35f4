package rest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
)

// writeParameters are those of every write.
var writeParameters = []string{"context", "fieldValidation", "validateOnly"}

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

// FieldValidation reads the parameter of that name.
func (r *Call) FieldValidation() (engine.FieldValidation, error) {
	switch value, given := r.parameters["fieldValidation"]; {
	case !given, value == "Warn":
		return engine.Warn, nil
	case value == "Strict":
		return engine.Strict, nil
	case value == "Ignore":
		return engine.Ignore, nil
	}
	return engine.Warn, message.ParameterInvalid.Error(message.Params{"parameter": "fieldValidation", "expected": "Warn, Strict or Ignore"})
}

// Dropped names properties that were dropped in the answer's header.
func (r *Call) Dropped(listed bool, unknown []engine.Unknown) {
	for _, one := range unknown {
		r.c.Writer.Header().Add("Warning", warning(listed, one))
	}
}

// writeObject creates or updates the one object that the path names.
func (r *Call) writeObject(t *schema.Type, parent, id string) error {
	var batch engine.Batch
	if err := r.options(t, &batch); err != nil {
		return err
	}
	op := engine.Operation{Type: t, ID: id}
	if err := r.conditions(&op, true); err != nil {
		return err
	}
	body, err := r.Body(MaxBodyBytes)
	if err != nil {
		return err
	}
	if op.Object, err = document.DecodeObject(body, document.DefaultLimits); err != nil {
		return err
	}
	if err := r.checkParent(t, batch.Network, parent); err != nil {
		return err
	}
	if err := setParent(t, op.Object, parent); err != nil {
		return err
	}
	return r.WriteOne(batch, op)
}

// setParent puts what the path names into an object that is below another.
func setParent(t *schema.Type, object map[string]any, parent string) error {
	if t.Parent == "" {
		return nil
	}
	given := object[t.Parent]
	if reference, ok := given.(map[string]any); ok {
		given = reference["id"]
	}
	if given != nil && given != parent {
		return message.IDMismatch.Error(message.Params{"field": "/" + t.Parent, "value": given, "id": parent})
	}
	object[t.Parent] = parent
	return nil
}

// WriteOne stores one object, and answers with it.
func (r *Call) WriteOne(batch engine.Batch, op engine.Operation) error {
	batch.Operations = []engine.Operation{op}
	result, objects, err := r.store(batch)
	if err != nil {
		return err
	}
	object, status := objects[0], http.StatusOK
	if result.Changes[0].Created() && !batch.ValidateOnly {
		status = http.StatusCreated
		r.c.Header("Location", object.Path)
	}
	if !batch.ValidateOnly {
		r.c.Header("ETag", object.ETag())
	}
	write(r.c, status, jsonType, object.JSON)
	return nil
}

// writeObjects creates or updates the objects of the body, all or none.
func (r *Call) writeObjects(t *schema.Type) error {
	batch := engine.Batch{Listed: true}
	if err := r.options(t, &batch); err != nil {
		return err
	}
	body, err := r.Body(MaxBodyBytes)
	if err != nil {
		return err
	}
	objects, _, err := document.DecodeObjects(body, document.DefaultLimits)
	if err != nil {
		return err
	}
	for _, object := range objects {
		op := engine.Operation{Type: t, Object: object}
		if err := r.conditions(&op, len(objects) == 1); err != nil {
			return err
		}
		batch.Operations = append(batch.Operations, op)
	}
	return r.storeList(batch)
}

// batch creates or updates objects of several types, all or none.
func (r *Call) batch() error {
	batch := engine.Batch{Listed: true}
	body, err := r.Body(MaxBodyBytes)
	if err != nil {
		return err
	}
	limits := document.DefaultLimits
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
	return r.storeList(batch)
}

func (r *Call) operation(i int, entry any, faults *message.Faults) (engine.Operation, error) {
	members, _ := entry.(map[string]any)
	name, named := members["type"].(string)
	object, given := members["object"].(map[string]any)
	if !named || !given || len(members) != 2 {
		return engine.Operation{}, message.BatchMember.Error(message.Params{"field": fmt.Sprintf("/operations/%d", i)})
	}
	t, ok := r.s.Engine.Registry().Type(name)
	if !ok || !t.Writable() {
		faults.Add(message.BatchTypeUnknown.With(message.Params{"field": fmt.Sprintf("/operations/%d/type", i), "index": i, "type": name}))
		return engine.Operation{}, nil
	}
	op := engine.Operation{Type: t, Object: object}
	return op, r.conditions(&op, false)
}

func (r *Call) store(batch engine.Batch) (*engine.Result, []*engine.Object, error) {
	ctx := r.c.Request.Context()
	result, err := r.s.Engine.Write(ctx, r.caller, batch)
	if err != nil {
		return nil, nil, err
	}
	r.Dropped(batch.Listed, result.Unknown)
	// What is stored is answered as stored, even when the deadline has passed.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renderTime)
	defer cancel()
	objects, err := r.s.Engine.Render(ctx, r.caller, batch.Network, result)
	return result, objects, err
}

const renderTime = 5 * time.Second

func (r *Call) storeList(batch engine.Batch) error {
	_, objects, err := r.store(batch)
	if err != nil {
		return err
	}
	body := append(make([][]byte, 0, 2*len(objects)+2), []byte(`{"results":[`))
	comma := []byte{','}
	for i, object := range objects {
		if i > 0 {
			body = append(body, comma)
		}
		body = append(body, object.JSON)
	}
	body = append(body, fmt.Appendf(nil, `],"totalCount":%d}`, len(objects)))
	write(r.c, http.StatusOK, jsonType, body...)
	return nil
}

// warning is a Warning header (code 299, persistent) that names a property
// that was dropped. What is not printable ASCII is percent-encoded.
func warning(listed bool, unknown engine.Unknown) string {
	text := "unknown property " + unknown.Path + " of " + unknown.Type + " was dropped"
	if listed {
		text += fmt.Sprintf(" (object %d)", unknown.Index)
	}
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
