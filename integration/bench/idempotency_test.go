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

// BenchmarkIdempotencyKey compares clients who create single objects with an idempotency key
// with as many who send none.
func BenchmarkIdempotencyKey(b *testing.B) {
	opened, _ := onSQLite(b, nil)
	benchmarkIdempotencyKey(b, opened)
}

// BenchmarkMongoDBIdempotencyKey is BenchmarkIdempotencyKey on MongoDB.
func BenchmarkMongoDBIdempotencyKey(b *testing.B) {
	benchmarkIdempotencyKey(b, openDatabase(b, mongo.Options{URI: mongodb.URI(b)}))
}

func benchmarkIdempotencyKey(b *testing.B, opened store.Store) {
	s := serveWith(b, opened, fstest.MapFS{"parcels.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema",
"x-resource": {"path": "parcels"}, "type": "object", "properties": {"name": {"type": "string"}}}`)}})
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	var next atomic.Int64
	create := func(keyed bool) error {
		r, err := http.NewRequest(http.MethodPost, s.server.URL+"/api/v1/parcels?context="+network, strings.NewReader(`{"name": "A parcel"}`))
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+s.token)
		if keyed {
			r.Header.Set("Idempotency-Key", fmt.Sprint("key-", next.Add(1)))
		}
		answer, err := client.Do(r)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if text, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK {
			return fmt.Errorf("%d %s %w", answer.StatusCode, text, err)
		}
		return nil
	}
	for _, clients := range []int{1, 64} {
		b.Run(fmt.Sprint("clients=", clients), func(b *testing.B) {
			writes := func(keyed bool) time.Duration {
				var wait sync.WaitGroup
				began := time.Now()
				for range clients {
					wait.Go(func() {
						for range 640 / clients {
							if err := create(keyed); err != nil {
								b.Error(err)
							}
						}
					})
				}
				wait.Wait()
				return time.Since(began)
			}
			with, without := func() time.Duration { return writes(true) }, func() time.Duration { return writes(false) }
			interleaved(1, with, without)
			b.ResetTimer()
			for range b.N {
				keyed, plain := typical(7, with, without)
				b.ReportMetric(keyed.Seconds()/plain.Seconds(), "time/without")
				b.ReportMetric(640/keyed.Seconds(), "writes/s")
			}
		})
	}
}
