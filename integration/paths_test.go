package integration

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"marquee/integration/service"
)

// rawRequest sends a request line and headers byte for byte, and reads one
// answer, or nil where the connection ends. It fails where more than one answer
// comes.
func rawRequest(t *testing.T, s *service.Service, line string, headers ...string) *service.Answer {
	t.Helper()
	conn, err := net.Dial("tcp", s.Server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	request := line + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + strings.Join(append(headers, ""), "\r\n") + "\r\n"
	if _, err := io.WriteString(conn, request); err != nil {
		return nil
	}
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, &http.Request{Method: strings.Fields(line)[0]})
	if err != nil {
		return nil
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Errorf("%s: %v", line, err)
	}
	if more, _ := io.ReadAll(reader); strings.HasPrefix(string(more), "HTTP/") {
		t.Errorf("%s is answered twice: %.200s", line, more)
	}
	return &service.Answer{Method: strings.Fields(line)[0], Status: response.StatusCode, Header: response.Header, Body: body}
}

// TestETagOnTheWire sends what clients that compare the names of headers exactly look for.
func TestETagOnTheWire(t *testing.T) {
	c := service.Converse(t, service.NewSQLite)
	for _, method := range []string{"GET", "HEAD"} {
		for _, path := range []string{"/api/v1/networks/main", "/api/openapi.json"} {
			for _, encoding := range []string{"identity", "gzip"} {
				conn, err := net.Dial("tcp", c.Service.Server.Listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if _, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept-Encoding: %s\r\nAuthorization: Bearer %s\r\n\r\n", method, path, encoding, c.Token); err != nil {
					t.Fatal(err)
				}
				if sent, err := io.ReadAll(conn); err != nil || !strings.Contains(string(sent), "\r\nETag: ") || strings.Contains(string(sent), "\r\nEtag: ") {
					t.Errorf("%s %s, %s: %v\n%.400s", method, path, encoding, err, sent)
				}
			}
		}
	}
}

// trickyPaths lead to what is protected in ways that a router, a proxy or a
// file system might take for another.
func trickyPaths() (paths []string) {
	target := "/api/v1/teams/secret"
	for _, before := range []string{
		"", "/.", "/..", "/../..", "//", "/%2e", "/%2e%2e", "/%2E%2E", "/.%2e", "/%252e%252e", "/;", "/;/", "/x/..", "/x/%2e%2e", "/x/..;", "/x/..%2f", "/x%2f..",
		"/healthz/..", "/healthz/%2e%2e", "/healthz;", "/healthz%2f..", "/delivery/..", "/delivery/%2e%2e", "/delivery/..%2f..", "/delivery/x/..;", "/.well-known/..",
		"/.well-known/jwks.json/..", "/api/authenticate/..", "/api/authenticate/../..", "/api/authenticate/%2e%2e/%2e%2e", "/%00", "/%5c..", "/\\..", "/%c0%ae%c0%ae", "/%u002e",
	} {
		paths = append(paths, before+target)
	}
	return append(paths,
		"/api/v1/tiers/../teams/secret", "/api/v1/tiers/%2e%2e/teams/secret", "/api/v1/tiers/..%2fteams/secret", "/api/v1/tiers/..;/teams/secret", "/api/v1/./teams/secret",
		"/api//v1/teams/secret", "/api/v1//teams/secret", "/api/v1/teams//secret", "/api/v1/teams/./secret", "/api/v1/teams/secret/.", "/api/v1/teams/secret/..", "/api/v1/teams/x/../secret",
		"/API/v1/teams/secret", "/api/V1/teams/secret", "/api/v1/Teams/secret", "/api/v1/TEAMS/secret", "/api/v1/teams/SECRET", "/api/v1/teams./secret", "/api/v1/teams%20/secret", "/api/v1/%20teams/secret",
		"/api/v1/teams/secret.", "/api/v1/teams/secret..", "/api/v1/teams/secret%00", "/api/v1/teams/secret%00.json", "/api/v1/teams%00/secret", "/api/v1/teams/secret%20", "/api/v1/teams/secret%0a",
		"/api/v1/teams;x=y/secret", "/api/v1/teams/secret;x=y", "/api/v1;/teams/secret", "/api;/v1/teams/secret", "/api/v1/teams/secret.json", "/api/v1/teams/secret/x", "/api/v1/teams%2fsecret", "/api%2fv1%2fteams%2fsecret",
		"/api/v1/t%65ams/secret", "/api/v1/teams/s%65cret", "/api/v1/teams\\secret", "/api/v1/teams%5csecret", "/api/v1/teams/%2e/secret", "/api/v1/teams/secret#x", "/api/v1/teams/secret/?x", "/api/v2/teams/secret", "/api/v01/teams/secret",
		"/delivery/../marquee.key", "/delivery/..%2f..%2fmarquee.key", "/delivery/%2e%2e/%2e%2e/marquee.key", "/delivery//etc/passwd", "/delivery/%00", "/delivery/%2fetc%2fpasswd",
		"/.git/config", "/debug/pprof/", "/debug/vars", "/metrics", "/.env", "/marquee.key", "/%2e%2e/marquee.key", "//evil.example/%2e%2e", "http://evil.example/api/v1/teams/secret", "*",
	)
}

