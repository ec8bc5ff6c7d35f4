package bench

import (
	"context"
	"log/slog"
	"testing"
	"time"
)

// BenchmarkTier changes the state of a tier that 50,000 line items use, in one
// transaction: how long it takes, and the most memory that it takes at once;
// and how long it takes to look at all of them again, as servers of a shared
// database do behind it.
func BenchmarkTier(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) { changeTier(b, fresh(b)) })
	b.Run("mongodb", func(b *testing.B) {
		s, _ := onMongoDB(b, nil)
		changeTier(b, s)
	})
}

func changeTier(b *testing.B, s *service) {
	const lineItems = 50_000
	s.load(b, lineItems, 100)
	b.ResetTimer()
	for i := range b.N {
		state := []string{"INACTIVE", "ACTIVE"}[i%2]
		before, most := inUse(), watchMemory()
		began := time.Now()
		s.write(b, "tiers", []map[string]any{{"id": "t", "objectState": state}})
		b.ReportMetric(time.Since(began).Seconds(), "s/50000lineitems")
		b.ReportMetric(most()-before, "MB")
		began = time.Now()
		if err := s.types.Pass(context.Background(), s.engine, slog.New(slog.DiscardHandler)); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(began).Seconds(), "s/pass")
	}
}
