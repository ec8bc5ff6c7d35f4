package integration

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"go.mongodb.org/mongo-driver/v2/event"

	"marquee"
	"marquee/engine/store/mongo"
	"marquee/integration/marqueetest"
	"marquee/integration/mongodb"
)

// ferries are types with references, for tests of how they are stored.
var ferries = fstest.MapFS{
	"lines.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Line", "x-resource": {"path": "lines", "label": "name"},
		"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}`)},
	"ports.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Port", "x-resource": {"path": "ports", "label": "name"},
		"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}`)},
	"ferries.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Ferry", "x-resource": {"path": "ferries", "label": "name", "unique": ["callSign"]},
		"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "callSign": {"type": "string"}, "decks": {"type": "integer", "minimum": 1},
		"line": {"type": "string", "x-ref": "lines"}, "home": {"type": "string", "x-ref": "ports"}, "sister": {"type": "string", "x-ref": "ferries"}}}`)},
}

// commandLog is the commands that a store sends.
type commandLog struct {
	mu       sync.Mutex
	commands []string
}

func (n *commandLog) monitor() *event.CommandMonitor {
	return &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		name, _ := e.Command.Lookup(e.CommandName).StringValueOK()
		n.mu.Lock()
		defer n.mu.Unlock()
		n.commands = append(n.commands, strings.TrimSpace(e.CommandName+" "+name))
	}}
}

// during returns the commands of a call, without those by which a server follows what
// others write, and what is left to follow up.
func (n *commandLog) during(call func()) (own []string) {
	n.mu.Lock()
	n.commands = nil
	n.mu.Unlock()
	call()
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, command := range n.commands {
		if command != "find marquee.store" && command != "find engine_followups" && command != "aggregate marquee.commits" && !strings.HasPrefix(command, "getMore") {
			own = append(own, command)
		}
	}
	return own
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
	s := marqueetest.StartWith(t, marquee.Options{Store: opened, Schemas: ferries})
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
	for _, c := range []struct {
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
	} {
		var answer map[string]any
		commands := sent.during(func() { answer = s.Do(http.MethodPost, "/api/v1/ferries/second"+in, c.body, c.status) })
		if len(commands) > c.most {
			t.Errorf("%s takes %d commands, at most %d are expected: %s", c.what, len(commands), c.most, strings.Join(commands, ", "))
		}
		t.Log(c.what, fmt.Sprint(commands))
		shows(answer, "line", c.line)
		shows(answer, "home", "Bergen")
		shows(answer, "sister", "First")
	}
}
