package mongo

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/engine/store"
	"marquee/engine/store/mongo/record"
	"marquee/integration/mongodb"
)

// TestUnconfirmedWrites checks that a call which changes nothing, alone or in a group, is
// not answered from a write that is not on a majority, and could be lost.
func TestUnconfirmedWrites(t *testing.T) {
	t.Parallel()
	set := mongodb.NewReplicaSet(t, 3)
	s := openTest(t, Options{URI: set.URI("unconfirmed")})
	if err := s.EnsureCollections(t.Context(), []store.Collection{{Name: faultThings}}); err != nil {
		t.Fatal(err)
	}
	g := &grouped{T: t, s: s}
	if err := g.counting(hotKey)(); err != nil {
		t.Fatal(err)
	}
	primary := set.Primary()
	others := func(do func(member int)) {
		for i := range 3 {
			if i != primary {
				do(i)
			}
		}
	}
	others(set.Pause)
	write := make(chan error, 1)
	go func() { write <- g.counting(hotKey)() }()
	stored := set.Member(primary).Database("unconfirmed").Collection(faultThings)
	for version := int64(1); version != 2; {
		var found struct{ Version int64 }
		if err := stored.FindOne(t.Context(), bson.D{{Key: record.FieldID, Value: record.ID(hotKey)}}).Decode(&found); err != nil {
			t.Fatal(err)
		}
		version = found.Version
	}
	look := func(ctx context.Context, seen *int64) func() error {
		return g.callIn(ctx, hotKey, func(ctx context.Context, tx store.Tx) error {
			return tx.Get(ctx, faultThings, []store.Key{hotKey}, func(r *store.Record) error { *seen = r.Version; return nil })
		})
	}
	soon := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		t.Cleanup(cancel)
		return ctx
	}
	var alone, one, other int64
	errs := []error{look(soon(), &alone)()}
	errs = append(errs, gathered(s, look(soon(), &one), look(soon(), &other))...)
	for i, err := range errs {
		if err == nil {
			t.Errorf("call %d was answered from a write that could be lost: versions %d, %d, %d", i, alone, one, other)
		}
	}
	others(set.Resume)
	if err := <-write; err != nil {
		t.Error(err)
	}
	for i, err := range append(gathered(s, look(t.Context(), &one), look(t.Context(), &other)), look(t.Context(), &alone)()) {
		if err != nil || one != 2 || other != 2 {
			t.Errorf("call %d: versions %d and %d, %v", i, one, other, err)
		}
	}
}
