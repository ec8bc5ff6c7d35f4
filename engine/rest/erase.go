package rest

import (
	"log/slog"
	"net/http"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
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
func (r *Call) erasure(t *schema.Type, parent, id, template string) (*Route, error) {
	if err := checkID(t, id); err != nil {
		return nil, err
	}
	return &Route{Path: template + "/" + erasePath, Methods: []string{http.MethodPost}, Serve: func(r *Call) error {
		return r.erase(t, parent, id)
	}}, nil
}

// erase removes the personal values of an object. The answer has the status 202 if the
// service goes on with the history after it.
func (r *Call) erase(t *schema.Type, parent, id string) error {
	if err := r.Only(); err != nil {
		return err
	}
	network, err := r.Network(t)
	if err != nil {
		return err
	}
	var op engine.Operation
	if err := r.conditions(&op, true); err != nil {
		return err
	}
	if err := r.s.Engine.Access.MayErase(r.caller, t, network); err != nil {
		return err
	}
	if _, err := r.ReadBody(eraseBody); err != nil {
		return err
	}
	if err := r.take(eraseCost); err != nil {
		return err
	}
	if err := r.confirm(); err != nil {
		return err
	}
	if err := r.checkParent(t, network, parent); err != nil {
		return err
	}
	r.Spend(1)
	erased, err := r.s.Engine.Erase(r.Sharing(), r.caller, engine.Removal{Type: t, Network: network, ID: id, Parent: parent, IfVersion: op.IfVersion, OnlyNew: op.OnlyNew})
	if err != nil {
		return err
	}
	properties := make([]any, len(erased.Properties))
	for i, name := range erased.Properties {
		properties[i] = "/" + document.EscapeToken(name)
	}
	status := http.StatusOK
	if erased.Left != nil {
		status = http.StatusAccepted
		r.Log().Info("the erasure of an object goes on in the background", slog.String("type", t.Name), slog.String("object", id),
			slog.Any("cause", message.Explained(erased.Left)))
	}
	r.Answer(status, document.Append(nil, map[string]any{"type": t.Name, "id": id, "properties": properties, "complete": erased.Left == nil}))
	return nil
}
