package program

import (
	"net/http"
	"syscall"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/integration/mongodb"
	"marquee/integration/process"
	"marquee/integration/service"
)

// TestStartingAnswers: while the store is being opened, /healthz says that the process
// is alive, and everything else that it is starting, and with which step.
func TestStartingAnswers(t *testing.T) {
	t.Parallel()
	p := process.Launch(t, process.Command(t, nil, "serve", "--addr", "127.0.0.1:0", "--private-addr", "127.0.0.1:0", "--log-format", "json",
		"--store", "mongodb://127.0.0.1:1/marquee?serverSelectionTimeoutMS=60000"))
	line := service.Entry(p.Stderr.Await(t, 0, service.Says("the database does not answer; waiting for it")))
	p.URL, _ = line["url"].(string)
	process.Wants(t, string(p.Ask(http.StatusOK, http.MethodGet, "/healthz", "").Body), `"status":"ok"`)
	for _, r := range []struct{ method, path string }{{http.MethodGet, "/readyz"}, {http.MethodPost, "/healthz"}, {http.MethodGet, "/"},
		{http.MethodGet, "/api/v1/orders?context=main"}, {http.MethodPost, "/api/authenticate"}, {"BREW", "/nowhere"}} {
		a, err := p.Send(r.method, r.path, nil, []byte(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		if a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") != "5" || a.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s %s: %d %v", r.method, r.path, a.Status, a.Header)
		}
		process.Wants(t, string(a.Body), `"code":"error.starting"`, `"step":"waiting for the database"`)
	}
	if level := p.RequestLine(http.MethodGet, "/readyz", nil, "")["level"]; level != "INFO" {
		t.Errorf("that the service starts is logged as %v", level)
	}
	process.Wants(t, process.Fails(t, nil, "health", "--url", p.URL), "503", "waiting for the database")
	// No alert about requests that fail: health checks are counted as such.
	awaitMetric(p, p.Private(), `marquee_requests_total{operation="health",status="5xx"} > 2`)
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.Ends(128 + int(syscall.SIGTERM))
}

// TestStartOutlivesConnections: a connection to the database that breaks during the
// start does not end it.
func TestStartOutlivesConnections(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	set := mongodb.NewReplicaSet(t, 1)
	service.Failing(t, set, "find", bson.D{{Key: "closeConnection", Value: true}})
	p := process.Launch(t, process.Command(t, []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + process.Password}, "serve", "--addr", "127.0.0.1:0", "--log-format", "json", "--store", set.URI("marquee")))
	line := p.Stderr.Await(t, 0, service.Says("the store failed during the start; trying again"))
	service.Failing(t, set, "find", nil)
	if line == "" {
		t.Fatalf("the program ended:\n%s", p.Stderr)
	}
	p.Listens()
	p.SignIn("admin", process.Password)
	p.Stop()
}
