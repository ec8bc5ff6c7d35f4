package mongo

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"marquee/engine/document"
	"marquee/engine/store"
	"marquee/integration/mongodb"
)

// TestRecentIsNotLate keeps a number in memory by Recent in one process, while another
// counts it up, and the primary hangs, is killed and steps down: what is kept is never
// older than a second, also when all other reads go to members that lag behind.
func TestRecentIsNotLate(t *testing.T) {
	set := mongodb.NewReplicaSet(t, 3)
	uri := set.URI("ads")
	writer, reader := openTest(t, Options{URI: uri}), openTest(t, Options{URI: uri + "&readPreference=secondaryPreferred"})
	if err := writer.EnsureCollections(t.Context(), []store.Collection{{Name: faultThings}}); err != nil {
		t.Fatal(err)
	}
	var counted counter
	stop := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() { counted.count(t, writer, stop) })
	var checks, kept int
	work.Go(func() { checks, kept = counted.check(t, reader, stop) })
	faults := []func(){
		set.StepDown,
		func() {
			i := set.Primary()
			set.Pause(i)
			counted.advances(t, 2)
			set.Resume(i)
		},
		func() {
			i := set.Primary()
			set.Kill(i)
			counted.advances(t, 2)
			set.Start(i)
		},
	}
	for i := range 3 {
		counted.advances(t, 20+rand.IntN(20))
		faults[i%len(faults)]()
		counted.advances(t, 5)
	}
	counted.advances(t, 50)
	close(stop)
	work.Wait()
	t.Logf("%d writes, %d checks, %d of them from memory", counted.number(), checks, kept)
	if kept < 10 {
		t.Errorf("only %d of %d checks were answered from memory", kept, checks)
	}
}

// counter is a stored number, and when it was written.
type counter struct {
	mu    sync.Mutex
	times []time.Time // when the write of each number had returned
}

func (c *counter) number() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.times)
}

// since returns the number that had been written before a time.
func (c *counter) since(at time.Time) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.times)
	for n > 0 && c.times[n-1].After(at) {
		n--
	}
	return n
}

// advances waits until some more numbers have been written.
func (c *counter) advances(t *testing.T, n int) {
	for target := c.number() + n; c.number() < target && !t.Failed() && t.Context().Err() == nil; {
		<-time.After(10 * time.Millisecond)
	}
}

var counterKey = store.Key{Network: faultNetwork, ID: "counter"}

func (c *counter) count(t *testing.T, s *Store, stop chan struct{}) {
	for n := 1; ; n++ {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(rand.Int64N(int64(40 * time.Millisecond)))):
		}
		err := s.Write(t.Context(), func(tx store.Tx) error {
			was := store.Record{Key: counterKey}
			err := tx.Get(t.Context(), faultThings, []store.Key{counterKey}, func(r *store.Record) error {
				was = *r
				return nil
			})
			if err != nil {
				return err
			}
			return tx.Put(t.Context(), faultThings, []store.Write{store.InternalWrite(was, "ACTIVE", fmt.Appendf(nil, `{"n":%d}`, n), time.Now())})
		})
		if err != nil {
			t.Errorf("write %d: %v", n, err)
			return
		}
		c.mu.Lock()
		c.times = append(c.times, time.Now())
		c.mu.Unlock()
	}
}

// check reads the number, or takes the one that was read before, as callers of Recent
// do, and compares it with what had been written a second before.
func (c *counter) check(t *testing.T, s *Store, stop chan struct{}) (checks, kept int) {
	var revision string
	var value int64
	for {
		select {
		case <-stop:
			return checks, kept
		case <-time.After(time.Millisecond):
		}
		least := c.since(time.Now().Add(-store.Freshness))
		now, known := s.Recent(faultThings)
		if !known {
			continue
		}
		checks++
		if now == revision {
			if kept++; value < int64(least) {
				t.Errorf("%d is kept although %d was written a second ago", value, least)
				return checks, kept
			}
			continue
		}
		var read int64
		err := s.Read(store.WithEffort(t.Context(), store.Effort{Latest: true}), func(r store.Snapshot) error {
			return r.Get(t.Context(), faultThings, []store.Key{counterKey}, func(r *store.Record) error {
				object, err := document.DecodeObject(r.Document, document.DefaultLimits)
				read, _ = object["n"].(int64)
				return err
			})
		})
		if err != nil {
			t.Errorf("read: %v", err)
			return checks, kept
		}
		revision, value = now, read
	}
}
