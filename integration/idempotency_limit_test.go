package integration

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"marquee"
	"marquee/engine/query"
	"marquee/engine/rest"
	"marquee/engine/store"
	"marquee/engine/write"
	"marquee/integration/service"
)

// TestIdempotencyKeysTooMany: a caller who has 100,000 keys gets no others, while repetitions,
// writes without a key and other callers go on; and some once keys have expired.
func TestIdempotencyKeysTooMany(t *testing.T) { service.EachStore(t, testIdempotencyKeysTooMany) }

func testIdempotencyKeysTooMany(t *testing.T, fresh service.NewStore) {
	const most = 100_000
	s := service.New(t, fresh)
	send := func(key string, status int) *service.Answer {
		t.Helper()
		token, err := s.SignIn(service.Admin)
		if err != nil {
			t.Fatal(err)
		}
		header := http.Header{"Authorization": {"Bearer " + token}}
		if key != "" {
			header.Set("Idempotency-Key", key)
		}
		a, err := s.Send(http.MethodPost, "/api/v1/advertisers?context=main", header, strings.NewReader(`{"name": "N"}`))
		if err != nil || a.Status != status {
			t.Fatalf("%q: %v %v", key, a, err)
		}
		return a
	}
	send("first", http.StatusOK)
	fillIdempotencyKeys(t, s, most-2)
	s.Stop()
	s.Start() // a server counts the keys of a caller when it meets the caller
	send("last", http.StatusOK)
	refused := send("further", http.StatusTooManyRequests)
	if text := string(refused.Body); !strings.Contains(text, `"error.idempotency.keys.too.many"`) || !strings.Contains(text, fmt.Sprint(most)) || refused.Header.Get("Retry-After") == "" {
		t.Errorf("%s, to be repeated after %q", text, refused.Header.Get("Retry-After"))
	}
	for _, key := range []string{"first", "last"} {
		if a := send(key, http.StatusOK); a.Header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("%s is not a repetition", key)
		}
	}
	send("", http.StatusOK)
	s.Clock.Advance(24*time.Hour + time.Minute)
	for range 5 { // some of the expired keys
		if err := s.Engine.DropIdempotencyKeys(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	send("further", http.StatusOK)
}

// TestIdempotencyKeysCount: for the rate limit of a caller, a key counts as an object, also that of
// a repetition.
func TestIdempotencyKeysCount(t *testing.T) {
	t.Parallel()
	s, token := shop(t, func(o *marquee.Options) {
		o.RateLimits = rest.RateLimits{Caller: rest.Rate{Objects: 10, Window: 24 * time.Hour}}
	})
	for n, want := range []int{200, 200, 200, 200, 429} { // two objects are there
		header := http.Header{"Authorization": {"Bearer " + token}, "Idempotency-Key": {fmt.Sprint("key", n/2)}}
		a, err := s.Send(http.MethodPost, "/api/v1/offers?context=main", header, strings.NewReader(`{}`))
		if err != nil || a.Status != want {
			t.Errorf("request %d: %v %v", n, a, err)
		}
	}
}

// fillIdempotencyKeys stores keys of the caller who has the only one.
func fillIdempotencyKeys(t *testing.T, s *service.Service, n int) {
	t.Helper()
	caller := ""
	kept := query.Query{Collection: write.IdempotencyKeys.Name, Where: query.Compare{Field: query.Field{System: query.State}, Op: query.Equal, Value: "ACTIVE"}, Limit: 2}
	err := s.Store.Read(t.Context(), func(r store.Snapshot) error {
		return r.Find(t.Context(), kept, func(r *store.Record) error {
			caller, _, _ = strings.Cut(r.ID, "/")
			return nil
		})
	})
	for n > 0 && err == nil {
		var writes []store.Write
		for range min(n, 2000) {
			n--
			writes = append(writes, store.InternalWrite(store.Record{Key: store.Key{ID: fmt.Sprintf("%s/%d", caller, n)}}, "ACTIVE", []byte("{}"), s.Clock.Now()))
		}
		err = s.Store.Write(context.WithoutCancel(t.Context()), func(tx store.Tx) error { return tx.Put(t.Context(), write.IdempotencyKeys.Name, writes) })
	}
	if err != nil || caller == "" {
		t.Fatal(caller, err)
	}
}