// TestPathTricks asks for a protected object by every spelling of its path,
// without a token, with one of a user who has no role, and with one of a user who
// has: nothing of it is shown without a right, no answer leads elsewhere, and
// a text that is no path is answered with an error alone.
func TestPathTricks(t *testing.T) { service.EachStore(t, testPathTricks) }

func testPathTricks(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	c.Send("POST", "/api/v1/teams/secret?context=main", `{"name": "Confidential"}`, 201, "")
	c.Send("POST", "/api/v1/users/eve", `{"username": "eve", "password": "a password to test with"}`, 201, "")
	eve, err := c.Service.SignIn("eve")
	if err != nil {
		t.Fatal(err)
	}
	before, err := c.Service.Camera.Picture()
	if err != nil {
		t.Fatal(err)
	}
	reached := 0
	for _, path := range trickyPaths() {
		for _, method := range []string{"GET", "HEAD", "PUT", "OPTIONS", "DELETE", "TRACE"} {
			for who, token := range map[string]string{"nobody": "", "eve": eve, service.Admin: c.Token} {
				if who == service.Admin && method == "PUT" {
					continue // a caller who may create an object of that name
				}
				headers := []string{"Content-Type: application/json", "Content-Length: 2"}
				if token != "" {
					headers = append(headers, "Authorization: Bearer "+token)
				}
				query := "?context=main"
				if path == "*" {
					query = ""
				}
				a := rawRequestWith(t, c.Service, method+" "+path+query, "{}", headers...)
				if a == nil {
					continue
				}
				shown := strings.Contains(string(a.Body), "Confidential")
				if shown && who == service.Admin {
					reached++
				}
				if shown && who != service.Admin {
					t.Errorf("%s %s shows it to %s: %d %s", method, path, who, a.Status, a.Body)
				}
				if a.Status < 400 && who != service.Admin && method != "OPTIONS" {
					t.Errorf("%s %s is answered with %d to %s: %.300s", method, path, a.Status, who, a.Body)
				}
				if a.Status >= 500 || a.Header.Get("Location") != "" || a.Status >= 300 && a.Status < 400 {
					t.Errorf("%s %s by %s: %d, to %q: %.300s", method, path, who, a.Status, a.Header.Get("Location"), a.Body)
				}
				if method == "TRACE" && a.Status < 400 {
					t.Errorf("TRACE %s is answered with %d", path, a.Status)
				}
			}
		}
	}
	if reached < 3 || reached > 8 { // its own path, and what RFC 3986 calls the same
		t.Errorf("%d spellings lead to the object", reached)
	}
	if after, err := c.Service.Camera.Picture(); err != nil || after != before {
		t.Errorf("the store is not as before: %v", err)
	}
}

// rawRequestWith is rawRequest with a body, whose length the headers say.
func rawRequestWith(t *testing.T, s *service.Service, line, body string, headers ...string) *service.Answer {
	t.Helper()
	return rawRequest(t, s, line, append(headers, "", body)...)
}

// TestHeaderInjection puts line breaks and names of headers into all that a
// client can choose: none of it becomes a header, a second answer, or a place
// where a client is sent.
func TestHeaderInjection(t *testing.T) { service.EachStore(t, testHeaderInjection) }

