package rest

import (
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
	err := access.MayWrite(o.caller, o.t, network, o.id, o.patches())
	if err != nil && access.MayWrite(o.caller, o.t, network, o.id, true) == nil {
		return nil
	}
	return err
}

// confirm finds the caller again when the body is complete and the memory is there:
// rights that were withdrawn meanwhile do not apply.
func (r *Call) confirm() error {
	if r.caller == nil {
		return nil
	}
	_, member := r.caller.Grants[r.parameters["context"]]
	if err := r.authenticate(); err != nil || !member {
		return err
	}
	_, err := r.contextNetwork()
	return err
}

// batchLimit is the largest body of a batch. A caller without permission to create
// objects can only change a few objects, such as their own user, for which a small
// body suffices.
func (r *Call) batchLimit() int {
	access, network := r.s.Engine.Access, r.parameters["context"]
	for _, t := range r.s.Engine.Registry().Types() {
		if t.Writable() && access.MayWrite(r.caller, t, network, "", false) == nil {
			return MaxBodyBytes
		}
	}
	return document.DefaultLimits.Object
}

// limits returns the limits of a body. Decoding it ends with the call.
func (r *Call) limits() document.Limits {
	limits, ctx := document.DefaultLimits, r.Context()
	limits.Interrupt = func() error { return store.Translate(ctx.Err()) }
	return limits
}

// mustKnow returns the error for an unknown type if a type does not exist for the caller:
// in the network that the parameter context names, or in any without it.
func (r *Call) mustKnow(t *schema.Type) error {
	network := r.parameters["context"]
	if t.Global {
		network = ""
	}
	if !t.Secluded() || r.s.Engine.Access.Knows(r.caller, t, network) {
		return nil
	}
	return message.TypeUnknown.Error(message.Params{"type": t.Name})
}
