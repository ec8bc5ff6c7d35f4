package rest

import (
	"context"
	"strings"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// admit rejects, before the body is read, a caller without permission to write any
// object that the path can lead to. Without an id, the body names the objects. The
// error is the one that the write itself would return.
func (o *objects) admit(network string) error {
	access := o.s.Engine.Access
	if o.id == "" {
		return access.MayWriteSome(o.caller, o.t, network)
	}
	err := access.MayWrite(o.caller, o.t, network, o.id, patches(o.c.Request))
	if err != nil && access.MayWrite(o.caller, o.t, network, o.id, true) == nil {
		return nil
	}
	return err
}

// checkParent checks that the parent in the path exists. An error is of kind NotFound
// if the caller cannot see it.
func (o *objects) checkParent(network string) error {
	if o.t.Parent == "" {
		return nil
	}
	above, err := o.s.Engine.Type(o.t.Shape.Properties[o.t.Parent].Ref.Type)
	if err != nil {
		return err
	}
	_, err = o.s.Engine.Get(o.c.Request.Context(), o.caller, above, network, o.parent, engine.Projection{"id": nil})
	return err
}

// checkID rejects an id that no object of the type can have.
func checkID(t *schema.Type, id string) error {
	if !t.ValidID(id) {
		return message.BadID.Error(message.Params{"id": strings.ToValidUTF8(id, "\ufffd")})
	}
	return nil
}

// confirm takes a share of the memory budget when the body is complete, and then finds the
// caller again: rights that were withdrawn meanwhile do not apply.
func (r *Call) confirm(cost int64) error {
	if err := r.take(cost); err != nil || r.caller == nil {
		return err
	}
	_, member := r.caller.Grants[r.parameters["context"]]
	if err := r.authenticate(); err != nil || !member {
		return err
	}
	_, err := contextNetwork(r.Context(), r.s.Engine.Store, r.caller, r.parameters["context"])
	return err
}

// batchLimit is the largest body of a batch. A caller without permission to create
// objects can only change a few objects, such as their own user, for which a small
// body suffices.
func batchLimit(e *engine.Engine, caller *engine.Caller, network string) int {
	for _, t := range e.Registry().Types() {
		if t.Writable() && e.Access.MayWrite(caller, t, network, "", false) == nil {
			return MaxBodyBytes
		}
	}
	return document.DefaultLimits.Object
}

// decodeLimits returns the limits of a body. Decoding it ends with the context.
func decodeLimits(ctx context.Context) document.Limits {
	limits := document.DefaultLimits
	limits.Interrupt = func() error { return store.Translate(ctx.Err()) }
	return limits
}

// typeNamed returns the type that a parameter names, if the caller knows it.
func (r *Call) typeNamed(name string) (*schema.Type, error) {
	t, err := r.s.Engine.Type(name)
	if err == nil {
		err = mustKnow(r.s.Engine.Access, r.caller, t, name, r.parameters["context"])
	}
	if err == nil {
		r.deprecateNamed(t, name)
	}
	return t, err
}

// mustKnow returns the error for an unknown type if a type, which the request names by some
// path, does not exist for the caller: in a network, or in any if that is "".
func mustKnow(access engine.Access, caller *engine.Caller, t *schema.Type, path, network string) error {
	if t.Global {
		network = ""
	}
	if !t.Secluded() || access.Knows(caller, t, network) {
		return nil
	}
	return message.TypeUnknown.Error(message.Params{"type": path})
}
