package bench

import (
	"context"
	"log/slog"
	"testing"
	"time"
)

// BenchmarkTier changes the state of a tier that 50,000 line items use: how long
// the call takes, how long it takes until all have followed, and the most memory
// that is taken at once.
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
		b.ReportMetric(time.Since(began).Seconds(), "s/call")
		if err := s.marquee.Pass(context.Background(), slog.New(slog.DiscardHandler)); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(began).Seconds(), "s/50000lineitems")
		b.ReportMetric(most()-before, "MB")
	}
}
