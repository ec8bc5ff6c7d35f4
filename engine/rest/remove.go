package rest

import (
	"net/http"

	"marquee/engine"
	"marquee/engine/schema"
)

// remove removes the object that the path names.
func (r *Call) remove(t *schema.Type, parent, id string) error {
	if err := r.Only("validateOnly"); err != nil {
		return err
	}
	removal := engine.Removal{Type: t, ID: id, Parent: parent}
	var err error
	if removal.Network, err = r.Network(t); err != nil {
		return err
	}
	if removal.ValidateOnly, err = r.Boolean("validateOnly"); err != nil {
		return err
	}
	var op engine.Operation
	if err := r.conditions(&op, true); err != nil {
		return err
	}
	removal.IfVersion, removal.OnlyNew = op.IfVersion, op.OnlyNew
	if err := r.s.Engine.Access.MayWrite(r.caller, t, removal.Network, id, true); err != nil {
		return err
	}
	if err := r.take(readCost); err != nil {
		return err
	}
	if err := r.checkParent(t, removal.Network, parent); err != nil {
		return err
	}
	r.Spend(1)
	if err := r.s.Engine.Remove(r.Sharing(), r.caller, removal); err != nil {
		return err
	}
	return r.empty(http.StatusNoContent)
}
