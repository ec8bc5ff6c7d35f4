package mongo

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/engine/query"
	"marquee/engine/store"
	"marquee/integration/mongodb"
)

// TestSnapshotsAfterElection checks that a read after an election waits for a snapshot
// that has what clients have seen, and that one that cannot be had ends with the deadline
// of its request. Which commits a new primary knows cannot be forced, so the newest one
// that was seen is moved into the future instead.
func TestSnapshotsAfterElection(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{URI: mongodb.NewReplicaSet(t, 1).URI("elected")})
	if err := s.EnsureCollections(t.Context(), []store.Collection{{Name: faultThings}}); err != nil {
		t.Fatal(err)
	}
	write := func(id string) {
		t.Helper()
		key := store.Key{Network: faultNetwork, ID: id}
		if err := s.Write(t.Context(), func(tx store.Tx) error {
			return tx.Put(t.Context(), faultThings, []store.Write{{Record: faultRecord(key, 1)}})
		}); err != nil {
			t.Fatal(err)
		}
	}
	var runs atomic.Int64
	read := func(timeout time.Duration) (found int, err error) {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		err = s.Read(ctx, func(snapshot store.Snapshot) error {
			runs.Add(1)
			found = 0
			return snapshot.Find(ctx, query.Query{Collection: faultThings, Network: faultNetwork, Limit: 1 << 20}, func(*store.Record) error { found++; return nil })
		})
		return found, err
	}
	elect := func(ahead time.Duration) {
		s.leader.saw(&bson.Timestamp{T: uint32(time.Now().Add(ahead).Unix())})
		primary := s.leader.primary
		s.leader.found("")
		s.leader.found(primary)
	}

	write("1")
	elect(0)
	if n, err := read(time.Minute); n != 1 || err != nil || runs.Load() != 1 {
		t.Fatalf("a snapshot that has everything: %d records after %d runs, %v", n, runs.Load(), err)
	}

	elect(2 * time.Second)
	runs.Store(0)
	type result struct {
		n   int
		err error
	}
	answer := make(chan result, 1)
	go func() {
		n, err := read(time.Minute)
		answer <- result{n, err}
	}()
	for written := 2; ; written++ {
		write(fmt.Sprint(written)) // which advances the time of the cluster
		select {
		case r := <-answer:
			if r.n < 2 || r.err != nil || runs.Load() < 2 {
				t.Fatalf("a snapshot that lacked commits at first: %d records after %d runs, %v", r.n, runs.Load(), r.err)
			}
		default:
			continue
		}
		break
	}

	key, asked := store.Key{Network: faultNetwork, ID: "1"}, 0
	err := s.Read(t.Context(), func(snapshot store.Snapshot) error {
		for range 2 {
			asked++
			if err := snapshot.Get(t.Context(), faultThings, []store.Key{key}, func(*store.Record) error { return nil }); err != nil {
				return err
			}
			elect(time.Hour)
		}
		return nil
	})
	if asked != 2 || err != nil {
		t.Errorf("a snapshot that was current when it began is asked %d times: %v", asked, err)
	}

	_, err = read(time.Second)
	if code, _ := store.CodeOf(err); code != store.CodeUnavailable {
		t.Errorf("a snapshot that lacks commits until the deadline: %v", err)
	}
}

// TestFeedIsSeen checks that after an election, the snapshots of a process have what its feed has
// shown of the writes of another.
func TestFeedIsSeen(t *testing.T) {
	t.Parallel()
	uri := mongodb.URI(t)
	writer, reader := openTest(t, Options{URI: uri}), openTest(t, Options{URI: uri})
	position := ""
	end := func() (err error) {
		position, err = reader.End(t.Context())
		return err
	}
	changes := func() (err error) {
		_, position, err = reader.Changes(t.Context(), position, 10)
		return err
	}
	for i, feed := range []func() error{end, changes} {
		err := writer.Write(t.Context(), func(tx store.Tx) error {
			return tx.Append(t.Context(), []store.Change{faultChange(store.Key{Network: faultNetwork, ID: "a"}, 1)})
		})
		if err == nil {
			err = feed()
		}
		if err != nil {
			t.Fatal(err)
		}
		if reader.leader.seen.Before(writer.leader.seen) {
			t.Errorf("%d: snapshots may lack what was committed at %v, as %v is required", i, writer.leader.seen, reader.leader.seen)
		}
	}
}
