package integration

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"marquee/engine/store"
	"marquee/integration/process"
	"marquee/integration/service"
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
	process.SkipLong(t)
	service.EachStore(t, testAnswersThatCannotBeRendered)
}

func testAnswersThatCannotBeRendered(t *testing.T, fresh service.NewStore) {
	slow := &stalling{}
	s := service.StartNew(&service.Service{TB: t, URI: fresh(t), Wrap: func(s store.Store) store.Store {
		slow.Store = s
		return slow
	}})
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	c := &service.Conversation{T: t, Service: s, Token: token}
	slow.on.Store(true)
	many := c.Send("POST", "/api/v1/advertisers?context=main", `[{"id": "a", "name": "A"}, {"id": "b", "name": "B"}]`, http.StatusOK,
		`{"totalCount": 2, "truncated": true, "results": [{"id": "a", "name": "<absent>"}, {"id": "b", "name": "<absent>"}]}`)
	if !strings.HasPrefix(many.Header.Get("Warning"), "299 ") {
		t.Errorf("the Warning is %q", many.Header.Get("Warning"))
	}
	c.Send("POST", "/api/v1/advertisers/c?context=main", `{"name": "C"}`, http.StatusServiceUnavailable,
		`{"messages": [{"code": "error.deadline.exceeded"}]}`)
	slow.on.Store(false)
	c.Send("GET", "/api/v1/advertisers?context=main&orderBy=name&fields=id,name", "", http.StatusOK,
		`{"totalCount": 3, "results": [{"name": "A"}, {"name": "B"}, {"name": "C"}]}`)
}
