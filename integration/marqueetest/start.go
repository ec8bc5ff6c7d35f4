// Package marqueetest gives tests a server with an empty store: in the process
// (Start), or from the image (Container). It imports package marquee, client, document and
// schema, and Docker's libraries. Begin with Start.
package marqueetest

import (
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"marquee"
	"marquee/client"
	"marquee/engine/document"
	"marquee/engine/schema"
)

// The network, user and password of every server.
const (
	Network  = "main"
	Username = "admin"
	Password = "a password to test with"
)

// Server is a running server. It ends with the test.
type Server struct {
	// URL is where the server listens, without a slash at the end.
	URL string
	// API is signed in as the administrator of Network.
	API *client.Client
	// Client sends requests as the same user, where API has no function.
	Client *http.Client
	// Marquee is the server in the process, nil for one in a container.
	Marquee *marquee.Server

	tb      testing.TB
	options marquee.Options
	web     *httptest.Server
}

// Start serves the types of a folder of schemas, which may be nil, in the process on
// an empty store.
func Start(tb testing.TB, schemas fs.FS) *Server {
	tb.Helper()
	return StartWith(tb, marquee.Options{Schemas: schemas})
}

// StartWith is Start with options. The store is a new one unless they have one, which
// must be empty; Network and its user are made, with the ids that First has.
func StartWith(tb testing.TB, options marquee.Options) *Server {
	tb.Helper()
	if options.Folder == "" {
		options.Folder = tb.TempDir()
	}
	options.First.Network, options.First.Username, options.First.Password = Network, Username, Password
	s := &Server{tb: tb, options: options}
	s.serve(httptest.NewUnstartedServer(nil))
	tb.Cleanup(s.end)
	s.URL = s.web.URL
	s.signIn()
	return s
}

// Restart ends the server, and starts another one with the same options and records at the same
// address. In between, when nobody answers there, it calls a function, which may be nil. A server
// in a container ends the test.
func (s *Server) Restart(meanwhile func()) {
	s.tb.Helper()
	if s.Marquee == nil {
		s.tb.Fatal("a server in a container is not restarted")
	}
	s.end()
	s.Client.CloseIdleConnections()
	if meanwhile != nil {
		meanwhile()
	}
	l, err := net.Listen("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		s.tb.Fatal(err)
	}
	s.serve(&httptest.Server{Listener: l, Config: &http.Server{}})
}

func (s *Server) serve(web *httptest.Server) {
	s.tb.Helper()
	server, err := marquee.New(s.options)
	if err != nil {
		s.tb.Fatal(err)
	}
	web.Listener = server.Listen(web.Config, web.Listener)
	web.Start()
	s.Marquee, s.web = server, web
}

func (s *Server) end() {
	if s.web == nil { // another could not be started
		return
	}
	s.Marquee.Drain() // or followers of changes would be waited for
	s.web.Close()
	s.web = nil
	if err := s.Marquee.Close(); err != nil {
		s.tb.Error(err)
	}
}

// Reload serves the types of another folder of schemas, which may be nil, in place of those
// of the one before it, as a server does whose folder has changed. Schemas that are refused
// end the test, as does a server in a container.
func (s *Server) Reload(schemas fs.FS) {
	s.tb.Helper()
	if s.Marquee == nil {
		s.tb.Fatal("a server in a container has the schemas that it began with")
	}
	var sources []schema.Source
	if schemas != nil {
		sources = append(sources, schema.Source{Name: "schemas", FS: schemas})
	}
	types, err := s.options.Application.Load(sources...)
	if err == nil {
		err = s.Marquee.Migrate(s.tb.Context(), types)
	}
	if err != nil {
		s.tb.Fatal(err)
	}
}

// signIn makes the clients of the administrator.
func (s *Server) signIn() {
	s.tb.Helper()
	transport := &http.Transport{}
	s.tb.Cleanup(transport.CloseIdleConnections)
	api, err := client.New(s.URL, client.Options{HTTP: &http.Client{Transport: transport}})
	if err != nil {
		s.tb.Fatal(err)
	}
	if err := api.SignIn(s.tb.Context(), Username, Password); err != nil {
		s.tb.Fatal(err)
	}
	s.API, s.Client = api, &http.Client{Transport: api.Transport()}
}

// Do sends a request with a JSON body, or none for "", and returns the JSON object
// of the answer, nil if it has none. Its numbers are int64, or float64 if they have a
// fraction. Another status than the wanted one ends the test.
func (s *Server) Do(method, path, body string, status int) map[string]any {
	s.tb.Helper()
	request, err := http.NewRequestWithContext(s.tb.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		s.tb.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := s.Client.Do(request)
	if err != nil {
		s.tb.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		s.tb.Fatal(err)
	}
	if response.StatusCode != status {
		s.tb.Fatalf("%s %s: the status is %d, want %d: %s", method, path, response.StatusCode, status, answer)
	}
	if len(answer) == 0 {
		return nil
	}
	object, err := document.DecodeObject(answer, document.Limits{})
	if err != nil {
		s.tb.Fatalf("%s %s: %v: %s", method, path, err, answer)
	}
	return object
}
