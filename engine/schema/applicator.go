package schema

import (
	"strconv"

	"marquee/engine/document"
)

// form is the form in which a keyword contains schemas.
type form int

const (
	noSchema    form = iota
	oneSchema        // a schema
	schemaList       // an array of schemas
	schemaNames      // an object whose members are schemas
)

// role is the value to which an applicator applies its schemas.
type role int

const (
	definitions role = iota // none: they are targets of $ref
	always                  // the value itself
	sometimes               // the value itself, under a condition
	members                 // members of the object
	items                   // items of the array
	tested                  // a value that is only tested: annotations have no effect
)

// applicators are all keywords of draft 2020-12 that contain schemas. Every walk
// of a schema file is based on this table.
var applicators = map[string]struct {
	form form
	role role
}{
	"allOf":                 {schemaList, always},
	"anyOf":                 {schemaList, sometimes},
	"oneOf":                 {schemaList, sometimes},
	"if":                    {oneSchema, sometimes},
	"then":                  {oneSchema, sometimes},
	"else":                  {oneSchema, sometimes},
	"dependentSchemas":      {schemaNames, sometimes},
	"properties":            {schemaNames, members},
	"patternProperties":     {schemaNames, members},
	"additionalProperties":  {oneSchema, members},
	"unevaluatedProperties": {oneSchema, members},
	"prefixItems":           {schemaList, items},
	"items":                 {oneSchema, items},
	"contains":              {oneSchema, items},
	"unevaluatedItems":      {oneSchema, items},
	"not":                   {oneSchema, tested},
	"propertyNames":         {oneSchema, tested},
	"contentSchema":         {oneSchema, tested},
	"$defs":                 {schemaNames, definitions},
	"definitions":           {schemaNames, definitions},
}

// Subschemas returns the value of a keyword with each schema in it replaced. The
// value of a keyword that contains no schemas is returned as it is.
func Subschemas(keyword string, value any, replace func(schema any) any) any {
	switch applicators[keyword].form {
	case oneSchema:
		return replace(value)
	case schemaList:
		list, _ := value.([]any)
		replaced := make([]any, len(list))
		for i, schema := range list {
			replaced[i] = replace(schema)
		}
		return replaced
	case schemaNames:
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
	case oneSchema:
		visit(place, value)
	case schemaList:
		list, _ := value.([]any)
		for i, schema := range list {
			visit(place+"/"+strconv.Itoa(i), schema)
		}
	case schemaNames:
		named, _ := value.(map[string]any)
		for name, schema := range named {
			visit(place+"/"+document.EscapeToken(name), schema)
		}
	}
}

// walk calls visit for a schema and each schema within it, with their pointers.
func walk(at string, value any, visit func(at string, schema map[string]any)) {
	schema, ok := value.(map[string]any)
	if !ok {
		return
	}
	visit(at, schema)
	for keyword, member := range schema {
		Applied(keyword, member, func(below string, inner any) { walk(at+below, inner, visit) })
	}
}
