// Package validation validates values with compiled schemas: it bounds what that costs,
// decides whether a schema accepts a value, explains the faults of a value that it does not,
// and has the formats that JSON Schema lacks. It imports document and message. Begin with
// Rules.Validate.
package validation

import (
	"context"
	"errors"
	"fmt"
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
	e := explanation{Schemas: r.Schemas, instance: object}
	if stored != nil {
		e.stored = &replacement{before: stored, after: object}
	}
	for _, fault := range found {
		e.add(fault)
	}
	valid, err := Accepts(ctx, r.Schema, object)
	if err == nil && !valid {
		limit = maxExplained
		err = withinLibrary(ctx, r.Schema, object, limit)
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
	if len(e.kept) > 0 {
		if err := r.confirm(ctx, &e); err != nil {
			return nil, nil, err
		}
	}
	faults = inOrder(e.faults)
	return slices.Clone(faults[:min(len(faults), message.MaxFaults)]), inOrder(e.kept), nil
}

// confirm leaves those faults among the kept ones that the stored object has: what is the same
// can have been valid there, for example because a condition did not apply. The error is that
// of the context.
func (r *Rules) confirm(ctx context.Context, e *explanation) error {
	was := explanation{Schemas: r.Schemas, instance: e.stored.before, all: true}
	err := withinLibrary(ctx, r.Schema, e.stored.before, maxExplained)
	var invalid *jsonschema.ValidationError
	switch {
	case err == nil && errors.As(r.Schema.Validate(e.stored.before), &invalid):
		was.collect(invalid)
	case err != nil && !errors.Is(err, ErrTooComplex):
		return err
	}
	had := map[[2]string]bool{}
	for _, fault := range was.faults {
		field, _ := fault.Param("field").(string)
		had[[2]string{field, fault.Code()}] = true
	}
	e.kept = slices.DeleteFunc(e.kept, func(fault message.Message) bool {
		field, _ := fault.Param("field").(string)
		if had[[2]string{e.stored.was(field), fault.Code()}] {
			return false
		}
		e.faults = append(e.faults, fault)
		return true
	})
	return nil
}

// Schemas are the contents of schema files by URL, for the values of failed keywords.
type Schemas map[string]map[string]any

// Explain returns the faults of an invalid value, in the order of their places.
func (r Schemas) Explain(err *jsonschema.ValidationError, instance any) []message.Message {
	e := explanation{Schemas: r, instance: instance}
	e.collect(err)
	return inOrder(e.faults)
}

// explanation collects the faults of a value.
type explanation struct {
	Schemas
	instance any
	// stored is what the value replaces; nil keeps nothing.
	stored *replacement
	// faults are those of the value, kept those of what the stored value has, too.
	faults, kept []message.Message
	// all reports whether more than maxCollected faults are collected.
	all bool
}

// add adds a fault.
func (e *explanation) add(fault message.Message) {
	field, _ := fault.Param("field").(string)
	if e.stored.keeps(field) {
		e.kept = append(e.kept, fault)
	} else {
		e.faults = append(e.faults, fault)
	}
}

// inOrder sorts faults by position and removes duplicates.
func inOrder(faults []message.Message) []message.Message {
	key := func(m message.Message) string {
		return fmt.Sprint(m.Param("field"), " ", m.Code())
	}
	slices.SortStableFunc(faults, func(a, b message.Message) int { return strings.Compare(key(a), key(b)) })
	return slices.CompactFunc(faults, func(a, b message.Message) bool { return key(a) == key(b) })
}

// maxCollected is the maximum number of faults that are explained, of which a response lists
// message.MaxFaults: the text of each can be as long as a list of values in the schema.
const maxCollected = 10 * message.MaxFaults

// collect adds the faults of an error until there are maxCollected of them, in the order of
// their places, so that the same object always has the same ones.
func (e *explanation) collect(err *jsonschema.ValidationError) {
	if len(e.faults) >= maxCollected && !e.all {
		return
	}
	keyword := keywordOf(err)
	if e.stored != nil && judges[keyword] {
		if faults := e.apart(err); e.stored.keepsJudged(e.Schemas, err, keyword) {
			e.kept = append(e.kept, faults...)
		} else {
			e.faults = append(e.faults, faults...)
		}
		return
	}
	if speaksOfNames(err.KeywordLocation) {
		e.add(message.PropertyName.With(message.Params{"field": place(err)}))
		return
	}
	if keyword == "anyOf" || keyword == "oneOf" {
		e.branches(err, keyword)
		return
	}
	if len(err.Causes) > 0 && keyword != "contains" && keyword != "minContains" {
		slices.SortStableFunc(err.Causes, func(a, b *jsonschema.ValidationError) int {
			return strings.Compare(a.InstanceLocation, b.InstanceLocation)
		})
		for _, cause := range err.Causes {
			e.collect(cause)
		}
		return
	}
	for _, fault := range e.leaf(err, keyword, e.instance) {
		e.add(fault)
	}
}

// judges are the keywords that apply schemas under a condition.
var judges = map[string]bool{"anyOf": true, "oneOf": true, "not": true, "then": true, "else": true}

// apart returns the faults of an error, whether they were there before or not.
func (e *explanation) apart(err *jsonschema.ValidationError) []message.Message {
	alone := explanation{Schemas: e.Schemas, instance: e.instance}
	alone.collect(err)
	return alone.faults
}

// keywordOf returns the keyword that a value does not meet.
func keywordOf(err *jsonschema.ValidationError) string {
	return err.KeywordLocation[strings.LastIndexByte(err.KeywordLocation, '/')+1:]
}

// speaksOfNames reports whether a keyword is in propertyNames.
func speaksOfNames(location string) bool {
	tokens := strings.Split(location, "/")
	for i := 0; i < len(tokens); i++ {
		switch tokens[i] {
		case "propertyNames":
			return true
		case "properties", "patternProperties", "dependentSchemas", "$defs", "definitions":
			i++ // the next token is a name
		}
	}
	return false
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

func (r Schemas) leaf(err *jsonschema.ValidationError, keyword string, instance any) []message.Message {
	value := r.keyword(err.AbsoluteKeywordLocation)
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
		return one(message.ValueType, message.Params{"expected": joined(value, " or ")})
	case "enum":
		return one(message.ValueEnum, message.Params{"allowed": joined(value, ", ")})
	case "const":
		return one(message.ValueConst, message.Params{"expected": joined(value, ", ")})
	case "format":
		if value == localRange {
			def, params := rangeFault(document.Lookup(instance, at), at)
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
		return missing(value, at, instance)
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
