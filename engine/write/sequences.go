package write

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"marquee/engine/schema/keyword"
	"marquee/engine/store"
	"marquee/engine/walk"
)

// Sequences is the collection with the next number of each sequence that no server has
// reserved.
var Sequences = store.Collection{Name: "engine_sequences"}

// Each server reserves blocks of numbers, in transactions of their own: an invoice need
// not wait for the commit of the one before. A call that needs many at once gets several
// times as many, up to a limit, as it is probably one of a series.
const (
	blockSize   = 100
	blockFactor = 4
	// maxSequences is the number of sequences of which a server remembers numbers. Those
	// of others are never given.
	maxSequences = 100_000
)

// sequence identifies a sequence: a property of a type in a network, "" if the type is
// global.
type sequence struct{ collection, network, property string }

func (s sequence) key() store.Key {
	return store.Key{Network: s.network, ID: s.collection + "." + s.property}
}

// span is the numbers from next to end, without end.
type span struct{ next, end int64 }

// sequences holds the numbers that this server has reserved and not given.
type sequences struct {
	mu    sync.Mutex
	spans map[sequence][]span
	// ends are the next numbers in the store when it was last read.
	ends map[sequence]int64
	// reserving has a place for the call that reserves numbers.
	reserving chan struct{}
}

func newSequences() *sequences {
	return &sequences{spans: map[sequence][]span{}, ends: map[sequence]int64{}, reserving: make(chan struct{}, 1)}
}

// take returns a number that is at least start, and gives up those below, if the server
// has one.
func (s *sequences) take(of sequence, start int64) (n int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for spans := s.spans[of]; len(spans) > 0; spans = spans[1:] {
		if n = max(spans[0].next, start); n < spans[0].end {
			spans[0].next = n + 1
			s.spans[of] = spans
			return n, true
		}
	}
	delete(s.spans, of)
	return 0, false
}

// next returns the number that take would probably return.
func (s *sequences) next(of sequence, start int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, span := range s.spans[of] {
		if n := max(span.next, start); n < span.end {
			return n
		}
	}
	return max(s.ends[of], start)
}

// has reports whether the server has as many numbers as are lacking, and numbers below
// the floor are reserved.
func (s *sequences) has(of sequence, need lacking) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := int64(0)
	for _, span := range s.spans[of] {
		left += max(0, span.end-max(span.next, need.start))
	}
	return left >= need.count && s.ends[of] >= need.floor
}

// add adds reserved numbers, and drops those below the floor.
func (s *sequences) add(of sequence, floor int64, reserved span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var spans []span
	for _, have := range s.spans[of] {
		if have.next = max(have.next, floor); have.next < have.end {
			spans = append(spans, have)
		}
	}
	if reserved.next < reserved.end {
		spans = append(spans, reserved)
	}
	if _, known := s.ends[of]; !known && len(s.ends) >= maxSequences {
		for other := range s.ends { // any one
			delete(s.ends, other)
			delete(s.spans, other)
			break
		}
	}
	s.spans[of], s.ends[of] = spans, reserved.end
}

// giveBack takes back the numbers of objects that were refused, as far as no others have
// been given since.
func (s *sequences) giveBack(given map[numbered]int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := func(a, b numbered) int { return cmp.Compare(given[b], given[a]) }
	for _, of := range slices.SortedFunc(maps.Keys(given), last) {
		spans := s.spans[sequence{of.collection, of.network, of.property}]
		if len(spans) > 0 && spans[0].next == given[of]+1 {
			spans[0].next--
		}
	}
}

// lacking is what a transaction needs of a sequence before it can be run.
type lacking struct {
	// count is the number of numbers, which are at least start.
	count, start int64
	// floor is a number below which no server may reserve any more.
	floor int64
}

// numbersLacking ends a run of a transaction that needs more numbers than the server has.
// They are reserved before the next run: in the transaction, it would hold up those of
// other servers, or wait for itself.
type numbersLacking map[sequence]lacking

// Error implements error.
func (numbersLacking) Error() string { return "engine: the transaction needs more numbers" }

// withNumbers runs a transaction, and repeats it with the numbers that it lacked. It also
// returns the errors of reserve.
func (e *Writer) withNumbers(ctx context.Context, run func() error) error {
	for {
		err := run()
		var needs numbersLacking
		if !errors.As(err, &needs) {
			return err
		}
		for of, need := range needs {
			if err := e.reserve(ctx, of, need); err != nil {
				return err
			}
		}
	}
}

// reserve reserves numbers, unless another call has done so meanwhile. The error is that
// of the store, or keyword.Exhausted.
func (e *Writer) reserve(ctx context.Context, of sequence, need lacking) error {
	s := e.sequences
	select {
	case s.reserving <- struct{}{}:
		defer func() { <-s.reserving }()
	case <-ctx.Done():
		return &store.Error{Code: store.CodeBusy, Text: "other calls were reserving numbers until the deadline", Cause: ctx.Err()}
	}
	if s.has(of, need) {
		return nil
	}
	size := int64(0)
	if need.count > 0 {
		size = max(blockSize, blockFactor*need.count)
	}
	var reserved span
	err := walk.RetryConflicts(ctx, e.Store, func(tx store.Tx) error {
		var stored struct {
			Next int64 `json:"next"`
		}
		record, err := store.ReadOne(ctx, tx, Sequences.Name, of.key(), &stored)
		if err != nil {
			return err
		}
		first := max(stored.Next, need.start, need.floor)
		reserved = span{first, min(first+size, keyword.MaxNumber+1)}
		switch {
		case need.count > reserved.end-reserved.next:
			return keyword.Exhausted(of.property)
		case stored.Next == reserved.end:
			return nil
		}
		stored.Next = reserved.end
		return store.PutInternal(ctx, tx, Sequences.Name, record, "ACTIVE", stored, e.Now())
	})
	if err == nil {
		s.add(of, need.floor, reserved)
	}
	return err
}
