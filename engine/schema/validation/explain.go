// Package validation validates values with compiled schemas: it bounds what that costs,
// decides whether a schema accepts a value, explains the faults of a value that it does not,
// and has the formats that JSON Schema lacks. It imports document and message. Begin with
// Rules.Validate.
package validation

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"marquee/engine/document"
	"marquee/engine/message"
)

// Rules validates the documents of one type.
type Rules struct {
	Schema *jsonschema.Schema
	// Schemas has Schema and those that it refers to.
	Schemas Schemas
}

// Validate returns the faults of a document, and those that the caller has found, sorted by
// params.field and at most as many as a response lists. If explaining them would take too
// long, the only one added is ObjectTooComplex. Kept are the faults of what the document has
// in common with the stored one that it replaces, if there is one: they were there before.
// The error is that of the context.
func (r *Rules) Validate(ctx context.Context, typeName string, object, stored map[string]any, found []message.Message) (faults, kept []message.Message, err error) {
	limit := MaxSteps
	e := explanation{Schemas: r.Schemas, instance: object, texts: map[string]string{}}
	if stored != nil {
		e.stored = &replacement{before: stored, after: object}
	}
	var repeated []message.Message
	for _, fault := range found {
		field, _ := fault.Param("field").(string)
		if fault.Definition() == message.ItemsNotUnique && e.stored.keeps(field[:strings.LastIndexByte(field, '/')]) {
			repeated = append(repeated, fault)
		} else {
			e.faults = append(e.faults, fault)
		}
	}
	valid, err := Accepts(ctx, r.Schema, object)
	if err == nil && !valid {
		limit = maxExplained
		err = explainable(ctx, r.Schema, object)
	}
	switch {
	case errors.Is(err, ErrTooComplex):
		e.faults = append(e.faults, message.ObjectTooComplex.With(message.Params{"field": "", "type": typeName, "limit": limit}))
	case err != nil:
		return nil, nil, err
	case !valid:
		err := r.Schema.Validate(object)
		var invalid *jsonschema.ValidationError
		switch {
		case errors.As(err, &invalid):
			e.collect(invalid)
		case err != nil:
			e.faults = append(e.faults, message.ValueExcluded.With(message.Params{"field": "", "keyword": "$ref"}))
		}
	}
	if kept, err = r.confirm(ctx, &e); err != nil {
		return nil, nil, err
	}
	faults = inOrder(e.faults)
	return slices.Clone(faults[:min(len(faults), message.MaxFaults)]), inOrder(append(repeated, kept...)), nil
}

// confirm returns those of the kept faults that the stored object has, and adds the others to
// the faults: what is the same can have been valid there, for example because a condition did
// not apply. The error is that of the context.
func (r *Rules) confirm(ctx context.Context, e *explanation) (kept []message.Message, err error) {
	if len(e.kept) == 0 {
		return nil, nil
	}
	was := explanation{Schemas: r.Schemas, instance: e.stored.before, texts: e.texts, known: map[identity]bool{}}
	err = explainable(ctx, r.Schema, e.stored.before)
	var invalid *jsonschema.ValidationError
	switch {
	case err == nil && errors.As(r.Schema.Validate(e.stored.before), &invalid):
		was.collect(invalid)
	case err != nil && !errors.Is(err, ErrTooComplex):
		return nil, err
	}
	for _, k := range e.kept {
		field, _ := k.fault.Param("field").(string)
		if was.known[identity{e.stored.was(field), k.fault.Code(), k.keyword}] {
			kept = append(kept, k.fault)
		} else {
			e.faults = append(e.faults, k.fault)
		}
	}
	return kept, nil
}

// Schemas are the contents of schema files by URL, for the values of failed keywords.
type Schemas map[string]map[string]any

// Explain returns the faults of an invalid value, in the order of their places.
func (r Schemas) Explain(err *jsonschema.ValidationError, instance any) []message.Message {
	e := explanation{Schemas: r, instance: instance, texts: map[string]string{}}
	e.collect(err)
	return inOrder(e.faults)
}

var limits = map[string]*message.Definition{
	"minLength":        message.ValueTooShort,
	"maxLength":        message.ValueTooLong,
	"minimum":          message.ValueTooSmall,
	"maximum":          message.ValueTooLarge,
	"exclusiveMinimum": message.ValueNotAbove,
	"exclusiveMaximum": message.ValueNotBelow,
	"multipleOf":       message.ValueMultiple,
	"minItems":         message.TooFewItems,
	"maxItems":         message.TooManyItems,
	"minProperties":    message.TooFewProperties,
	"maxProperties":    message.TooManyProperties,
}

