package integration

import (
	"context"
	"testing"
	"time"

	"marquee/engine/store"
)

// takeLease writes the lease of the types as another server would.
func (s *service) takeLease() {
	s.tb.Helper()
	ctx := context.Background()
	err := s.store.Write(ctx, func(tx store.Tx) error {
		key := store.Key{ID: ".lease"}
		var revision int64
		err := tx.Get(ctx, "engine_types", []store.Key{key}, func(r *store.Record) error {
			revision = r.Revision
			return nil
		})
		if err != nil {
			return err
		}
		now := time.Now().UTC().Truncate(time.Millisecond)
		return tx.Put(ctx, "engine_types", []store.Write{{Expected: revision, Record: store.Record{Key: key,
			State: "ACTIVE", CreateTime: now, UpdateTime: now, Document: []byte(`{"owner":"another"}`)}}})
	})
	if err != nil {
		s.tb.Fatal(err)
	}
}

// TestServersLeaseOfDead serves a schema after a server was killed that held the
// lease: it is waited for, and not for ever.
func TestServersLeaseOfDead(t *testing.T) {
	t.Parallel()
	servers, token := newServers(t, 1, venues(""))
	s := servers[0]
	s.takeLease()
	began := time.Now()
	if err := s.swap(s.engine, venues(moreVenues)); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 14*time.Second {
		t.Errorf("after %v", took)
	}
	if n := s.count(token, "where=labels=l"); n != 0 {
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
	servers, _ := newServers(t, 1, venues(""))
	s := servers[0]
	sleeping := &sleeper{Store: s.store, asleep: s.takeLease}
	s.stopSearch() // which reads the engine's store
	s.engine.Store = sleeping
	before := s.engine.Registry()
	err := s.swap(s.engine, venues(moreVenues))
	if code, _ := store.CodeOf(err); code != store.CodeUnavailable {
		t.Errorf("want that the lease is lost, got %v", err)
	}
	if sleeping.forgot {
		t.Error("it dropped what another server may have filled in")
	}
	if s.engine.Registry() != before {
		t.Error("it serves the schemas all the same")
	}
}
