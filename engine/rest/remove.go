package rest

import "marquee/engine"

// remove removes the object that the path names.
func (o *objects) remove() error {
	if err := o.parameters.Only("validateOnly"); err != nil {
		return err
	}
	removal := engine.Removal{Type: o.t, ID: o.id, Parent: o.parent}
	var err error
	if removal.Network, err = o.Network(o.t); err != nil {
		return err
	}
	if removal.ValidateOnly, err = o.parameters.Boolean("validateOnly"); err != nil {
		return err
	}
	var op engine.Operation
	if err := conditions(o.c.Request.Header, &op, true); err != nil {
		return err
	}
	removal.IfVersion, removal.OnlyNew = op.IfVersion, op.OnlyNew
	if err := o.s.Engine.Access.MayWrite(o.caller, o.t, removal.Network, o.id, true); err != nil {
		return err
	}
	if err := o.take(readCost); err != nil {
		return err
	}
	if err := o.checkParent(removal.Network); err != nil {
		return err
	}
	o.Spend(1)
	if err := o.s.Engine.Remove(o.Sharing(), o.caller, removal); err != nil {
		return err
	}
	return o.NoContent()
}
