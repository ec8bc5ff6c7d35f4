package bench

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"marquee/engine"
)

// BenchmarkLibraryCreative changes a library creative that 10,000 creatives of
// 8 KB use: how long it takes until all have followed, and the most memory that is
// taken at once.
func BenchmarkLibraryCreative(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) { changeLibrary(b, fresh(b)) })
	b.Run("mongodb", func(b *testing.B) {
		s, _ := onMongoDB(b, nil)
		changeLibrary(b, s)
	})
}

func changeLibrary(b *testing.B, s *service) {
	const creatives = 10_000
	s.caller = &engine.Caller{System: true, User: "admin"}
	s.write(b, "layouts", []map[string]any{{"id": "l", "name": "L", "html": "<p>{{headline}}</p>"}})
	s.write(b, "librarycreatives", []map[string]any{{"id": "lib", "name": "Lib", "layout": "l", "layoutParameters": map[string]any{"headline": "0"},
		"verifiedSafe": true, "dimensionType": "FLEXIBLE"}})
	filler := strings.Repeat("A long description of a creative. ", 240)
	for from := 0; from < creatives; from += 500 {
		var list []map[string]any
		for i := range 500 {
			list = append(list, map[string]any{"id": fmt.Sprintf("c%05d", from+i), "name": "C", "libraryCreative": "lib", "description": filler})
		}
		s.write(b, "creatives", list)
	}
	b.ResetTimer()
	for i := range b.N {
		before, most := inUse(), watchMemory()
		began := time.Now()
		s.write(b, "librarycreatives", []map[string]any{{"id": "lib", "layoutParameters": map[string]any{"headline": fmt.Sprint(i + 1)}}})
		if err := s.marquee.Pass(context.Background(), slog.New(slog.DiscardHandler)); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(began).Seconds(), "s/10000creatives")
		b.ReportMetric(most()-before, "MB")
	}
	if err := s.store.Check(context.Background()); err != nil {
		b.Fatal(err)
	}
}

// watchMemory looks at the memory in use until it is asked for the most.
func watchMemory() (most func() float64) {
	high, enough, ended := inUse(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			high = max(high, inUse())
			select {
			case <-enough:
				return
			case <-tick.C:
			}
		}
	}()
	return func() float64 {
		close(enough)
		<-ended
		return high
	}
}
