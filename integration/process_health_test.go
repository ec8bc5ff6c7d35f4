package integration

import (
	"syscall"
	"testing"
)

// TestHealth: marquee health says what /readyz says, and ends with 1 when that
// is not "ready" or nobody listens.
func TestHealth(t *testing.T) {
	t.Parallel()
	p := procServe(t, newSQLite(t), "--drain-delay", "1h")
	env := []string{"MARQUEE_URL=" + p.url}
	procWants(t, procRun(t, env, "health"), `{"status":"ready"}`)
	procWants(t, procRun(t, nil, "health", "--url", p.url+"/"), `{"status":"ready"}`)
	procWants(t, procFails(t, nil, "health", "--url", p.url+"/elsewhere"), "404", "error.path.unknown")

	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.stderr.await(t, 0, procSays("shutting down"))
	procWants(t, procFails(t, env, "health"), "503", "error.shutting.down")
	p.kill()
	procWants(t, procFails(t, env, "health"), "does not answer")
}
