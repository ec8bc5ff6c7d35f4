package bench

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/fstest"
	"time"

	"marquee/engine"
	"marquee/engine/store"
	"marquee/engine/store/mongo"
	"marquee/integration/mongodb"
)

// BenchmarkRetention removes the history of a tenth of the objects of other benchmarks, while a
// client writes others.
func BenchmarkRetention(b *testing.B) {
	opened, _ := onSQLite(b, nil)
	benchmarkRetention(b, opened)
}

// BenchmarkMongoDBRetention is BenchmarkRetention on MongoDB.
func BenchmarkMongoDBRetention(b *testing.B) {
	benchmarkRetention(b, openDatabase(b, mongo.Options{URI: mongodb.URI(b)}))
}

func benchmarkRetention(b *testing.B, opened store.Store) {
	objects := benchObjects(b) / 10
	s := serveWith(b, opened, fstest.MapFS{"tickets.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "x-resource": {"path": "tickets"}, "type": "object",
		"properties": {"name": {"type": "string"}, "seat": {"type": "string"}}}`)}})
	tickets, err := s.engine.Type("tickets")
	if err != nil {
		b.Fatal(err)
	}
	for n := range b.N {
		b.StopTimer()
		for from := 0; from < objects; from += 1000 {
			batch := engine.Batch{Network: network}
			for i := from; i < min(from+1000, objects); i++ {
				batch.Operations = append(batch.Operations, engine.Operation{Type: tickets, Object: map[string]any{"id": fmt.Sprintf("t%d-%07d", n, i), "name": fmt.Sprint("Ticket ", i)}})
			}
			if _, err := s.engine.Write(context.Background(), &engine.Caller{System: true}, batch); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		s.beside(b, objects, "remove", func() error {
			return s.engine.RemoveHistory(context.Background(), time.Now(), slog.New(slog.DiscardHandler))
		})
	}
}
