package service

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/klauspost/compress/gzip"

	"marquee/engine/rest"
)

// Answer is what came back, unpacked.
type Answer struct {
	Method string
	Status int
	Header http.Header
	Body   []byte
}

// Send sends a request unchanged: the path goes out byte for byte.
func (s *Service) Send(method, path string, header http.Header, body io.Reader) (*Answer, error) {
	request, err := http.NewRequest(method, s.Server.URL+path, body)
	if err != nil {
		return nil, err
	}
	request.Header = header
	if request.Header.Get("User-Agent") == "" {
		request.Header.Set("User-Agent", "")
	}
	types := s.Engine.Registry()
	response, err := s.Client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	source := io.Reader(response.Body)
	if response.Header.Get("Content-Encoding") == "gzip" && method != http.MethodHead {
		if source, err = gzip.NewReader(response.Body); err != nil {
			return nil, err
		}
	}
	a := &Answer{Method: method, Status: response.StatusCode, Header: response.Header}
	if a.Body, err = io.ReadAll(source); err == nil {
		s.judge(types, path, a)
	}
	return a, err
}

// JSON is the decoded body, nil when it is no JSON.
func (a *Answer) JSON() any {
	value, err := Decode(a.Body)
	if err != nil {
		return nil
	}
	return value
}

// Decode keeps numbers as they are written.
func Decode(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("there is more behind the JSON value")
	}
	return value, nil
}

var placeholder = regexp.MustCompile(`\{\{([^}]*)\}\}`)

// Promises lists what is wrong with an answer whatever was asked: what the
// service promises of all of its answers.
func (a *Answer) Promises(oauth bool) []string {
	var wrong []string
	must := func(holds bool, format string, args ...any) {
		if !holds {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	must(a.Header.Get("X-Request-Id") != "", "there is no X-Request-Id")
	must(a.Header.Get("X-Content-Type-Options") == "nosniff", "X-Content-Type-Options is not nosniff")
	for _, name := range []string{"Content-Security-Policy", "Referrer-Policy", "Cross-Origin-Resource-Policy"} {
		must(a.Header.Get(name) != "", "there is no %s", name)
	}
	must(a.Status < 400 || a.Header.Get("Content-Security-Policy") == rest.APIPolicy, "the policy of an error is %q", a.Header.Get("Content-Security-Policy"))
	must(a.Status != http.StatusTooManyRequests || a.Header.Get("Retry-After") != "", "429 without Retry-After")
	must(a.Status != http.StatusUnauthorized || strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Bearer"), "401 without WWW-Authenticate")
	must(a.Status != http.StatusMethodNotAllowed || a.Header.Get("Allow") != "", "405 without Allow")
	must(a.Status == http.StatusCreated || a.Status == http.StatusSeeOther || a.Status == http.StatusOK && a.Method == http.MethodPost || a.Header.Get("Location") == "", "Location in an answer that creates nothing")
	if a.Method == http.MethodHead {
		must(len(a.Body) == 0, "the answer to HEAD has a body")
		return wrong
	}
	if a.Status < 400 {
		return wrong
	}
	problem, _ := a.JSON().(map[string]any)
	if oauth {
		must(problem["error"] != nil && problem["error_description"] != nil, "no error of RFC 6749: %s", a.Body)
	} else {
		must(a.Header.Get("Content-Type") == "application/problem+json", "Content-Type is %q", a.Header.Get("Content-Type"))
		for _, name := range []string{"type", "title", "detail", "instance"} {
			text, _ := problem[name].(string)
			must(text != "", "the problem has no %s", name)
			must(!strings.Contains(text, "{{") || a.Status == http.StatusInternalServerError, "%s has a placeholder: %s", name, text)
			must(!strings.Contains(text, "auth_token="), "%s shows the token: %s", name, text)
		}
		code, isPage := strings.CutPrefix(fmt.Sprint(problem["type"]), "/docs/messages/")
		must(isPage && strings.Contains(string(a.Body), `"code":"`+code+`"`), "the type %v is not the page of a message", problem["type"])
		must(fmt.Sprint(problem["status"]) == fmt.Sprint(a.Status), "the problem's status is %v", problem["status"])
	}
	messages, _ := problem["messages"].([]any)
	must(len(messages) > 0, "the problem has no messages")
	for _, entry := range messages {
		m, _ := entry.(map[string]any)
		code, _ := m["code"].(string)
		kind, _ := m["type"].(string)
		must(strings.HasPrefix(code, "error."), "the code %q does not begin with error.", code)
		must(kind == "ErrorMessage" || kind == "ValidationErrorMessage", "%s has the type %q", code, kind)
		params, _ := m["params"].(map[string]any)
		text, _ := m["text"].(string)
		for _, name := range placeholder.FindAllStringSubmatch(text, -1) {
			must(params[name[1]] != nil, "%s has no param %s", code, name[1])
		}
		if a.Status == http.StatusUnprocessableEntity {
			_, there := params["field"].(string)
			must(there, "%s has no params.field", code)
		}
	}
	return wrong
}
