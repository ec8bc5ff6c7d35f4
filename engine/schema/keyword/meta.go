package keyword

import (
	_ "embed"
	"maps"

	"marquee/engine/document"
)

// base is the meta-schema without the keywords that are declared here.
//
//go:embed base.json
var base []byte

// Vocabulary returns the meta-schema of schema files.
func Vocabulary() map[string]any {
	whole := decode("base.json", base)
	definitions := whole["$defs"].(map[string]any)
	ofType, ofValue := whole["properties"].(map[string]any), definitions["schema"].(map[string]any)
	for _, k := range all {
		switch {
		case k.Meta == "": // that of JSON Schema
		case k.OfType():
			ofType[k.Name] = decode(k.Name, []byte(k.Meta))
		case k.On&Root != 0:
			ofType[k.Name] = decode(k.Name, []byte(k.Meta))
			fallthrough
		default:
			ofValue["properties"].(map[string]any)[k.Name] = decode(k.Name, []byte(k.Meta))
		}
		if k.Beside != "" {
			ofValue["dependentSchemas"].(map[string]any)[k.Name] = decode(k.Name, []byte(k.Beside))
		}
		if k.Definitions != "" {
			maps.Copy(definitions, decode(k.Name, []byte(k.Definitions)))
		}
	}
	return whole
}

func decode(name string, text []byte) map[string]any {
	content, err := document.DecodeObject(text, document.Limits{Depth: 64})
	if err != nil {
		panic("keyword: " + name + ": " + err.Error())
	}
	return content
}
