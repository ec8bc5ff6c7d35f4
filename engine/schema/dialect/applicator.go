// Package dialect is JSON Schema of draft 2020-12 as text: the keywords, which of them
// contain schemas, walks through these, and what a misspelt keyword or a bad pattern may have
// meant. It knows neither types nor how values are validated.
package dialect

import (
	"strconv"

	"marquee/engine/document"
)

// Form is the form in which a keyword contains schemas.
type Form int

const (
	NoSchema    Form = iota
	OneSchema        // a schema
	SchemaList       // an array of schemas
	SchemaNames      // an object whose members are schemas
)

// Role is the value to which a keyword applies its schemas.
type Role int

const (
	Definitions Role = iota // none: they are targets of $ref
	Always                  // the value itself
	Sometimes               // the value itself, under a condition
	Members                 // members of the object
	Items                   // items of the array
	Tested                  // a value that is only tested: annotations have no effect
)

// applicators are all keywords of draft 2020-12 that contain schemas. Every walk
// of a schema file is based on this table.
var applicators = map[string]struct {
	form Form
	role Role
}{
	"allOf":                 {SchemaList, Always},
	"anyOf":                 {SchemaList, Sometimes},
	"oneOf":                 {SchemaList, Sometimes},
	"if":                    {OneSchema, Sometimes},
	"then":                  {OneSchema, Sometimes},
	"else":                  {OneSchema, Sometimes},
	"dependentSchemas":      {SchemaNames, Sometimes},
	"properties":            {SchemaNames, Members},
	"patternProperties":     {SchemaNames, Members},
	"additionalProperties":  {OneSchema, Members},
	"unevaluatedProperties": {OneSchema, Members},
	"prefixItems":           {SchemaList, Items},
	"items":                 {OneSchema, Items},
	"contains":              {OneSchema, Items},
	"unevaluatedItems":      {OneSchema, Items},
	"not":                   {OneSchema, Tested},
	"propertyNames":         {OneSchema, Tested},
	"contentSchema":         {OneSchema, Tested},
	"$defs":                 {SchemaNames, Definitions},
	"definitions":           {SchemaNames, Definitions},
}

// FormOf returns the form of the schemas in a keyword.
func FormOf(keyword string) Form { return applicators[keyword].form }

// RoleOf returns the role of the schemas in a keyword that contains some.
func RoleOf(keyword string) Role { return applicators[keyword].role }

// Subschemas returns the value of a keyword with each schema in it replaced. The
// value of a keyword that contains no schemas is returned as it is.
func Subschemas(keyword string, value any, replace func(schema any) any) any {
	switch applicators[keyword].form {
	case OneSchema:
		return replace(value)
	case SchemaList:
		list, _ := value.([]any)
		replaced := make([]any, len(list))
		for i, schema := range list {
			replaced[i] = replace(schema)
		}
		return replaced
	case SchemaNames:
		named, _ := value.(map[string]any)
		replaced := map[string]any{}
		for name, schema := range named {
			replaced[name] = replace(schema)
		}
		return replaced
	}
	return value
}

// Applied calls visit for each schema in a keyword of a schema, with its pointer relative
// to that schema.
func Applied(keyword string, value any, visit func(at string, schema any)) {
	place := "/" + document.EscapeToken(keyword)
	switch applicators[keyword].form {
	case OneSchema:
		visit(place, value)
	case SchemaList:
		list, _ := value.([]any)
		for i, schema := range list {
			visit(place+"/"+strconv.Itoa(i), schema)
		}
	case SchemaNames:
		named, _ := value.(map[string]any)
		for name, schema := range named {
			visit(place+"/"+document.EscapeToken(name), schema)
		}
	}
}
