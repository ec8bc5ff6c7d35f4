package mongo

import (
	"context"
	"testing"
	"time"

	"marquee/engine/query"
	"marquee/engine/store"
	"marquee/integration/mongodb"
)

// TestIndexesWithoutAMember: the indexes of a collection with records are built while a member of
// the set is gone.
func TestIndexesWithoutAMember(t *testing.T) {
	t.Parallel()
	set := mongodb.NewReplicaSet(t, 3)
	s := openTest(t, Options{URI: set.URI("indexes")})
	ensure := func(indexes ...store.Index) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := s.EnsureCollections(ctx, []store.Collection{{Name: faultThings, Indexes: indexes}}); err != nil {
			t.Fatal(err)
		}
	}
	ensure()
	err := s.Write(t.Context(), func(tx store.Tx) error {
		return tx.Put(t.Context(), faultThings, []store.Write{{Record: faultRecord(hotKey, 1)}})
	})
	if err != nil {
		t.Fatal(err)
	}
	set.Kill((set.Primary() + 1) % 3)
	ensure(store.Index{Order: query.Field{System: query.UpdateUser}})
}
