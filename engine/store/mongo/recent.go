package mongo

import (
	"context"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Each transaction leaves markers of the collections that it wrote to
// (transaction.mark). While somebody asks, a goroutine follows them in a change
// stream (markers.go), and counts them for each collection. Transactions of this
// process are counted when they end, too.
//
// The counts are up to date as of a moment when a read that was confirmed by a
// majority (linearizable) began after it, and the stream has passed the time of
// that read. Only the monotonic clock of this process and the time of the
// cluster are compared with themselves, so that clocks need not agree.

const (
	// tailBusy is the time after the last question from which the stream is looked at
	// every tailRest only, and tailIdle how long it is followed at all.
	tailBusy = 10 * time.Second
	tailRest = 2 * time.Second
	tailIdle = 10 * time.Minute
)

// recent counts the transactions that wrote to each collection.
type recent struct {
	mu sync.Mutex
	// epoch is the number of streams: markers between two are unknown.
	epoch  uint64
	counts map[string]uint64
	// term is that of the primary that is followed, and proved the moment as of
	// which the counts are known to be up to date.
	term   context.Context
	proved time.Time
	// asked is when Recent was last called, or something was counted.
	asked time.Time
	// wanted is the time up to which markers are waited for, and wake has an item
	// for the goroutine if it is to look at once. Passed is closed, and replaced,
	// when it has passed some; it is nil while no stream is followed.
	wanted bson.Timestamp
	wake   chan struct{}
	passed chan struct{}
	// cancel ends the goroutine, which closes ended; nil when there is none.
	cancel context.CancelFunc
	ended  chan struct{}
	closed bool
}

// hurry makes the goroutine look at the stream at once. The lock must be held.
func (r *recent) hurry() {
	select {
	case r.wake <- struct{}{}:
	default: // it will in any case
	}
}

// count notes transactions that wrote to collections.
func (r *recent) count(collections ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = map[string]uint64{}
	}
	for _, name := range collections {
		r.counts[name]++
	}
}

// begin starts an epoch, in which nothing is known yet.
func (r *recent) begin(term context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.epoch++
	r.term, r.proved, r.passed = term, time.Time{}, make(chan struct{})
}

// end ends an epoch: nobody waits any longer.
func (r *recent) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.passed)
	r.passed = nil
}

// pass tells those who wait for markers that some have been passed.
func (r *recent) pass() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.passed)
	r.passed = make(chan struct{})
}

func (r *recent) prove(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.proved = at
}

// rest ends the goroutine if nobody has asked for a while, or the store is
// closed.
func (r *recent) rest() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed && time.Since(r.asked) < tailIdle {
		return false
	}
	r.proved = time.Time{}
	r.cancel()
	r.cancel = nil
	return true
}

// stop ends the goroutine for good.
func (r *recent) stop() {
	r.mu.Lock()
	r.closed = true
	cancel, ended := r.cancel, r.ended
	if cancel != nil {
		cancel()
	}
	r.mu.Unlock()
	if cancel != nil {
		<-ended
	}
}