func testHeaderInjection(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	evil := "x\r\nInjected: yes\r\nSet-Cookie: a=b\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"
	escaped := url.PathEscape(evil)
	clean := func(what string, a *service.Answer) {
		t.Helper()
		if a == nil {
			return
		}
		for name, values := range a.Header {
			for _, value := range values {
				if name == "Injected" || name == "Set-Cookie" || strings.ContainsAny(value, "\r\n\x00") {
					t.Errorf("%s: the answer has the header %s: %q", what, name, value)
				}
				if strings.Contains(value, "evil.example") {
					t.Errorf("%s: the header %s is %q", what, name, value)
				}
			}
		}
		if strings.Contains(string(a.Body), "evil.example") && a.Status < 400 {
			t.Errorf("%s: the answer names the host: %s", what, a.Body)
		}
		if a.Status >= 500 {
			t.Errorf("%s: %d %s", what, a.Status, a.Body)
		}
	}
	bearer := http.Header{"Authorization": {"Bearer " + c.Token}, "Content-Type": {"application/json"}}
	for _, r := range []struct{ method, path, body string }{
		{"GET", "/api/v1/teams/" + escaped + "?context=main", ""},
		{"PUT", "/api/v1/teams/" + escaped + "?context=main", `{"name": "x"}`},
		{"PUT", "/api/v1/teams/t?context=main", `{"name": "x", "a\r\nInjected: yes": 1, "b\u0000": 1, "c\u2028d": 2, "\"e\\": 3}`},
		{"POST", "/api/v1/teams?context=main", `[{"id": "a\r\nInjected: yes", "name": "x"}]`},
		{"PUT", "/api/v1/teams/t?context=main", service.JSONText(map[string]any{"name": evil})},
		{"GET", "/api/v1/teams?context=" + escaped, ""},
		{"GET", "/api/v1/teams?context=main&" + escaped + "=1", ""},
		{"GET", "/api/v1/teams?context=main&orderBy=" + escaped, ""},
		{"GET", "/api/v1/teams?context=main&fields=" + escaped, ""},
		{"GET", "/api/v1/teams?context=main&cursor=" + escaped, ""},
		{"GET", "/api/v1/" + escaped, ""},
		{"GET", "/" + escaped, ""},
		{"GET", "/delivery/" + escaped, ""},
		{"FORGED", "/api/v1/teams?context=main", ""},
		{"GET", "/api/v1/networks/main?auth_token=" + escaped, ""},
	} {
		header := bearer.Clone()
		if strings.Contains(r.path, "auth_token") {
			header.Del("Authorization")
		}
		a, err := c.Service.Send(r.method, r.path, header, strings.NewReader(r.body))
		if err != nil {
			t.Fatal(r.path, err)
		}
		clean(r.method+" "+r.path+" "+r.body, a)
	}
	// Headers of clients and proxies that no setting trusts.
	auth := "Authorization: Bearer " + c.Token
	for i, header := range []string{
		"X-Request-Id: evil.example\tInjected: yes", "X-Request-Id: " + strings.Repeat("evil.example", 500), "X-Forwarded-Host: evil.example", "X-Forwarded-Proto: evil.example",
		"Forwarded: host=evil.example;for=127.0.0.1", "X-Original-URL: /api/v1/networks/main", "X-Rewrite-URL: /api/v1/networks/main", "X-HTTP-Method-Override: DELETE",
		"X-Forwarded-For: evil.example", "Origin: http://evil.example", "Referer: http://evil.example/", "Prefer: return=evil.example", "Accept: evil.example/x", "Accept-Encoding: evil.example",
		"Range: bytes=0-1", "Expect: evil.example", "Upgrade: h2c\r\nConnection: Upgrade", "Cookie: auth_token=" + c.Token,
	} {
		clean(header, rawRequest(t, c.Service, fmt.Sprintf("PUT /api/v1/teams/h%d?context=main", i), auth, header, "Content-Type: application/json", "Content-Length: 13", "", `{"name": "x"}`))
		clean(header, rawRequest(t, c.Service, "GET /api/v1/teams/h0?context=main", auth, header))
		clean(header, rawRequest(t, c.Service, "GET /api/v1/teams/h0?context=main", header))
	}
	// A token in a cookie is none, and a rewritten path is not looked at.
	if a := rawRequest(t, c.Service, "GET /api/v1/networks/main", "Cookie: auth_token="+c.Token); a == nil || a.Status != 401 {
		t.Errorf("a cookie: %+v", a)
	}
	for _, smuggled := range [][]string{
		{"Content-Length: 5", "Content-Length: 6"}, {"Content-Length: 5", "Transfer-Encoding: chunked"}, {"Transfer-Encoding: chunked", "Transfer-Encoding: identity"},
		{"Transfer-Encoding: xchunked"}, {"Content-Length: +5"}, {"Content-Length: -1"}, {"Content-Length: 5, 5"}, {" Folded: x"},
	} {
		a := rawRequest(t, c.Service, "POST /api/v1/teams/smuggled?context=main", append(append([]string{auth}, smuggled...), "", "0\r\n\r\nGET /api/v1/networks/main HTTP/1.1\r\nHost: x\r\n"+auth+"\r\n\r\n")...)
		clean(strings.Join(smuggled, ", "), a)
		if a != nil && a.Status < 400 {
			t.Errorf("%q is answered with %d", smuggled, a.Status)
		}
	}
}
