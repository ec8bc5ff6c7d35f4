package bench

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"marquee/engine/store"
	"marquee/engine/store/mongo"
	"marquee/integration/mongodb"
)

// BenchmarkReferences compares 64 clients who create objects that refer to one object of a
// type with DELETE with as many who refer to one of a type without it.
func BenchmarkReferences(b *testing.B) {
	opened, _ := onSQLite(b, nil)
	benchmarkReferences(b, opened)
}

// BenchmarkMongoDBReferences is BenchmarkReferences on MongoDB.
func BenchmarkMongoDBReferences(b *testing.B) {
	benchmarkReferences(b, openDatabase(b, mongo.Options{URI: mongodb.URI(b)}))
}

func benchmarkReferences(b *testing.B, opened store.Store) {
	const clients, each = 64, 10
	schema := func(path, methods, properties string) *fstest.MapFile {
		return &fstest.MapFile{Data: fmt.Appendf(nil, `{"$schema": "https://json-schema.org/draft/2020-12/schema", "x-resource": {"path": %q%s}, "type": "object", "properties": {%s}}`, path, methods, properties)}
	}
	s := serveWith(b, opened, fstest.MapFS{
		"removable.json": schema("removable", `, "methods": ["GET", "HEAD", "POST", "PUT", "DELETE"]`, `"name": {"type": "string"}`),
		"lasting.json":   schema("lasting", "", `"name": {"type": "string"}`),
		"loans.json":     schema("loans", "", `"to": {"x-ref": "removable"}`),
		"leases.json":    schema("leases", "", `"to": {"x-ref": "lasting"}`),
	})
	for _, name := range []string{"removable", "lasting"} {
		s.write(b, name, []map[string]any{{"id": "one", "name": "One"}})
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	var next atomic.Int64
	refer := func(name string) time.Duration {
		var wait sync.WaitGroup
		began := time.Now()
		for range clients {
			wait.Go(func() {
				for range each {
					r, err := http.NewRequest(http.MethodPut, fmt.Sprintf("%s/api/v1/%s/l%d?context=%s", s.server.URL, name, next.Add(1), network), strings.NewReader(`{"to": "one"}`))
					if err != nil {
						b.Error(err)
						return
					}
					r.Header.Set("Authorization", "Bearer "+s.token)
					answer, err := client.Do(r)
					if err != nil {
						b.Error(err)
						return
					}
					if text, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusCreated {
						b.Error(answer.StatusCode, string(text), err)
					}
					answer.Body.Close()
				}
			})
		}
		wait.Wait()
		return time.Since(began)
	}
	loans, leases := func() time.Duration { return refer("loans") }, func() time.Duration { return refer("leases") }
	interleaved(1, loans, leases)
	b.ResetTimer()
	for range b.N {
		removable, lasting := typical(7, loans, leases)
		b.ReportMetric(float64(lasting)/float64(removable), "throughput/without")
		b.ReportMetric(clients*each/removable.Seconds(), "writes/s")
	}
}
