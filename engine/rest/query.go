package rest

import (
	"net/url"
	"strings"

	"marquee/engine/message"
)

// ParseQuery parses a query string. Only & separates parameters: a semicolon
// belongs to its value. A parameter can be repeated with the same value, but not
// with another one. Names that begin with an underscore, which clients add to
// bypass caches, are omitted. Errors are of kind Malformed.
func ParseQuery(raw string) (map[string]string, error) {
	parameters := map[string]string{}
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
