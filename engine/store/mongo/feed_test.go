package mongo

import (
	"fmt"
	"testing"

	"marquee/engine/store"
	"marquee/integration/mongodb"
)

// TestFeedHasWhatWasAnswered checks that the feed of one process has the
// committed writes of another, even when it reads from a lagging member, and
// those of a transaction that was open for long.
func TestFeedHasWhatWasAnswered(t *testing.T) {
	set := mongodb.NewReplicaSet(t, 3)
	uri := set.URI("ads")
	writer, reader := openTest(t, Options{URI: uri}), openTest(t, Options{URI: uri + "&readPreference=secondary"})
	if err := writer.EnsureCollections(t.Context(), []store.Collection{{Name: faultThings}}); err != nil {
		t.Fatal(err)
	}
	commit, begun, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	put := func(id string, then func()) error {
		return writer.Write(t.Context(), func(tx store.Tx) error {
			key := store.Key{Network: faultNetwork, ID: id}
			if err := tx.Put(t.Context(), faultThings, []store.Write{{Record: faultRecord(key, 1)}}); err != nil {
				return err
			}
			err := tx.Append(t.Context(), []store.Change{faultChange(key, 1)})
			then()
			return err
		})
	}
	go func() {
		ended <- put("open", func() {
			close(begun)
			<-commit
		})
	}()
	<-begun
	position, err := reader.End(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wants := func(id string) {
		t.Helper()
		changes, next, err := reader.Changes(t.Context(), position, 10, faultThings)
		if err != nil {
			t.Fatal(err)
		}
		if len(changes) != 1 || changes[0].ID != id {
			t.Fatalf("after the write of %s the feed has %v", id, changes)
		}
		position = next
	}
	for i := range 300 {
		if err := put(fmt.Sprint(i), func() {}); err != nil {
			t.Fatal(err)
		}
		wants(fmt.Sprint(i))
	}
	close(commit)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	wants("open")
}
