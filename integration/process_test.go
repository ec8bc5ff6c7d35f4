package integration

import (
	"bytes"
	"context"
	"errors"
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

	"marquee/integration/faultydisk"
)

// procPassword is the bootstrap password of the processes that are started.
const procPassword = "correct horse, battery & staple's"

var procBuild struct {
	once sync.Once
	dir  string
	err  error
}

// skipSequential skips a long test that sends one request after another where only
// races are looked for.
func skipSequential(tb testing.TB) {
	tb.Helper()
	if procRace && testing.Short() {
		tb.Skip("many requests, one after another, are slow under the race detector: run 'make race'")
	}
}

// procBinary is the program, built once per run of the tests.
func procBinary(tb testing.TB) string {
	tb.Helper()
	if procRace && testing.Short() {
		tb.Skip("the program starts slowly under the race detector: run 'make race'")
	}
	b := &procBuild
	b.once.Do(func() {
		if b.dir, b.err = os.MkdirTemp("", "marquee-program-"); b.err != nil {
			return
		}
		b.err = os.Chmod(b.dir, 0o755) // another user runs it, too
		args := []string{"build", "-o", filepath.Join(b.dir, "marquee")}
		if procRace {
			args = append(args, "-race")
		}
		build := exec.Command("go", append(args, "./cmd/marquee")...)
		build.Dir = ".."
		if out, err := build.CombinedOutput(); err != nil {
			b.err = fmt.Errorf("%w\n%s", err, out)
		}
	})
	if b.err != nil {
		tb.Fatal(b.err)
	}
	return filepath.Join(b.dir, "marquee")
}

func TestMain(m *testing.M) {
	faultydisk.Enter()
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

// proc is the real program, running.
type proc struct {
	tb             testing.TB
	cmd            *exec.Cmd
	stdout, stderr *procOutput
	exited         chan struct{}
	code           int
	url            string
	client         *http.Client
	token          string
}

// procKey is the secret key of the processes that share a database; on an
// SQLite file, each makes its own.
const procKey = "a2V5IG9mIHRoZSBwcm9jZXNzZXMgb2YgdGhlIHRlc3Q="

// procCommand is the program with arguments, and no environment but what is
// given and what a store demands.
func procCommand(tb testing.TB, env []string, args ...string) *exec.Cmd {
	tb.Helper()
	cmd := exec.Command(procBinary(tb), args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir(), "MARQUEE_DRAIN_DELAY=0s"}, env...)
	if slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "mongodb://") }) {
		cmd.Env = append([]string{"MARQUEE_SECRET_KEY=" + procKey}, cmd.Env...)
	}
	cmd.Dir = tb.TempDir()
	return cmd
}

// procLaunch starts a command.
func procLaunch(tb testing.TB, cmd *exec.Cmd) *proc {
	tb.Helper()
	p := &proc{tb: tb, cmd: cmd, stdout: newProcOutput(), stderr: newProcOutput(), exited: make(chan struct{}),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: procPatience}}
	cmd.Stdout, cmd.Stderr = p.stdout, p.stderr
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // the code is what is of interest
		p.code = cmd.ProcessState.ExitCode()
		p.stdout.end()
		p.stderr.end()
		close(p.exited)
	}()
	tb.Cleanup(p.kill)
	return p
}

// procServe starts the service on a store and waits until it listens. Its log
// is JSON.
func procServe(tb testing.TB, store string, args ...string) *proc {
	tb.Helper()
	return procServeWith(tb, store, []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + procPassword}, args...)
}

func procServeWith(tb testing.TB, store string, env []string, args ...string) *proc {
	tb.Helper()
	args = append([]string{"serve", "--addr", "127.0.0.1:0", "--log-format", "json", "--store", store}, args...)
	p := procLaunch(tb, procCommand(tb, env, args...))
	p.listens()
	return p
}

// listens waits until the service listens.
func (p *proc) listens() {
	p.tb.Helper()
	line := p.stderr.await(p.tb, 0, procSays("listening"))
	if line == "" {
		<-p.exited
		p.tb.Fatalf("the program ended with %d instead of serving:\n%s%s", p.code, p.stdout, p.stderr)
	}
	p.url, _ = procEntry(line)["url"].(string)
}

// kill ends the process at once, as kill -9 does.
func (p *proc) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.exited
	p.client.CloseIdleConnections()
}

