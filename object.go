package marquee

import (
	"context"
	"encoding/json"

	"marquee/engine"
	"marquee/engine/document"
)

// Write creates or updates objects of a type in a network, all of them or none, and
// returns their ids. The network of a global type is "". Go code may write
// everything; schemas and hooks hold for it as for users. Values are those that
// encoding/json encodes: an int is a number, and a time.Time a string.
func (s *Server) Write(ctx context.Context, network, typeName string, objects ...map[string]any) (ids []string, err error) {
	t, err := s.engine.Type(typeName)
	if err != nil {
		return nil, err
	}
	batch := engine.Batch{Network: network, Listed: true, FieldValidation: engine.Strict}
	for _, object := range objects {
		encoded, err := json.Marshal(object)
		if err != nil {
			return nil, err
		}
		decoded, err := document.DecodeObject(encoded, document.Limits{})
		if err != nil {
			return nil, err
		}
		batch.Operations = append(batch.Operations, engine.Operation{Type: t, Object: decoded})
	}
	result, err := s.engine.Write(ctx, &engine.Caller{System: true}, batch)
	if err != nil {
		return nil, err
	}
	for _, c := range result.Changes[:len(objects)] {
		ids = append(ids, c.ID)
	}
	return ids, nil
}

// Read returns an object of a type in a network as clients see it. The error for
// one that does not exist carries the message message.ObjectNotFound.
func (s *Server) Read(ctx context.Context, network, typeName, id string) (map[string]any, error) {
	t, err := s.engine.Type(typeName)
	if err != nil {
		return nil, err
	}
	object, err := s.engine.Get(ctx, &engine.Caller{System: true}, t, network, id, nil)
	if err != nil {
		return nil, err
	}
	return document.DecodeObject(object.JSON, document.Limits{})
}
