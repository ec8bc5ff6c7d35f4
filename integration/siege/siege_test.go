package siege

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"marquee/integration/alerts"
	"marquee/integration/process"
	"marquee/integration/service"
)

// The limits of the process with default settings, under any requests.
const siegeMemory = 400 << 20

// siege is a service under attack, with an honest client beside the attackers.
type siege struct {
	t *testing.T
	// p is the service; requests through it are the administrator's.
	p *process.Process
	// private is the URL of the private address.
	private string
	// dialer dials from the address that p's requests come from.
	dialer net.Dialer
	// schemas is the folder that the service watches.
	schemas string
	// reader may read and nothing else, author writes what advertising needs.
	reader, author string
	// file is where a large file is delivered.
	file string
	// authors are users with the role of author.
	authors []string
	// together reports whether several attacks are sent at once.
	together bool

	answers *tally
}

// tally counts the attackers' answers, by status and code.
type tally struct {
	mu    sync.Mutex
	count map[string]int
}

func (c *tally) add(answer string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count[answer]++
}

// from is the siege for a client at another address of the machine.
func (s *siege) from(last byte) *siege {
	other, p := *s, *s.p
	other.dialer = net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, last)}}
	p.Client = &http.Client{Timeout: s.p.Client.Timeout, Transport: &http.Transport{DialContext: other.dialer.DialContext}}
	other.p = &p
	return &other
}

// dial connects to the service.
func (s *siege) dial() net.Conn {
	s.t.Helper()
	conn, err := s.dialer.Dial("tcp", strings.TrimPrefix(s.p.URL, "http://"))
	if err != nil {
		s.t.Error(err)
		return nil
	}
	return conn
}

// attack is a way to take the service from everybody else.
type attack struct {
	name string
	// prepare makes what the attack needs, before it is measured.
	prepare func(*siege)
	strike  func(*siege)
	// hold is the maximum time for which the attack holds honest writes on the embedded store,
	// which has one writer; 0 is as short as all others.
	hold time.Duration
}

// TestSiege sends the requests that cost most for their size, each kind by itself and
// all at once, beside honest ones: memory is bounded, refusals have a code, and the
// honest client is served.
func TestSiege(t *testing.T) {
	process.Measures(t)
	for _, on := range []struct {
		store string
		fresh service.NewStore
	}{{"sqlite", service.NewSQLite}, {"mongodb", service.Reusing(t)}} {
		t.Run(on.store, func(t *testing.T) {
			for _, a := range attacks {
				t.Run(a.name, func(t *testing.T) { newSiege(t, on.fresh(t)).endure(siegeMemory, a) })
			}
			t.Run("all at once", func(t *testing.T) { newSiege(t, on.fresh(t)).endure(siegeMemory, attacks...) })
		})
	}
}

// newSiege starts the service on a store; within changes how the program is run.
func newSiege(t *testing.T, store string, within ...func(*exec.Cmd)) *siege {
	t.Helper()
	s := &siege{t: t, schemas: t.TempDir(), answers: &tally{count: map[string]int{}}}
	cmd := process.Command(t, []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + process.Password},
		"serve", "--addr", "127.0.0.1:0", "--private-addr", "127.0.0.1:0", "--log-format", "json", "--store", store, "--schemas", s.schemas)
	for _, change := range within {
		change(cmd)
	}
	s.p = process.Launch(t, cmd)
	s.p.Client.Timeout = 3 * time.Minute // an upload may take two
	s.private = s.p.Private()
	s.p.Listens()
	s.p.SignIn("admin", process.Password)
	s.p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/roles/reader?context=main", `{"name": "Reader", "scope": "NETWORK"}`)
	s.p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/roles/author?context=main",
		`{"name": "Author", "scope": "NETWORK", "permissions": ["MANAGE_BUSINESS", "MANAGE_LAYOUTS"]}`)
	s.reader, s.author = s.user("reader", "reader"), s.user("author", "author")
	s.p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/advertisers/honest?context=main", `{"name": "Honest"}`)
	return s
}

// user makes a user with a role, and returns a token.
func (s *siege) user(name, role string) string {
	s.t.Helper()
	const password = "a password that is long"
	s.p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/users/"+name+"?context=main", fmt.Sprintf(
		`{"username": %q, "password": %q, "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": %q}]}]}}`, name, password, role))
	a, err := s.p.Authenticate(name, password)
	if err != nil || a.Status != http.StatusOK {
		s.t.Fatalf("%s cannot sign in: %v %v", name, err, a)
	}
	object, _ := a.JSON().(map[string]any)
	return object["access_token"].(string)
}

