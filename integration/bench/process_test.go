package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"marquee/engine/document"
)

// program is the real program on a store of its own.
type program struct {
	command *exec.Cmd
	url     string
	token   string
	started time.Duration
}

func build(b *testing.B) string {
	binary := filepath.Join(b.TempDir(), "marquee")
	command := exec.Command("go", "build", "-o", binary, "marquee/cmd/marquee")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		b.Fatal(string(out), err)
	}
	return binary
}

var listening = regexp.MustCompile(`url=(http://[0-9.:]+)`)

// start runs the program on a store until it listens and answers /readyz.
func start(b *testing.B, binary, uri string) *program {
	began := time.Now()
	p := &program{command: exec.Command(binary, "serve", "--addr", "127.0.0.1:0", "--store", uri, "--log-level", "info")}
	p.command.Dir = b.TempDir() // where it makes a key for a database
	p.command.Env = append(os.Environ(), "MARQUEE_BOOTSTRAP_PASSWORD=a password to test with")
	logs, err := p.command.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := p.command.Start(); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewScanner(logs)
	for p.url == "" && lines.Scan() {
		if found := listening.FindStringSubmatch(lines.Text()); found != nil {
			p.url = found[1]
		}
	}
	go io.Copy(io.Discard, logs)
	answer, err := http.Get(p.url + "/readyz")
	for err == nil && answer.StatusCode == http.StatusServiceUnavailable && time.Since(began) < time.Minute {
		answer.Body.Close()
		answer, err = http.Get(p.url + "/readyz")
	}
	if err != nil || answer.StatusCode != http.StatusOK {
		b.Fatal("not ready", err)
	}
	answer.Body.Close()
	p.started = time.Since(began)
	answer, err = http.PostForm(p.url+"/api/authenticate", url.Values{"grant_type": {"password"}, "username": {"admin"}, "password": {"a password to test with"}})
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	var tokens struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&tokens); err != nil {
		b.Fatal(err)
	}
	p.token = tokens.AccessToken
	return p
}

func (p *program) stop(b *testing.B) {
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		b.Fatal(err)
	}
	if err := p.command.Wait(); err != nil {
		b.Fatal(err)
	}
}

func (p *program) do(b *testing.B, method, path string, body []byte) {
	r, err := http.NewRequestWithContext(context.Background(), method, p.url+path, bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+p.token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode >= 300 {
		b.Fatal(path, answer.StatusCode, string(text[:min(len(text), 500)]), err)
	}
}

// peak is the peak of the process's resident memory, in MB.
func (p *program) peak(b *testing.B) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		b.Skip("SKIPPED: resident memory is read from /proc, which this system lacks")
	}
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	kb, err := strconv.Atoi(string(found[1]))
	if err != nil {
		b.Fatal(err)
	}
	return float64(kb) / 1024
}

// BenchmarkProcess loads objects over HTTP, reading between the writes, and
// reports the peak of the resident memory; then it starts the program anew on
// the store.
func BenchmarkProcess(b *testing.B) {
	objects := benchObjects(b)
	binary, store := build(b), "sqlite:"+filepath.Join(b.TempDir(), "data", "marquee.db")
	for range b.N {
		p := start(b, binary, store)
		p.do(b, http.MethodPost, "/api/v1/batch?context=main", []byte(`{"operations":[{"type":"tiers","object":{"id":"t","name":"T"}},
			{"type":"advertisers","object":{"id":"a","name":"A"}}]}`))
		orders := objects / 1000
		var list []any
		for i := range orders {
			list = append(list, map[string]any{"id": fmt.Sprintf("o%d", i), "name": "Order", "advertiser": "a"})
		}
		p.do(b, http.MethodPost, "/api/v1/orders?context=main", document.Append(nil, list))
		began := time.Now()
		for from := 0; from < objects; from += 1000 {
			list = list[:0]
			for i := range 1000 {
				list = append(list, lineItem(from+i, orders))
			}
			p.do(b, http.MethodPost, "/api/v1/lineitems?context=main", document.Append(nil, list))
			if from%20_000 == 0 {
				p.do(b, http.MethodGet, "/api/v1/lineitems?context=main&pageSize=1000&orderBy=name", nil)
				p.do(b, http.MethodGet, fmt.Sprintf("/api/v1/lineitems/li-%08d?context=main", from), nil)
			}
		}
		b.ReportMetric(float64(objects)/time.Since(began).Seconds(), "objects/s")
		for i := range 50 {
			p.do(b, http.MethodGet, fmt.Sprintf("/api/v1/lineitems?context=main&pageSize=1000&page=%d&where=order=o%d", i%2, i%orders), nil)
		}
		b.ReportMetric(p.peak(b), "peakMB")
		p.stop(b)
		p = start(b, binary, store)
		b.ReportMetric(p.started.Seconds(), "s/start")
		p.stop(b)
	}
}
