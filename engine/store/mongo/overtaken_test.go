package mongo

import (
	"testing"
	"time"

	"marquee/engine/store"
	"marquee/integration/mongodb"
)

// TestOvertakenCopy: of two copies that began with the same store, the one that comes after the
// other was completed changes nothing.
func TestOvertakenCopy(t *testing.T) {
	mongodb.Need(t)
	for name, exists := range map[string]bool{"new": false, "empty": true} {
		t.Run(name, func(t *testing.T) {
			ctx, uri := t.Context(), mongodb.URI(t)
			open := func(loading bool) *Store {
				s, err := Open(ctx, Options{URI: uri, Loading: loading})
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			if exists {
				open(false).Close()
			}
			first, second := open(true), open(true)
			defer first.Close()
			defer second.Close()
			progress := store.InternalWrite(store.Record{Key: store.Key{ID: "progress"}}, "ACTIVE", []byte("{}"), time.Now())
			if err := first.EnsureCollections(ctx, []store.Collection{{Name: store.LoadingCollection}}); err != nil {
				t.Fatal(err)
			}
			if err := first.Load(ctx, &store.Portion{}, store.Loading{Progress: progress, Last: true}); err != nil {
				t.Fatal(err)
			}
			err := second.Load(ctx, &store.Portion{}, store.Loading{Progress: progress})
			if code, _ := store.CodeOf(err); code != store.CodeConflict {
				t.Errorf("the second copy: %v", err)
			}
			open(false).Close()
		})
	}
}