// stop ends the process as an operator does.
func (p *proc) stop() {
	p.tb.Helper()
	p.client.CloseIdleConnections()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.tb.Fatal(err)
	}
	p.ends(0)
}

// ends waits for the end of the process, with a code.
func (p *proc) ends(code int) {
	p.tb.Helper()
	select {
	case <-p.exited:
	case <-time.After(procPatience):
		p.tb.Fatalf("the process does not end:\n%s", p.stderr)
	}
	if p.code != code {
		p.tb.Fatalf("the process ended with %d instead of %d:\n%s%s", p.code, code, p.stdout, p.stderr)
	}
}

// procFails runs a command that must be refused, and returns what it says.
func procFails(tb testing.TB, env []string, args ...string) string {
	tb.Helper()
	return procRefused(tb, procCommand(tb, env, args...))
}

func procRefused(tb testing.TB, cmd *exec.Cmd) string {
	tb.Helper()
	p := procLaunch(tb, cmd)
	select {
	case <-p.exited:
	case <-time.After(procPatience):
		tb.Fatalf("%v goes on:\n%s%s", cmd.Args, p.stdout, p.stderr)
	}
	if p.code <= 0 {
		tb.Fatalf("%v ended with %d:\n%s%s", cmd.Args, p.code, p.stdout, p.stderr)
	}
	return p.printed()
}

// send sends a request with the token of p, if it has one. Where the answer
// broke off, there is an answer and an error.
func (p *proc) send(method, path string, header http.Header, body []byte) (*answer, error) {
	request, err := http.NewRequest(method, p.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if p.token != "" {
		request.Header.Set("Authorization", "Bearer "+p.token)
	}
	for name, values := range header {
		request.Header[name] = values
	}
	response, err := p.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	a := &answer{method: method, status: response.StatusCode, header: response.Header}
	a.body, err = io.ReadAll(response.Body)
	return a, err
}

// ask sends a request that must get a status.
func (p *proc) ask(status int, method, path, body string) *answer {
	p.tb.Helper()
	a, err := p.send(method, path, nil, []byte(body))
	if err != nil {
		p.tb.Fatalf("%s %s: %v", method, path, err)
	}
	if a.status != status {
		p.tb.Fatalf("%s %s: %d instead of %d: %s", method, path, a.status, status, a.body)
	}
	return a
}

// signIn gets a token, which further requests carry.
func (p *proc) signIn(username, password string) {
	p.tb.Helper()
	a, err := p.authenticate(username, password)
	if err != nil {
		p.tb.Fatal(err)
	}
	object, _ := a.json().(map[string]any)
	p.token, _ = object["access_token"].(string)
	if a.status != http.StatusOK || p.token == "" {
		p.tb.Fatalf("%s cannot sign in: %d %s", username, a.status, a.body)
	}
}

func (p *proc) authenticate(username, password string) (*answer, error) {
	form := url.Values{"grant_type": {"password"}, "username": {username}, "password": {password}}
	return p.send(http.MethodPost, "/api/authenticate", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}},
		[]byte(form.Encode()))
}

// procWants checks that a text says certain things.
func procWants(tb testing.TB, text string, wanted ...string) {
	tb.Helper()
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			tb.Errorf("%q is not in:\n%s", want, text)
		}
	}
}

// procShuns checks that a text does not say certain things.
func procShuns(tb testing.TB, text string, shunned ...string) {
	tb.Helper()
	for _, shun := range shunned {
		if strings.Contains(text, shun) {
			tb.Errorf("%q is in:\n%s", shun, text)
		}
	}
}

// procRun runs a command that must succeed, and returns what it prints.
func procRun(tb testing.TB, env []string, args ...string) string {
	tb.Helper()
	p := procLaunch(tb, procCommand(tb, env, args...))
	p.ends(0)
	return p.printed()
}

// slowOpening matches what a command prints if it takes long to open its store, as on a
// busy machine.
var slowOpening = regexp.MustCompile(`(?m)^marquee: [a-z ]+ \([0-9.]+m?s\)\n`)

// printed is what a command has printed, on both streams.
func (p *proc) printed() string {
	return slowOpening.ReplaceAllString(p.stdout.String()+p.stderr.String(), "")
}

// procShell runs a script and returns what it prints.
func procShell(tb testing.TB, script string, env ...string) (string, error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), procPatience)
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
