package schema

import (
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

// rules validates documents of one type and explains what is wrong.
type rules struct {
	schema *jsonschema.Schema
	raw    rawSchemas
}

// Validate lists what is wrong with a stored document, in the order of the
// pointers that each message has in params.field, and no more than an answer
// lists.
func (t *Type) Validate(object map[string]any) []message.Message {
	if accepts(t.rules.schema, object) {
		return nil
	}
	err := t.rules.schema.Validate(object)
	if err == nil {
		return nil
	}
	invalid, ok := err.(*jsonschema.ValidationError)
	if !ok {
		return []message.Message{message.ValueNotAllowed.With(message.Params{"field": ""})}
	}
	faults := t.rules.raw.explain(invalid, object)
	return slices.Clone(faults[:min(len(faults), message.MaxFaults)])
}

// rawSchemas holds the schemas by url, so that the value of the keyword that
// failed can be named.
type rawSchemas map[string]map[string]any

func (r rawSchemas) explain(err *jsonschema.ValidationError, instance any) []message.Message {
	var faults []message.Message
	r.collect(err, instance, &faults)
	key := func(m message.Message) string {
		return fmt.Sprint(m.Param("field"), " ", m.Code())
	}
	slices.SortStableFunc(faults, func(a, b message.Message) int { return strings.Compare(key(a), key(b)) })
	return slices.CompactFunc(faults, func(a, b message.Message) bool { return key(a) == key(b) })
}

func (r rawSchemas) collect(err *jsonschema.ValidationError, instance any, faults *[]message.Message) {
	keyword := err.KeywordLocation[strings.LastIndexByte(err.KeywordLocation, '/')+1:]
	switch keyword {
	case "anyOf", "oneOf":
		if branch := likelyBranch(err); branch != nil {
			r.collect(branch, instance, faults)
		} else {
			*faults = append(*faults, message.ValueNotAllowed.With(message.Params{"field": place(err)}))
		}
		return
	}
	if speaksOfNames(err.KeywordLocation) {
		*faults = append(*faults, message.PropertyName.With(message.Params{"field": place(err)}))
		return
	}
	if len(err.Causes) > 0 && keyword != "contains" && keyword != "minContains" {
		for _, cause := range err.Causes {
			r.collect(cause, instance, faults)
		}
		return
	}
	*faults = append(*faults, r.leaf(err, keyword, instance)...)
}

// speaksOfNames reports whether a keyword is propertyNames or stands below it.
func speaksOfNames(location string) bool {
	tokens := strings.Split(location, "/")
	for i := 0; i < len(tokens); i++ {
		if tokens[i] == "propertyNames" {
			return true
		}
		if slices.Contains(schemaNames, tokens[i]) {
			i++ // what follows is a name, and no keyword
		}
	}
	return false
}

// likelyBranch is the one branch of an anyOf or oneOf that takes the value's
// type: the one that the client is likely to have meant.
func likelyBranch(err *jsonschema.ValidationError) *jsonschema.ValidationError {
	var likely *jsonschema.ValidationError
	for _, branch := range err.Causes {
		if refusesType(branch, err.InstanceLocation) {
			continue
		}
		if likely != nil {
			return nil
		}
		likely = branch
	}
	return likely
}

func refusesType(err *jsonschema.ValidationError, at string) bool {
	if len(err.Causes) == 0 {
		return err.InstanceLocation == at && strings.HasSuffix(err.KeywordLocation, "/type")
	}
	return slices.ContainsFunc(err.Causes, func(cause *jsonschema.ValidationError) bool { return refusesType(cause, at) })
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

func (r rawSchemas) leaf(err *jsonschema.ValidationError, keyword string, instance any) []message.Message {
	value := r.keyword(err.AbsoluteKeywordLocation)
	if value == nil {
		value = told(keyword, err.Message)
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
		return one(message.ValueFormat, message.Params{"format": value})
	case "pattern":
		return one(message.ValuePattern, message.Params{"pattern": value})
	case "contains", "minContains":
		return one(message.ItemsMissing, message.Params{})
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
	return one(message.ValueNotAllowed, message.Params{})
}

// place is the JSON Pointer to the value; the library's are percent-encoded.
func place(err *jsonschema.ValidationError) string {
	if at, invalid := url.PathUnescape(err.InstanceLocation); invalid == nil {
		return at
	}
	return err.InstanceLocation
}

// dependent is where the names stand that another property demands.
var dependent = regexp.MustCompile(`/dependentRequired/[^/]*/\d+$`)

// What the library says of a keyword whose schema is its own.
var toldBy = map[string]*regexp.Regexp{
	"type":    regexp.MustCompile(`^expected (.*), but got`),
	"enum":    regexp.MustCompile(`^value must be one of (.*)$`),
	"format":  regexp.MustCompile(`is not valid '([^']*)'$`),
	"pattern": regexp.MustCompile(`^does not match pattern '(.*)'$`),
}

func told(keyword, text string) any {
	if pattern, ok := toldBy[keyword]; ok {
		if match := pattern.FindStringSubmatch(text); match != nil {
			return match[1]
		}
	}
	return nil
}

// quoted is a name in the library's messages.
var quoted = regexp.MustCompile(`'((?:[^'\\]|\\.)*)'`)

// unknown names the members that should not be there, as the library's message
// does; without names, it is the value itself.
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
	object, _ := lookup(instance, at).(map[string]any)
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
		texts[i] = fmt.Sprint(item)
	}
	return strings.Join(texts, separator)
}

// keyword finds the value of a keyword by its absolute location.
func (r rawSchemas) keyword(location string) any {
	base, fragment, _ := strings.Cut(location, "#")
	if unescaped, err := url.PathUnescape(fragment); err == nil {
		fragment = unescaped
	}
	if content, ok := r[base]; ok {
		return lookup(content, fragment)
	}
	return nil
}

// lookup follows a JSON Pointer; nil when it leads nowhere.
func lookup(value any, pointer string) any {
	for _, token := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch v := value.(type) {
		case map[string]any:
			value = v[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}
