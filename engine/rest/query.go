package rest

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/query"
)

// Parameters are the parameters of a query by their names, as ParseQuery returns them.
type Parameters map[string]string

// Only rejects parameters other than these and those of all routes. The error names what is
// allowed.
func (p Parameters) Only(names ...string) error {
	allowed := append([]string{"auth_token", "context"}, names...)
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if !slices.Contains(allowed, name) {
			slices.Sort(allowed)
			return message.ParameterUnknown.Error(message.Params{"parameter": name, "allowed": strings.Join(slices.Compact(allowed), ", ")})
		}
	}
	return nil
}

// Boolean returns a parameter that is true or false, false if it is absent.
func (p Parameters) Boolean(name string) (bool, error) {
	value, given := p[name]
	on, ok := query.Switch(value)
	if given && !ok {
		return false, message.ParameterInvalid.Error(message.Params{"parameter": name, "expected": "true or false"})
	}
	return on, nil
}

// FieldValidation returns the parameter fieldValidation.
func (p Parameters) FieldValidation() (engine.FieldValidation, error) {
	switch value, given := p["fieldValidation"]; {
	case !given:
		return engine.BySchema, nil
	case value == "Warn":
		return engine.Warn, nil
	case value == "Strict":
		return engine.Strict, nil
	case value == "Ignore":
		return engine.Ignore, nil
	}
	return engine.BySchema, message.ParameterInvalid.Error(message.Params{"parameter": "fieldValidation", "expected": "Warn, Strict or Ignore"})
}

// ParseQuery parses a query string. Only & separates parameters: a semicolon
// belongs to its value. A parameter can be repeated with the same value, but not
// with another one. Names that begin with an underscore, which clients add to
// bypass caches, are omitted. Errors are of kind Malformed.
func ParseQuery(raw string) (Parameters, error) {
	parameters := Parameters{}
	err := eachParameter(raw, func(name, value string) bool {
		if strings.HasPrefix(name, "_") {
			return true
		}
		other, twice := parameters[name]
		parameters[name] = value
		return !twice || other == value
	})
	return parameters, err
}

// ParseForm parses a form in which no parameter can be repeated (RFC 6749, section
// 3.2). Errors are of kind Malformed.
func ParseForm(raw string) (map[string]string, error) {
	parameters := map[string]string{}
	err := eachParameter(raw, func(name, value string) bool {
		_, twice := parameters[name]
		parameters[name] = value
		return !twice
	})
	if message.QuerySyntax.Is(err) {
		err = message.BodyForm.Error(nil)
	}
	return parameters, err
}

// eachParameter calls add for each parameter, and reports a repeated one if add
// returns false.
func eachParameter(raw string, add func(name, value string) bool) error {
	for raw != "" {
		var part string
		part, raw, _ = strings.Cut(raw, "&")
		if part == "" {
			continue
		}
		rawName, rawValue, _ := strings.Cut(part, "=")
		name, err := url.QueryUnescape(rawName)
		if err != nil {
			return message.QuerySyntax.Error(nil)
		}
		value, err := url.QueryUnescape(rawValue)
		if err != nil {
			return message.QuerySyntax.Error(message.Params{"parameter": name})
		}
		if !add(name, value) {
			return message.ParameterRepeated.Error(message.Params{"parameter": name})
		}
	}
	return nil
}
