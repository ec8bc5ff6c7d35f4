package reload

import (
	"context"
	"testing"
	"time"

	"marquee/engine/store"
	"marquee/integration/service"
)

// takeLease writes the lease of the types as another server would.
func takeLease(s *service.Service) {
	s.TB.Helper()
	if err := service.WriteLease(s.Store, "another"); err != nil {
		s.TB.Fatal(err)
	}
}

// TestServersLeaseOfDead serves a schema after a server was killed that held the
// lease: it is waited for, and not for ever.
func TestServersLeaseOfDead(t *testing.T) {
	t.Parallel()
	servers, token := service.NewPlainServers(t, 1, venues(""))
	s := servers[0]
	takeLease(s)
	began := time.Now()
	if err := s.Swap(s.Engine, venues(moreVenues)); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 14*time.Second {
		t.Errorf("after %v", took)
	}
	if n := count(s, token, "where=labels=l"); n != 0 {
		t.Errorf("%d venues", n)
	}
}

// sleeper is a store that has its process sleep before it forgets.
type sleeper struct {
	store.Store
	asleep func()
	forgot bool
}

func (s *sleeper) Settle(ctx context.Context, at time.Time) error {
	s.asleep()
	return s.Store.Settle(ctx, at)
}

func (s *sleeper) Forget(ctx context.Context, collection string, terms, properties []string) error {
	s.forgot = true
	return s.Store.Forget(ctx, collection, terms, properties)
}

// TestServersLeaseLost lets another server take the lease from one that sleeps:
// when it wakes up, it drops nothing, notes nothing, and its schemas are refused.
func TestServersLeaseLost(t *testing.T) {
	t.Parallel()
	servers, _ := service.NewPlainServers(t, 1, venues(""))
	s := servers[0]
	sleeping := &sleeper{Store: s.Store, asleep: func() { takeLease(s) }}
	s.StopSearch() // which reads the engine's store
	s.Engine.Store = sleeping
	before := s.Engine.Registry()
	err := s.Swap(s.Engine, venues(moreVenues))
	if code, _ := store.CodeOf(err); code != store.CodeUnavailable {
		t.Errorf("want that the lease is lost, got %v", err)
	}
	if sleeping.forgot {
		t.Error("it dropped what another server may have filled in")
	}
	if s.Engine.Registry() != before {
		t.Error("it serves the schemas all the same")
	}
}
