package rest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/rest/header"
	"marquee/engine/schema"
)

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
	if op.Object, err = document.DecodeObject(body, decodeLimits(o.Context())); err != nil {
		return err
	}
	if err := o.checkParent(w.batch.Network); err != nil {
		return err
	}
	if err := o.setParent(op.Object); err != nil {
		return err
	}
	w.identify(body, o.parent)
	return w.storeOne(op)
}

// setParent sets the parent of an object to the one in the path.
func (o *objects) setParent(object map[string]any) error {
	if o.t.Parent == "" {
		return nil
	}
	for name, given := range object {
		if o.t.StoredName(name) != o.t.Parent {
			continue
		}
		if reference, ok := given.(map[string]any); ok {
			given = reference["id"]
		}
		if given != nil && given != o.parent {
			return message.IDMismatch.Error(message.Params{"field": "/" + o.t.ServedName(o.t.Parent), "value": given, "id": o.parent})
		}
		delete(object, name)
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
	objects, bare, err := document.DecodeObjects(body, decodeLimits(o.Context()))
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
	w.identify(body, o.parent)
	return w.storeList(bare)
}

// writeBatch creates or updates objects of several types, all or none.
func writeBatch(r *Call) error {
	body, err := r.Body(batchLimit(r.s.Engine, r.caller, r.parameters["context"]))
	if err != nil {
		return err
	}
	limits := decodeLimits(r.Context())
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
		if op.Type != nil && !slices.Contains(r.noted.types, op.Type) {
			r.noted.types = append(r.noted.types, op.Type)
		}
		w.batch.Operations = append(w.batch.Operations, op)
	}
	if err := w.options(owned); err != nil {
		return err
	}
	if err := faults.Err(); err != nil {
		return err
	}
	w.identify(body, "")
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
	t, ok := w.s.Engine.Registry().Named(name)
	if !ok || !t.Writable() || mustKnow(w.s.Engine.Access, w.caller, t, name, w.parameters["context"]) != nil {
		faults.Add(message.BatchTypeUnknown.With(message.Params{"field": at + "/type", "index": i, "type": name}))
		return engine.Operation{}, nil
	}
	w.deprecateNamed(t, name)
	op.Type, op.Object = t, object
	err = conditions(w.c.Request.Header, &op, false)
	return op, err
}
