// Package numbers gives the numbers of sequences to new objects. A server reserves blocks of
// them in the store, in transactions of their own, and gives each number once: an invoice need
// not wait for the commit of the one before.
package numbers

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"marquee/engine/schema/keyword"
	"marquee/engine/store"
	"marquee/engine/walk"
)

// Collection has the next number of each sequence that no server has reserved.
var Collection = store.Collection{Name: "engine_sequences"}

// A call that needs many numbers at once gets several times as many, up to a limit, as it is
// probably one of a series.
const (
	blockSize   = 100
	blockFactor = 4
	// maxSequences is the number of sequences of which a server remembers numbers. Those
	// of others are never given.
	maxSequences = 100_000
)

// Sequence identifies a sequence: a property of a type in a network, "" if the type is
// global.
type Sequence struct{ Collection, Network, Property string }

func (s Sequence) key() store.Key {
	return store.Key{Network: s.Network, ID: s.Collection + "." + s.Property}
}

// span is the numbers from next to end, without end.
type span struct{ next, end int64 }

// Reserve holds the numbers that this server has reserved and not given.
type Reserve struct {
	store store.Store
	now   func() time.Time

	mu    sync.Mutex
	spans map[Sequence][]span
	// ends are the next numbers in the store when it was last read.
	ends map[Sequence]int64
	// reserving has a place for the call that reserves numbers.
	reserving chan struct{}
}

// New returns an empty reserve. Now is the present time.
func New(s store.Store, now func() time.Time) *Reserve {
	return &Reserve{store: s, now: now, spans: map[Sequence][]span{}, ends: map[Sequence]int64{}, reserving: make(chan struct{}, 1)}
}

// Take returns a number that is at least start, and gives up those below, if the server has
// one.
func (r *Reserve) Take(of Sequence, start int64) (n int64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for spans := r.spans[of]; len(spans) > 0; spans = spans[1:] {
		if n = max(spans[0].next, start); n < spans[0].end {
			spans[0].next = n + 1
			r.spans[of] = spans
			return n, true
		}
	}
	delete(r.spans, of)
	return 0, false
}

// Next returns the number that Take would probably return.
func (r *Reserve) Next(of Sequence, start int64) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, span := range r.spans[of] {
		if n := max(span.next, start); n < span.end {
			return n
		}
	}
	return max(r.ends[of], start)
}

// Has reports whether the server has as many numbers as are lacking, and numbers below
// the floor are reserved.
func (r *Reserve) Has(of Sequence, need Need) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	left := int64(0)
	for _, span := range r.spans[of] {
		left += max(0, span.end-max(span.next, need.Start))
	}
	return left >= need.Count && r.ends[of] >= need.Floor
}

// add adds reserved numbers, and drops those below the floor.
func (r *Reserve) add(of Sequence, floor int64, reserved span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var spans []span
	for _, have := range r.spans[of] {
		if have.next = max(have.next, floor); have.next < have.end {
			spans = append(spans, have)
		}
	}
	if reserved.next < reserved.end {
		spans = append(spans, reserved)
	}
	if _, known := r.ends[of]; !known && len(r.ends) >= maxSequences {
		for other := range r.ends { // any one
			delete(r.ends, other)
			delete(r.spans, other)
			break
		}
	}
	r.spans[of], r.ends[of] = spans, reserved.end
}

// GiveBack takes back the numbers of objects that were refused, as far as no others have
// been given since.
func (r *Reserve) GiveBack(given map[Sequence][]int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for of, numbers := range given {
		slices.Sort(numbers)
		for _, n := range slices.Backward(numbers) {
			if spans := r.spans[of]; len(spans) > 0 && spans[0].next == n+1 {
				spans[0].next--
			}
		}
	}
}

// Need is what a transaction needs of a sequence before it can be run.
type Need struct {
	// Count is the number of numbers, which are at least Start.
	Count, Start int64
	// Floor is a number below which no server may reserve any more.
	Floor int64
}

// Lacking ends a run of a transaction that needs more numbers than the server has.
// They are reserved before the next run: in the transaction, it would hold up those of
// other servers, or wait for itself.
type Lacking map[Sequence]Need

// Add adds to what is needed of a sequence.
func (l Lacking) Add(of Sequence, more Need) {
	need := l[of]
	l[of] = Need{Count: need.Count + more.Count, Start: max(need.Start, more.Start), Floor: max(need.Floor, more.Floor)}
}

// Error implements error.
func (Lacking) Error() string { return "engine: the transaction needs more numbers" }

// Run runs a transaction, and repeats it while its error is Lacking, with the numbers that it
// lacked. The error is also that of the store, or keyword.Exhausted.
func (r *Reserve) Run(ctx context.Context, run func() error) error {
	for {
		err := run()
		var needs Lacking
		if !errors.As(err, &needs) {
			return err
		}
		for of, need := range needs {
			if err := r.reserve(ctx, of, need); err != nil {
				return err
			}
		}
	}
}

// reserve reserves numbers, unless another call has done so meanwhile. The error is that
// of the store, or keyword.Exhausted.
func (r *Reserve) reserve(ctx context.Context, of Sequence, need Need) error {
	select {
	case r.reserving <- struct{}{}:
		defer func() { <-r.reserving }()
	case <-ctx.Done():
		return &store.Error{Code: store.CodeBusy, Text: "other calls were reserving numbers until the deadline", Cause: ctx.Err()}
	}
	if r.Has(of, need) {
		return nil
	}
	size := int64(0)
	if need.Count > 0 {
		size = max(blockSize, blockFactor*need.Count)
	}
	var reserved span
	err := walk.RetryConflicts(ctx, r.store, func(tx store.Tx) error {
		var stored struct {
			Next int64 `json:"next"`
		}
		record, err := store.ReadOne(ctx, tx, Collection.Name, of.key(), &stored)
		if err != nil {
			return err
		}
		first := max(stored.Next, need.Start, need.Floor)
		reserved = span{first, min(first+size, keyword.MaxNumber+1)}
		switch {
		case need.Count > reserved.end-reserved.next:
			return keyword.Exhausted(of.Property)
		case stored.Next == reserved.end:
			return nil
		}
		stored.Next = reserved.end
		return store.PutInternal(ctx, tx, Collection.Name, record, "ACTIVE", stored, r.now())
	})
	if err == nil {
		r.add(of, need.Floor, reserved)
	}
	return err
}
