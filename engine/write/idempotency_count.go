package write

import (
	"context"
	"math"
	"strings"
	"sync"
	"time"

	"marquee/engine/generations"
	"marquee/engine/store"
)

const (
	// maxIdempotencyKeys is the number of idempotency keys of a caller that are kept.
	maxIdempotencyKeys = 100_000
	// maxKeyCounts is the number of callers whose keys are counted in memory.
	maxKeyCounts = 10_000
	// recountTime is the least time from one count to the next of a caller who has as many
	// keys as are kept.
	recountTime = time.Minute
)

// keyCounts are the numbers of idempotency keys that callers have. A server adds its own to
// what it has counted, and counts again when it has added a quarter of what was left: then
// other servers may have added as many, and some may have expired. So a key costs
// little to count, however many there are, and no two writes conflict over a counter.
type keyCounts struct {
	// most is the number of keys of a caller that are kept.
	most   int
	mu     sync.Mutex
	counts generations.Map[string, *keyCount]
}

func newKeyCounts(most int) keyCounts {
	return keyCounts{most: most, counts: generations.Map[string, *keyCount]{Most: maxKeyCounts}}
}

// keyCount is the number of keys of a caller, to be counted again when it reaches next.
type keyCount struct {
	n, next int
	counted time.Time
}

// room reports whether another key of a caller can be kept.
func (k *keyCounts) room(ctx context.Context, e *Writer, caller string) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	count, known := k.counts.Get(caller)
	if !known {
		count = &keyCount{}
		k.counts.Put(caller, count)
	}
	now := e.Now()
	if due := count.n >= count.next && (count.n < k.most || now.Sub(count.counted) >= recountTime); due {
		count.next, count.counted = math.MaxInt, now // others do not count meanwhile
		k.mu.Unlock()
		n, err := countKeys(ctx, e.Store, caller, k.most)
		k.mu.Lock()
		if count.next = count.n; err != nil {
			return false, store.Translate(err)
		}
		count.n, count.next = n, n
		if n < k.most {
			count.next += (k.most-n)/4 + 1
		}
	}
	return count.n < k.most, nil
}

// add counts a key that was kept.
func (k *keyCounts) add(caller string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if count, known := k.counts.Get(caller); known {
		count.n++
	}
}

// countKeys returns how many keys a caller has, counting to a maximum.
func countKeys(ctx context.Context, s store.Store, caller string, most int) (n int, err error) {
	err = s.Read(ctx, func(r store.Snapshot) error {
		n = 0
		for after, more := (store.Key{ID: caller}), true; more && n < most; {
			met := 0
			err := r.Scan(ctx, IdempotencyKeys.Name, after, store.FindPage, func(r *store.Record) error {
				met++
				after = store.Key{Network: strings.Clone(r.Network), ID: strings.Clone(r.ID)}
				if more = more && strings.HasPrefix(r.ID, caller); more {
					n++
				}
				return nil
			})
			if err != nil {
				return err
			}
			more = more && met == store.FindPage
		}
		return nil
	})
	return n, err
}
