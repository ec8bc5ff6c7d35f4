// Package process gives the suites the real program, in a process of its own: it builds,
// starts, reloads, stops and kills it, and reads what it prints. It may import every
// package. Begin with process.go.
package process

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"marquee/auth/password"
	"marquee/integration/faultydisk"
	"marquee/integration/service"
)

// Password is the bootstrap password of the processes that are started.
const Password = "correct horse, battery & staple's"

var procBuild struct {
	once sync.Once
	dir  string
	err  error
}

// SkipSequential skips a long test that sends one request after another where only
// races are looked for.
func SkipSequential(tb testing.TB) {
	tb.Helper()
	if service.RaceDetector && testing.Short() {
		tb.Skip("many requests, one after another, are slow under the race detector: run 'make race'")
	}
}

// SkipCoveredBy skips a long test with -short, as another one, or a command of .ci/run, tests
// the most important part of the same.
func SkipCoveredBy(tb testing.TB, other string) {
	tb.Helper()
	if testing.Short() {
		tb.Skipf("long: %s tests a part of it; run 'make whole'", other)
	}
}

// SkipLong skips a test with -short, unless MARQUEE_LONG is set, as in .ci/run, which
// runs such tests on MongoDB, or under the race detector.
func SkipLong(tb testing.TB) {
	tb.Helper()
	if testing.Short() && os.Getenv("MARQUEE_LONG") == "" {
		tb.Skip("long tests: run 'make whole'")
	}
	service.NoteLong(tb)
}

// Binary is the program, built once per run of the tests.
func Binary(tb testing.TB) string {
	tb.Helper()
	if service.RaceDetector && testing.Short() {
		tb.Skip("the program starts slowly under the race detector: run 'make race'")
	}
	b := &procBuild
	b.once.Do(func() {
		if b.dir, b.err = os.MkdirTemp("", "marquee-program-"); b.err == nil {
			b.err = buildInto(b.dir)
		}
	})
	if b.err != nil {
		tb.Fatal(b.err)
	}
	return filepath.Join(b.dir, "marquee")
}

// buildInto puts the program into a folder. Packages whose tests run side by side link it once:
// the go command leaves a file alone that is up to date.
func buildInto(dir string) error {
	if err := os.Chmod(dir, 0o755); err != nil { // another user runs it, too
		return err
	}
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "marquee").Output()
	if err != nil {
		return err
	}
	built := filepath.Join(strings.TrimSpace(string(out)), ".cache", "programs", "marquee")
	args := []string{"build", "-o", built}
	if service.RaceDetector {
		built += "-race"
		args = []string{"build", "-race", "-o", built}
	}
	if err := os.MkdirAll(filepath.Dir(built), 0o755); err != nil {
		return err
	}
	lock, err := os.Create(built + ".lock")
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	if out, err := exec.Command("go", append(args, "marquee/cmd/marquee")...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	program, err := os.ReadFile(built)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "marquee"), program, 0o755)
}

// Main runs the tests of a package that starts the program.
func Main(m *testing.M) {
	faultydisk.Enter()
	flag.Parse()
	if testing.Short() {
		password.Cheapen() // With a new user in each test, hashing takes a sixth of the time.
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // Many small servers make much garbage: a fifth of the time.
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(768 << 20) // Beyond that, garbage is collected more often.
	}
	code := m.Run()
	if procBuild.dir != "" {
		os.RemoveAll(procBuild.dir)
	}
	os.Exit(code)
}

// Process is the real program, running.
type Process struct {
	TB             testing.TB
	Cmd            *exec.Cmd
	Stdout, Stderr *service.Output
	Exited         chan struct{}
	Code           int
	URL            string
	Client         *http.Client
	Token          string
}

// Key is the secret key of the processes that share a database; on an
// SQLite file, each makes its own.
const Key = "a2V5IG9mIHRoZSBwcm9jZXNzZXMgb2YgdGhlIHRlc3Q="

