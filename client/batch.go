package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// Operation writes an object of some type in a batch.
type Operation struct {
	// Type is the path of the type, such as orders.
	Type string `json:"type"`
	// Object is encoded as a JSON object.
	Object any `json:"object"`
	// IfMatch is an entity tag of the object: if it has another version, the batch is
	// refused with the status 412. With the tag, the object may have its id alone.
	IfMatch string `json:"ifMatch,omitempty"`
	// IfNoneMatch is "*" for an object that must not exist.
	IfNoneMatch string `json:"ifNoneMatch,omitempty"`
}

// Batch writes objects of several types in one transaction, at most 1,000, and returns
// them in their order, in JSON. They can refer to each other in any order. The request is sent
// again if its response is lost.
func (n *Network) Batch(ctx context.Context, operations []Operation, options ...WriteOption) ([]json.RawMessage, error) {
	objects, conditional := make([]any, 0, len(operations)), false
	for _, o := range operations {
		objects = append(objects, o.Object)
		conditional = conditional || o.IfMatch != "" || o.IfNoneMatch != ""
	}
	encoded, err := json.Marshal(objects)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	var answer struct {
		Results []json.RawMessage `json:"results"`
	}
	err = n.write(ctx, http.MethodPost, "/api/v1/batch", map[string]any{"operations": operations}, &answer, !conditional && haveIDs(encoded), options)
	return answer.Results, err
}