func (e *explanation) leaf(err *jsonschema.ValidationError, keyword string) []message.Message {
	value := e.keyword(err.AbsoluteKeywordLocation)
	if value == nil {
		value = expectedOf(keyword, err.Message)
	}
	at := place(err)
	one := func(d *message.Definition, params message.Params) []message.Message {
		params["field"] = at
		return []message.Message{d.With(params)}
	}
	if def, ok := limits[keyword]; ok {
		return one(def, message.Params{"limit": value})
	}
	switch keyword {
	case "type":
		return one(message.ValueType, message.Params{"expected": e.joined(err, value, " or ")})
	case "enum":
		return one(message.ValueEnum, message.Params{"allowed": e.joined(err, value, ", ")})
	case "const":
		return one(message.ValueConst, message.Params{"expected": e.joined(err, value, ", ")})
	case "format":
		if value == localRange {
			def, params := rangeFault(document.Lookup(e.instance, at), at)
			at += "/second"
			return one(def, params)
		}
		return one(message.ValueFormat, message.Params{"format": value})
	case "pattern":
		return one(message.ValuePattern, message.Params{"pattern": value})
	case "contains", "minContains":
		return one(message.ItemsMissing, message.Params{})
	case "maxContains":
		return one(message.ItemsSurplus, message.Params{"limit": value})
	case "required":
		return missing(value, at, e.instance)
	case "additionalProperties", "unevaluatedProperties":
		return unknown(at, err.Message)
	}
	if name, ok := value.(string); ok && dependent.MatchString(err.KeywordLocation) {
		at += "/" + document.EscapeToken(name)
		return one(message.PropertyRequired, message.Params{})
	}
	if value == false {
		return one(message.PropertyForbidden, message.Params{})
	}
	return one(message.ValueExcluded, message.Params{"keyword": keyword})
}

// place returns the JSON Pointer to the value; the library percent-encodes it.
func place(err *jsonschema.ValidationError) string {
	if at, invalid := url.PathUnescape(err.InstanceLocation); invalid == nil {
		return at
	}
	return err.InstanceLocation
}

// dependent matches the location of the names that another property requires.
var dependent = regexp.MustCompile(`/dependentRequired/[^/]*/\d+$`)

// Messages of the library for keywords without a subschema.
var expectations = map[string]*regexp.Regexp{
	"type":    regexp.MustCompile(`^expected (.*), but got`),
	"enum":    regexp.MustCompile(`^value must be one of (.*)$`),
	"format":  regexp.MustCompile(`is not valid '([^']*)'$`),
	"pattern": regexp.MustCompile(`^does not match pattern '(.*)'$`),
}

// expectedOf returns what a message of the library names as expected, nil for none.
func expectedOf(keyword, text string) any {
	if pattern, ok := expectations[keyword]; ok {
		if match := pattern.FindStringSubmatch(text); match != nil {
			return match[1]
		}
	}
	return nil
}

// quoted matches a name in a message of the library.
var quoted = regexp.MustCompile(`'((?:[^'\\]|\\.)*)'`)

// unknown reports the members that the library's message names as not allowed, or
// the value itself if it names none.
func unknown(at, text string) []message.Message {
	fault := func(at string) message.Message {
		return message.PropertyUnknown.With(message.Params{"field": at, "type": "the schema"})
	}
	var faults []message.Message
	for _, match := range quoted.FindAllStringSubmatch(text, -1) {
		name, err := strconv.Unquote(`"` + strings.ReplaceAll(strings.ReplaceAll(match[1], `\'`, `'`), `"`, `\"`) + `"`)
		if err != nil {
			return []message.Message{fault(at)}
		}
		faults = append(faults, fault(at+"/"+document.EscapeToken(name)))
	}
	if len(faults) == 0 {
		faults = append(faults, fault(at))
	}
	return faults
}

func missing(required any, at string, instance any) []message.Message {
	object, _ := document.Lookup(instance, at).(map[string]any)
	names, _ := required.([]any)
	var faults []message.Message
	for _, name := range names {
		if name, ok := name.(string); ok {
			if _, set := object[name]; !set {
				faults = append(faults, message.PropertyRequired.With(message.Params{"field": at + "/" + document.EscapeToken(name)}))
			}
		}
	}
	return faults
}

func joined(value any, separator string) string {
	items, ok := value.([]any)
	if !ok {
		items = []any{value}
	}
	texts := make([]string, len(items))
	for i, item := range items {
		text, ok := item.(string)
		if !ok {
			text = string(document.Append(nil, item))
		}
		texts[i] = text
	}
	return strings.Join(texts, separator)
}

// joined is joined of the value of the keyword that an error names.
func (e *explanation) joined(err *jsonschema.ValidationError, value any, separator string) string {
	text, known := e.texts[err.AbsoluteKeywordLocation]
	if !known {
		text = joined(value, separator)
		e.texts[err.AbsoluteKeywordLocation] = text
	}
	return text
}

// shared returns a text, in the same memory as before.
func (e *explanation) shared(text string) string {
	if before, known := e.texts[text]; known {
		return before
	}
	e.texts[text] = text
	return text
}

// keyword returns the value of a keyword by its absolute location.
func (r Schemas) keyword(location string) any {
	base, fragment, _ := strings.Cut(location, "#")
	if content, ok := r[base]; ok {
		return document.Lookup(content, Unescaped(fragment))
	}
	return nil
}

// Unescaped returns the JSON Pointer in a fragment.
func Unescaped(fragment string) string {
	if pointer, err := url.PathUnescape(fragment); err == nil {
		return pointer
	}
	return fragment
}
