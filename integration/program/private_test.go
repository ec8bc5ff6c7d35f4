package program

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"marquee/integration/process"
	"marquee/integration/service"
)

// privately serves with a private address, and returns the URL of that.
func privately(t *testing.T, store string, args ...string) (p *process.Process, private string) {
	t.Helper()
	p = process.Serve(t, store, append([]string{"--private-addr", "127.0.0.1:0"}, args...)...)
	return p, p.Private()
}

// asked returns the response to a request without a token.
func asked(t *testing.T, client *http.Client, method, url string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(text)
}

// TestMetrics: the private address has metrics that count requests, transactions and sign-ins.
func TestMetrics(t *testing.T) { service.EachStore(t, testMetrics) }

func testMetrics(t *testing.T, fresh service.NewStore) {
	p, private := privately(t, fresh(t))
	p.SignIn("admin", process.Password)
	if a, err := p.Authenticate("admin", "wrong"); err != nil || a.Status != http.StatusBadRequest {
		t.Fatal(a, err)
	}
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/tiers/one?context=main", `{"name": "One"}`)
	p.Ask(http.StatusOK, http.MethodGet, "/api/v1/tiers/one?context=main", "")
	p.Ask(http.StatusOK, http.MethodPost, "/api/v1/batch?context=main", `{"operations": [{"type": "tiers", "object": {"name": "Two"}},
		{"type": "tiers", "object": {"name": "Three"}}, {"type": "advertisers", "object": {"name": "A"}}]}`)
	p.Ask(http.StatusNotFound, http.MethodGet, "/nowhere", "")
	status, text := asked(t, p.Client, http.MethodGet, private+"/metrics")
	if status != http.StatusOK {
		t.Fatal(status, text)
	}
	process.Wants(t, text,
		`marquee_requests_total{operation="write",status="2xx"} 1`+"\n",
		`marquee_requests_total{operation="read",status="2xx"} 1`+"\n",
		`marquee_requests_total{operation="unknown",status="4xx"} 1`+"\n",
		`marquee_type_requests_total{operation="write",type="tiers"} 1`+"\n",
		`marquee_type_requests_total{operation="write",type="orders"} 0`+"\n",
		`marquee_type_requests_total{operation="batch",type="tiers"} 1`+"\n",
		`marquee_type_requests_total{operation="batch",type="advertisers"} 1`+"\n",
		`marquee_request_duration_seconds_count{operation="read"} 1`+"\n",
		`marquee_sign_ins_total{result="accepted"} 1`+"\n", `marquee_sign_ins_total{result="refused"} 1`+"\n",
		"marquee_started 1\n", "marquee_connections_max 2048\n", "go_goroutines", "process_start_time_seconds")
	process.Shuns(t, text, "marquee_store_transactions_total 0\n", "marquee_store_commit_duration_seconds_count 0\n",
		"marquee_store_group_transactions_count 0\n", "marquee_store_write_wait_seconds_count 0\n",
		`marquee_cache_requests_total{cache="sessions",result="hit"} 0`+"\n", `marquee_memory_budget_bytes{part="work"} 0`+"\n",
		`marquee_request_wait_seconds_count{for="store"} 0`+"\n", "marquee_spool_budget_bytes 0\n", "marquee_connections_open 0\n",
		"marquee_schema_types 0\n", "marquee_sqlite_wal_bytes 0\n", "marquee_sqlite_readers_max 0\n",
		"marquee_store_connection_wait_seconds_count 0\n", "marquee_sqlite_file_bytes 0\n", "marquee_mongodb_connections 0\n", "marquee_mongodb_window_bytes 0\n")
	if profile, _ := asked(t, p.Client, http.MethodGet, private+"/debug/pprof/heap"); profile != http.StatusOK {
		t.Errorf("the profile is %d", profile)
	}
	for _, path := range []string{"/debug/pprof/profile?seconds=121", "/debug/pprof/trace?seconds=120.5", "/debug/pprof/heap?seconds=121"} {
		if status, _ := asked(t, p.Client, http.MethodGet, private+path); status != http.StatusBadRequest {
			t.Errorf("%s is %d", path, status)
		}
	}
	for _, path := range []string{"/", "/debug/pprof/cmdline", "/api/v1/orders", "/healthz"} {
		if status, _ := asked(t, p.Client, http.MethodGet, private+path); status != http.StatusNotFound {
			t.Errorf("%s of the private address is %d", path, status)
		}
	}
	p.Stop()
}

