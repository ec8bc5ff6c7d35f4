package integration

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// requestLine sends a request and returns its line of the log.
func (p *proc) requestLine(method, path string, header http.Header, body string) map[string]any {
	p.tb.Helper()
	a, err := p.send(method, path, header, []byte(body))
	if err != nil {
		p.tb.Fatal(err)
	}
	id := a.header.Get("X-Request-Id")
	return procEntry(p.stderr.await(p.tb, 0, func(line string) bool {
		entry := procEntry(line)
		return entry["msg"] == "request" && entry["requestId"] == id
	}))
}

// TestRequestLines: the line of a request says who sent it from where, which
// route it took, and how long that was, in a unit that is named.
func TestRequestLines(t *testing.T) {
	t.Parallel()
	p := procServe(t, newSQLite(t), "--trusted-proxies", "127.0.0.0/8,192.0.2.1")
	p.signIn("admin", procPassword)
	user := p.requestLine("GET", "/api/v1/users?context=main", nil, "")["user"]
	if id, _ := user.(string); id == "" {
		t.Fatalf("the user is %v", user)
	}
	sent := func(addresses string) http.Header { return http.Header{"X-Forwarded-For": {addresses}} }
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Authorization": nil}
	for _, c := range []struct {
		method, path  string
		header        http.Header
		body          string
		route, client any
		user          any
	}{
		{"GET", "/api/v1/orders/a%2Fb?context=main", nil, "", "/api/v1/orders/{id}", "127.0.0.1", user},
		{"POST", "/api/v1/orders?context=main", sent("198.51.100.7"), "[]", "/api/v1/orders", "198.51.100.7", user},
		{"GET", "/api/v1/assets/c/a?context=main", sent("6.6.6.6, 198.51.100.7, 192.0.2.1"), "", "/api/v1/assets/{creative}/{id}", "198.51.100.7", user},
		{"GET", "/api/v1/audit?context=main", sent("nonsense"), "", "/api/v1/audit", "127.0.0.1", user},
		{"GET", "/api/v1/nothing", nil, "", nil, "127.0.0.1", user},
		{"GET", "/nowhere", nil, "", nil, "127.0.0.1", nil},
		{"GET", "/healthz/", http.Header{"X-Real-Ip": {"6.6.6.6"}}, "", "/healthz", "127.0.0.1", nil},
		{"GET", "/delivery/none/x", nil, "", "/delivery/{below}", "127.0.0.1", nil},
		{"POST", "/api/authenticate", form, "grant_type=password&username=admin&password=wrong", "/api/authenticate", "127.0.0.1", nil},
	} {
		line := p.requestLine(c.method, c.path, c.header, c.body)
		if line["route"] != c.route || line["client"] != c.client || line["user"] != c.user {
			t.Errorf("%s %s: route %v, client %v, user %v", c.method, c.path, line["route"], line["client"], line["user"])
		}
		if took, ok := line["durationMs"].(float64); !ok || took <= 0 || took > 60_000 {
			t.Errorf("%s %s took %v", c.method, c.path, line["durationMs"])
		}
	}
	long := p.requestLine("GET", "/api/v1/orders/"+strings.Repeat("x", 20_000)+"?context=main", nil, "")
	if path, _ := long["path"].(string); len(path) > 2000 {
		t.Errorf("%d bytes of a path are logged", len(path))
	}
	p.stop()
}

// TestForwardedAddressIsNotBelieved: unless a proxy is trusted, a client cannot
// choose its address.
func TestForwardedAddressIsNotBelieved(t *testing.T) {
	t.Parallel()
	p := procServe(t, newSQLite(t))
	if line := p.requestLine("GET", "/healthz", http.Header{"X-Forwarded-For": {"6.6.6.6"}}, ""); line["client"] != "127.0.0.1" {
		t.Errorf("the client is %v", line["client"])
	}
	p.stop()
	out := procFails(t, nil, "serve", "--store", newSQLite(t), "--trusted-proxies", "10.0.0.0/8,proxy")
	procWants(t, out, "--trusted-proxies", "proxy", "10.0.0.0/8")
}

