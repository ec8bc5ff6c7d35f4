package resources

import (
	_ "embed"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/schema"
)

//go:embed demo.json
var demo []byte

// Demo returns the operations that write a small data set into an empty network,
// in one batch.
func Demo(registry *schema.Registry) ([]engine.Operation, error) {
	content, err := document.DecodeObject(demo, document.Limits{})
	if err != nil {
		return nil, err
	}
	var operations []engine.Operation
	list, _ := content["operations"].([]any)
	for _, entry := range list {
		members, _ := entry.(map[string]any)
		name, _ := members["type"].(string)
		object, _ := members["object"].(map[string]any)
		if t, served := registry.Type(name); served {
			operations = append(operations, engine.Operation{Type: t, Object: object})
		}
	}
	return operations, nil
}