// Command is the program with arguments, and no environment but what is
// given and what a store demands.
func Command(tb testing.TB, env []string, args ...string) *exec.Cmd {
	tb.Helper()
	if slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "sqlite:") }) {
		needSQLite(tb)
	}
	cmd := exec.Command(Binary(tb), args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir(), "MARQUEE_DRAIN_DELAY=0s"}, env...)
	if slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "mongodb://") }) {
		cmd.Env = append([]string{"MARQUEE_SECRET_KEY=" + Key}, cmd.Env...)
	}
	cmd.Dir = tb.TempDir()
	return cmd
}

// needSQLite skips a test of the embedded store where MARQUEE_STORES leaves that out. It does
// not skip long tests, which .ci/run runs only beside those on MongoDB, nor tests on MongoDB
// that use a file, too.
func needSQLite(tb testing.TB) {
	tb.Helper()
	if _, of, _ := strings.Cut(tb.Name(), "/"); !service.IsLong(tb) && !strings.HasPrefix(of, "mongodb") {
		service.NeedStore(tb, "sqlite")
	}
}

// Launch starts a command.
func Launch(tb testing.TB, cmd *exec.Cmd) *Process {
	tb.Helper()
	p := &Process{TB: tb, Cmd: cmd, Stdout: service.NewOutput(), Stderr: service.NewOutput(), Exited: make(chan struct{}),
		Client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: service.Patience}}
	cmd.Stdout, cmd.Stderr = p.Stdout, p.Stderr
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // the code is what is of interest
		p.Code = cmd.ProcessState.ExitCode()
		p.Stdout.End()
		p.Stderr.End()
		close(p.Exited)
	}()
	tb.Cleanup(p.Kill)
	return p
}

// Serve starts the service on a store and waits until it listens. Its log
// is JSON.
func Serve(tb testing.TB, store string, args ...string) *Process {
	tb.Helper()
	return ServeWith(tb, store, []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + Password}, args...)
}

// ServeWith is Serve with variables of the environment. It returns once the service listens.
func ServeWith(tb testing.TB, store string, env []string, args ...string) *Process {
	tb.Helper()
	args = append([]string{"serve", "--addr", "127.0.0.1:0", "--log-format", "json", "--store", store}, args...)
	p := Launch(tb, Command(tb, env, args...))
	p.Listens()
	return p
}

// Listens waits until the service listens.
func (p *Process) Listens() {
	p.TB.Helper()
	line := p.Stderr.Await(p.TB, 0, service.Says("listening"))
	if line == "" {
		<-p.Exited
		p.TB.Fatalf("the program ended with %d instead of serving:\n%s%s", p.Code, p.Stdout, p.Stderr)
	}
	p.URL, _ = service.Entry(line)["url"].(string)
}

// Kill ends the process at once, as kill -9 does.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill() // it may have ended
	<-p.Exited
	p.Client.CloseIdleConnections()
}

// Within waits for the end of the process, but no longer than a time.
func (p *Process) Within(limit time.Duration) {
	select {
	case <-p.Exited:
	case <-time.After(limit):
	}
}

// Stop ends the process as an operator does.
func (p *Process) Stop() {
	p.TB.Helper()
	p.Client.CloseIdleConnections()
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.TB.Fatal(err)
	}
	p.Ends(0)
}

// Ends waits for the end of the process, with a code.
func (p *Process) Ends(code int) {
	p.TB.Helper()
	select {
	case <-p.Exited:
	case <-time.After(service.Patience):
		p.TB.Fatalf("the process does not end:\n%s", p.Stderr)
	}
	if p.Code != code {
		p.TB.Fatalf("the process ended with %d instead of %d:\n%s%s", p.Code, code, p.Stdout, p.Stderr)
	}
}

// Fails runs a command that must be refused, and returns what it says.
func Fails(tb testing.TB, env []string, args ...string) string {
	tb.Helper()
	return Refused(tb, Command(tb, env, args...))
}

