package mongo

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"

	"marquee/engine/query"
	"marquee/engine/store"
	"marquee/integration/mongodb"
)

// TestPrimaryHangs stops a primary without closing its connections while a
// statement, a commit, a read and a feed wait for it: each continues on the
// next primary.
func TestPrimaryHangs(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for an election")
	}
	t.Parallel()
	set := mongodb.NewReplicaSet(t, 3)
	var mu sync.Mutex
	hang := map[string]func(){}
	monitor := &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		mu.Lock()
		do := hang[e.CommandName]
		delete(hang, e.CommandName)
		mu.Unlock()
		if do != nil {
			do()
		}
	}}
	s := openTest(t, Options{URI: set.URI("hanging"), Monitor: monitor})
	if err := s.EnsureCollections(t.Context(), []store.Collection{{Name: faultThings}}); err != nil {
		t.Fatal(err)
	}
	key := func(n int) store.Key { return store.Key{Network: faultNetwork, ID: fmt.Sprint(n)} }
	runs, number := 0, 0
	write := func(ctx context.Context) error {
		return s.Write(ctx, func(tx store.Tx) error {
			runs++
			if err := tx.Put(ctx, faultThings, []store.Write{{Record: faultRecord(key(number), 1)}}); err != nil {
				return err
			}
			return tx.Append(ctx, []store.Change{faultChange(key(number), 1)})
		})
	}
	read := func(ctx context.Context) error {
		return s.Read(ctx, func(snapshot store.Snapshot) error {
			runs++
			return snapshot.Find(ctx, query.Query{Collection: faultThings, Network: faultNetwork, Limit: 10}, func(*store.Record) error { return nil })
		})
	}
	for _, c := range []struct {
		command string
		do      func(context.Context) error
		runs    int
	}{
		{"insert", write, 2},
		{"commitTransaction", write, 0},
		{"find", read, 2},
	} {
		number++
		if err := write(t.Context()); err != nil {
			t.Fatal(err)
		}
		number++
		primary := set.Primary()
		ctx, cancel := context.WithTimeout(t.Context(), maxLost)
		mu.Lock()
		hang[c.command] = func() { set.Pause(primary) }
		mu.Unlock()
		runs = 0
		begun := time.Now()
		err := c.do(ctx)
		took := time.Since(begun)
		cancel()
		if err != nil || c.runs > 0 && runs < c.runs {
			t.Errorf("%s: after %d runs and %v: %v", c.command, runs, took, err)
		}
		t.Logf("%s: answered after %v and %d runs", c.command, took, runs)
		stored := 0
		err = s.Read(t.Context(), func(snapshot store.Snapshot) error {
			stored = 0
			q := store.HistoryQuery{Network: faultNetwork, Collection: faultThings, ID: key(number).ID, Limit: 10}
			return snapshot.History(t.Context(), q, func(*store.Change) error { stored++; return nil })
		})
		if want := map[bool]int{true: 0, false: 1}[c.command == "find"]; err != nil || stored != want {
			t.Errorf("%s: the write is stored %d times: %v", c.command, stored, err)
		}
		set.Resume(primary)
	}
}

// TestNobodyAnswers checks that a deadline that passes while the server is
// silent is not attributed to the client.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	set := mongodb.NewReplicaSet(t, 1)
	s := openTest(t, Options{URI: set.URI("silent") + "&heartbeatFrequencyMS=500"})
	if err := s.EnsureCollections(t.Context(), []store.Collection{{Name: faultThings}}); err != nil {
		t.Fatal(err)
	}
	set.Pause(0)
	for what, do := range map[string]func(context.Context) error{
		"a write": func(ctx context.Context) error {
			return s.Write(ctx, func(tx store.Tx) error {
				return tx.Get(ctx, faultThings, []store.Key{hotKey}, func(*store.Record) error { return nil })
			})
		},
		"a read": func(ctx context.Context) error {
			return s.Read(ctx, func(snapshot store.Snapshot) error {
				return snapshot.Get(ctx, faultThings, []store.Key{hotKey}, func(*store.Record) error { return nil })
			})
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), late+2*time.Second)
		err := do(ctx)
		cancel()
		if code, _ := store.CodeOf(err); code != store.CodeUnavailable {
			t.Errorf("%s: %v", what, err)
		}
	}
	set.Resume(0)
}