// endure sends attacks at once, each from an address of its own, beside the honest
// client, and judges what both were answered, how much memory the process took, and which
// alerts fire.
func (s *siege) endure(memory int64, attacks ...attack) {
	s.t.Helper()
	limit := siegePatience
	writeLimit := limit
	s.together = len(attacks) > 1
	for _, a := range attacks {
		if a.prepare != nil {
			a.prepare(s)
		}
		writeLimit = max(writeLimit, a.hold)
	}
	before, calm := s.p.Peak(), s.p.Metrics(s.private)
	defer s.guard()()
	h := s.honest()
	began := time.Now()
	atOnce(len(attacks), func(i int) { attacks[i].strike(s.from(byte(i + 2))) })
	took := time.Since(began)
	h.end()
	select {
	case <-s.p.Exited:
		s.t.Fatalf("the process ended with %d", s.p.Code)
	default:
	}
	peak := s.p.Peak()
	s.t.Logf("peak %d MiB (%d before), %.1f s; reads %s; writes %s; lists %s; answers %v", peak>>20, before>>20, took.Seconds(), h.reads, h.writes, h.lists, s.answers.count)
	if peak > memory {
		s.t.Errorf("the process took %d MiB", peak>>20)
	}
	if p99 := h.reads.percentile(99); p99 > limit {
		s.t.Errorf("an honest read took %v at the 99th percentile", p99)
	}
	if p99 := h.writes.percentile(99); p99 > writeLimit {
		s.t.Errorf("an honest write took %v at the 99th percentile", p99)
	}
	if s.together {
		limit = max(limit, listHold)
	}
	if p99 := h.lists.percentile(99); p99 > limit {
		s.t.Errorf("an honest list took %v at the 99th percentile", p99)
	}
	s.p.Ask(http.StatusOK, http.MethodGet, "/readyz", "")
	after := s.p.Metrics(s.private)
	s.p.Stop()
	s.t.Run("alerts", func(t *testing.T) {
		alerts.Need(t)
		series := alerts.Steady(calm, after)
		silent := slices.DeleteFunc(alerts.Rules(t), func(r alerts.Rule) bool {
			return slices.Contains(ofAttacks, r.Alert) || strings.HasSuffix(r.Annotations["runbook"], "#greedy-caller")
		})
		alerts.Evaluate(t, alerts.Case{Series: series, At: "50m", Rules: silent})
		alerts.ShowPanels(t, series)
	})
}

// ofAttacks are the alerts that may fire during an attack besides those about a greedy caller.
var ofAttacks = []string{"MarqueeErrors", "MarqueeSchemasRefused", "MarqueeSignInsRefused", "MarqueeSpoolRefused"}

// siegePatience is within which time an honest client is answered.
const siegePatience = 2 * time.Second

// probeLimit is within which time an attack's own honest request is answered.
func (s *siege) probeLimit() time.Duration {
	if s.together {
		return deadline + siegePatience
	}
	return max(siegePatience, uploadHold)
}

// guard ends the process before it takes the memory of the machine, until the
// function that it returns is called.
func (s *siege) guard() (end func()) {
	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-s.p.Exited:
				return
			case <-tick.C:
				if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.p.Cmd.Process.Pid)); err == nil {
					var total, resident int64
					fmt.Sscan(string(status), &total, &resident)
					if resident*int64(os.Getpagesize()) > 4*siegeMemory {
						s.t.Errorf("the process takes %d MiB, and is ended", resident*int64(os.Getpagesize())>>20)
						_ = s.p.Cmd.Process.Kill() // it may have ended
						return
					}
				}
			}
		}
	})
	return func() { close(done); wait.Wait() }
}

// as sends a request with the token of a user. What is refused must be a
// problem with a code.
func (s *siege) as(token, method, path string, header http.Header, body []byte) *service.Answer {
	all := http.Header{"Authorization": {"Bearer " + token}}
	for name, values := range header {
		all[name] = values
	}
	a, err := s.p.Send(method, path, all, body)
	if err != nil {
		s.t.Errorf("%s %s: %v", method, path, err)
		return &service.Answer{}
	}
	what := fmt.Sprint(a.Status)
	if a.Status >= 400 {
		what += " " + s.refusal(method+" "+path, a)
	}
	s.answers.add(what)
	return a
}

// refusal is the code of a refusal, which must not be a fault of the service.
func (s *siege) refusal(what string, a *service.Answer) string {
	var problem struct{ Messages []struct{ Code string } }
	if err := json.Unmarshal(a.Body, &problem); err != nil || len(problem.Messages) == 0 || problem.Messages[0].Code == "" {
		s.t.Errorf("%s: %d without a code: %.200s", what, a.Status, a.Body)
		return ""
	}
	code := problem.Messages[0].Code
	if a.Status == http.StatusInternalServerError {
		s.t.Errorf("%s: %d %s", what, a.Status, code)
	}
	if a.Status == http.StatusServiceUnavailable && a.Header.Get("Retry-After") == "" {
		s.t.Errorf("%s: %s without Retry-After", what, code)
	}
	return code
}

// atOnce calls attack n times, side by side.
func atOnce(n int, attack func(i int)) {
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() { attack(i) })
	}
	wait.Wait()
}

// gzipped is a body as gzip makes it, and the header that says so.
func gzipped(body string) ([]byte, http.Header) {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	_, _ = w.Write([]byte(body)) // into memory
	_ = w.Close()
	return b.Bytes(), http.Header{"Content-Encoding": {"gzip"}, "Content-Type": {"application/json"}}
}

// quoted is a text as JSON.
func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}
