package reload

import (
	"context"
	"net/http"
	"sync"
	"testing"

	"marquee/engine/store"
	"marquee/integration/service"
)

// meeting is a store that calls meet when a transaction first indexes records.
type meeting struct {
	store.Store
	meet func()
}

func (m *meeting) Write(ctx context.Context, fn func(store.Tx) error) error {
	return m.Store.Write(ctx, func(tx store.Tx) error { return fn(&meetingTx{tx, m.meet}) })
}

type meetingTx struct {
	store.Tx
	meet func()
}

func (tx *meetingTx) Index(ctx context.Context, collection string, entries []store.Entry) error {
	tx.meet()
	return tx.Tx.Index(ctx, collection, entries)
}

// TestReloadMeetsUnchangedObject sends an object as it is while it is being indexed by
// its words and its team: the write adds the team alone, and raises the revision of the
// object, which is found by its words nevertheless.
func TestReloadMeetsUnchangedObject(t *testing.T) {
	t.Parallel()
	servers, token := service.NewPlainServers(t, 1, reloadVenues{}.folder())
	s := servers[0]
	s.Must(token, http.MethodPost, "/api/v1/teams?context=main", `{"id": "t1", "name": "One"}`, http.StatusOK)
	s.Must(token, http.MethodPost, "/api/v1/venues?context=main", `{"id": "v1", "name": "before", "team": "t1"}`, http.StatusOK)
	s.StopSearch() // which reads the engine's store
	met := false
	s.Engine.Store = &meeting{s.Engine.Store, sync.OnceFunc(func() {
		met = true
		s.Must(token, http.MethodPost, "/api/v1/venues/v1?context=main", `{"team": "t1"}`, http.StatusOK)
	})}
	if err := s.Swap(s.Engine, reloadVenues{resource: `, "search": ["name"], "team": "team"`}.folder()); err != nil {
		t.Fatal(err)
	}
	if !met {
		t.Error("no object was indexed")
	}
	for parameter, value := range map[string]string{"q": "before", "where": "team=t1"} {
		if n := count(s, token, parameter+"="+value); n != 1 {
			t.Errorf("%s=%s finds %d objects instead of one", parameter, value, n)
		}
	}
}
