package mongo

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"marquee/engine/store"
)

// straggling is how long the others wait for a group or a call, and a group for
// functions of its calls that do not read.
const straggling = 250 * time.Millisecond

// errApart ends the run of a call that runs again in a transaction of its own.
var errApart = &store.Error{Code: store.CodeConflict, Text: "a call needs a transaction of its own"}

// snapshot is the snapshot of a group's transaction, which its members read in turn.
type snapshot struct {
	mu sync.Mutex
	// ctx is that of the group: a command that is cancelled ends the transaction.
	ctx context.Context
	t   *transaction
	// closed refuses further reads.
	closed bool
	// reading is the number of members that read or wait to read, and last when one of
	// them has ended.
	reading atomic.Int64
	last    atomic.Pointer[time.Time]
}

// idle returns for how long no member has been reading: straggling if none has read.
func (s *snapshot) idle() time.Duration {
	if s.reading.Load() > 0 {
		return 0
	}
	if last := s.last.Load(); last != nil {
		return time.Since(*last)
	}
	return straggling
}

// began counts a read, and returns a function that ends it.
func (s *snapshot) began() (end func()) {
	s.reading.Add(1)
	return func() {
		now := time.Now()
		s.last.Store(&now)
		s.reading.Add(-1)
	}
}

// close refuses further reads.
func (s *snapshot) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// broken reports whether the transaction cannot go on.
func (s *snapshot) broken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.t.broken != nil
}

// memberTx is the store.Tx of a member. It keeps what the member writes. It
// supports neither reads by a condition nor reads of what the member has written.
type memberTx struct {
	store.Refusing // refuse
	snapshot       *snapshot
	announced      []store.Lookup
	footprint      footprint
	// broken is the error that ended the run; errApart in a call that needs a
	// transaction of its own.
	broken  error
	locks   []store.Lookup
	puts    []put
	changes []store.Change
}

// put is a call of Put.
type put struct {
	collection string
	writes     []store.Write
}

func newMemberTx(s *snapshot, announced []store.Lookup) *memberTx {
	tx := &memberTx{snapshot: s, announced: announced}
	tx.Refuse = tx.refuse
	return tx
}

func (tx *memberTx) refuse() error {
	if tx.broken == nil {
		tx.broken = errApart
	}
	return tx.broken
}

// uses notes that the member reads records.
func (tx *memberTx) uses(collection string, keys []store.Key) error {
	for _, key := range keys {
		o := object{collection, key}
		if tx.footprint.objects[o] >= writes {
			return tx.refuse()
		}
		tx.footprint.object(o, reads)
	}
	return nil
}

// read runs a read on the snapshot. The member's own deadline ends only the member.
func (tx *memberTx) read(ctx context.Context, do func(ctx context.Context, t *transaction) error) error {
	if tx.broken == nil && ctx.Err() != nil {
		tx.broken = deadline(ctx)
	}
	if tx.broken != nil {
		return tx.broken
	}
	s := tx.snapshot
	defer s.began()()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return tx.refuse()
	}
	err := do(s.ctx, s.t)
	if s.t.broken != nil {
		tx.broken = s.t.broken
	}
	return err
}

// Get implements store.Snapshot.
func (tx *memberTx) Get(ctx context.Context, collection string, keys []store.Key, yield func(*store.Record) error) error {
	if err := tx.uses(collection, keys); err != nil {
		return err
	}
	return tx.read(ctx, func(ctx context.Context, t *transaction) error { return t.Get(ctx, collection, keys, yield) })
}

// ReadAhead implements store.Ahead.
func (tx *memberTx) ReadAhead(yield func(collection string, r *store.Record) error) error {
	for _, l := range tx.announced {
		if err := tx.uses(l.Collection, l.Keys); err != nil {
			return err
		}
	}
	return tx.read(tx.snapshot.ctx, func(_ context.Context, t *transaction) error { return t.ahead.each(tx.announced, yield) })
}

