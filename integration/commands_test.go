package integration

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"marquee"
	"marquee/client"
	"marquee/engine/store"
	"marquee/engine/store/mongo"
	"marquee/integration/marqueetest"
	"marquee/integration/mongodb"
	"marquee/integration/service"
)

// teamFerries are types whose objects belong to teams, the ferries by their line.
var teamFerries = fstest.MapFS{
	"ports.json": service.Ferries["ports.json"],
	"lines.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Line", "x-resource": {"path": "lines", "label": "name", "team": ["team"]},
		"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "team": {"type": "string", "x-ref": "teams"}}}`)},
	"ferries.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Ferry", "x-resource": {"path": "ferries", "label": "name", "team": ["line.team"]},
		"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "line": {"type": "string", "x-ref": "lines"}, "home": {"type": "string", "x-ref": "ports"},
		"sister": {"type": "string", "x-ref": "ferries"}}}`)},
}

// commandLog is the commands that a store sends.
type commandLog struct {
	mu       sync.Mutex
	commands []string
}

func (n *commandLog) monitor() *event.CommandMonitor {
	return &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		name, _ := e.Command.Lookup(e.CommandName).StringValueOK()
		if follows(e.CommandName, name, e.Command) {
			return
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		n.commands = append(n.commands, strings.TrimSpace(e.CommandName+" "+name))
	}}
}

// follows reports whether a server sends a command to follow the writes of others, and
// the queue of follow-ups.
func follows(command, collection string, content bson.Raw) bool {
	switch command {
	case "getMore":
		return true
	case "find":
		return collection == "marquee.store" || collection == "engine_followups" && !strings.Contains(content.String(), `"document.moving"`)
	case "aggregate":
		_, err := content.LookupErr("pipeline", "0", "$changeStream")
		return err == nil
	}
	return false
}

// during returns the commands of a call.
func (n *commandLog) during(call func()) (own []string) {
	n.mu.Lock()
	n.commands = nil
	n.mu.Unlock()
	call()
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.commands)
}

// TestCommandsOfASingleWrite: on MongoDB, a write of one object takes at most six
// commands, and shows the names of what it refers to.
func TestCommandsOfASingleWrite(t *testing.T) {
	t.Parallel()
	var sent commandLog
	opened, err := mongo.Open(t.Context(), mongo.Options{URI: mongodb.URI(t), Monitor: sent.monitor()})
	if err != nil {
		t.Fatal(err)
	}
	s := marqueetest.StartWith(t, marquee.Options{Store: opened, Schemas: service.Ferries})
	in := "?context=" + marqueetest.Network
	s.Do(http.MethodPost, "/api/v1/lines/l"+in, `{"name": "Coast"}`, http.StatusCreated)
	s.Do(http.MethodPost, "/api/v1/lines/m"+in, `{"name": "Fjord"}`, http.StatusCreated)
	s.Do(http.MethodPost, "/api/v1/ports/p"+in, `{"name": "Bergen"}`, http.StatusCreated)
	s.Do(http.MethodPost, "/api/v1/ferries/first"+in, `{"name": "First", "line": "l", "home": "p"}`, http.StatusCreated)
	shows := func(answer map[string]any, property, name string) {
		t.Helper()
		if reference, _ := answer[property].(map[string]any); reference["name"] != name && reference["label"] != name {
			t.Errorf("%s is shown as %v, want the name %q", property, answer[property], name)
		}
	}
	fewest := map[string][]string{}
	for n := range 5 { // now and then a request also reads its caller again
		for _, c := range ferryWrites {
			var answer map[string]any
			commands := sent.during(func() {
				answer = s.Do(http.MethodPost, fmt.Sprintf("/api/v1/ferries/second%d%s", n, in), c.body, c.status)
			})
			if before, known := fewest[c.what]; !known || len(commands) < len(before) {
				fewest[c.what] = commands
			}
			shows(answer, "line", c.line)
			shows(answer, "home", "Bergen")
			shows(answer, "sister", "First")
		}
	}
	for _, c := range ferryWrites {
		if commands := fewest[c.what]; len(commands) > c.most {
			t.Errorf("%s takes %d commands, at most %d are expected: %s", c.what, len(commands), c.most, strings.Join(commands, ", "))
		}
		t.Log(c.what, fewest[c.what])
	}
}

// ferryWrites are writes of a ferry, one after another, with the line that they show and
// the most commands that they take.
var ferryWrites = []struct {
	what, body string
	status     int
	line       string
	most       int
}{
	{"a create", `{"name": "Second", "line": "l", "home": "p", "sister": "first", "decks": 2}`, http.StatusCreated, "Coast", 5},
	{"an update of all", `{"name": "Second", "line": "l", "home": "p", "sister": "first", "decks": 3}`, http.StatusOK, "Coast", 5},
	{"another line", `{"line": "m", "home": "p", "sister": "first"}`, http.StatusOK, "Fjord", 6}, // also reads what other types have terms of
	{"a change of one property", `{"decks": 4}`, http.StatusOK, "Fjord", 6},
	{"no change", `{"decks": 4}`, http.StatusOK, "Fjord", 4}, // the driver notes an abort that it does not send
}

// ferryCallers serves ferries of two teams, and returns a user with scope NETWORK, and a
// member of one team.
func ferryCallers(t *testing.T, opened store.Store) map[string]*marqueetest.Server {
	t.Helper()
	s := marqueetest.StartWith(t, marquee.Options{Store: opened, Schemas: teamFerries})
	s.Do(http.MethodPost, "/api/v1/batch?context="+marqueetest.Network, `{"operations": [
		{"type": "roles", "object": {"id": "crew", "name": "Crew", "scope": "TEAM"}},
		{"type": "users", "object": {"id": "anna", "username": "anna", "password": "a password to test with",
			"userRoles": {"rolesByNetwork": [{"network": "`+marqueetest.Network+`", "roles": [{"role": "crew"}]}]}}},
		{"type": "teams", "object": {"id": "north", "name": "North", "users": [{"id": "anna"}]}},
		{"type": "teams", "object": {"id": "south", "name": "South"}},
		{"type": "lines", "object": {"id": "l", "name": "Coast", "team": "north"}},
		{"type": "lines", "object": {"id": "m", "name": "Fjord", "team": "south"}},
		{"type": "ports", "object": {"id": "p", "name": "Bergen"}},
		{"type": "ferries", "object": {"id": "first", "name": "First", "line": "l", "home": "p", "sister": "other"}},
		{"type": "ferries", "object": {"id": "other", "name": "Other", "line": "m", "home": "p"}},
		{"type": "ferries", "object": {"id": "second", "name": "Second", "line": "l", "home": "p", "sister": "first"}}]}`, http.StatusOK)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	anna, err := client.New(s.URL, client.Options{HTTP: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	if err := anna.SignIn(t.Context(), "anna", "a password to test with"); err != nil {
		t.Fatal(err)
	}
	member := *s
	member.Client = &http.Client{Transport: anna.Transport()}
	return map[string]*marqueetest.Server{"NETWORK": s, "TEAM": &member}
}

// TestCommandsOfReads: on MongoDB, one object takes two commands and a page three, for
// callers who see the network and for those who see what their teams have, and both show
// the names that the caller sees.
func TestCommandsOfReads(t *testing.T) {
	t.Parallel()
	var sent commandLog
	opened, err := mongo.Open(t.Context(), mongo.Options{URI: mongodb.URI(t), Monitor: sent.monitor()})
	if err != nil {
		t.Fatal(err)
	}
	sisters := map[string]any{"NETWORK": "Other", "TEAM": nil}
	for scope, caller := range ferryCallers(t, opened) {
		(&service.Service{TB: t, Store: opened}).Remembers()
		for _, c := range []struct {
			what, path string
			most       int
		}{
			{"an object", "/first?", 2},
			{"a property of an object", "/first?fields=sister.id&", 2},
			{"a page", "?", 3},
			{"a page without a count", "?count=false&", 2},
		} {
			var answer map[string]any
			var fewest []string
			for n := range 20 { // now and then the caller is read again, or the objects are counted
				commands := sent.during(func() {
					answer = caller.Do(http.MethodGet, "/api/v1/ferries"+c.path+"context="+marqueetest.Network, "", http.StatusOK)
				})
				if n == 0 || len(commands) < len(fewest) {
					fewest = commands
				}
			}
			if len(fewest) > c.most {
				t.Errorf("scope %s: %s takes %d commands, at most %d are expected: %s", scope, c.what, len(fewest), c.most, strings.Join(fewest, ", "))
			}
			t.Log(scope, c.what, fewest)
			if results, listed := answer["results"].([]any); listed {
				answer = results[0].(map[string]any)
			}
			if sister := answer["sister"].(map[string]any); sister["id"] != "other" || !strings.Contains(c.path, "fields") && sister["name"] != sisters[scope] {
				t.Errorf("scope %s: in %s, the sister is shown as %v, want the name %v", scope, c.what, sister, sisters[scope])
			}
		}
	}
}

// TestWritesWithKeysShareTransactions: on MongoDB, writes that wait at the same time share a
// transaction also if they have idempotency keys, and so do their repetitions.
func TestWritesWithKeysShareTransactions(t *testing.T) {
	t.Parallel()
	const writes = 64
	var sent commandLog
	opened, err := mongo.Open(t.Context(), mongo.Options{URI: mongodb.URI(t), Monitor: sent.monitor()})
	if err != nil {
		t.Fatal(err)
	}
	s := marqueetest.StartWith(t, marquee.Options{Store: opened, Schemas: service.Ferries})
	create := func(n int) (replayed bool, err error) {
		body := fmt.Sprintf(`{"name": "Line %d"}`, n)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/api/v1/lines?context="+marqueetest.Network, strings.NewReader(body))
		if err != nil {
			return false, err
		}
		r.Header.Set("Idempotency-Key", fmt.Sprint("key-", n))
		a, err := s.Client.Do(r)
		if err != nil {
			return false, err
		}
		defer a.Body.Close()
		if a.StatusCode != http.StatusOK {
			return false, fmt.Errorf("the status is %d", a.StatusCode)
		}
		return a.Header.Get("Idempotency-Replayed") == "true", nil
	}
	for _, again := range []bool{false, true} {
		commands := sent.during(func() {
			var clients sync.WaitGroup
			for n := range writes {
				clients.Go(func() {
					if replayed, err := create(n); err != nil || replayed != again {
						t.Errorf("write %d: replayed is %t, want %t: %v", n, replayed, again, err)
					}
				})
			}
			clients.Wait()
		})
		transactions := 0
		for _, command := range commands {
			if strings.HasPrefix(command, "commitTransaction") || strings.HasPrefix(command, "abortTransaction") {
				transactions++
			}
		}
		if transactions > writes/4 {
			t.Errorf("%d writes (repeated: %t) take %d transactions, at most %d are expected", writes, again, transactions, writes/4)
		}
		t.Logf("repeated: %t: %d transactions", again, transactions)
	}
}
