package integration

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"marquee/integration/service"
)

// exchange is one request of a case, and the answer that it expects
// (testdata/README.md).
type exchange struct {
	title        string
	method, path string
	as           string
	pack         bool
	header       http.Header
	body         string

	status   string
	expected []headerLine
	store    string
	pattern  string
}

type headerLine struct{ name, value string }

// parseExchanges reads the exchanges of a .http step, which ### separates.
func parseExchanges(text string) ([]*exchange, error) {
	var list []*exchange
	title := ""
	var lines []string
	end := func() error {
		if strings.TrimSpace(strings.Join(lines, "")) == "" {
			return nil
		}
		e, err := parseExchange(lines)
		if err == nil {
			e.title = title
			list = append(list, e)
		}
		return err
	}
	for line := range strings.SplitSeq(text, "\n") {
		if next, found := strings.CutPrefix(line, "###"); found {
			if err := end(); err != nil {
				return nil, err
			}
			title, lines = strings.TrimSpace(next), nil
			continue
		}
		lines = append(lines, line)
	}
	return list, end()
}

func parseExchange(lines []string) (*exchange, error) {
	e := &exchange{header: http.Header{}}
	for len(lines) > 0 && (strings.TrimSpace(lines[0]) == "" || strings.HasPrefix(lines[0], "#")) {
		lines = lines[1:]
	}
	arrow := -1
	for i, line := range lines {
		if strings.HasPrefix(line, "=> ") {
			arrow = i
		}
	}
	if len(lines) == 0 || arrow < 1 {
		return nil, fmt.Errorf("a request and a line that begins with => belong to an exchange")
	}
	var found bool
	if e.method, e.path, found = strings.Cut(lines[0], " "); !found {
		return nil, fmt.Errorf("%q is no method and path", lines[0])
	}
	request, body, err := headAndBody(lines[1:arrow])
	if err != nil {
		return nil, err
	}
	e.body = body
	for _, h := range request {
		switch h.name {
		case "As":
			e.as = h.value
		case "Pack":
			e.pack = true
		default:
			e.header.Add(h.name, h.value)
		}
	}
	e.status = strings.TrimSpace(strings.TrimPrefix(lines[arrow], "=> "))
	answer, pattern, err := headAndBody(lines[arrow+1:])
	if err != nil {
		return nil, err
	}
	e.pattern = pattern
	for _, h := range answer {
		if h.name == "Store" {
			e.store = h.value
			continue
		}
		e.expected = append(e.expected, h)
	}
	return e, nil
}

// headAndBody splits header lines from a body behind an empty line.
func headAndBody(lines []string) ([]headerLine, string, error) {
	var head []headerLine
	for i, line := range lines {
		if strings.TrimSpace(line) == "" {
			return head, strings.TrimSpace(strings.Join(lines[i:], "\n")), nil
		}
		name, value, found := strings.Cut(line, ":")
		if !found {
			return nil, "", fmt.Errorf("%q is no header; an empty line belongs before a body", line)
		}
		head = append(head, headerLine{name, strings.TrimSpace(value)})
	}
	return head, "", nil
}

var variable = regexp.MustCompile(`\$\{([^}]*)\}`)

// fill puts in what earlier answers gave, and repetitions such as ${a*256}.
func (c *fixture) fill(text string) string {
	return variable.ReplaceAllStringFunc(text, func(found string) string {
		name := found[2 : len(found)-1]
		if value, ok := c.captures[name]; ok {
			return value
		}
		unit, times, repeated := strings.Cut(name, "*")
		n, err := strconv.Atoi(times)
		if !repeated || err != nil {
			c.fail("nothing is called %s", found)
			return found
		}
		return strings.Repeat(unit, n)
	})
}

// run sends the request and compares the answer.
func (e *exchange) run(c *fixture) {
	header, err := e.headers(c)
	if err != nil {
		c.fail("%v", err)
		return
	}
	body := []byte(c.fill(e.body))
	if e.pack {
		body = service.Pack(body)
		header.Set("Content-Encoding", "gzip")
	}
	before := c.picture()
	path := c.fill(e.path)
	a, err := c.service.Send(e.method, path, header, bytes.NewReader(body))
	if err != nil {
		c.fail("%s %s: %v", e.method, path, err)
		return
	}
	same := before == c.picture()
	c.where = fmt.Sprintf("%s %s", e.method, path)
	e.compare(c, a)
	for _, wrong := range a.Promises(strings.HasPrefix(path, "/api/authenticate") && a.Status < 500 && a.Status != http.StatusMethodNotAllowed) {
		c.fail("%s", wrong)
	}
	e.compareStore(c, a, same)
	if err := c.service.JudgePlainly(path, body, a); err != nil && !e.pack {
		c.fail("%v", err)
	}
	for _, token := range c.tokens {
		if strings.Contains(fmt.Sprint(a.Header, string(a.Body)), token) {
			c.fail("the answer shows an access token that was sent")
		}
	}
	if c.failed {
		c.fail("answer was %d %v\n%s", a.Status, a.Header, a.Body)
		c.failed = false
	}
}

// headers are those of the request. The administrator asks, unless the
// exchange says who.
func (e *exchange) headers(c *fixture) (http.Header, error) {
	header := http.Header{}
	for name, values := range e.header {
		for _, value := range values {
			header.Add(name, c.fill(value))
		}
	}
	open := header.Get("Authorization") != "" || strings.Contains(e.path, "auth_token=") || strings.HasPrefix(e.path, "/api/authenticate")
	user := e.as
	switch {
	case user == "nobody", user == "" && open:
		return header, nil
	case user == "":
		user = service.Admin
	}
	token, err := c.token(user)
	header.Set("Authorization", "Bearer "+token)
	return header, err
}

func (e *exchange) compare(c *fixture, a *service.Answer) {
	if status := c.fill(e.status); status != strconv.Itoa(a.Status) {
		c.fail("want status %s, got %d", status, a.Status)
	}
	expected := map[string][]string{}
	for _, h := range e.expected {
		name := http.CanonicalHeaderKey(h.name)
		expected[name] = append(expected[name], c.fill(h.value))
	}
	for name, values := range expected {
		for _, wrong := range service.MatchHeader(name, values, a.Header.Values(name), c.captures) {
			c.fail("%s", wrong)
		}
	}
	switch e.pattern {
	case "":
		return
	case "<empty>":
		if len(a.Body) > 0 {
			c.fail("the answer has a body")
		}
		return
	}
	pattern, err := service.Decode([]byte(c.fill(e.pattern)))
	if err != nil {
		c.fail("the expected body is no JSON: %v", err)
		return
	}
	for _, wrong := range service.Match(pattern, a.JSON(), "", c.captures) {
		c.fail("%s", wrong)
	}
}

// compareStore holds what happened to the store against what the exchange
// says. What is refused, reads or only validates must not change it.
func (e *exchange) compareStore(c *fixture, a *service.Answer, same bool) {
	reads := e.method == http.MethodGet || e.method == http.MethodHead || e.method == http.MethodOptions
	refused := a.Status >= 400
	if reads || refused && e.store != "changed" || !refused && strings.Contains(e.path, "validateOnly=true") || e.store == "unchanged" {
		if !same {
			c.fail("the store has changed")
		}
	}
	if e.store == "changed" && same {
		c.fail("the store has not changed")
	}
}
