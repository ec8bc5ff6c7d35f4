package mongo

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"marquee/engine/query"
	"marquee/engine/store"
	"marquee/engine/store/storetest"
	"marquee/integration/mongodb"
)

// TestTalliesOfServers proves that counts are exact while two servers write, and that
// both follow what is written instead of counting again.
func TestTalliesOfServers(t *testing.T) {
	uri := mongodb.URI(t)
	var counted atomic.Int64
	shards := mongodb.ShardKeys(t)
	monitor := &event.CommandMonitor{Succeeded: shards.Succeeded, Failed: shards.Failed, Started: func(ctx context.Context, e *event.CommandStartedEvent) {
		if of, _ := e.Command.Lookup("aggregate").StringValueOK(); of != "others" && strings.Contains(e.Command.String(), `"$group"`) {
			counted.Add(1)
		}
		if shards.Started != nil {
			shards.Started(ctx, e)
		}
	}}
	a, b := openTest(t, Options{URI: uri, Monitor: monitor}), openTest(t, Options{URI: uri, Monitor: monitor})
	storetest.CountWhileWriting(t, 5, a, b) // and begins to follow
	for _, s := range []*Store{a, b} {
		for !s.tallies.Has(store.Place{Collection: "things", Network: "n1"}) {
			err := s.Read(t.Context(), func(v store.Snapshot) error {
				_, err := v.Count(t.Context(), query.Query{Collection: "things", Network: "n1"})
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	counted.Store(0)
	storetest.CountWhileWriting(t, 100, a, b)
	if n := counted.Load(); n > 20 {
		t.Errorf("%d counts of a collection", n)
	}
}

// TestTalliesOfUnknownChanges proves that what is counted between the marker of a
// transaction whose changes are not known and its commit is counted again: the snapshot
// of the count does not see the transaction.
func TestTalliesOfUnknownChanges(t *testing.T) {
	place := store.Place{Collection: "things", Network: "n"}
	for name, tallies := range map[string]any{"of a place": []talliedChange{{Collection: place.Collection}}, "of an earlier version": nil} {
		s := &Store{}
		count := func(commit uint64, records int64) {
			t.Helper()
			n, err := s.tallies.Sum(place, commit, func(string) bool { return true }, func() (map[string]int64, error) {
				return map[string]int64{"ACTIVE": records}, nil
			})
			if err != nil || n != records {
				t.Errorf("%s: %d counted as of %d, want %d: %v", name, n, commit, records, err)
			}
		}
		s.tallies.Clear(6)
		current, err := bson.Marshal(bson.M{"clusterTime": bson.Timestamp{I: 7},
			"fullDocument": bson.M{"_id": bson.M{"network": place.Network}, "collections": []string{place.Collection}, "tallies": tallies}})
		if err != nil {
			t.Fatal(err)
		}
		m := markers{s: s, stream: &mongo.ChangeStream{Current: current}}
		if err := m.count(); err != nil {
			t.Fatal(err)
		}
		count(6, 2)
		m.commit(7)
		count(7, 1)
	}
}

// TestTalliesAfterElections proves that counts are exact when another member becomes
// primary, at a server that writes and at one that reads.
func TestTalliesAfterElections(t *testing.T) {
	set := mongodb.NewReplicaSet(t, 3)
	writer, reader := openTest(t, Options{URI: set.URI("ads")}), openTest(t, Options{URI: set.URI("ads")})
	if err := writer.EnsureCollections(t.Context(), []store.Collection{{Name: faultThings}}); err != nil {
		t.Fatal(err)
	}
	written, tallied := 0, 0
	for i := range 60 {
		switch i {
		case 20:
			set.StepDown()
		case 40:
			primary := set.Primary()
			set.Kill(primary)
			defer set.Start(primary)
		}
		w := store.InternalWrite(store.Record{Key: store.Key{Network: "n", ID: strconv.Itoa(i)}}, "ACTIVE", []byte("{}"), time.Now())
		if err := writer.Write(t.Context(), func(tx store.Tx) error { return tx.Put(t.Context(), faultThings, []store.Write{w}) }); err == nil {
			written++
		}
		for _, s := range []*Store{writer, reader} {
			found, counted := 0, int64(0)
			err := s.Read(t.Context(), func(v store.Snapshot) (err error) {
				found = 0
				if counted, err = v.Count(t.Context(), query.Query{Collection: faultThings, Network: "n"}); err != nil {
					return err
				}
				return v.Scan(t.Context(), faultThings, store.Key{}, 100, func(*store.Record) error { found++; return nil })
			})
			if err != nil {
				t.Fatal(err)
			}
			if int(counted) != found || s == writer && found < written {
				t.Errorf("after %d writes: %d counted, %d found", written, counted, found)
			}
			if s.tallies.Has(store.Place{Collection: faultThings, Network: "n"}) {
				tallied++
			}
		}
	}
	if written < 50 || tallied < 60 {
		t.Errorf("%d writes of 60, and %d counts of 120 that were kept", written, tallied)
	}
}
