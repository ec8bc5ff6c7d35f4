package openapi

import (
	"encoding/json"
	"regexp"

	"github.com/goccy/go-yaml"

	"marquee/engine/document"
)

// bare matches strings that need no quotes in any version of YAML. Readers of YAML 1.1
// take =, << and 10:30:00 for something else, and the encoder quotes only some of these.
var bare = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9_/{}. -]*[A-Za-z0-9_/}]$`)

// quotedText is a string that is written in double quotes.
type quotedText string

// MarshalYAML returns the string as JSON, which is a double-quoted scalar of YAML.
func (t quotedText) MarshalYAML() ([]byte, error) { return json.Marshal(string(t)) }

// toYAML returns an object of JSON as YAML.
func toYAML(object []byte) ([]byte, error) {
	// It keeps integers, which YAML would not read back from 1e+06.
	decoded, err := document.DecodeObject(object, document.Limits{Depth: 1000})
	if err != nil {
		return nil, err
	}
	return yaml.Marshal(quoted(decoded))
}

// quoted returns a value of JSON with its strings as quotedText unless they are bare.
func quoted(value any) any {
	switch value := value.(type) {
	case string:
		if !bare.MatchString(value) {
			return quotedText(value)
		}
	case []any:
		for i, item := range value {
			value[i] = quoted(item)
		}
	case map[string]any:
		object := make(map[any]any, len(value))
		for name, member := range value {
			object[quoted(name)] = quoted(member)
		}
		return object
	}
	return value
}