// TestFailedSignIns: each is a warning with the name and the address, whatever
// the name is, and never with the password.
func TestFailedSignIns(t *testing.T) { eachStore(t, testFailedSignIns) }

func testFailedSignIns(t *testing.T, fresh newStore) {
	p := procServe(t, fresh(t))
	long := strings.Repeat("n", 5000)
	for _, name := range []string{"admin", "no\nbody", long} {
		from := p.stderr.mark()
		if a, err := p.authenticate(name, "a wrong password"); err != nil || a.status != http.StatusBadRequest {
			t.Fatal(a, err)
		}
		line := procEntry(p.stderr.await(t, from, procSays("sign-in failed")))
		logged, _ := line["username"].(string)
		if logged != name && (name != long || len(logged) > 200 || !strings.HasPrefix(name, strings.TrimSuffix(logged, "…"))) {
			t.Errorf("the name is %q", logged)
		}
		if line["level"] != "WARN" || line["client"] != "127.0.0.1" || line["requestId"] == nil || line["code"] == nil {
			t.Errorf("%v", line)
		}
	}
	p.signIn("admin", procPassword)
	p.stop()
	procShuns(t, p.stderr.String(), "a wrong password", procPassword)
	if n := strings.Count(p.stderr.String(), "sign-in failed"); n != 3 {
		t.Errorf("%d sign-ins failed", n)
	}
}

// TestHangup: SIGHUP has the schemas read again, or is ignored, and never ends
// the service, also not while it starts.
func TestHangup(t *testing.T) {
	t.Parallel()
	dir := procFolderOf(t, filepath.Join(t.TempDir(), "schemas"), "a")
	hangUp := func(p *proc) func() error {
		return func() error { return p.cmd.Process.Signal(syscall.SIGHUP) }
	}
	f := procFolder{procServe(t, newSQLite(t), "--schemas", dir), dir}
	f.change(procLoaded, hangUp(f.proc))
	f.stop()

	plain := procFolder{procServe(t, newSQLite(t)), ""}
	plain.awaits("SIGHUP was ignored: without --schemas there are no files to read again", hangUp(plain.proc))
	plain.ask(http.StatusOK, http.MethodGet, "/readyz", "")
	plain.stop()

	// While the service waits for a database that does not answer.
	waits := procLaunch(t, procCommand(t, nil, "serve", "--addr", "127.0.0.1:0", "--log-format", "json",
		"--store", "mongodb://127.0.0.1:1/marquee?replicaSet=rs0"))
	waits.stderr.await(t, 0, procSays("the database does not answer; waiting for it"))
	if err := hangUp(waits)(); err != nil {
		t.Fatal(err)
	}
	waits.stderr.await(t, waits.stderr.mark(), procSays("the database does not answer; waiting for it"))
	if err := waits.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waits.ends(128 + int(syscall.SIGTERM))
}

// TestEndIsLogged: why a service does not start is a line of the log, in the
// log's format.
func TestEndIsLogged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	procFile(t, filepath.Join(dir, "bad.json"), `{"type": "object"}`)
	for name, args := range map[string][]string{
		"schemas": {"--schemas", dir},
		"store":   {"--store", "sqlite:" + dir},
		"setting": {"--clock-interval", "0s"},
		"usage":   {"--read-timeout", "soon"},
		"flag":    {"--no-such-flag"},
	} {
		out := procFails(t, []string{"MARQUEE_LOG_FORMAT=json"}, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
		for line := range strings.Lines(out) {
			if entry := procEntry(line); entry == nil || entry["level"] != "ERROR" {
				t.Errorf("%s: %s", name, line)
			}
		}
		procWants(t, out, `"msg":"marquee serve ended"`)
	}
	procWants(t, procFails(t, nil, "serve", "--addr", "127.0.0.1:0", "--store", "sqlite:"+dir), `level=ERROR msg="marquee serve ended" reason=`)
}

