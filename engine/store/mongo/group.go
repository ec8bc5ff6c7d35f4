package mongo

import (
	"context"
	"errors"
	"slices"
	"time"

	"marquee/engine/store"
)

// A small transaction takes MongoDB as many commands as a large one. Calls that write
// a few records and wait at the same time therefore share a transaction. Its first
// command reads what all of them have announced, each function runs on that snapshot
// and keeps what it would write, and then the writes of all are sent together, with
// one command for each collection.
//
// Nothing is sent before the functions have returned, so a call that fails has no
// effect on the others. The calls are serializable in the order in which their
// functions return: one that uses what a call before it writes waits for the next
// group. One that needs more than memberTx supports, or whose group fails, runs in a
// transaction of its own.

// groupAttempts is the number of attempts of a group that has conflicts, before it is divided.
const groupAttempts = 2

// errDivided ends a group whose calls go on in transactions of their own.
var errDivided = errors.New("mongo: a group is divided")

// sharedTransaction is the calls of a group while they run.
type sharedTransaction struct {
	attempts int
	// open are the calls of which nothing is decided. In an attempt, later are those
	// that wait for the next group, accepted those that are written, and unchanged those
	// that write nothing: their results are true when the transaction is committed.
	open, later, accepted []*member
	unchanged             []report
}

// all returns the calls that have not ended.
func (g *sharedTransaction) all() []*member {
	all := slices.Concat(g.open, g.accepted, g.later)
	for _, r := range g.unchanged {
		all = append(all, r.m)
	}
	return all
}

// context returns the context of the transaction: it ends with the first deadline of a
// call, and not when a client disconnects.
func (g *sharedTransaction) context() (context.Context, context.CancelFunc) {
	var effort store.Effort
	var first time.Time
	for _, m := range g.open {
		effort.Reads = append(effort.Reads, m.effort.Reads...)
		effort.Records += m.effort.Records
		if at, limited := m.ctx.Deadline(); limited && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	effort.Reads = combined(effort.Reads)
	ctx := store.WithEffort(context.Background(), effort)
	if first.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, first)
}

// combined returns the keys of each collection, once each.
func combined(lookups []store.Lookup) (all []store.Lookup) {
	at, seen := map[string]int{}, map[object]bool{}
	for _, l := range lookups {
		i, there := at[l.Collection]
		if !there {
			i = len(all)
			at[l.Collection] = i
			all = append(all, store.Lookup{Collection: l.Collection})
		}
		for _, key := range l.Keys {
			if o := (object{l.Collection, key}); !seen[o] {
				seen[o] = true
				all[i].Keys = append(all[i].Keys, key)
			}
		}
	}
	return all
}

// attempt runs the functions of the calls in a transaction, and sends what they write.
func (g *sharedTransaction) attempt(ctx context.Context, t *transaction) error {
	if g.attempts++; g.attempts > groupAttempts && !g.divide() {
		return errDivided
	}
	g.open, g.later, g.accepted, g.unchanged = g.all(), nil, nil, nil
	kept := g.functions(&snapshot{ctx: ctx, t: t})
	if t.broken != nil {
		return t.broken
	}
	t.calls = int64(len(kept))
	return send(ctx, t, kept)
}

// divide lets the calls go on in transactions of their own whose writes have met conflicts, and
// reports whether any are left: those of which nothing was sent, and for some time those that
// lock the same records, which would only conflict with each other. Calls that write nothing do
// not wait for these.
func (g *sharedTransaction) divide() bool {
	if len(g.accepted) == 0 {
		return false
	}
	held := map[object]int{}
	for _, m := range g.accepted {
		for o, how := range m.footprint.objects {
			if how == locks {
				held[o]++
			}
		}
	}
	g.accepted = slices.DeleteFunc(g.accepted, func(m *member) bool {
		if m.footprint.shares(held) && g.attempts <= maxConflicts {
			return false
		}
		m.ended <- outcome{apart: true, crowded: true}
		return true
	})
	if len(g.accepted) > 0 {
		for _, r := range g.unchanged {
			r.m.ended <- outcome{apart: true}
		}
		g.unchanged = nil
	}
	return len(g.all()) > 0
}

// functions runs the functions of the calls, and returns the transactions of those
// that are accepted.
func (g *sharedTransaction) functions(s *snapshot) (kept []*memberTx) {
	defer s.close()
	reports := make(chan report, len(g.open))
	running := g.open
	for _, m := range running {
		m.runs <- assignment{newMemberTx(s, m.effort.Reads), reports}
	}
	g.open = nil
	late := time.NewTimer(straggling)
	defer late.Stop()
	var written footprint
	for len(running) > 0 {
		select {
		case r := <-reports:
			running = slices.DeleteFunc(running, func(m *member) bool { return m == r.m })
			if g.judge(r, s.broken(), &written) {
				kept = append(kept, r.tx)
			}
		case <-late.C:
			if left := straggling - s.idle(); left > 0 {
				late.Reset(left)
				continue
			}
			for _, m := range running {
				m.ended <- outcome{apart: true}
			}
			running = nil
		}
	}
	return kept
}

// judge decides about a call whose function has returned. It reports whether the call
// is accepted, and then adds to what is written.
func (g *sharedTransaction) judge(r report, broken bool, written *footprint) bool {
	m := r.m
	m.footprint = r.tx.footprint
	switch {
	case broken: // by the store or another call, perhaps
		g.open = append(g.open, m)
	case errors.Is(r.tx.broken, errApart):
		m.ended <- outcome{apart: true}
	case r.err == nil && r.tx.broken != nil:
		m.ended <- outcome{err: r.tx.broken}
	case r.err != nil, len(r.tx.puts)+len(r.tx.changes) == 0:
		g.unchanged = append(g.unchanged, r)
	case m.footprint.meets(written):
		m.footprint.forgetCreated()
		g.later = append(g.later, m)
	default:
		written.add(&m.footprint)
		g.accepted = append(g.accepted, m)
		return true
	}
	return false
}

// send sends what calls write, collection by collection.
func send(ctx context.Context, t *transaction, kept []*memberTx) error {
	var locks []store.Lookup
	var order []string
	writes := map[string][]store.Write{}
	var changes []store.Change
	for _, tx := range kept {
		locks = append(locks, tx.locks...)
		for _, p := range tx.puts {
			if writes[p.collection] == nil {
				order = append(order, p.collection)
			}
			writes[p.collection] = append(writes[p.collection], p.writes...)
		}
		changes = append(changes, tx.changes...)
	}
	for _, l := range combined(locks) {
		if err := t.Lock(ctx, l.Collection, l.Keys); err != nil {
			return err
		}
	}
	for _, collection := range order {
		if err := t.Put(ctx, collection, writes[collection]); err != nil {
			return err
		}
	}
	if len(changes) == 0 {
		return nil
	}
	return t.Append(ctx, changes)
}
