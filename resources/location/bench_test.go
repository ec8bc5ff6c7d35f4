package location

import (
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkLoad also reports the memory of the gazetteer.
func BenchmarkLoad(b *testing.B) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var g *Gazetteer
	for b.Loop() {
		locations, err := decode(compressed)
		if err != nil {
			b.Fatal(err)
		}
		g = New(locations)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB")
	runtime.KeepAlive(g)
}

// BenchmarkQueries runs typical queries, and reports the slowest.
func BenchmarkQueries(b *testing.B) {
	g := Load()
	slowest := map[string]time.Duration{}
	for b.Loop() {
		for line := range strings.Lines(queries) {
			text, _, isQuery := strings.Cut(line, "\t")
			if !isQuery {
				continue
			}
			start := time.Now()
			g.Search(text, 0, 100)
			took := time.Since(start)
			if best, known := slowest[text]; !known || took < best {
				slowest[text] = took
			}
		}
	}
	b.ReportMetric(float64(slices.Max(slices.Collect(maps.Values(slowest))).Microseconds())/1000, "ms/slowest")
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N*len(slowest)), "ms/query")
}

// BenchmarkSearch searches the embedded gazetteer, and one three times as large.
func BenchmarkSearch(b *testing.B) {
	var large []Location
	for l := range Load().All() {
		for i := range int64(3) {
			l.ID += i << 40
			large = append(large, l)
		}
	}
	for _, size := range []struct {
		name string
		g    *Gazetteer
	}{{"embedded", Load()}, {"three times", New(large)}} {
		for _, c := range []struct{ name, text string }{
			{"a", "a"}, {"s", "s"}, {"san", "san"}, {"new", "new"}, {"one place", "Oslo"}, {"no match", "qqzzqq"},
			{"context", "paris, texas"}, {"ten letters", "a b c d e l m n o s"},
			{"200 characters", strings.Repeat("san a ", 34)[:200]}, {"200 letters", strings.Repeat("a", 200)},
		} {
			b.Run(size.name+"/"+c.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					size.g.Search(c.text, 0, 100)
				}
			})
		}
		b.Run(size.name+"/last page of a", func(b *testing.B) {
			last := (size.g.Search("a", 0, 1).TotalHits - 1) / 100
			for b.Loop() {
				size.g.Search("a", last*100, 100)
			}
		})
	}
}
