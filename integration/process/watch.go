package process

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"marquee/integration/service"
)

// ServedStores are the stores of which ImportRun has a server running.
var ServedStores sync.Map

// besideServer starts the server of a store that shall have one, with the schemas that an
// import is given.
func besideServer(t *testing.T, uri string, args []string) (stop func()) {
	t.Helper()
	if _, served := ServedStores.Load(uri); !served {
		return func() {}
	}
	if i := slices.Index(args, "--schemas"); i >= 0 {
		return Serve(t, uri, args[i:i+2]...).Stop
	}
	return Serve(t, uri).Stop
}

// Eventually waits until something holds, which has no event to wait for.
func (p *Process) Eventually(not string, holds func() bool) {
	p.TB.Helper()
	for deadline := time.Now().Add(service.Patience); !holds(); {
		if time.Now().After(deadline) {
			p.TB.Fatal(not)
		}
		runtime.Gosched()
	}
}

// Private returns the URL of the private address, if the service has one.
func (p *Process) Private() string {
	p.TB.Helper()
	url, _ := service.Entry(p.Stderr.Await(p.TB, 0, service.Says("serving operators")))["url"].(string)
	return url
}

// Metrics returns what the private address shows at /metrics.
func (p *Process) Metrics(private string) string {
	p.TB.Helper()
	a, err := p.Client.Get(private + "/metrics")
	if err != nil {
		p.TB.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode != http.StatusOK {
		p.TB.Fatal(a.Status, err)
	}
	return string(text)
}

// Peak is the most memory that the process has taken.
func (p *Process) Peak() int64 {
	p.TB.Helper()
	peak := p.PeakSoFar()
	if peak == 0 {
		p.TB.Fatal("the process has no memory")
	}
	return peak
}

// PeakSoFar is Peak, and 0 for a process that has ended.
func (p *Process) PeakSoFar() (bytes int64) {
	status, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.Cmd.Process.Pid), "status"))
	_, line, _ := strings.Cut(string(status), "VmHWM:")
	_, _ = fmt.Sscan(line, &bytes) // in KiB
	return bytes << 10
}

var procMade = regexp.MustCompile(`The password is (\S+) `)

// MadePassword is the password that the program says it has made.
func (p *Process) MadePassword() string {
	p.TB.Helper()
	found := procMade.FindStringSubmatch(p.Stdout.Await(p.TB, 0, procMade.MatchString))
	if found == nil || len(found[1]) < 20 {
		p.TB.Fatalf("no good password in:\n%s", p.Stdout)
	}
	return found[1]
}

// Answer runs a command and returns what it prints to standard output and
// to standard error.
func Answer(t *testing.T, code int, env []string, args ...string) (out, said string) {
	t.Helper()
	p := Launch(t, Command(t, env, args...))
	p.Ends(code)
	return p.Stdout.String(), p.Stderr.String()
}

// RequestLine sends a request and returns its line of the log.
func (p *Process) RequestLine(method, path string, header http.Header, body string) map[string]any {
	p.TB.Helper()
	a, err := p.Send(method, path, header, []byte(body))
	if err != nil {
		p.TB.Fatal(err)
	}
	id := a.Header.Get("X-Request-Id")
	return service.Entry(p.Stderr.Await(p.TB, 0, func(line string) bool {
		entry := service.Entry(line)
		return entry["msg"] == "request" && entry["requestId"] == id
	}))
}

// Logged returns the lines of the log about the request of a response: the request line,
// and those before it.
func (p *Process) Logged(a *service.Answer) string {
	p.TB.Helper()
	id, from := a.Header.Get("X-Request-Id"), 0
	p.Stderr.Await(p.TB, from, func(line string) bool {
		entry := service.Entry(line)
		return entry["msg"] == "request" && entry["requestId"] == id
	})
	var about []string
	for line := range strings.Lines(p.Stderr.String()) {
		if service.Entry(line)["requestId"] == id {
			about = append(about, line)
		}
	}
	return strings.Join(about, "")
}

// AwaitReady asks /readyz until it answers with a status; what it found before
// is given again for a second.
func (p *Process) AwaitReady(status int) string {
	p.TB.Helper()
	for end := time.Now().Add(service.Patience); ; <-time.After(50 * time.Millisecond) {
		a, err := p.Send(http.MethodGet, "/readyz", nil, nil)
		if err != nil {
			p.TB.Fatal(err)
		}
		if a.Status == status {
			return string(a.Body)
		}
		if time.Now().After(end) {
			p.TB.Fatalf("/readyz goes on answering %d instead of %d: %s", a.Status, status, a.Body)
		}
	}
}

// Measures skips a test that judges the time or the memory of a process, which depend
// on what else the machine does, except in make siege.
func Measures(tb testing.TB) {
	tb.Helper()
	if os.Getenv("MARQUEE_SIEGE") == "" {
		tb.Skip("what depends on the machine is judged by 'make siege'")
	}
	if runtime.GOOS != "linux" || service.RaceDetector {
		tb.Skip("the memory of a process is measured on Linux, and the race detector takes more")
	}
}
