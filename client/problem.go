package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrOutcomeUnknown says that a write may have been carried out although its response
// was lost, or the server did not know. Read what is stored before it is sent again.
var ErrOutcomeUnknown = errors.New("client: the outcome of the request is unknown")

// Error is a refused request: a problem (RFC 9457) with a message for each fault, or an
// error of a sign-in (RFC 6749). Decide by the codes, which are stable.
type Error struct {
	// Status is the HTTP status, and Title its name.
	Status int
	Title  string
	// Type is the path of a page of the server that explains the error.
	Type string
	// Detail has the messages in English.
	Detail string
	// OAuth is the error code of a sign-in, such as invalid_grant.
	OAuth string
	// Messages are the faults, at most 100.
	Messages []Message
	// RequestID is the id under which the log of the server has the request.
	RequestID string
	// RetryAfter is the time to wait before the request is sent again, or 0 if it is not known.
	RetryAfter time.Duration
}

// Error implements error. The text is that of the messages.
func (e *Error) Error() string {
	var texts []string
	for _, m := range e.Messages {
		text := m.String()
		if i, in := m.Index(); in {
			text = fmt.Sprintf("[%d] %s", i, text)
		}
		texts = append(texts, text+" ("+m.Code+")")
	}
	if texts == nil && e.Detail != "" {
		texts = []string{e.Detail}
	}
	if texts == nil {
		return fmt.Sprintf("marquee: %d %s", e.Status, http.StatusText(e.Status))
	}
	return fmt.Sprintf("marquee: %d %s: %s", e.Status, http.StatusText(e.Status), strings.Join(texts, "; "))
}

// Has reports whether one of the messages has a code.
func (e *Error) Has(code string) bool {
	return slices.ContainsFunc(e.Messages, func(m Message) bool { return m.Code == code })
}

// HasCode reports whether err is an Error with a message that has a code.
func HasCode(err error, code string) bool {
	var e *Error
	return errors.As(err, &e) && e.Has(code)
}

// HasStatus reports whether err is an Error with an HTTP status.
func HasStatus(err error, status int) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == status
}

// Message is a translatable message: a text with placeholders such as {{field}}, and
// their values.
type Message struct {
	Type   string         `json:"type"`
	Code   string         `json:"code"`
	Text   string         `json:"text"`
	Params map[string]any `json:"params"`
}

// String returns the English text with the values of its placeholders.
func (m Message) String() string {
	var pairs []string
	for name, value := range m.Params {
		text, is := value.(string)
		if !is {
			encoded, _ := json.Marshal(value) // it was decoded from JSON
			text = string(encoded)
		}
		pairs = append(pairs, "{{"+name+"}}", text)
	}
	return strings.NewReplacer(pairs...).Replace(m.Text)
}

// Field returns the place of the fault in its object, a JSON Pointer; "" if there is
// none.
func (m Message) Field() string {
	field, _ := m.Params["field"].(string)
	return field
}

// Index returns the position of the object at fault in the request, and whether the
// request has several.
func (m Message) Index() (int, bool) {
	i, is := m.Params["index"].(float64)
	return int(i), is
}

// problem returns the error of a response.
func problem(r *response) *Error {
	e := &Error{Status: r.status, RequestID: r.header.Get("X-Request-Id"), RetryAfter: retryAfter(r.header.Get("Retry-After"))}
	var members struct {
		Type, Title, Detail string
		OAuth               string `json:"error"`
		Description         string `json:"error_description"`
		Messages            []Message
	}
	if json.Unmarshal(r.body, &members) == nil { // a proxy may answer in another format
		e.Type, e.Title, e.Detail, e.OAuth, e.Messages = members.Type, members.Title, members.Detail, members.OAuth, members.Messages
		if e.Detail == "" {
			e.Detail = members.Description
		}
	}
	if e.Title == "" {
		e.Title = http.StatusText(e.Status)
	}
	return e
}

// retryAfter returns the value of a header Retry-After: seconds, or a time (RFC 9110,
// section 10.2.3).
func retryAfter(value string) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(max(0, min(seconds, 1<<30))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
