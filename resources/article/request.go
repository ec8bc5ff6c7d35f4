package article

import (
	"bytes"
	"math"
	"strings"
	"unicode/utf8"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/rest"
)

const maxSentence = 10_000

// request is a decoded search request.
type request struct {
	network   string
	sentence  string
	threshold float64
	pageSize  int
	// shortened reports whether pageSize is less than what was asked for.
	shortened bool
	targets   targets
}

// readRequest decodes a request. Query parameters take precedence over properties of
// the body; the other properties of the body are a targeting object.
func readRequest(r *rest.Call) (*request, error) {
	if err := r.Parameters().Only("pageSize", "sentence", "thresholdScore", "fieldValidation"); err != nil {
		return nil, err
	}
	q := &request{}
	var err error
	if q.network, err = r.Network(nil); err != nil {
		return nil, err
	}
	validation, err := r.Parameters().FieldValidation()
	if err != nil {
		return nil, err
	}
	body, err := r.Body(document.DefaultLimits.Object)
	if err != nil {
		return nil, err
	}
	object := map[string]any{}
	if len(bytes.TrimSpace(body)) > 0 {
		if object, err = document.DecodeObject(body, document.DefaultLimits); err != nil {
			return nil, err
		}
	}
	if err := q.parameters(r, object); err != nil {
		return nil, err
	}
	// Targeting here is what it is anywhere else.
	like, err := r.Engine().Type("lineitems")
	if err != nil {
		return nil, err
	}
	stored, unknown, err := r.Engine().CheckProperty(r.Context(), r.Caller(), like, "targeting", q.network, object, validation)
	if err != nil {
		return nil, err
	}
	rest.WarnDropped(r.Header(), false, unknown)
	members, _ := stored.(map[string]any)
	q.targets = targetsOf(members)
	return q, nil
}

// parameters reads the three parameters from the query or the body, and removes them
// from the body.
func (q *request) parameters(r *rest.Call, object map[string]any) error {
	values := map[string]any{}
	for _, name := range []string{"pageSize", "sentence", "thresholdScore"} {
		value := object[name]
		delete(object, name)
		if text, given := r.Parameters()[name]; given {
			value = text
			if name != "sentence" {
				value = number(text)
			}
		} else if value == nil {
			return message.ParameterMissing.Error(message.Params{"parameter": name})
		}
		values[name] = value
	}
	invalid := func(name, expected string) error {
		return message.ParameterInvalid.Error(message.Params{"parameter": name, "expected": expected})
	}
	size, is := float(values["pageSize"])
	if !is || size < 1 || math.Trunc(size) != size {
		return invalid("pageSize", "a whole number of at least 1")
	}
	q.pageSize, q.shortened = int(min(size, query.MaxPageSize)), size > query.MaxPageSize
	q.sentence, is = values["sentence"].(string)
	if !is || strings.TrimSpace(q.sentence) == "" || !utf8.ValidString(q.sentence) || utf8.RuneCountInString(q.sentence) > maxSentence {
		return invalid("sentence", "a text of 1 to 10000 characters that is not blank")
	}
	if q.threshold, is = float(values["thresholdScore"]); !is || q.threshold < 0 || q.threshold > 1 {
		return invalid("thresholdScore", "a number from 0 to 1")
	}
	return nil
}

// number decodes a JSON number, or returns nil.
func number(text string) any {
	value, err := document.Decode([]byte(text), document.Limits{})
	if err != nil || strings.TrimSpace(text) != text {
		return nil
	}
	return value
}

func float(value any) (float64, bool) {
	switch v := value.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
