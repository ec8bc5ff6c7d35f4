package write

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"marquee/engine/catalog"
	"marquee/engine/store"
	"marquee/engine/store/sqlite"
)

// A caller with as many keys as are kept gets no others until some have expired. That is
// counted rarely, and the keys of others do not matter.
func TestIdempotencyKeysAreBounded(t *testing.T) {
	ctx := t.Context()
	s, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(t.TempDir(), "keys.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.EnsureCollections(ctx, []store.Collection{IdempotencyKeys}); err != nil {
		t.Fatal(err)
	}
	const most = 1000
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	w := New(catalog.New(s, nil, nil, func() time.Time { return now }), nil, nil)
	w.keysKept = newKeyCounts(most)
	if err := w.OpenIdempotency(ctx); err != nil {
		t.Fatal(err)
	}
	keep := func(caller string, from, to int) {
		t.Helper()
		{
			err := s.Write(ctx, func(tx store.Tx) error {
				var writes []store.Write
				for i := from; i < to; i++ {
					record := store.Record{Key: store.Key{ID: fmt.Sprintf("%s%d", caller, i)}}
					writes = append(writes, store.InternalWrite(record, "ACTIVE", []byte("{}"), now))
				}
				return tx.Put(ctx, IdempotencyKeys.Name, writes)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	room := func(caller string, want bool) {
		t.Helper()
		if got, err := w.keysKept.room(ctx, w, caller); err != nil || got != want {
			t.Errorf("%s has room: %t %v", caller, got, err)
		}
	}
	room("a/", true)
	for range most { // of which the store has none: they are counted again
		w.keysKept.add("a/")
	}
	room("a/", false)
	now = now.Add(recountTime)
	room("a/", true)
	keep("a/", 0, most-1)
	keep("b/", 0, 10)
	w.keysKept.add("a/")
	fresh := New(w.Catalog, nil, nil)
	fresh.keysKept = newKeyCounts(most)
	if got, err := fresh.keysKept.room(ctx, fresh, "a/"); !got || err != nil {
		t.Errorf("with one key less than are kept: %t %v", got, err)
	}
	fresh.keysKept.add("a/")
	keep("a/", most-1, most)
	w = fresh
	room("a/", false)
	room("b/", true)
	now = now.Add(idempotencyTime + time.Second)
	for n := 1; n > 0; {
		if err := w.DropIdempotencyKeys(ctx); err != nil {
			t.Fatal(err)
		}
		if n, err = countKeys(ctx, s, "a/", most); err != nil {
			t.Fatal(err)
		}
	}
	room("a/", true)
	if err := w.OpenIdempotency(ctx); err != nil || len(w.idempotencySecret) == 0 {
		t.Errorf("the secret has expired: %v", err)
	}
}
