package program

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestRequestLines: the line of a request says who sent it from where, which
// route it took, and how long that was, in a unit that is named.
func TestRequestLines(t *testing.T) {
	t.Parallel()
	p := process.Serve(t, service.NewSQLite(t), "--trusted-proxies", "127.0.0.0/8,192.0.2.1")
	p.SignIn("admin", process.Password)
	user := p.RequestLine("GET", "/api/v1/users?context=main", nil, "")["user"]
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
		line := p.RequestLine(c.method, c.path, c.header, c.body)
		if line["route"] != c.route || line["client"] != c.client || line["user"] != c.user {
			t.Errorf("%s %s: route %v, client %v, user %v", c.method, c.path, line["route"], line["client"], line["user"])
		}
		if took, ok := line["durationMs"].(float64); !ok || took <= 0 || took > 60_000 {
			t.Errorf("%s %s took %v", c.method, c.path, line["durationMs"])
		}
	}
	long := p.RequestLine("GET", "/api/v1/orders/"+strings.Repeat("x", 20_000)+"?context=main", nil, "")
	if path, _ := long["path"].(string); len(path) > 2000 {
		t.Errorf("%d bytes of a path are logged", len(path))
	}
	p.Stop()
}

// TestForwardedAddressIsNotBelieved: unless a proxy is trusted, a client cannot
// choose its address.
func TestForwardedAddressIsNotBelieved(t *testing.T) {
	t.Parallel()
	p := process.Serve(t, service.NewSQLite(t))
	if line := p.RequestLine("GET", "/healthz", http.Header{"X-Forwarded-For": {"6.6.6.6"}}, ""); line["client"] != "127.0.0.1" {
		t.Errorf("the client is %v", line["client"])
	}
	p.Stop()
	out := process.Fails(t, nil, "serve", "--store", service.NewSQLite(t), "--trusted-proxies", "10.0.0.0/8,proxy")
	process.Wants(t, out, "--trusted-proxies", "proxy", "10.0.0.0/8")
}

// TestFailedSignIns: each is a warning with the name and the address, whatever
// the name is, and never with the password.
func TestFailedSignIns(t *testing.T) { service.EachStore(t, testFailedSignIns) }

func testFailedSignIns(t *testing.T, fresh service.NewStore) {
	p := process.Serve(t, fresh(t))
	long := strings.Repeat("n", 5000)
	for _, name := range []string{"admin", "no\nbody", long} {
		from := p.Stderr.Mark()
		if a, err := p.Authenticate(name, "a wrong password"); err != nil || a.Status != http.StatusBadRequest {
			t.Fatal(a, err)
		}
		line := service.Entry(p.Stderr.Await(t, from, service.Says("sign-in failed")))
		logged, _ := line["username"].(string)
		if logged != name && (name != long || len(logged) > 200 || !strings.HasPrefix(name, strings.TrimSuffix(logged, "…"))) {
			t.Errorf("the name is %q", logged)
		}
		if line["level"] != "WARN" || line["client"] != "127.0.0.1" || line["requestId"] == nil || line["code"] == nil {
			t.Errorf("%v", line)
		}
	}
	p.SignIn("admin", process.Password)
	p.Stop()
	process.Shuns(t, p.Stderr.String(), "a wrong password", process.Password)
	if n := strings.Count(p.Stderr.String(), "sign-in failed"); n != 3 {
		t.Errorf("%d sign-ins failed", n)
	}
}

// TestHangup: SIGHUP has the schemas read again, or is ignored, and never ends
// the service, also not while it starts.
func TestHangup(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	dir := process.FolderOf(t, filepath.Join(t.TempDir(), "schemas"), "a")
	hangUp := func(p *process.Process) func() error {
		return func() error { return p.Cmd.Process.Signal(syscall.SIGHUP) }
	}
	f := process.Folder{Process: process.Serve(t, service.NewSQLite(t), "--schemas", dir), Dir: dir}
	f.Change(process.Loaded, hangUp(f.Process))
	f.Stop()

	plain := process.Folder{Process: process.Serve(t, service.NewSQLite(t)), Dir: ""}
	plain.Awaits("SIGHUP was ignored: without --schemas there are no files to read again", hangUp(plain.Process))
	plain.Ask(http.StatusOK, http.MethodGet, "/readyz", "")
	plain.Stop()

	// While the service waits for a database that does not answer.
	waits := process.Launch(t, process.Command(t, nil, "serve", "--addr", "127.0.0.1:0", "--log-format", "json",
		"--store", "mongodb://127.0.0.1:1/marquee?replicaSet=rs0"))
	waits.Stderr.Await(t, 0, service.Says("the database does not answer; waiting for it"))
	if err := hangUp(waits)(); err != nil {
		t.Fatal(err)
	}
	waits.Stderr.Await(t, waits.Stderr.Mark(), service.Says("the database does not answer; waiting for it"))
	if err := waits.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waits.Ends(128 + int(syscall.SIGTERM))
}

