package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"testing"
	"time"

	"marquee/engine"
)

// BenchmarkCatchUp reads the feed of a network from its beginning, a page after another, and as a
// stream.
func BenchmarkCatchUp(b *testing.B) { catchUp(b, fresh(b), 50_000) }

// BenchmarkMongoDBCatchUp is BenchmarkCatchUp on MongoDB, where changes of the last minutes come
// from a change stream, and older ones from the history. MARQUEE_BENCH_AGE=3m measures the latter.
func BenchmarkMongoDBCatchUp(b *testing.B) {
	s, _ := onMongoDB(b, nil)
	catchUp(b, s, 10_000)
}

func catchUp(b *testing.B, s *service, changes int) {
	s.load(b, changes, 10)
	if text := os.Getenv("MARQUEE_BENCH_AGE"); text != "" {
		age, err := time.ParseDuration(text)
		if err != nil {
			b.Fatal(err)
		}
		time.Sleep(age) // as only MongoDB's clock makes changes old
	}
	for name, parameters := range map[string]string{"changes": "&include=changes", "none": "&include=none", "object": "&include=object", "rare": "&type=tiers"} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				began, events := time.Now(), 0
				for after, more := "begin", true; more; {
					var page struct {
						Results  []json.RawMessage
						Position string
						More     bool
					}
					s.read(b, "/api/v1/changes?context="+network+"&limit=1000&after="+url.QueryEscape(after)+parameters, &page)
					events, after, more = events+len(page.Results), page.Position, page.More
				}
				if events == 0 || name != "rare" && events < changes {
					b.Fatalf("%d events", events)
				}
				b.ReportMetric(float64(changes)/time.Since(began).Seconds(), "changes/s")
			}
		})
		if name == "rare" {
			continue
		}
		b.Run("stream/"+name, func(b *testing.B) {
			for range b.N {
				began, events := time.Now(), 0
				answer := s.ask(b, context.Background(), "/api/v1/changes?context="+network+"&after=begin"+parameters, "text/event-stream")
				lines := bufio.NewScanner(answer.Body)
				for lines.Buffer(nil, 1<<20); events < changes && lines.Scan(); {
					if lines.Text() == "event: change" {
						events++
					}
				}
				answer.Body.Close()
				if events < changes {
					b.Fatalf("%d events: %v", events, lines.Err())
				}
				b.ReportMetric(float64(changes)/time.Since(began).Seconds(), "changes/s")
			}
		})
	}
}

// read decodes the answer to a GET.
func (s *service) read(tb testing.TB, path string, into any) {
	tb.Helper()
	answer := s.ask(tb, context.Background(), path, "")
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
		tb.Fatal(err)
	}
}

// ask sends a GET.
func (s *service) ask(tb testing.TB, ctx context.Context, path, accept string) *http.Response {
	tb.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.server.URL+path, nil)
	if err != nil {
		tb.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Header.Set("Accept", accept)
	answer, err := http.DefaultClient.Do(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		tb.Fatal(answer, err)
	}
	return answer
}

// BenchmarkBesideStreams writes line items one after the other, without streams, and beside those of
// another network, or one that receives everything, and reads pages without and beside streams of
// their network. MARQUEE_BENCH_ROUNDS sets the number of rounds.
func BenchmarkBesideStreams(b *testing.B) { besideStreams(b, fresh(b)) }

// BenchmarkMongoDBBesideStreams is BenchmarkBesideStreams on MongoDB.
func BenchmarkMongoDBBesideStreams(b *testing.B) {
	s, _ := onMongoDB(b, nil)
	besideStreams(b, s)
}

func besideStreams(b *testing.B, s *service) {
	rounds := 9
	if text := os.Getenv("MARQUEE_BENCH_ROUNDS"); text != "" {
		rounds, _ = strconv.Atoi(text)
	}
	s.load(b, 1000, 10)
	s.secondNetwork(b)
	next := 10_000
	write := func() time.Duration {
		took := time.Duration(0)
		for range 200 {
			next++
			took += s.post(b, []any{lineItem(next, 10)})
		}
		return took
	}
	read := func() time.Duration {
		began := time.Now()
		for range 200 {
			s.read(b, "/api/v1/lineitems?context="+network+"&pageSize=10", new(struct{}))
		}
		return time.Since(began)
	}
	for _, c := range []struct {
		name, context string
		streams       int
		do            func() time.Duration
	}{{"other", "other", 100, write}, {"everything", network, 1, write}, {"reads", network, 100, read}} {
		b.Run(c.name, func(b *testing.B) {
			beside := func() time.Duration {
				ctx, cancel := context.WithCancel(context.Background())
				ended := make(chan struct{})
				for range c.streams {
					answer := s.ask(b, ctx, "/api/v1/changes?context="+c.context, "text/event-stream")
					go func() {
						_, _ = io.Copy(io.Discard, answer.Body)
						answer.Body.Close()
						ended <- struct{}{}
					}()
				}
				took := c.do()
				cancel()
				for range c.streams {
					<-ended
				}
				return took
			}
			interleaved(1, beside, c.do)
			b.ResetTimer()
			for range b.N {
				with, without := typical(rounds, beside, c.do)
				b.ReportMetric(float64(with)/float64(without), "time/without")
				b.ReportMetric(milliseconds(without)/200, "ms/request")
			}
		})
	}
}

// secondNetwork makes the network "other", in which the caller has the same rights.
func (s *service) secondNetwork(tb testing.TB) {
	tb.Helper()
	op := func(name string, object map[string]any) engine.Operation {
		t, err := s.engine.Type(name)
		if err != nil {
			tb.Fatal(err)
		}
		return engine.Operation{Type: t, Object: object}
	}
	const other = "other"
	in := func(name string) map[string]any {
		return map[string]any{"network": name, "roles": []any{map[string]any{"role": "admin"}}}
	}
	for _, batch := range []engine.Batch{
		{Network: other, Operations: []engine.Operation{op("networks", map[string]any{"id": other, "name": other}),
			op("roles", map[string]any{"id": "admin", "name": "Administrator", "scope": "NETWORK", "permissions": []any{"MANAGE_SYSTEM"}})}},
		{Network: network, Operations: []engine.Operation{op("users", map[string]any{"id": "admin", "userRoles": map[string]any{"rolesByNetwork": []any{in(network), in(other)}}})}},
	} {
		if _, err := s.engine.Write(context.Background(), &engine.Caller{System: true, User: "admin"}, batch); err != nil {
			tb.Fatal(fmt.Errorf("the network %s: %w", other, err))
		}
	}
}