// TestMisspeltVariables: a variable that looks like a setting and is none is
// named, with the setting that is nearest, by every command; others are not.
func TestMisspeltVariables(t *testing.T) {
	t.Parallel()
	env := []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + procPassword, "MARQUEE_BOOTSTRAP_PASWORD=hunter2secret", "MARQUEE_ZZZZZZZZ=1",
		"MARQUEE_IMAGE=x", "MARQUEE_TEST_MONGOD=x", "MARQUEE_SERVICE_HOST=10.0.0.1", "MARQUEE_PORT=tcp://10.0.0.1:80", "MARQUEE_PORT_80_TCP_ADDR=10.0.0.1"}
	p := procServeWith(t, newSQLite(t), env)
	p.stop()
	out := p.stderr.String()
	said := []string{"there is no setting MARQUEE_BOOTSTRAP_PASWORD: did you mean MARQUEE_BOOTSTRAP_PASSWORD?", "there is no setting MARQUEE_ZZZZZZZZ"}
	procWants(t, out, said...)
	procShuns(t, out, "hunter2secret", "setting MARQUEE_IMAGE", "setting MARQUEE_TEST", "setting MARQUEE_SERVICE", "setting MARQUEE_PORT")
	if n := strings.Count(out, `"level":"WARN"`); n != 2 {
		t.Errorf("%d warnings:\n%s", n, out)
	}
	procWants(t, procRun(t, env, "version"), said...)
	procWants(t, procRun(t, env, "schema", "lint", procFolderOf(t, t.TempDir(), "a")), said...)
}

// TestVersion: what the build has set, or the commit, is in the log, in /healthz
// and on the command line.
func TestVersion(t *testing.T) {
	t.Parallel()
	version := strings.TrimSpace(procRun(t, nil, "version"))
	if version == "" || strings.TrimSpace(procRun(t, nil, "--version")) != version {
		t.Errorf("the version is %q", version)
	}
	p := procServe(t, newSQLite(t))
	if entry := procEntry(p.stderr.await(t, 0, procSays("listening"))); entry["version"] != version {
		t.Errorf("the log says %v", entry["version"])
	}
	procWants(t, string(p.ask(http.StatusOK, http.MethodGet, "/healthz", "").body), `"version":"`+version+`"`)
	p.stop()
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(makefile)) {
		if strings.Contains(line, "-o bin/") && !strings.Contains(line, "-X main.version=$(VERSION)") {
			t.Errorf("no version is set by %s", line)
		}
	}
}

// TestFlagWithoutValue: the flag is named in the words of this program.
func TestFlagWithoutValue(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"serve", "--schemas"}, {"serve", "--schemas", "--demo"}, {"serve", "--clock-interval"}} {
		out := procFails(t, nil, args...)
		procWants(t, out, "marquee: "+args[1]+" needs a value\n")
		procShuns(t, out, "EOL")
	}
}

// TestLostPassword: what a later start prints sets a new password.
func TestLostPassword(t *testing.T) {
	t.Parallel()
	store := newSQLite(t)
	first := procServeWith(t, store, nil, "--demo")
	first.signIn("admin", first.madePassword())
	first.stop()
	procShuns(t, first.stdout.String(), "If the password is lost")
	next := procServeWith(t, store, nil, "--demo")
	line := next.stdout.await(t, 0, func(line string) bool { return strings.Contains(line, " user passwd ") })
	if _, err := procShell(t, "cd "+t.TempDir()+" && echo a new password | "+line); err != nil {
		t.Fatal(err)
	}
	next.stop()
	last := procServe(t, store)
	last.signIn("admin", "a new password")
	last.stop()
}
