package read

import (
	"slices"
	"sync"
	"time"

	"marquee/engine/store"
)

// Readers that catch up show fewer changes at once than are read from the store: a stream renders
// little at a time, and reading few changes costs the store nearly as much as reading many. What is
// left waits for the next call, for windowTime at most.

const (
	// maxAhead is the maximum number of bytes that wait for all readers together.
	maxAhead = 4 << 20
	// changeOverhead is about what a change takes in memory besides what varies most.
	changeOverhead = 400
)

// ahead has changes that were read and not yet shown.
type ahead struct {
	mu   sync.Mutex
	kept []remainder
	size int
}

// remainder is the changes after a position, and the position behind them.
type remainder struct {
	after, next string
	changes     []store.Change
	size        int
	read        time.Time // zero if the follower has read them
	// forgotten is Reader.forgotten before the changes were read.
	forgotten int64
}

// keepAhead keeps a remainder, unless there is no room, or Forget was called since it was read.
func (e *Reader) keepAhead(r remainder) {
	r.size = 0
	for i := range r.changes {
		r.size += r.changes[i].Size() + len(r.changes[i].Position) + changeOverhead
	}
	a := &e.ahead
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop(func(r *remainder) bool { return time.Since(r.read) > windowTime })
	if len(r.changes) > 0 && a.size+r.size <= maxAhead && r.forgotten == e.forgotten.Load() {
		a.kept, a.size = append(a.kept, r), a.size+r.size
	}
}

// takeAhead returns what is kept after a position, and keeps it no longer.
func (e *Reader) takeAhead(position string) (found remainder, known bool) {
	a := &e.ahead
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop(func(r *remainder) bool {
		old, wanted := time.Since(r.read) > windowTime, r.after == position
		if wanted && !old {
			found, known = *r, true
		}
		return old || wanted
	})
	return found, known
}

// drop drops some of what is kept. The lock must be held.
func (a *ahead) drop(some func(*remainder) bool) {
	a.kept = slices.DeleteFunc(a.kept, func(r remainder) bool {
		drops := some(&r)
		if drops {
			a.size -= r.size
		}
		return drops
	})
}

// Forget drops the changes that are kept in memory, and those that are being read, because values
// were removed from them in the store.
func (e *Reader) Forget() {
	e.forgotten.Add(1)
	e.ahead.mu.Lock()
	e.ahead.drop(func(*remainder) bool { return true })
	e.ahead.mu.Unlock()
	e.following.mu.Lock()
	defer e.following.mu.Unlock()
	e.following.window.reset(e.following.window.end)
}
