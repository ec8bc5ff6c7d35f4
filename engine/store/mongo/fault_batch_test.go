package mongo

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/engine/store"
	"marquee/integration/mongodb"
)

// TestSecondBatch checks that errors after the first batch of an answer lose
// nothing and leave nothing open.
func TestSecondBatch(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, mongodb.Lend(t))
	const many = 300
	f.must(f.other.Write(t.Context(), func(tx store.Tx) error {
		var writes []store.Write
		var changes []store.Change
		for i := range many {
			key := store.Key{Network: "batch", ID: fmt.Sprintf("%04d", i)}
			record := faultRecord(key, 1)
			record.Document = []byte(`{"text":"` + strings.Repeat("x", 100_000) + `"}`)
			writes = append(writes, store.Write{Record: record})
			changes = append(changes, faultChange(key, 1))
		}
		if err := tx.Put(t.Context(), faultThings, writes); err != nil {
			return err
		}
		return tx.Append(t.Context(), changes)
	}))

	t.Run("changes that are stored", func(t *testing.T) {
		now, err := f.s.clusterTime(t.Context())
		f.must(err)
		follow := follower{s: f.s, limit: 10 * many, at: position{horizon: bson.Timestamp{T: now.T + 1}}}
		f.failing(failPoint{step{"getMore", ""}, faultCode(239), 1}, func() { f.must(follow.stored(t.Context())) })
		seen := map[string]bool{}
		for _, c := range follow.found {
			if c.Network == "batch" {
				seen[c.ID] = true
			}
		}
		if len(seen) != many {
			t.Errorf("%d of %d changes, the first is %s", len(seen), many, follow.found[0].ID)
		}
	})

	t.Run("a client that goes", func(t *testing.T) {
		open := func() int64 {
			status, err := f.set.Client().Database("admin").RunCommand(t.Context(), bson.D{{Key: "serverStatus", Value: 1}}).Raw()
			f.must(err)
			n, _ := status.Lookup("metrics", "cursor", "open", "total").AsInt64OK()
			return n
		}
		before := open()
		for range 10 {
			ctx, cancel := context.WithCancel(t.Context())
			err := f.s.Read(ctx, func(s store.Snapshot) error {
				return s.Scan(ctx, faultThings, store.Key{Network: "batch"}, many, func(*store.Record) error { cancel(); return nil })
			})
			if code, _ := store.CodeOf(err); code != store.CodeDeadline {
				t.Fatalf("%v", err)
			}
		}
		for deadline := time.Now().Add(10 * time.Second); open() > before; {
			if time.Now().After(deadline) {
				t.Fatalf("%d cursors are open, and were %d", open(), before)
			}
		}
	})
}

// TestPositionAdvances checks that the position of a reader passes changes that
// it skips, so that they are not read again.
func TestPositionAdvances(t *testing.T) {
	s := openTest(t, Options{})
	if err := s.EnsureCollections(t.Context(), []store.Collection{{Name: faultThings}}); err != nil {
		t.Fatal(err)
	}
	put := func(id string, changed bool) {
		if err := s.Write(t.Context(), func(tx store.Tx) error {
			key := store.Key{Network: "n", ID: id}
			if err := tx.Put(t.Context(), faultThings, []store.Write{{Record: faultRecord(key, 1)}}); err != nil || !changed {
				return err
			}
			return tx.Append(t.Context(), []store.Change{faultChange(key, 1)})
		}); err != nil {
			t.Fatal(err)
		}
	}
	put("a", true)
	_, at, err := s.Changes(t.Context(), "", 10)
	if err != nil {
		t.Fatal(err)
	}
	put("b", false)
	none, next, err := s.Changes(t.Context(), at, 10)
	if err != nil || len(none) > 0 || next == at {
		t.Errorf("%v, %v, the position stayed: %t", none, err, next == at)
	}
	put("c", true)
	if changes, _, err := s.Changes(t.Context(), next, 10); err != nil || len(changes) != 1 || changes[0].ID != "c" {
		t.Errorf("%v, %v", changes, err)
	}
}
