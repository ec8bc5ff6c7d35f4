package mongo

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/engine/store"
	"marquee/integration/mongodb"
)

// TestPositionOutlivesTheOplog checks that a reader whose place in the oplog has been
// overwritten gets every change after it, and continues from there as before.
func TestPositionOutlivesTheOplog(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{URI: mongodb.NewReplicaSet(t, 1, mongodb.WithOplog(16)).URI("ads")})
	if err := s.EnsureCollections(t.Context(), []store.Collection{{Name: faultThings}}); err != nil {
		t.Fatal(err)
	}
	put := func(id string) {
		t.Helper()
		err := s.Write(t.Context(), func(tx store.Tx) error {
			return tx.Append(t.Context(), []store.Change{faultChange(store.Key{Network: faultNetwork, ID: id}, 1)})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	read := func(after string, limit int) (ids []string, next string) {
		t.Helper()
		for next = after; ; {
			changes, position, err := s.Changes(t.Context(), next, limit)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range changes {
				ids = append(ids, c.ID)
			}
			if next = position; !store.Full(changes, limit) {
				return ids, next
			}
		}
	}
	put("before")
	_, position := read("", 10)
	want := []string{"a", "b", "c", "d", "e"}
	for _, id := range want {
		put(id)
	}
	at, _ := parsePosition(position)
	fill := make([]byte, 1<<20)
	rand.Read(fill)
	for i := 0; ; i++ {
		if _, err := s.db.Collection("filler").InsertOne(t.Context(), bson.D{{Key: "bytes", Value: fill}}); err != nil {
			t.Fatal(err)
		}
		if err := (&follower{s: s, at: at, limit: 1}).streamed(t.Context()); errors.Is(err, errForgotten) {
			break
		} else if err != nil || i == 1000 {
			t.Fatalf("after %d MiB, the oplog still has the position (%v)", i, err)
		}
	}
	// A reader that stopped between the stored changes and the stream may have passed what was
	// committed later, by a transaction that had begun before.
	now, err := s.clusterTime(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	between, _ := parsePosition(repeating + hexTime(now) + "." + hexTime(bson.Timestamp{T: now.T + 1000}))
	follows := &follower{s: s, at: between, limit: 100}
	if err := follows.fallBack(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := follows.stored(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(follows.found) < len(want) {
		t.Errorf("a second fallback finds %d changes of %d", len(follows.found), len(want))
	}
	for _, limit := range []int{2, 100} {
		got, next := read(position, limit)
		for i, id := range got { // what comes from the stored changes and the stream is repeated
			if at := slices.Index(want, id); at < 0 && id != "before" {
				t.Errorf("%d at a time, %q is change %d", limit, id, i)
			}
		}
		for _, id := range want {
			if !slices.Contains(got, id) {
				t.Errorf("%d at a time, there is no %q in %v", limit, id, got)
			}
		}
		late := fmt.Sprint("late", limit)
		put(late)
		if got, _ := read(next, limit); !slices.Equal(got, []string{late}) {
			t.Errorf("%d at a time, then come %v, want %s", limit, got, late)
		}
		want = append(want, late)
	}
}
