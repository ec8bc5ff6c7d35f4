package rest

import (
	"log/slog"
	"net/http"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
)

const (
	// erasePath is the segment behind the id of an object that is erased.
	erasePath = "erase"
	// eraseBody is the largest body of such a request, which has none.
	eraseBody = 1 << 10
	// eraseCost is for one object, before and after, and for a step through its history.
	eraseCost = 24 << 20
)

// erasure is the route that erases an object of a type with personal values.
func (o *objects) erasure() (*Route, error) {
	if err := checkID(o.t, o.id); err != nil {
		return nil, err
	}
	return &Route{Path: o.template + "/" + erasePath, Methods: []string{http.MethodPost}, Operation: OperationErase, Serve: func(*Call) error {
		return o.erase()
	}}, nil
}

// erase removes the personal values of an object. The answer has the status 202 if the
// service goes on with the history after it.
func (o *objects) erase() error {
	if err := o.parameters.Only(); err != nil {
		return err
	}
	network, err := o.Network(o.t)
	if err != nil {
		return err
	}
	var op engine.Operation
	if err := conditions(o.c.Request.Header, &op, true); err != nil {
		return err
	}
	if err := o.s.Engine.Access.MayErase(o.caller, o.t, network); err != nil {
		return err
	}
	if _, err := o.ReadBody(eraseBody); err != nil {
		return err
	}
	if err := o.confirm(eraseCost); err != nil {
		return err
	}
	if err := o.checkParent(network); err != nil {
		return err
	}
	o.Spend(1)
	erased, err := o.s.Engine.Erase(o.Sharing(), o.caller, engine.Removal{Type: o.t, Network: network, ID: o.id, Parent: o.parent, IfVersion: op.IfVersion, OnlyNew: op.OnlyNew})
	if err != nil {
		return err
	}
	properties := make([]any, len(erased.Properties))
	for i, name := range erased.Properties {
		properties[i] = "/" + document.EscapeToken(o.t.ServedName(name))
	}
	status := http.StatusOK
	if erased.Left != nil {
		status = http.StatusAccepted
		o.Log().Info("the erasure of an object goes on in the background", slog.String("type", o.t.Served().Name), slog.String("object", o.id),
			slog.Any("cause", message.Explained(erased.Left)))
	}
	o.Answer(status, document.Append(nil, map[string]any{"type": o.t.Served().Name, "id": o.id, "properties": properties, "complete": erased.Left == nil}))
	return nil
}