// Refused runs a command that must fail, and returns what it printed.
func Refused(tb testing.TB, cmd *exec.Cmd) string {
	tb.Helper()
	p := Launch(tb, cmd)
	select {
	case <-p.Exited:
	case <-time.After(service.Patience):
		tb.Fatalf("%v goes on:\n%s%s", cmd.Args, p.Stdout, p.Stderr)
	}
	if p.Code <= 0 {
		tb.Fatalf("%v ended with %d:\n%s%s", cmd.Args, p.Code, p.Stdout, p.Stderr)
	}
	return p.Printed()
}

// Send sends a request with the token of p, if it has one. Where the answer
// broke off, there is an answer and an error.
func (p *Process) Send(method, path string, header http.Header, body []byte) (*service.Answer, error) {
	request, err := http.NewRequest(method, p.URL+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if p.Token != "" {
		request.Header.Set("Authorization", "Bearer "+p.Token)
	}
	for name, values := range header {
		request.Header[name] = values
	}
	response, err := p.Client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	a := &service.Answer{Method: method, Status: response.StatusCode, Header: response.Header}
	a.Body, err = io.ReadAll(response.Body)
	return a, err
}

// Ask sends a request that must get a status.
func (p *Process) Ask(status int, method, path, body string) *service.Answer {
	p.TB.Helper()
	a, err := p.Send(method, path, nil, []byte(body))
	if err != nil {
		p.TB.Fatalf("%s %s: %v", method, path, err)
	}
	if a.Status != status {
		p.TB.Fatalf("%s %s: %d instead of %d: %s", method, path, a.Status, status, a.Body)
	}
	return a
}

// SignIn gets a token, which further requests carry.
func (p *Process) SignIn(username, password string) {
	p.TB.Helper()
	a, err := p.Authenticate(username, password)
	if err != nil {
		p.TB.Fatal(err)
	}
	object, _ := a.JSON().(map[string]any)
	p.Token, _ = object["access_token"].(string)
	if a.Status != http.StatusOK || p.Token == "" {
		p.TB.Fatalf("%s cannot sign in: %d %s", username, a.Status, a.Body)
	}
}

// Authenticate asks for an access token, and returns the answer whatever it is.
func (p *Process) Authenticate(username, password string) (*service.Answer, error) {
	form := url.Values{"grant_type": {"password"}, "username": {username}, "password": {password}}
	return p.Send(http.MethodPost, "/api/authenticate", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}},
		[]byte(form.Encode()))
}

// Wants checks that a text says certain things.
func Wants(tb testing.TB, text string, wanted ...string) {
	tb.Helper()
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			tb.Errorf("%q is not in:\n%s", want, text)
		}
	}
}

// Shuns checks that a text does not say certain things.
func Shuns(tb testing.TB, text string, shunned ...string) {
	tb.Helper()
	for _, shun := range shunned {
		if strings.Contains(text, shun) {
			tb.Errorf("%q is in:\n%s", shun, text)
		}
	}
}

// Run runs a command that must succeed, and returns what it prints.
func Run(tb testing.TB, env []string, args ...string) string {
	tb.Helper()
	p := Launch(tb, Command(tb, env, args...))
	p.Ends(0)
	return p.Printed()
}

// Slow matches what a command prints only if it takes long to open its store, or to count or
// remove values, as on a busy machine.
var Slow = regexp.MustCompile(`(?m)^(?:marquee: (?:[a-z ]+|mongodb://\S+ does not answer; waiting for it) \([0-9.]+m?s\)|(?:counting|removing) values of .*)\n`)

// Printed is what a command has printed, on both streams.
func (p *Process) Printed() string {
	return Slow.ReplaceAllString(p.Stdout.String()+p.Stderr.String(), "")
}

// Shell runs a script and returns what it prints.
func Shell(tb testing.TB, script string, env ...string) (string, error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), service.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return string(out), err
}
