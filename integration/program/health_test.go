package program

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestHealth: marquee health says what /readyz says, and ends with 1 when that
// is not "ready" or nobody listens.
func TestHealth(t *testing.T) {
	t.Parallel()
	p := process.Serve(t, service.NewSQLite(t), "--drain-delay", "1h")
	env := []string{"MARQUEE_URL=" + p.URL}
	process.Wants(t, process.Run(t, env, "health"), `"status":"ready"`)
	process.Wants(t, process.Run(t, nil, "health", "--url", p.URL+"/"), `"status":"ready"`)
	process.Wants(t, process.Fails(t, nil, "health", "--url", p.URL+"/elsewhere"), "404", "error.path.unknown")

	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.Stderr.Await(t, 0, service.Says("shutting down"))
	process.Wants(t, process.Fails(t, env, "health"), "503", "error.shutting.down")
	p.Kill()
	process.Wants(t, process.Fails(t, env, "health"), "does not answer")
}

// TestHealthOfAddress: with the address and the certificate of marquee serve, marquee
// health needs no URL, and does not care whose name the certificate has.
func TestHealthOfAddress(t *testing.T) {
	t.Parallel()
	plain := process.Serve(t, service.NewSQLite(t))
	address, err := hostOf(plain.URL)
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(address, ":")
	for _, bound := range []string{address, "0.0.0.0:" + port, ":" + port, "localhost:" + port} {
		process.Wants(t, process.Run(t, []string{"MARQUEE_ADDR=" + bound}, "health"), `"status":"ready"`)
	}
	process.Wants(t, process.Run(t, []string{"MARQUEE_ADDR=192.0.2.1:1", "MARQUEE_TLS_CERT=nothing.pem"}, "health", "--url", plain.URL), `"status":"ready"`)
	process.Wants(t, process.Fails(t, nil, "health", "--addr", "8080"), "--addr must be")
	process.Wants(t, process.Fails(t, nil, "health", "--addr", address, "--tls-cert", "x.pem"), "does not answer")

	certFile, keyFile := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	selfSigned(t, certFile, keyFile, 1) // no authority of the system has signed it
	p := process.Serve(t, service.NewSQLite(t), "--tls-cert", certFile, "--tls-key", keyFile)
	if address, err = hostOf(p.URL); err != nil {
		t.Fatal(err)
	}
	_, port, _ = strings.Cut(address, ":")
	for _, bound := range []string{address, "0.0.0.0:" + port, ":" + port, "localhost:" + port} {
		process.Wants(t, process.Run(t, []string{"MARQUEE_ADDR=" + bound, "MARQUEE_TLS_CERT=" + certFile, "HTTPS_PROXY=http://127.0.0.1:1"}, "health"), `"status":"ready"`)
	}
	process.Wants(t, process.Fails(t, []string{"MARQUEE_ADDR=" + address}, "health"), "400", "error.tls.required")
	process.Wants(t, process.Fails(t, nil, "health", "--url", p.URL), "does not answer", "certificate")
}
