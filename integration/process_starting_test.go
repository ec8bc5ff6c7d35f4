package integration

import (
	"net/http"
	"syscall"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/integration/mongodb"
)

// TestStartingAnswers: while the store is being opened, /healthz says that the process
// is alive, and everything else that it is starting, and with which step.
func TestStartingAnswers(t *testing.T) {
	t.Parallel()
	p := procLaunch(t, procCommand(t, nil, "serve", "--addr", "127.0.0.1:0", "--log-format", "json",
		"--store", "mongodb://127.0.0.1:1/marquee?serverSelectionTimeoutMS=60000"))
	line := procEntry(p.stderr.await(t, 0, procSays("the database does not answer; waiting for it")))
	p.url, _ = line["url"].(string)
	procWants(t, string(p.ask(http.StatusOK, http.MethodGet, "/healthz", "").body), `"status":"ok"`)
	for _, r := range []struct{ method, path string }{{http.MethodGet, "/readyz"}, {http.MethodPost, "/healthz"}, {http.MethodGet, "/"},
		{http.MethodGet, "/api/v1/orders?context=main"}, {http.MethodPost, "/api/authenticate"}, {"BREW", "/nowhere"}} {
		a, err := p.send(r.method, r.path, nil, []byte(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") != "5" || a.header.Get("X-Request-Id") == "" {
			t.Errorf("%s %s: %d %v", r.method, r.path, a.status, a.header)
		}
		procWants(t, string(a.body), `"code":"error.starting"`, `"step":"waiting for the database"`)
	}
	if level := p.requestLine(http.MethodGet, "/readyz", nil, "")["level"]; level != "INFO" {
		t.Errorf("that the service starts is logged as %v", level)
	}
	procWants(t, procFails(t, nil, "health", "--url", p.url), "503", "waiting for the database")
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.ends(128 + int(syscall.SIGTERM))
}

// TestStartOutlivesConnections: a connection to the database that breaks during the
// start does not end it.
func TestStartOutlivesConnections(t *testing.T) {
	t.Parallel()
	set := mongodb.NewReplicaSet(t, 1)
	failing(t, set, "find", bson.D{{Key: "closeConnection", Value: true}})
	p := procLaunch(t, procCommand(t, []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + procPassword}, "serve", "--addr", "127.0.0.1:0", "--log-format", "json", "--store", set.URI("marquee")))
	line := p.stderr.await(t, 0, procSays("the store failed during the start; trying again"))
	failing(t, set, "find", nil)
	if line == "" {
		t.Fatalf("the program ended:\n%s", p.stderr)
	}
	p.listens()
	p.signIn("admin", procPassword)
	p.stop()
}
