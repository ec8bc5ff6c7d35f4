package bench

import (
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"marquee/integration/mongodb"
)

// uploadObjects is the most that an upload takes.
const uploadObjects = 100_000

// segments is the body of an upload, of so many bytes for each segment, or a
// few more.
func segments(text string, bytes int) []byte {
	var b strings.Builder
	for i := range uploadObjects {
		start := b.Len()
		b.WriteByte("[,"[min(i, 1)])
		b.WriteString(`{"segmentId":"segment-` + strconv.Itoa(1_000_000+i) + `","name":"` + text + ` ` + strconv.Itoa(i) +
			`","dataSource":"ADOBE","teams":["north","south"],"timeToLiveType":"FIXED_DURATION","ttlNumber":30,"ttlUnit":"Days","ttlSpec":true,"description":"`)
		for b.Len()-start+2 < bytes {
			b.WriteString("Who belongs to it. ")
		}
		b.WriteString(`"}`)
	}
	b.WriteByte(']')
	return []byte(b.String())
}

// upload lets the real program take the largest upload: of new segments, of
// the same again, and of segments that all change. It reports the time of each
// and the peak of the program's resident memory.
func upload(b *testing.B, uri string, bytes int) {
	binary := build(b)
	p := start(b, binary, uri)
	p.do(b, http.MethodPost, "/api/v1/teams?context=main", []byte(`[{"id":"north","name":"North"},{"id":"south","name":"South"}]`))
	at := func(name string, body []byte) {
		began := time.Now()
		p.do(b, http.MethodPost, "/api/v1/segments/upload?context=main", body)
		b.ReportMetric(time.Since(began).Seconds(), "s/"+name)
	}
	first, second := segments("Readers", bytes), segments("Writers", bytes)
	b.ReportMetric(float64(len(first))/(1<<20), "bodyMB")
	b.ReportMetric(p.peak(b), "idleMB")
	for b.Loop() {
		at("new", first)
		at("same", first)
		at("changed", second)
	}
	b.ReportMetric(p.peak(b), "peakMB")
	p.stop(b)
}

// BenchmarkSegmentsUpload is the upload of 100,000 segments, of the size that
// they have, and of the largest body.
func BenchmarkSegmentsUpload(b *testing.B) {
	for name, bytes := range map[string]int{"plain": 250, "largest": 1320} {
		b.Run(name, func(b *testing.B) {
			upload(b, "sqlite:"+filepath.Join(b.TempDir(), "data", "marquee.db"), bytes)
		})
	}
}

// BenchmarkMongoDBSegmentsUpload is the same on MongoDB, which ends a
// transaction after 60 s, and keeps it in its cache.
func BenchmarkMongoDBSegmentsUpload(b *testing.B) {
	for name, bytes := range map[string]int{"plain": 250, "largest": 1320} {
		b.Run(name, func(b *testing.B) {
			set := mongodb.NewReplicaSet(b, 1)
			enlarge(b, set.Client())
			watched := watch(set.Client().Database("marquee"))
			upload(b, set.URI("marquee"), bytes)
			_, unwritten := watched()
			b.ReportMetric(unwritten, "server-dirtyMB")
		})
	}
}
