package bench

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"marquee/engine"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/store/mongo"
	"marquee/integration/mongodb"
)

// BenchmarkAmending fills a default into all objects of a type, and removes the values of a
// property, while a client writes others: a tenth of the objects of other benchmarks.
func BenchmarkAmending(b *testing.B) {
	opened, _ := onSQLite(b, nil)
	benchmarkAmending(b, opened)
}

// BenchmarkMongoDBAmending is BenchmarkAmending on MongoDB.
func BenchmarkMongoDBAmending(b *testing.B) {
	benchmarkAmending(b, openDatabase(b, mongo.Options{URI: mongodb.URI(b)}))
}

func benchmarkAmending(b *testing.B, opened store.Store) {
	objects := benchObjects(b) / 10
	set := func(required, properties string) fstest.MapFS {
		return fstest.MapFS{"tickets.json": {Data: fmt.Appendf(nil, `{"$schema": "https://json-schema.org/draft/2020-12/schema", "x-resource": {"path": "tickets"}, "type": "object", "required": [%s],
			"properties": {"name": {"type": "string"}, "note": {"type": "string"}%s}}`, required, properties)}}
	}
	s := serveWith(b, opened, set("", `, "fax": {"type": "string"}`))
	tickets, err := s.engine.Type("tickets")
	if err != nil {
		b.Fatal(err)
	}
	for from := 0; from < objects; from += 1000 {
		batch := engine.Batch{Network: network}
		for i := from; i < min(from+1000, objects); i++ {
			batch.Operations = append(batch.Operations, engine.Operation{Type: tickets, Object: map[string]any{"id": fmt.Sprintf("t%07d", i), "name": fmt.Sprint("Ticket ", i), "note": strings.Repeat("n", 150), "fax": fmt.Sprint(i)}})
		}
		if _, err := s.engine.Write(context.Background(), &engine.Caller{System: true}, batch); err != nil {
			b.Fatal(err)
		}
	}
	app := s.types.Application()
	types, err := app.Load(schema.Source{Name: "bench", FS: set(`"seat"`, `, "seat": {"type": "string", "default": "any"}`)})
	if err == nil {
		err = s.marquee.Migrate(context.Background(), types)
	}
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for range b.N {
		s.beside(b, objects, "fill", func() error { return s.engine.Amend(context.Background(), slog.New(slog.DiscardHandler)) })
		s.beside(b, objects, "prune", func() error { return s.engine.Prune(context.Background(), "tickets", "/fax") })
	}
}

// beside does work beside a client that writes single objects, and reports how long it and the
// writes take.
func (s *service) beside(b *testing.B, objects int, name string, work func() error) {
	write := func(i int) time.Duration {
		began := time.Now()
		r, err := http.NewRequest(http.MethodPost, fmt.Sprintf("%s/api/v1/tickets/%s%d?context=%s", s.server.URL, name, i%100, network), strings.NewReader(fmt.Sprintf(`{"name": "Written %d", "seat": "1"}`, i)))
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+s.token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		defer answer.Body.Close()
		if text, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode >= 300 {
			b.Fatal(answer.StatusCode, string(text), err)
		}
		return time.Since(began)
	}
	var alone, times []time.Duration
	for i := range 300 {
		alone = append(alone, write(i))
	}
	ended, began := make(chan error, 1), time.Now()
	go func() { ended <- work() }()
	for i := 0; ; i++ {
		select {
		case err := <-ended:
			if err != nil {
				b.Fatal(err)
			}
			took := time.Since(began)
			slices.Sort(alone)
			slices.Sort(times)
			if len(times) > 0 {
				b.ReportMetric(milliseconds(times[len(times)*99/100]), name+"-write-ms/99%")
				b.ReportMetric(milliseconds(times[len(times)/2]), name+"-write-ms/median")
			}
			b.ReportMetric(milliseconds(alone[len(alone)/2]), name+"-alone-ms/median")
			b.ReportMetric(took.Seconds()*1e6/float64(objects), name+"-s/million")
			return
		default:
			times = append(times, write(i))
		}
	}
}
