package mongo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"marquee/engine/store"
	"marquee/integration/mongodb"
)

// TestMishapsAtRandom has several clients change the same records over
// connections that break at random; some disconnect. Every write reported as
// stored is stored once, and every write reported as failed is not.
func TestMishapsAtRandom(t *testing.T) {
	t.Parallel()
	t.Run("alone", func(t *testing.T) { testMishaps(t, func(store.Key) store.Effort { return store.Effort{} }) })
	t.Run("in groups", func(t *testing.T) {
		testMishaps(t, func(key store.Key) store.Effort {
			return store.Effort{Records: 1, Reads: []store.Lookup{{Collection: faultThings, Keys: []store.Key{key}}}}
		})
	})
}

func testMishaps(t *testing.T, effort func(store.Key) store.Effort) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	f := newFaulty(t, mongodb.Lend(t))
	const writers, records = 8, 3
	writes := 40
	if testing.Short() {
		writes = 10
	}
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 0))
	f.proxy.on(func(s step) (mishap, func()) {
		mu.Lock()
		defer mu.Unlock()
		if random.IntN(40) > 0 && (s != commitStep || random.IntN(8) > 0) {
			return arrives, nil
		}
		return []mishap{unsent, unanswered}[random.IntN(2)], nil
	})
	stored, codes := map[store.Key]int64{}, map[store.Code]int{}
	var wait sync.WaitGroup
	for w := range writers {
		random := rand.New(rand.NewPCG(seed, uint64(w)+1))
		wait.Go(func() {
			for range writes {
				key := store.Key{Network: faultNetwork, ID: fmt.Sprintf("shared%d", random.IntN(records))}
				ctx, cancel := context.WithCancel(t.Context())
				leaves := random.IntN(4) == 0
				if leaves {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(random.Int64N(int64(30*time.Millisecond))))
				}
				err := f.s.Write(store.WithEffort(ctx, effort(key)), func(tx store.Tx) error { return countUp(ctx, tx, key) })
				cancel()
				mu.Lock()
				code, known := store.CodeOf(err)
				switch {
				case err == nil:
					stored[key]++
				case !leaves:
					t.Errorf("a write that had time: %v", err)
				case !known || code != store.CodeConflict && code != store.CodeBusy && code != store.CodeDeadline && code != store.CodeUnavailable:
					t.Errorf("a write: %v", err)
				default:
					codes[code]++
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	f.proxy.on(nil)
	f.nothingOpen("at the end", time.Second)
	total := int64(0)
	for key, want := range stored {
		version, changes := f.counted(key)
		if version != want || changes != want {
			t.Errorf("%s is at version %d with %d changes, and was written %d times", key.ID, version, changes, want)
		}
		total += want
	}
	t.Logf("%d of %d writes were stored; errors by code: %v", total, writers*writes, codes)
}

// countUp writes the next version of a record.
func countUp(ctx context.Context, tx store.Tx, key store.Key) error {
	version := int64(0)
	err := tx.Get(ctx, faultThings, []store.Key{key}, func(r *store.Record) error {
		version = r.Version
		return nil
	})
	if err != nil {
		return err
	}
	next := store.Write{Record: faultRecord(key, version+1), Expected: version}
	if err := tx.Put(ctx, faultThings, []store.Write{next}); err != nil {
		return err
	}
	return tx.Append(ctx, []store.Change{faultChange(key, version+1)})
}

// counted returns the version of a record and the number of its changes.
func (f *faulty) counted(key store.Key) (version, changes int64) {
	f.Helper()
	f.must(f.other.Read(f.Context(), func(s store.Snapshot) (err error) {
		err = s.Get(f.Context(), faultThings, []store.Key{key}, func(r *store.Record) error {
			version = r.Version
			return nil
		})
		if err == nil {
			changes, err = s.HistoryCount(f.Context(), store.HistoryQuery{Network: key.Network, Collection: faultThings, ID: key.ID})
		}
		return err
	}))
	return version, changes
}
