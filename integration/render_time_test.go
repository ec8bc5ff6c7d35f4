package integration

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"marquee/engine/store"
)

// stalling is a store whose reads with a short deadline last until that deadline, once
// something has been written.
type stalling struct {
	store.Store
	on atomic.Bool
}

func (s *stalling) Read(ctx context.Context, fn func(store.Snapshot) error) error {
	if deadline, bounded := ctx.Deadline(); s.on.Load() && bounded && time.Until(deadline) < 10*time.Second {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.Store.Read(ctx, fn)
}

// TestAnswersThatCannotBeRendered: a write is stored even if its answer takes too long
// to render. That of several objects shows their ids and URLs; that of one object is 503.
func TestAnswersThatCannotBeRendered(t *testing.T) {
	eachStore(t, testAnswersThatCannotBeRendered)
}

func testAnswersThatCannotBeRendered(t *testing.T, fresh newStore) {
	slow := &stalling{}
	s := startNew(&service{tb: t, uri: fresh(t), wrap: func(s store.Store) store.Store {
		slow.Store = s
		return slow
	}})
	token, err := s.signIn(admin)
	if err != nil {
		t.Fatal(err)
	}
	c := &conversation{t, s, token}
	slow.on.Store(true)
	many := c.send("POST", "/api/v1/advertisers?context=main", `[{"id": "a", "name": "A"}, {"id": "b", "name": "B"}]`, http.StatusOK,
		`{"totalCount": 2, "truncated": true, "results": [{"id": "a", "name": "<absent>"}, {"id": "b", "name": "<absent>"}]}`)
	if !strings.HasPrefix(many.header.Get("Warning"), "299 ") {
		t.Errorf("the Warning is %q", many.header.Get("Warning"))
	}
	c.send("POST", "/api/v1/advertisers/c?context=main", `{"name": "C"}`, http.StatusServiceUnavailable,
		`{"messages": [{"code": "error.deadline.exceeded"}]}`)
	slow.on.Store(false)
	c.send("GET", "/api/v1/advertisers?context=main&orderBy=name&fields=id,name", "", http.StatusOK,
		`{"totalCount": 3, "results": [{"name": "A"}, {"name": "B"}, {"name": "C"}]}`)
}