// TestPrivateIsNotPublic: the public address has none of it, also not by tricks with paths,
// with HTTP/2, or for a user.
func TestPrivateIsNotPublic(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	pool := selfSigned(t, cert, key, 1)
	p, _ := privately(t, service.NewSQLite(t), "--tls-cert", cert, "--tls-key", key)
	for _, http2 := range []bool{false, true} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: http2}
		client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		for _, path := range []string{"/metrics", "/metrics/", "//metrics", "/./metrics", "/x/../metrics", "/%6detrics", "/metrics%2f", "/metrics;x", "/METRICS",
			"/debug/pprof", "/debug/pprof/", "/debug/pprof/heap", "/debug//pprof/heap", "/debug/pprof/profile", "/debug%2fpprof%2fheap", "/docs/../metrics", "/console/../metrics", "/console/%2E./metrics", "/api/v1/../../metrics",
			"/api/v1/../../debug/pprof/", "/api/v1/tiers/../../../metrics", "/api/v1/%2e%2e/%2e%2e/log", "/log", "/log/", "/%6cog"} {
			for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodPost, "FOO"} {
				target, err := url.Parse(p.URL)
				if err != nil {
					t.Fatal(err)
				}
				target.Opaque = "//" + target.Host + path // as it is written here
				a, err := client.Do(&http.Request{Method: method, URL: target, Host: target.Host, Header: http.Header{}})
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(a.Body)
				a.Body.Close()
				if err != nil || a.StatusCode != http.StatusNotFound || a.ProtoMajor == 2 != http2 || strings.Contains(string(text), "marquee_") {
					t.Errorf("%s %s (%s): %d", method, path, a.Proto, a.StatusCode)
				}
			}
		}
		transport.CloseIdleConnections()
	}
	p.Stop()
}

// TestPrivateAddressInUse: a start that cannot listen at the private address fails, and names
// it.
func TestPrivateAddressInUse(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()
	process.Wants(t, process.Fails(t, nil, "serve", "--addr", "127.0.0.1:0", "--private-addr", address, "--store", service.NewSQLite(t)), "cannot listen at "+address)
	process.Wants(t, process.Fails(t, nil, "serve", "--addr", "127.0.0.1:0", "--private-addr", "nowhere", "--store", service.NewSQLite(t)), "--private-addr must be a host and a port")
}

// TestHangingScrapers: connections to the private address that read nothing, and send nothing more,
// keep nobody from being served by the public address, and by the private one for some seconds.
func TestHangingScrapers(t *testing.T) {
	t.Parallel()
	p, private := privately(t, service.NewSQLite(t))
	for range 16 { // all that the address has
		c, err := net.Dial("tcp", strings.TrimPrefix(private, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprint(c, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
	}
	p.Ask(http.StatusOK, http.MethodGet, "/readyz", "")
	patient := &http.Client{Transport: p.Client.Transport, Timeout: 20 * time.Second}
	if status, _ := asked(t, patient, http.MethodGet, private+"/metrics"); status != http.StatusOK {
		t.Errorf("the metrics are %d", status)
	}
	p.Stop()
}

// TestLogLevel: PUT /log changes the level for a time, after which it is the configured one.
func TestLogLevel(t *testing.T) {
	t.Parallel()
	p, private := privately(t, service.NewSQLite(t), "--log-level", "info")
	for _, wrong := range []string{"", "level=loud", "level=debug&for=soon", "level=debug&for=-1m", "level=debug&for=25h", "level=debug&fro=1m", "level=debug&level=info", "level=debug&for=", "level=debug&for=1m;x", "level=debug&context=main"} {
		if status, text := asked(t, p.Client, http.MethodPut, private+"/log?"+wrong); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", wrong, status, text)
		}
	}
	if status, text := asked(t, p.Client, http.MethodGet, private+"/log?level=debug"); status != http.StatusBadRequest || text != "GET /log has these parameters, each once: none\n" {
		t.Error(status, text)
	}
	if _, text := asked(t, p.Client, http.MethodGet, private+"/log"); text != `{"level":"info"}`+"\n" {
		t.Error(text)
	}
	from := p.Stderr.Mark()
	if status, text := asked(t, p.Client, http.MethodPut, private+"/log?level=warn&for=10m"); status != http.StatusOK || !strings.Contains(text, `"level":"warn","until":"`) {
		t.Error(status, text)
	}
	p.Ask(http.StatusOK, http.MethodGet, "/healthz", "")
	if status, text := asked(t, p.Client, http.MethodPut, private+"/log?level=warn&for=100ms"); status != http.StatusOK {
		t.Error(status, text)
	}
	p.Stderr.Await(t, from, service.Says("the level of the log is the configured one again"))
	process.Shuns(t, p.Stderr.String()[from:], `"path":"/healthz"`)
	p.Ask(http.StatusOK, http.MethodGet, "/healthz", "")
	p.Stderr.Await(t, from, service.Says("request"))

	from = p.Stderr.Mark()
	if status, text := asked(t, p.Client, http.MethodPut, private+"/log?level=error"); status != http.StatusOK {
		t.Error(status, text)
	}
	if line := service.Entry(p.Stderr.Await(t, from, service.Says("the level of the log was changed"))); line["level"] != "WARN" || line["to"] != "error" {
		t.Errorf("%v", line)
	}
	p.Stop()
}
