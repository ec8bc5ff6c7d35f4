package bench

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
)

const clients = 4

// throughput asks for a path again and again from several clients.
func throughput(tb testing.TB, s *service, url string, requests int) time.Duration {
	tb.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients, DisableCompression: true}}
	defer client.CloseIdleConnections()
	var wait sync.WaitGroup
	began := time.Now()
	for range clients {
		wait.Go(func() {
			for range requests / clients {
				r, err := http.NewRequest(http.MethodGet, url, nil)
				if err != nil {
					tb.Error(err)
					return
				}
				r.Header.Set("Authorization", "Bearer "+s.token)
				answer, err := client.Do(r)
				if err != nil {
					tb.Error(err)
					return
				}
				if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK {
					tb.Errorf("%d %v", answer.StatusCode, err)
				}
				answer.Body.Close()
			}
		})
	}
	wait.Wait()
	return time.Since(began)
}

// BenchmarkGet compares GET of one object through the whole stack with a bare
// Gin handler that checks the same token and writes the same bytes.
func BenchmarkGet(b *testing.B) {
	s := fresh(b)
	s.load(b, 10_000, 10)
	const path = "/api/v1/lineitems/li-00000042?context=main"
	answer, err := http.DefaultClient.Do(s.request(b, path))
	if err != nil {
		b.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil {
		b.Fatal(err)
	}
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.GET("/api/v1/*path", func(c *gin.Context) {
		if _, err := s.auth.Caller(c.Request.Context(), c.GetHeader("Authorization")[len("Bearer "):]); err != nil {
			c.AbortWithStatus(http.StatusUnauthorized)
			return
		}
		c.Header("Content-Length", strconv.Itoa(len(body)))
		c.Data(http.StatusOK, "application/json", body)
	})
	bare := httptest.NewServer(router)
	defer bare.Close()
	b.ResetTimer()
	for range b.N {
		ours, baseline := interleaved(10, func() time.Duration { return throughput(b, s, s.server.URL+path, 1000) },
			func() time.Duration { return throughput(b, s, bare.URL+path, 1000) })
		b.ReportMetric(float64(baseline)/float64(ours), "throughput/bare")
		b.ReportMetric(10_000/ours.Seconds(), "gets/s")
	}
}

// BenchmarkList compares the latency of a page at LARGE stored objects with
// that at 10,000.
func BenchmarkList(b *testing.B) {
	large := benchObjects(b)
	small := fresh(b)
	small.load(b, 10_000, 10)
	big := fresh(b)
	big.load(b, large, large/1000)
	compareLists(b, big, small)
}

// compareLists compares the latency of a page of 100 of a large store with that
// of a small one: filtered and ordered by indexed fields so that 1,000 match,
// unfiltered with an exact count, and without a count; with a word, and with the
// beginning of one, that all objects have; with a condition that all meet; and
// the history with an exact count. Written pages follow directly on a write.
func compareLists(b *testing.B, big, small *service) {
	for _, row := range []struct {
		name, path string
		written    bool
	}{
		{"filtered", "/api/v1/lineitems?context=main&where=order=o7&orderBy=name", false},
		{"first", "/api/v1/lineitems?context=main", false},
		{"first-written", "/api/v1/lineitems?context=main", true},
		{"uncount", "/api/v1/lineitems?context=main&count=false", false},
		{"word", "/api/v1/lineitems?context=main&q=line&count=false", false},
		{"prefix-written", "/api/v1/lineitems?context=main&q=l+i&count=false", true},
		{"unequal", "/api/v1/lineitems?context=main&where=tier!=none&count=false", false},
		{"history-written", "/api/v1/audit?context=main", true},
	} {
		b.Run(row.name, func(b *testing.B) {
			n := 0
			latency := func(s *service) func() time.Duration {
				return func() time.Duration {
					if n++; row.written {
						s.write(b, "lineitems", []map[string]any{{"id": "li-00000007", "description": strconv.Itoa(n)}})
					}
					return s.page(b, row.path)
				}
			}
			interleaved(3, latency(big), latency(small))
			b.ResetTimer()
			for range b.N {
				ours, baseline := typical(200, latency(big), latency(small))
				b.ReportMetric(float64(ours)/float64(baseline), "large/10k")
				b.ReportMetric(milliseconds(ours), "ms/page")
			}
		})
	}
}

// benchObjects is the number of objects in the large store.
func benchObjects(b *testing.B) int {
	text := os.Getenv("MARQUEE_BENCH_OBJECTS")
	if text == "" {
		return 1_000_000
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1000 {
		b.Fatal("MARQUEE_BENCH_OBJECTS must be a number from 1000", err)
	}
	return n
}
