package integration

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"marquee/integration/service"
)

// TestRefusals: a request that reaches no handler, because it is not HTTP, is a problem
// with a request id all the same.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := service.New(t, service.NewSQLite)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	good := "GET /api/v1/tiers?context=main HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token + "\r\n\r\n"
	get := func(target string) string { return "GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n" }
	for name, c := range map[string]struct {
		request string
		status  int
		code    string
	}{
		"bad escape":           {get("/api/v1/tiers/%zz?context=main"), 400, "error.request.syntax"},
		"half an escape":       {get("/api/v1/tiers/a%2"), 400, "error.request.syntax"},
		"bad escape elsewhere": {get("/%"), 400, "error.request.syntax"},
		"no host":              {"GET / HTTP/1.1\r\n\r\n", 400, "error.request.syntax"},
		"no HTTP":              {"hello\r\n\r\n", 400, "error.request.syntax"},
		"a bad header":         {"GET / HTTP/1.1\r\nHost: x\r\na b\r\n\r\n", 400, "error.request.syntax"},
		"an unknown encoding":  {"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: zip\r\n\r\n", 400, "error.request.syntax"},
		"large headers":        {"GET / HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("a", 100_000) + "\r\n\r\n", 431, "error.headers.too.large"},
		"a long path":          {get("/" + strings.Repeat("a", 100_000)), 431, "error.headers.too.large"},
	} {
		for _, before := range []int{0, 2} {
			t.Run(fmt.Sprintf("%s behind %d", name, before), func(t *testing.T) {
				conn, err := net.Dial("tcp", s.Server.Listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				go io.WriteString(conn, strings.Repeat(good, before)+c.request)
				reader := bufio.NewReader(conn)
				for range before {
					if a := readAnswer(t, reader); a.Status != http.StatusOK {
						t.Fatalf("%d %s", a.Status, a.Body)
					}
				}
				a := readAnswer(t, reader)
				if a.Status != c.status || !strings.Contains(string(a.Body), `"code":"`+c.code+`"`) {
					t.Errorf("%d %s", a.Status, a.Body)
				}
				for _, wrong := range a.Promises(false) {
					t.Error(wrong)
				}
				if _, err := reader.ReadByte(); err != io.EOF {
					t.Errorf("more is sent: %v", err)
				}
			})
		}
	}
	// An answer of the service is not touched, whatever it holds.
	text := "HTTP/1.1 400 Bad Request\r\n\r\n400 Bad Request"
	s.Must(token, http.MethodPut, "/api/v1/tiers/t?context=main", fmt.Sprintf("{\"name\": %q}", text), http.StatusCreated)
	if object := s.Must(token, http.MethodGet, "/api/v1/tiers/t?context=main", "", http.StatusOK); object["name"] != text {
		t.Errorf("%q", object["name"])
	}
}

func readAnswer(t *testing.T, reader *bufio.Reader) *service.Answer {
	t.Helper()
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return &service.Answer{Method: http.MethodGet, Status: response.StatusCode, Header: response.Header, Body: body}
}
