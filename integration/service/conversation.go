package service

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"marquee/engine"
	"marquee/engine/store"
)

// Conversation sends requests as the administrator.
type Conversation struct {
	*testing.T
	Service *Service
	Token   string
}

// Converse starts a service on a new store, and speaks with it as its administrator.
func Converse(t *testing.T, fresh NewStore) *Conversation {
	t.Helper()
	return ConverseWith(t, New(t, fresh))
}

// ConverseWith speaks with a service as its administrator.
func ConverseWith(t *testing.T, s *Service) *Conversation {
	t.Helper()
	token, err := s.SignIn(Admin)
	if err != nil {
		t.Fatal(err)
	}
	return &Conversation{t, s, token}
}

// Patiently restarts the service with a deadline that only a call that hangs exceeds,
// for large calls on a busy machine.
func (c *Conversation) Patiently() {
	c.Service.Stop()
	c.Service.Deadline = 10 * time.Minute
	c.Service.Start()
}

// Send expects a status and a pattern of the body ("" is any).
func (c *Conversation) Send(method, path, body string, status int, pattern string) *Answer {
	c.Helper()
	a, err := c.Service.Send(method, path, http.Header{"Authorization": {"Bearer " + c.Token}}, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	if a.Status != status {
		c.Fatalf("%s %.80s: status is %d, not %d: %.500s\n%s", method, path, a.Status, status, a.Body, c.Service.errors)
	}
	for _, wrong := range a.Promises(false) {
		c.Error(wrong)
	}
	if pattern == "" {
		return a
	}
	expected, err := Decode([]byte(pattern))
	if err != nil {
		c.Fatal(err)
	}
	for _, wrong := range Match(expected, a.JSON(), "", map[string]string{}) {
		c.Errorf("%s %.80s: %s", method, path, wrong)
	}
	return a
}

// Faults counts the messages of a problem.
func (c *Conversation) Faults(a *Answer, n int) {
	c.Helper()
	problem, _ := a.JSON().(map[string]any)
	messages, _ := problem["messages"].([]any)
	if len(messages) != n {
		c.Errorf("there are %d messages, not %d", len(messages), n)
	}
}

// Race sends the same kind of request from several clients at once and counts
// the statuses.
func (c *Conversation) Race(clients int, request func(client int) (method, path, body string, header http.Header)) map[int]int {
	c.Helper()
	var wait sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	for client := range clients {
		wait.Go(func() {
			method, path, body, header := request(client)
			if header == nil {
				header = http.Header{}
			}
			if header.Get("Authorization") == "" {
				header.Set("Authorization", "Bearer "+c.Token)
			}
			a, err := c.Service.Send(method, path, header, strings.NewReader(body))
			if err != nil {
				c.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			statuses[a.Status]++
		})
	}
	wait.Wait()
	return statuses
}

// Only checks how many answers had each status.
func (c *Conversation) Only(statuses map[int]int, want map[int]int) {
	c.Helper()
	if fmt.Sprint(statuses) != fmt.Sprint(want) {
		c.Errorf("statuses are %v, not %v", statuses, want)
	}
}

// Clients is the number of clients of Race.
const Clients = 16

// Operation writes an object of a type.
func (c *Conversation) Operation(name string, object map[string]any) engine.Operation {
	c.Helper()
	found, err := c.Service.Engine.Type(name)
	if err != nil {
		c.Fatal(err)
	}
	return engine.Operation{Type: found, Object: object}
}

// Swap serves the types of a folder in place of those that an engine serves.
func (s *Service) Swap(e *engine.Engine, folder fs.FS) error {
	registry, err := s.Load(folder)
	if err != nil {
		s.TB.Fatal(err)
	}
	return e.Migrate(context.Background(), registry)
}

// Must sends a request as the administrator, demands a status, and decodes.
func (s *Service) Must(token, method, path, body string, status int) map[string]any {
	s.TB.Helper()
	a, err := s.Send(method, path, http.Header{"Authorization": {"Bearer " + token}}, strings.NewReader(body))
	if err != nil {
		s.TB.Fatal(err)
	}
	if a.Status != status {
		s.TB.Fatalf("%s %s: want %d, got %d %s", method, path, status, a.Status, a.Body)
	}
	object, _ := a.JSON().(map[string]any)
	return object
}

// NewServers starts services on one new database.
func NewServers(t *testing.T, n int, schemas ...fs.FS) (servers []*Service, token string) {
	t.Helper()
	return serversWith(t, n, New(t, Reusing(t), schemas...))
}

// NewPlainServers is NewServers without an application.
func NewPlainServers(t *testing.T, n int, schemas ...fs.FS) (servers []*Service, token string) {
	t.Helper()
	return serversWith(t, n, NewPlain(t, Reusing(t), schemas...))
}

func serversWith(t *testing.T, n int, first *Service) (servers []*Service, token string) {
	t.Helper()
	servers = append(servers, first)
	for range n - 1 {
		s := &Service{TB: t, URI: first.URI, Key: first.Key, Schemas: first.Schemas, Plain: first.Plain, Clock: first.Clock, UserID: first.UserID}
		s.Start()
		t.Cleanup(s.End)
		servers = append(servers, s)
	}
	token, err := first.SignIn(Admin)
	if err != nil {
		t.Fatal(err)
	}
	return servers, token
}

// Ask sends a request with a token, or without one if it is "".
func (s *Service) Ask(token, method, path, body string, header http.Header) *Answer {
	s.TB.Helper()
	header = header.Clone()
	if header == nil {
		header = http.Header{}
	}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	a, err := s.Send(method, path, header, strings.NewReader(body))
	if err != nil {
		s.TB.Error(err)
		return &Answer{Header: http.Header{}}
	}
	return a
}

// Remembers waits until the service keeps callers that it has read.
func (s *Service) Remembers() {
	s.TB.Helper()
	for s.TB.Context().Err() == nil {
		if _, known := s.Store.Recent("users"); known {
			return
		}
		select {
		case <-s.TB.Context().Done():
		case <-time.After(5 * time.Millisecond):
		}
	}
	s.TB.Fatal("the store never knows whether collections have changed")
}

// Within asks until the status is the expected one. A request that begins a second
// after the change must be answered with it.
func (s *Service) Within(token, method, path, body string, statuses ...int) {
	s.TB.Helper()
	for changed := time.Now(); ; {
		began := time.Now()
		a := s.Ask(token, method, path, body, nil)
		if slices.Contains(statuses, a.Status) {
			return
		}
		if began.Sub(changed) > store.Freshness {
			s.TB.Fatalf("%s %s %v after the change: %d instead of %d %s", method, path, began.Sub(changed), a.Status, statuses, a.Body)
		}
	}
}

// WriterCount is the number of clients that write at once.
const WriterCount = 64

// Expect returns what is wrong with an answer. Status 0 is any success.
func Expect(a *Answer, status int, parts ...string) string {
	if a.Status != status && (status != 0 || a.Status/100 != 2) {
		return fmt.Sprintf("the status is %d, not %d: %.300s", a.Status, status, a.Body)
	}
	body := strings.ReplaceAll(string(a.Body), `": "`, `":"`)
	for _, part := range parts {
		if !strings.Contains(body, part) {
			return fmt.Sprintf("the answer lacks %s: %.300s", part, a.Body)
		}
	}
	return ""
}

// APIHash is the form in which the store has an API token.
func APIHash(token string) string {
	digest := sha256.Sum256([]byte(token))
	return hex.EncodeToString(digest[:])
}

// APIToken creates an API token of a role, and returns it.
func (s *Service) APIToken(as, id, role string) string {
	s.TB.Helper()
	object := s.Must(as, http.MethodPost, "/api/v1/tokens/"+id+"?context=main", `{"name": "T", "role": "`+role+`"}`, http.StatusCreated)
	token, _ := object["token"].(string)
	if token == "" {
		s.TB.Fatalf("no token is shown: %v", object)
	}
	return token
}

// Follow works through the queue of one server, and returns what it logs.
func (c *Conversation) Follow() string {
	c.Helper()
	var log bytes.Buffer
	if err := c.Service.Engine.FollowAll(c.Context(), slog.New(slog.NewTextHandler(&log, nil))); err != nil {
		c.Fatal(err)
	}
	return log.String()
}
