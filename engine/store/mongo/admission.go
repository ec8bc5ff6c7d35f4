package mongo

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"marquee/engine/turn"
)

// MongoDB keeps a transaction in its cache until the commit. When uncommitted
// data takes too much of the cache, the server aborts transactions as if they
// had conflicts, and their retries make it worse. So large transactions are
// admitted only within a window of bytes. It grows by one transaction for each
// window that was committed, and shrinks when the server aborts one (additive
// increase, multiplicative decrease). Small transactions are admitted at once.

const (
	// recordWeight is the space that a new record takes in the cache with its
	// history, index entries and oplog entry, and byteWeight that of one byte
	// of a command. Measured with objects that have 22 index entries: 6.8 KB each.
	recordWeight = 6 << 10
	byteWeight   = 2
	// smallWeight is the maximum weight of a transaction that need not wait.
	smallWeight = 256 << 10
	// firstWindow is the initial window: half of the updates that a cache of
	// 0.5 GB holds before writers have to evict pages. The other half is for
	// updates that are committed but not yet on disk. The window stays between
	// leastWindow, which has room for one transaction of a collection write,
	// and mostWindow or the known size.
	firstWindow = 24 << 20
	leastWindow = 8 << 20
	mostWindow  = 1 << 30
	// shrinking is the factor that the window is multiplied by when it shrinks.
	shrinking = 0.75
)

// admission decides which large transactions run.
type admission struct {
	mu     sync.Mutex
	window float64
	// most is the upper limit of the window.
	most float64
	// held is the weight of the large transactions that run, large their
	// number.
	held  int64
	large int
	// shrunk counts how often the window has shrunk.
	shrunk int
	// returning are aborted transactions that wait to run again, oldest first.
	// They go before the line.
	returning []*admitted
	// line holds the others that wait.
	line turn.Queue[*admitted]
	// arrived counts the transactions.
	arrived int64
}

// admitted is a transaction that runs or waits.
type admitted struct {
	a      *admission
	caller string
	// number orders transactions by arrival.
	number int64
	// weight is the space that the transaction takes in the cache as far as is
	// known, and held the part of it that counts now.
	weight, held int64
	// shrunk is the value of admission.shrunk when the transaction was
	// admitted.
	shrunk int
	// admitted is closed when it may run.
	admitted chan struct{}
	// apart is set when what the transaction reads is too large for one answer.
	apart bool
}

func newAdmission() *admission { return &admission{window: firstWindow, most: mostWindow} }

// fit limits the window to the room in a cache.
func (a *admission) fit(bytes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.most = max(leastWindow, min(float64(bytes), mostWindow))
	a.window = min(a.window, a.most)
}

// place registers a transaction, which does not run yet.
func (a *admission) place(caller string, records int) *admitted {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.arrived++
	return &admitted{a: a, caller: caller, number: a.arrived, weight: int64(records) * recordWeight}
}

// enter waits until there is room for the transaction. It returns false when
// the context ends first.
func (p *admitted) enter(ctx context.Context) bool {
	select {
	case <-p.ask():
		return true
	case <-ctx.Done():
		return !p.leave()
	}
}

// ask puts the transaction in the line, unless it is small. The returned
// channel is closed when it may run. An aborted transaction gives back its room
// meanwhile.
func (p *admitted) ask() <-chan struct{} {
	a := p.a
	a.mu.Lock()
	defer a.mu.Unlock()
	p.admitted = make(chan struct{})
	switch {
	case p.weight <= smallWeight:
		p.shrunk = a.shrunk
		close(p.admitted)
		return p.admitted
	case p.held > 0:
		a.release(p)
		at, _ := slices.BinarySearchFunc(a.returning, p, func(one, other *admitted) int { return cmp.Compare(one.number, other.number) })
		a.returning = slices.Insert(a.returning, at, p)
	default:
		a.line.Push(p.caller, p)
	}
	a.admit()
	return p.admitted
}

// leave removes the transaction from the line. It returns false when the
// transaction may already run.
func (p *admitted) leave() bool {
	a := p.a
	a.mu.Lock()
	defer a.mu.Unlock()
	if p.held > 0 || p.weight <= smallWeight {
		return false
	}
	a.returning = slices.DeleteFunc(a.returning, func(other *admitted) bool { return other == p })
	a.line.Remove(p.caller, p)
	a.admit() // the next may fit
	return true
}

// admit admits the next transactions while there is room.
func (a *admission) admit() {
	for len(a.returning) > 0 {
		if !a.let(a.returning[0]) {
			return
		}
		a.returning = a.returning[1:]
	}
	for a.line.Len() > 0 {
		caller, p := a.line.First()
		if !a.let(p) {
			return
		}
		a.line.Take(caller)
	}
}

// let admits a transaction if there is room for it. One always runs.
func (a *admission) let(p *admitted) bool {
	counts := a.counts(p.weight)
	if a.large > 0 && float64(a.held+counts) > a.window {
		return false
	}
	a.hold(p, counts)
	p.shrunk = a.shrunk
	close(p.admitted)
	return true
}

// counts returns the part of a weight that counts: a transaction larger than
// the window leaves room for others.
func (a *admission) counts(weight int64) int64 { return min(weight, int64(a.window)/2) }

func (a *admission) hold(p *admitted, counts int64) {
	if p.held == 0 {
		a.large++
	}
	a.held += counts - p.held
	p.held = counts
}

func (a *admission) release(p *admitted) {
	if p.held > 0 {
		a.held -= p.held
		a.large--
		p.held = 0
	}
}

// sent records what a transaction has sent. If that is more than expected, the
// transaction continues and fewer others begin.
func (p *admitted) sent(records, bytes int64) {
	weight := records*recordWeight/2 + bytes*byteWeight // each object is a record and a change
	a := p.a
	a.mu.Lock()
	defer a.mu.Unlock()
	if p.weight = max(p.weight, weight); p.weight > smallWeight {
		a.hold(p, max(p.held, a.counts(p.weight)))
	}
}

// conflicted records that the server has aborted the transaction. It returns
// whether that may have been for lack of room, which is possible while large
// transactions run.
func (p *admitted) conflicted() (crowded bool) {
	a := p.a
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.large == 0 {
		return false
	}
	if p.held > 0 && p.shrunk == a.shrunk { // otherwise the window has shrunk since
		a.window = max(a.window*shrinking, leastWindow)
		a.shrunk++
	}
	return true
}

// committed records that the transaction was committed.
func (p *admitted) committed() {
	a := p.a
	a.mu.Lock()
	defer a.mu.Unlock()
	if p.held > 0 && a.line.Len() > 0 && p.shrunk == a.shrunk {
		held := float64(p.held)
		a.window = min(a.window+held*held/a.window, a.most)
	}
}

// end gives back the room of the transaction.
func (p *admitted) end() {
	a := p.a
	a.mu.Lock()
	defer a.mu.Unlock()
	a.release(p)
	a.admit()
}
