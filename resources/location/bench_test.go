package location

import (
	"runtime"
	"strings"
	"testing"
)

// BenchmarkLoad also reports what the gazetteer keeps in memory.
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

// BenchmarkSearch asks the embedded gazetteer, and one three times as large.
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
				size.g.Search("a", last, 100)
			}
		})
	}
}