// Labels implements store.Snapshot.
func (tx *memberTx) Labels(ctx context.Context, queries ...store.LabelQuery) (labels []map[store.Key]string, err error) {
	for _, q := range queries {
		if q.Find != nil {
			return nil, tx.refuse()
		}
		if err := tx.uses(q.Collection, q.Keys); err != nil {
			return nil, err
		}
	}
	err = tx.read(ctx, func(ctx context.Context, t *transaction) error {
		labels, err = t.Labels(ctx, queries...)
		return err
	})
	return labels, err
}

// OrderedTerms implements store.Snapshot.
func (tx *memberTx) OrderedTerms(ctx context.Context, collection string, keys []store.Key) (terms map[store.Key][]store.Term, err error) {
	if err := tx.uses(collection, keys); err != nil {
		return nil, err
	}
	err = tx.read(ctx, func(ctx context.Context, t *transaction) error {
		terms, err = t.OrderedTerms(ctx, collection, keys)
		return err
	})
	return terms, err
}

// Claims implements store.Snapshot.
func (tx *memberTx) Claims(ctx context.Context, claims []store.Claim) (owners map[store.Claim]string, err error) {
	for _, c := range claims {
		if tx.footprint.claims[c] == writes {
			return nil, tx.refuse()
		}
		tx.footprint.claim(c, reads)
	}
	err = tx.read(ctx, func(ctx context.Context, t *transaction) error {
		owners, err = t.Claims(ctx, claims)
		return err
	})
	return owners, err
}

// ClaimsAfter implements store.Snapshot. A member that claims meanwhile what concerns this one
// comes after it, or this one in another group.
func (tx *memberTx) ClaimsAfter(ctx context.Context, r store.ClaimRange, yield func(store.Claim, string) error) error {
	all := r
	all.Concerns = nil
	for c, how := range tx.footprint.claims {
		if how == writes && concerns(all, c) {
			return tx.refuse()
		}
	}
	tx.footprint.ranges = append(tx.footprint.ranges, r)
	return tx.read(ctx, func(ctx context.Context, t *transaction) error { return t.ClaimsAfter(ctx, r, yield) })
}

// Lock implements store.Tx.
func (tx *memberTx) Lock(_ context.Context, collection string, keys []store.Key) error {
	for _, key := range keys {
		tx.footprint.object(object{collection, key}, locks)
	}
	tx.locks = append(tx.locks, store.Lookup{Collection: collection, Keys: keys})
	return tx.broken
}

// Put implements store.Tx.
func (tx *memberTx) Put(_ context.Context, collection string, records []store.Write) error {
	if tx.broken != nil {
		return tx.broken
	}
	for i := range records {
		w := &records[i]
		o := object{collection, w.Key}
		if tx.footprint.objects[o] >= writes {
			return tx.refuse()
		}
		how := writes
		if w.Expected == 0 {
			how = creates
		}
		tx.footprint.object(o, how)
		for _, claims := range [][]store.Claim{w.AddClaims, w.DropClaims} {
			for _, c := range claims {
				tx.footprint.claim(c, writes)
			}
		}
	}
	tx.puts = append(tx.puts, put{collection, records})
	return nil
}

// Append implements store.Tx.
func (tx *memberTx) Append(_ context.Context, changes []store.Change) error {
	tx.changes = append(tx.changes, changes...)
	return tx.broken
}

// member is a call that may share a transaction.
type member struct {
	ctx    context.Context
	effort store.Effort
	fn     func(store.Tx) error
	// runs receives the transactions that the function is to run in.
	runs chan assignment
	// ended receives how the call ended.
	ended chan outcome
	// footprint is that of the last run.
	footprint footprint
}

// assignment asks a member to run its function in a transaction.
type assignment struct {
	tx      *memberTx
	reports chan<- report
}

// report is the result of a member's function.
type report struct {
	m   *member
	tx  *memberTx
	err error
}

// outcome is the end of a call in a group.
type outcome struct {
	err error
	// apart reports that the call needs a transaction of its own instead.
	apart bool
	// crowded reports that its writes have met conflicts before.
	crowded bool
	// done, unless it is nil, must be called when that has ended.
	done func()
}
