package read

import (
	"fmt"
	"strings"

	"marquee/engine/message"
	"marquee/engine/schema"
)

// Projection is a tree of the properties to show; nil shows all.
type Projection map[string]Projection

// ParseProjection parses the parameter fields, such as `id,name,order.name`. The id of an
// object inside the object, such as a reference, is shown with any other of its members. An
// unknown field is an error of kind Malformed.
func ParseProjection(t *schema.Type, text string) (Projection, error) {
	root := Projection{}
	for i, name := range strings.Split(text, ",") {
		if name == "" {
			return nil, message.ParameterInvalid.Error(message.Params{"parameter": "fields", "expected": fmt.Sprintf("fields, separated by commas; the one in place %d is empty", i+1)})
		}
		if !t.Shows(name) {
			return nil, message.FieldUnknown.Error(message.Params{"parameter": "fields", "value": name, "type": t.Name})
		}
		at := root
		parts := strings.Split(t.StoredPath(name), ".")
		for i, part := range parts {
			next, there := at[part]
			if i == len(parts)-1 {
				at[part] = nil
				break
			}
			if there && next == nil {
				break // the whole of it is shown already
			}
			if next == nil {
				next = Projection{"id": nil}
				at[part] = next
			}
			at = next
		}
	}
	return root, nil
}

func (p Projection) has(name string) bool {
	if p == nil {
		return true
	}
	_, ok := p[name]
	return ok
}
