package program

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// beforeReleases is the former version until a commit has the tag of a release.
const beforeReleases = "d0cbea45048fc412042dc7e873e2c44be791bc5f"

// formerVersion builds the program of the last release, or of MARQUEE_FORMER, from the history
// of the repository, and keeps it in .cache.
func formerVersion(t *testing.T) string {
	t.Helper()
	commit := os.Getenv("MARQUEE_FORMER")
	if commit == "" {
		t.Skip("builds the last release: run 'make former', or set MARQUEE_FORMER to a commit or 'release'")
	}
	if commit == "release" {
		tag, _ := exec.Command("git", "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*").Output()
		commit = cmp.Or(strings.TrimSpace(string(tag)), beforeReleases)
	}
	out, err := exec.Command("git", "rev-parse", "--verify", commit+"^{commit}").Output()
	if err != nil {
		t.Fatalf("the history has no commit %s: %v", commit, err)
	}
	built, err := filepath.Abs(filepath.Join("../../.cache/former", strings.TrimSpace(string(out))))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(built); err == nil {
		return built
	}
	// Not below the repository, whose go.mod would be that of the commands.
	build := exec.Command("sh", "-ec", `git -C "$(git rev-parse --show-toplevel)" archive "$1" | tar -x -C "$2"; mkdir -p "$(dirname "$3")"; cd "$2"; go build -trimpath -o "$3" ./cmd/marquee`,
		"build", commit, t.TempDir(), built)
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return built
}

// balanced are servers of one database that get requests in turn, as behind a proxy.
type balanced struct {
	mu      sync.RWMutex
	servers []*process.Process
	token   string
	sent    atomic.Int64
}

// ask sends a request that must succeed to one of the servers.
func (b *balanced) ask(method, path, body string) error {
	b.mu.RLock()
	defer b.mu.RUnlock()
	server := b.servers[b.sent.Add(1)%int64(len(b.servers))]
	a, err := server.Send(method, path, nil, []byte(body))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if a.Status/100 != 2 {
		return fmt.Errorf("%s %s: %d: %s", method, path, a.Status, a.Body)
	}
	return nil
}

// replace takes the first server away, ends it, and adds another one when that is ready.
func (b *balanced) replace(t *testing.T, start func() *process.Process) {
	t.Helper()
	b.mu.Lock()
	old := b.servers[0]
	b.servers = b.servers[1:]
	b.mu.Unlock()
	old.Stop()
	before := b.sent.Load()
	p := start()
	p.Token = b.token
	if b.sent.Load() == before {
		t.Error("no request was sent while a server was replaced")
	}
	b.mu.Lock()
	b.servers = append(b.servers, p)
	b.mu.Unlock()
}

// TestFormerVersion: servers of the last release and of this version serve one database at the
// same time. Clients create, change, find and read objects while each server of the last
// release is replaced by one of this version, and while each of these is replaced by one of
// the last release again, and no request is refused.
func TestFormerVersion(t *testing.T) {
	t.Parallel()
	former := formerVersion(t)
	uri := service.Reusing(t)(t)
	start := func(program string) func() *process.Process {
		return func() *process.Process {
			cmd := process.Command(t, []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + process.Password}, "serve", "--addr", "127.0.0.1:0", "--log-format", "json", "--store", uri)
			if program != "" {
				cmd.Path = program
			}
			p := process.Launch(t, cmd)
			p.Listens()
			return p
		}
	}
	first := start(former)()
	first.SignIn(service.Admin, process.Password)
	b := &balanced{servers: []*process.Process{first}, token: first.Token}
	second := start(former)()
	second.Token = first.Token
	b.servers = append(b.servers, second)

	var clients sync.WaitGroup
	var created atomic.Int64
	ended := make(chan struct{})
	for i := range 8 {
		clients.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-ended:
					return
				default:
				}
				id := fmt.Sprintf("former-%d-%d", i, n)
				order := "/api/v1/orders/" + id + "?context=main"
				if err := errors.Join(
					b.ask(http.MethodPost, "/api/v1/batch?context=main", fmt.Sprintf(`{"operations": [
						{"type": "orders", "object": {"id": %[1]q, "name": %[1]q, "advertiser": %[1]q}},
						{"type": "advertisers", "object": {"id": %[1]q, "name": %[1]q}}]}`, id)),
					b.ask(http.MethodPost, order, fmt.Sprintf(`{"name": "changed %s"}`, id)),
					b.ask(http.MethodGet, "/api/v1/orders?context=main&pageSize=10&q=changed", ""),
					b.ask(http.MethodGet, order, ""),
				); err != nil {
					t.Errorf("after %d objects: %v", created.Load(), err)
					return
				}
				created.Add(1)
			}
		})
	}
	for _, program := range []string{"", "", former, former} {
		b.replace(t, start(program))
	}
	close(ended)
	clients.Wait()

	var page struct{ TotalCount int64 }
	last := start("")()
	last.Token = b.token
	if err := json.Unmarshal(last.Ask(http.StatusOK, http.MethodGet, "/api/v1/orders?context=main&pageSize=1&q=changed", "").Body, &page); err != nil || page.TotalCount != created.Load() {
		t.Errorf("%d orders are found of %d: %v", page.TotalCount, created.Load(), err)
	}
	for _, p := range append(b.servers, last) {
		p.Stop()
	}
	process.Run(t, nil, "check", "--store", uri)
	t.Logf("%d requests were answered", b.sent.Load())
}
