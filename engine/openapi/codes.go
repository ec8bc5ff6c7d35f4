package openapi

import (
	"fmt"
	"maps"
	"slices"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/schema/keyword"
)

// byKeyword are the messages about values that only schemas with a keyword of JSON Schema
// or a member of x-resource can lead to.
var byKeyword = map[string][]*message.Definition{
	"uniqueForm":        {message.ValueForm},
	"required":          {message.PropertyRequired},
	"dependentRequired": {message.PropertyRequired},
	"enum":              {message.ValueEnum},
	"const":             {message.ValueConst},
	"format":            {message.ValueFormat, message.ValueOffset, message.ValueOrder},
	"contentEncoding":   {message.ValueFormat},
	"pattern":           {message.ValuePattern},
	"minLength":         {message.ValueTooShort},
	"maxLength":         {message.ValueTooLong},
	"minimum":           {message.ValueTooSmall},
	"maximum":           {message.ValueTooLarge},
	"exclusiveMinimum":  {message.ValueNotAbove},
	"exclusiveMaximum":  {message.ValueNotBelow},
	"multipleOf":        {message.ValueMultiple},
	"minItems":          {message.TooFewItems},
	"maxItems":          {message.TooManyItems},
	"prefixItems":       {message.TooManyItems},
	"uniqueItems":       {message.ItemsNotUnique},
	"contains":          {message.ItemsMissing, message.ItemsSurplus},
	"minProperties":     {message.TooFewProperties},
	"maxProperties":     {message.TooManyProperties},
	"propertyNames":     {message.PropertyName},
	"anyOf":             {message.ValueNotAllowed},
	"oneOf":             {message.ValueNotAllowed, message.ValueAmbiguous},
	"not":               {message.ValueExcluded},
}

// always are the messages about values that every write can lead to.
var always = []*message.Definition{message.PropertyUnknown, message.PropertyForbidden, message.DuplicateID, message.ValueType, message.ValueEnum,
	message.ValueOutOfRange, message.ValueCharacter, message.ValueExcluded, message.ObjectTooComplex, message.IdempotencyKeyReused}

// codesOfTypes returns the messages that fragments list in x-write-codes, by type, and
// those of single operations under "".
func codesOfTypes(types *schema.Registry, parts []part) (map[string][]*message.Definition, error) {
	all := map[string][]*message.Definition{}
	for i, part := range parts {
		codes := map[string][]string{}
		maps.Copy(codes, part.Codes)
		for operation := range part.operations {
			codes[""] = append(codes[""], operation.Codes...)
		}
		for name, listed := range codes {
			for _, code := range listed {
				m, known := types.Catalogue().Lookup(code)
				if !known {
					return nil, fmt.Errorf("fragment %d: there is no message %s", i, code)
				}
				all[name] = append(all[name], m)
			}
		}
	}
	return all, nil
}

// ofSchema returns the messages with which only objects of a type are refused.
func (b *builder) ofSchema(t *schema.Type) []*message.Definition {
	return slices.DeleteFunc(b.ofValues(t), func(m *message.Definition) bool {
		return slices.Contains(always, m) || slices.Contains(b.unlisted, m)
	})
}

// codesOf returns the codes of messages, each once and in order.
func codesOf(messages []*message.Definition) []any {
	var codes []string
	for _, m := range messages {
		codes = append(codes, m.Code)
	}
	slices.Sort(codes)
	return document.Array(slices.Compact(codes))
}

// ofValues returns the messages with which the values of a type's objects can be
// refused.
func (b *builder) ofValues(t *schema.Type) []*message.Definition {
	all := slices.Concat(always, b.unlisted, b.codes[t.Collection()], declared(t))
	if t.IDRequired {
		all = append(all, message.IDRequired)
	}
	if t.Parent != "" {
		all = append(all, message.IDTaken)
	}
	if all = append(all, ofUnique(t)...); t.Narrowed() {
		all = append(all, keyword.Unseen)
	}
	seen := map[location]bool{}
	var visit func(file string, value any)
	visit = func(file string, value any) {
		eachObject(value, func(s object) {
			for name := range s {
				all = append(all, byKeyword[name]...)
				if k := keyword.Named(name); k != nil {
					all = append(all, k.Faults...)
				}
			}
			if ref, ok := s["$ref"].(string); ok {
				if at := target(file, ref); !seen[at] {
					seen[at] = true
					visit(at.file, document.Lookup(b.components.files[at.file], at.pointer))
				}
			}
		})
	}
	visit(typeFile(t), object(t.Source))
	return all
}

// ofUnique returns the messages with which objects are refused whose values others have.
func ofUnique(t *schema.Type) (all []*message.Definition) {
	if len(t.Unique) > 0 {
		all = append(all, message.ValueNotUnique)
	}
	for _, rule := range t.ClaimRules {
		if len(rule.Properties) > 1 {
			all = append(all, message.ValuesNotUnique)
		} else {
			all = append(all, message.ValueNotUnique)
		}
	}
	return all
}

// ofApplication returns the messages of the application that belong to no type: any write
// may be refused with them.
func (b *builder) ofApplication() (all []*message.Definition) {
	listed := map[string]bool{}
	for _, codes := range b.codes {
		for _, m := range codes {
			listed[m.Code] = true
		}
	}
	for _, t := range b.types.Types() {
		for _, m := range declared(t) {
			listed[m.Code] = true
		}
	}
	builtIn := message.BuiltIn()
	for _, m := range b.types.Catalogue().All() {
		if _, ofEngine := builtIn.Lookup(m.Code); m.Kind != message.None && !ofEngine && !listed[m.Code] {
			all = append(all, m)
		}
	}
	return all
}
