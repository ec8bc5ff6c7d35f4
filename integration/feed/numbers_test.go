package feed

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestThousandStreams opens a thousand streams of ten callers on one server, which take less than
// 100 MB together, and get a change within a second or two.
func TestThousandStreams(t *testing.T) {
	process.Measures(t)
	service.EachStore(t, thousandStreams)
}

func thousandStreams(t *testing.T, fresh service.NewStore) {
	store := fresh(t)
	p := process.Serve(t, store)
	p.SignIn("admin", process.Password)
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/roles/reader?context=main", `{"name": "Reader", "scope": "NETWORK"}`)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport}
	got := make(chan time.Time, 1000)
	var readers []map[string]any
	for user := range 10 {
		name := fmt.Sprint("reader", user)
		p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/users/"+name, `{"username": "`+name+`", "password": "a password to test with", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "reader"}]}]}}`)
		answer, err := p.Authenticate(name, "a password to test with")
		if err != nil {
			t.Fatal(err)
		}
		tokens, _ := answer.JSON().(map[string]any)
		readers = append(readers, tokens)
	}
	// A server that has not hashed passwords, as streams could use the memory that this took.
	admin := p.Token
	p.Stop()
	p = process.Serve(t, store, "--max-connections-per-address", "2000")
	p.Token = admin
	before := residentOf(p)
	for _, tokens := range readers {
		for range 100 {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL+"/api/v1/changes?context=main&type=tiers", nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Accept", "text/event-stream")
			request.Header.Set("Authorization", "Bearer "+fmt.Sprint(tokens["access_token"]))
			answer, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			if answer.StatusCode != http.StatusOK {
				t.Fatalf("a stream is answered with %d", answer.StatusCode)
			}
			go func() {
				for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
					if lines.Text() == "event: change" {
						got <- time.Now()
						return
					}
				}
			}()
		}
	}
	if took := residentOf(p) - before; took > 100<<20 {
		t.Errorf("1000 streams take %d MB", took>>20)
	} else {
		t.Logf("1000 streams take %d MB", took>>20)
	}
	began := time.Now()
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/tiers/t?context=main", `{"name": "T"}`)
	var after []time.Duration
	for range 1000 {
		select {
		case at := <-got:
			after = append(after, at.Sub(began))
		case <-time.After(soon):
			t.Fatalf("%d streams have the change", len(after))
		}
	}
	slices.Sort(after)
	t.Logf("the first has the change %v after the request, the last %v", after[0], after[len(after)-1])
}

// TestResetTime checks that a stream ends with a reset within a second after the caller's rights have
// changed, whether that is a change of its network, which wakes it, or not.
func TestResetTime(t *testing.T) {
	process.Measures(t)
	service.EachStore(t, testResetTime)
}

func testResetTime(t *testing.T, fresh service.NewStore) {
	c := hospital(t, fresh)
	nora, err := c.Service.SignIn("nora")
	if err != nil {
		t.Fatal(err)
	}
	for path, change := range map[string]string{
		"teams/south?context=main": `{"users": ["sven", "nora"]}`,
		"users/nora":               `{"userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "member"}, {"role": "administrator"}]}]}}`,
	} {
		o := open(t, c.Service, nora, "&type=wards", "")
		o.next("bookmark")
		c.Send("POST", "/api/v1/"+path, change, 200, "")
		began := time.Now()
		o.next("reset")
		if took := time.Since(began); took > time.Second {
			t.Errorf("%s: the reset came after %v", path, took)
		} else {
			t.Logf("%s: the reset came after %v", path, took)
		}
	}
}

// residentOf is the memory of a process in bytes.
func residentOf(p *process.Process) (bytes int64) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Cmd.Process.Pid))
	if err != nil {
		p.TB.Skip(err)
	}
	for line := range strings.Lines(string(status)) {
		if value, found := strings.CutPrefix(line, "VmRSS:"); found {
			_, _ = fmt.Sscanf(value, "%d kB", &bytes)
		}
	}
	return bytes << 10
}
