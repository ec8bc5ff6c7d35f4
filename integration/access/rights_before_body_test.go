package access

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"marquee/integration/service"
)

// TestRightsComeBeforeBodies has callers announce bodies that they never send:
// those who may not write are refused without them.
func TestRightsComeBeforeBodies(t *testing.T) { service.EachStore(t, testRightsComeBeforeBodies) }

func testRightsComeBeforeBodies(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	c.Send("POST", "/api/v1/roles/reader?context=main", `{"name": "reader", "scope": "NETWORK", "permissions": ["MANAGE_LAYOUTS"]}`, 201, "")
	c.Send("POST", "/api/v1/users/reader", `{"username": "reader", "password": "a password to test with",
		"userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "reader"}]}]}}`, 201, "")
	token, err := c.Service.SignIn("reader")
	if err != nil {
		t.Fatal(err)
	}
	for path, expected := range map[string]string{
		"/api/v1/teams?context=main":                   "403 error.permission.missing",
		"/api/v1/teams/x?context=main":                 "403 error.permission.missing",
		"/api/v1/networks":                             "403 error.permission.missing",
		"/api/v1/networks/main":                        "403 error.permission.missing",
		"/api/v1/networks/other":                       "403 error.permission.missing",
		"/api/v1/users/other":                          "403 error.permission.missing",
		"/api/v1/assets/creative/x?context=main":       "403 error.permission.missing",
		"/api/v1/segments/upload?context=main":         "403 error.permission.missing",
		"/api/v1/teams?context=other":                  "403 error.network.forbidden",
		"/api/v1/teams?context=main&fieldValidation=x": "400 error.parameter.invalid",
		"/api/v1/nothing?context=main":                 "404 error.type.unknown",
	} {
		if a := announce(c, token, path); a != expected {
			t.Errorf("%s: %s, not %s", path, a, expected)
		}
	}
	// What they may write, they are asked for: an object of their own, or layouts.
	for _, path := range []string{"/api/v1/users", "/api/v1/users/reader", "/api/v1/layouts?context=main", "/api/v1/batch?context=main"} {
		if a := announce(c, token, path); a != "100" {
			t.Errorf("%s: %s", path, a)
		}
	}
}

// announce sends the head of a request whose body waits to be asked for, and
// returns the status and the code of the answer.
func announce(c *service.Conversation, token, path string) string {
	c.Helper()
	s, err := net.Dial("tcp", strings.TrimPrefix(c.Service.Server.URL, "http://"))
	if err != nil {
		c.Fatal(err)
	}
	defer s.Close()
	if err := s.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		c.Fatal(err)
	}
	fmt.Fprintf(s, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nExpect: 100-continue\r\nContent-Length: 10000000\r\n\r\n", path, token)
	// ReadResponse passes over no interim answer.
	res, err := http.ReadResponse(bufio.NewReader(s), nil)
	if err != nil {
		c.Fatalf("%s: %v", path, err)
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusContinue {
		return "100"
	}
	var body bytes.Buffer
	_, _ = body.ReadFrom(res.Body)
	_, code, _ := strings.Cut(body.String(), `"code":"`)
	code, _, _ = strings.Cut(code, `"`)
	return fmt.Sprint(res.StatusCode, " ", code)
}

// TestStoppedBodiesHoldNothing has clients stop in the middle of large bodies:
// others are written meanwhile.
func TestStoppedBodiesHoldNothing(t *testing.T) { service.EachStore(t, testStoppedBodies) }

func testStoppedBodies(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	for range 40 {
		s, err := net.Dial("tcp", strings.TrimPrefix(c.Service.Server.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		fmt.Fprintf(s, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 10000000\r\n\r\n", service.Collection, c.Token)
		if _, err := s.Write(bytes.Repeat([]byte(" "), 1<<20+1)); err != nil {
			t.Fatal(err)
		}
	}
	c.Send("POST", service.Collection, `[{"name": "a"}`+strings.Repeat(" ", 2<<20)+`]`, 200, `{"totalCount": 1}`)
}

// TestLittleRightsLittleBatches sends a large batch as a user who can change
// nobody else.
func TestLittleRightsLittleBatches(t *testing.T) { service.EachStore(t, testLittleBatches) }

func testLittleBatches(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	c.Send("POST", "/api/v1/roles/none?context=main", `{"name": "none", "scope": "NETWORK"}`, 201, "")
	c.Send("POST", "/api/v1/users/none", `{"username": "none", "password": "a password to test with",
		"userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "none"}]}]}}`, 201, "")
	token, err := c.Service.SignIn("none")
	if err != nil {
		t.Fatal(err)
	}
	c.Token = token
	batch := `{"operations": [{"type": "users", "object": {"id": "none", "labels": ["mine"]}}]`
	c.Send("POST", "/api/v1/batch?context=main", batch+"}", 200, `{"totalCount": 1}`)
	c.Send("POST", "/api/v1/batch?context=main", batch+strings.Repeat(" ", 1<<20)+"}", 413, `{"messages": [{"code": "error.body.too.large"}]}`)
}