// TestEndIsLogged: why a service does not start is a line of the log, in the
// log's format.
func TestEndIsLogged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	process.File(t, filepath.Join(dir, "bad.json"), `{"type": "object"}`)
	for name, args := range map[string][]string{
		"schemas": {"--schemas", dir},
		"store":   {"--store", "sqlite:" + dir},
		"setting": {"--clock-interval", "0s"},
		"usage":   {"--read-timeout", "soon"},
		"flag":    {"--no-such-flag"},
	} {
		out := process.Fails(t, []string{"MARQUEE_LOG_FORMAT=json"}, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
		for line := range strings.Lines(out) {
			if entry := service.Entry(line); entry == nil || entry["level"] != "ERROR" {
				t.Errorf("%s: %s", name, line)
			}
		}
		process.Wants(t, out, `"msg":"marquee serve ended"`)
	}
	process.Wants(t, process.Fails(t, nil, "serve", "--addr", "127.0.0.1:0", "--store", "sqlite:"+dir), `level=ERROR msg="marquee serve ended" reason=`)
}

// TestMisspeltVariables: a variable that looks like a setting and is none is
// named, with the setting that is nearest, by every command; others are not.
func TestMisspeltVariables(t *testing.T) {
	t.Parallel()
	env := []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + process.Password, "MARQUEE_BOOTSTRAP_PASWORD=hunter2secret", "MARQUEE_ZZZZZZZZ=1",
		"MARQUEE_IMAGE=x", "MARQUEE_TEST_MONGOD=x", "MARQUEE_SERVICE_HOST=10.0.0.1", "MARQUEE_PORT=tcp://10.0.0.1:80", "MARQUEE_PORT_80_TCP_ADDR=10.0.0.1"}
	p := process.ServeWith(t, service.NewSQLite(t), env)
	p.Stop()
	out := p.Stderr.String()
	said := []string{"there is no setting MARQUEE_BOOTSTRAP_PASWORD: did you mean MARQUEE_BOOTSTRAP_PASSWORD?", "there is no setting MARQUEE_ZZZZZZZZ"}
	process.Wants(t, out, said...)
	process.Shuns(t, out, "hunter2secret", "setting MARQUEE_IMAGE", "setting MARQUEE_TEST", "setting MARQUEE_SERVICE", "setting MARQUEE_PORT")
	if n := strings.Count(out, `"level":"WARN"`); n != 2 {
		t.Errorf("%d warnings:\n%s", n, out)
	}
	process.Wants(t, process.Run(t, env, "version"), said...)
	process.Wants(t, process.Run(t, env, "schema", "lint", process.FolderOf(t, t.TempDir(), "a")), said...)
}

// TestVersion: what the build has set, or the commit, is in the log, in /healthz
// and on the command line.
func TestVersion(t *testing.T) {
	t.Parallel()
	version := strings.TrimSpace(process.Run(t, nil, "version"))
	if version == "" || strings.TrimSpace(process.Run(t, nil, "--version")) != version {
		t.Errorf("the version is %q", version)
	}
	p := process.Serve(t, service.NewSQLite(t))
	if entry := service.Entry(p.Stderr.Await(t, 0, service.Says("listening"))); entry["version"] != version {
		t.Errorf("the log says %v", entry["version"])
	}
	process.Wants(t, string(p.Ask(http.StatusOK, http.MethodGet, "/healthz", "").Body), `"version":"`+version+`"`)
	p.Stop()
	makefile, err := os.ReadFile("../../Makefile")
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
		out := process.Fails(t, nil, args...)
		process.Wants(t, out, "marquee: "+args[1]+" needs a value\n")
		process.Shuns(t, out, "EOL")
	}
}

// TestLostPassword: what a later start prints sets a new password.
func TestLostPassword(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	store := service.NewSQLite(t)
	first := process.ServeWith(t, store, nil, "--demo")
	first.SignIn("admin", first.MadePassword())
	first.Stop()
	process.Shuns(t, first.Stdout.String(), "If the password is lost")
	next := process.ServeWith(t, store, nil, "--demo")
	line := next.Stdout.Await(t, 0, func(line string) bool { return strings.Contains(line, " user passwd ") })
	if _, err := process.Shell(t, "cd "+t.TempDir()+" && echo a new password | "+line); err != nil {
		t.Fatal(err)
	}
	next.Stop()
	last := process.Serve(t, store)
	last.SignIn("admin", "a new password")
	last.Stop()
}
