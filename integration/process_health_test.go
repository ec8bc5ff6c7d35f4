package integration

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestHealth: marquee health says what /readyz says, and ends with 1 when that
// is not "ready" or nobody listens.
func TestHealth(t *testing.T) {
	t.Parallel()
	p := procServe(t, newSQLite(t), "--drain-delay", "1h")
	env := []string{"MARQUEE_URL=" + p.url}
	procWants(t, procRun(t, env, "health"), `"status":"ready"`)
	procWants(t, procRun(t, nil, "health", "--url", p.url+"/"), `"status":"ready"`)
	procWants(t, procFails(t, nil, "health", "--url", p.url+"/elsewhere"), "404", "error.path.unknown")

	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.stderr.await(t, 0, procSays("shutting down"))
	procWants(t, procFails(t, env, "health"), "503", "error.shutting.down")
	p.kill()
	procWants(t, procFails(t, env, "health"), "does not answer")
}

// TestHealthOfAddress: with the address and the certificate of marquee serve, marquee
// health needs no URL, and does not care whose name the certificate has.
func TestHealthOfAddress(t *testing.T) {
	t.Parallel()
	plain := procServe(t, newSQLite(t))
	address, err := hostOf(plain.url)
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(address, ":")
	for _, bound := range []string{address, "0.0.0.0:" + port, ":" + port, "localhost:" + port} {
		procWants(t, procRun(t, []string{"MARQUEE_ADDR=" + bound}, "health"), `"status":"ready"`)
	}
	procWants(t, procRun(t, []string{"MARQUEE_ADDR=192.0.2.1:1", "MARQUEE_TLS_CERT=nothing.pem"}, "health", "--url", plain.url), `"status":"ready"`)
	procWants(t, procFails(t, nil, "health", "--addr", "8080"), "--addr must be")
	procWants(t, procFails(t, nil, "health", "--addr", address, "--tls-cert", "x.pem"), "does not answer")

	certFile, keyFile := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	selfSigned(t, certFile, keyFile, 1) // no authority of the system has signed it
	p := procServe(t, newSQLite(t), "--tls-cert", certFile, "--tls-key", keyFile)
	if address, err = hostOf(p.url); err != nil {
		t.Fatal(err)
	}
	_, port, _ = strings.Cut(address, ":")
	for _, bound := range []string{address, "0.0.0.0:" + port, ":" + port, "localhost:" + port} {
		procWants(t, procRun(t, []string{"MARQUEE_ADDR=" + bound, "MARQUEE_TLS_CERT=" + certFile, "HTTPS_PROXY=http://127.0.0.1:1"}, "health"), `"status":"ready"`)
	}
	procWants(t, procFails(t, []string{"MARQUEE_ADDR=" + address}, "health"), "400", "error.tls.required")
	procWants(t, procFails(t, nil, "health", "--url", p.url), "does not answer", "certificate")
}
