package bench

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// BenchmarkBackup makes a backup of objects of 250 bytes, with a change each, which the program
// serves beside 500 writes a second. It reports how long the writes take, and how large the
// write-ahead log becomes.
func BenchmarkBackup(b *testing.B) {
	objects, binary, folder := benchObjects(b), build(b), b.TempDir()
	path := filepath.Join(folder, "marquee.db")
	start(b, binary, "sqlite:"+path).stop(b)
	fillForCopy(b, path, objects)
	p := start(b, binary, "sqlite:"+path)
	defer p.stop(b)
	for n := 0; b.Loop(); n++ {
		p.beside(b, path, "alone", func() error { <-time.After(10 * time.Second); return nil })
		p.beside(b, path, "backup", func() error {
			return exec.Command(binary, "backup", filepath.Join(folder, fmt.Sprint("backup", n, ".db")), "--quiet", "--store", "sqlite:"+path).Run()
		})
	}
}

// beside does something while 500 writes a second begin, whether or not those before have ended.
func (p *program) beside(b *testing.B, path, name string, do func() error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 500}}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	var times []time.Duration
	var writing sync.WaitGroup
	log, began, ended := int64(0), time.Now(), make(chan error, 1)
	go func() { ended <- do() }()
	ticks := time.NewTicker(2 * time.Millisecond)
	defer ticks.Stop()
	for i := 0; ; i++ {
		select {
		case err := <-ended:
			took := time.Since(began)
			writing.Wait()
			if err != nil || len(times) == 0 {
				b.Fatal(name, len(times), err)
			}
			slices.Sort(times)
			b.ReportMetric(took.Seconds(), name+"-s")
			b.ReportMetric(float64(len(times))/took.Seconds(), name+"-writes/s")
			b.ReportMetric(milliseconds(times[len(times)/2]), name+"-write-ms/median")
			b.ReportMetric(milliseconds(times[len(times)*99/100]), name+"-write-ms/99%")
			b.ReportMetric(milliseconds(times[len(times)-1]), name+"-write-ms/longest")
			b.ReportMetric(float64(log)/1e6, name+"-logMB")
			return
		case <-ticks.C:
			writing.Go(func() {
				began := time.Now()
				err := p.write(client, fmt.Sprintf("/api/v1/tiers/%s%d?context=%s", name, i, network), fmt.Sprintf(`{"name": "%s %d"}`, name, i))
				mu.Lock()
				defer mu.Unlock()
				if times = append(times, time.Since(began)); err != nil {
					b.Error(err)
				}
			})
			if info, err := os.Stat(path + "-wal"); err == nil {
				log = max(log, info.Size())
			}
		}
	}
}

func (p *program) write(client *http.Client, path, body string) error {
	r, err := http.NewRequest(http.MethodPut, p.url+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+p.token)
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err == nil && answer.StatusCode >= 300 {
		err = fmt.Errorf("%d %.300s", answer.StatusCode, text)
	}
	return err
}
