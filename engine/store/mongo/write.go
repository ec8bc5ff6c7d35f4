package mongo

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"marquee/engine/store"
)

const (
	// groupRecords is the number of records that a group writes: as many as are
	// admitted without waiting.
	groupRecords = smallWeight / recordWeight
	// memberRecords is the number of records of a call that may join a group.
	memberRecords = 10
	// groupsAtOnce is the number of groups, and of calls without company, that run at
	// once. The calls that wait meanwhile form the next groups.
	groupsAtOnce = 2
)

// Write implements store.Store.
func (s *Store) Write(ctx context.Context, fn func(store.Tx) error) (err error) {
	effort := store.EffortOf(ctx)
	if effort.Waited == nil {
		effort.Waited = new(atomic.Int64)
		ctx = store.WithEffort(ctx, effort)
	}
	before := effort.Waited.Load()
	defer func() {
		s.measured.writeWaits.Add(effort.Waited.Load() - before)
		err = s.leader.explain(ctx, err)
		s.noteFailure(err)
	}()
	if !s.sharded && mayShare(effort) {
		return s.groups.write(ctx, fn)
	}
	return s.writeAlone(ctx, fn)
}

// groups holds the calls that wait for a group.
type groups struct {
	s       *Store
	mu      sync.Mutex
	running int
	// line holds the calls in the order of their arrival.
	line []*member
}

// mayShare reports whether a call may share a transaction: it writes few records, and
// has announced what it reads.
func mayShare(e store.Effort) bool {
	return len(e.Reads) > 0 && e.Records > 0 && e.Records <= memberRecords
}

// write runs a call in a group, or in a transaction of its own where it has no company
// or needs one.
func (g *groups) write(ctx context.Context, fn func(store.Tx) error) error {
	m := &member{ctx: ctx, effort: store.EffortOf(ctx), fn: fn, runs: make(chan assignment, 1), ended: make(chan outcome, 1)}
	taken := sync.OnceFunc(g.s.measured.waits(m.effort))
	defer taken()
	g.join(m)
	for gone := ctx.Done(); ; {
		select {
		case a := <-m.runs:
			taken()
			a.reports <- report{m, a.tx, run(fn, a.tx)}
		case o := <-m.ended:
			taken()
			if o.done != nil {
				defer o.done()
			}
			if o.apart {
				err := g.s.writeAlone(ctx, fn)
				if code, _ := store.CodeOf(err); o.crowded && code == store.CodeDeadline {
					return waitedFor(ctx)
				}
				return err
			}
			return o.err
		case <-gone:
			if g.leave(m) {
				return waitedFor(ctx)
			}
			gone = nil // its group ends it
		}
	}
}

func (g *groups) join(m *member) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.line = append(g.line, m)
	g.next()
}

// leave removes a call from the line. It returns false when the call is in a group.
func (g *groups) leave(m *member) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := slices.Index(g.line, m)
	if at < 0 {
		return false
	}
	g.line = slices.Delete(g.line, at, at+1)
	return true
}

// again puts calls before the others.
func (g *groups) again(members []*member) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.line = append(members, g.line...)
	g.next()
}

// next starts groups while there is room for them.
func (g *groups) next() {
	for g.running < groupsAtOnce && len(g.line) > 0 {
		done := g.begin()
		if members := g.form(); len(members) == 1 {
			members[0].ended <- outcome{apart: true, done: done}
		} else {
			go g.run(members, done)
		}
	}
}

// begin counts a group or a call that runs, until the returned function is called, or
// until it has taken too long for the others to wait.
func (g *groups) begin() (done func()) {
	g.running++
	end := sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.running--
		g.next()
	})
	late := time.AfterFunc(straggling, end)
	return func() {
		late.Stop()
		end()
	}
}

// form takes the next group from the line. Callers take turns. A call that is known to
// use what another one writes waits.
func (g *groups) form() (members []*member) {
	var written footprint
	records := 0
	for more := true; more; {
		more = false
		served := map[string]bool{}
		g.line = slices.DeleteFunc(g.line, func(m *member) bool {
			if served[m.effort.Caller] || records+m.effort.Records > groupRecords || m.footprint.meets(&written) {
				return false
			}
			served[m.effort.Caller] = true
			records += m.effort.Records
			written.add(&m.footprint)
			members, more = append(members, m), true
			return true
		})
	}
	return members
}

// run runs calls in one transaction.
func (g *groups) run(members []*member, done func()) {
	defer done()
	all := &sharedTransaction{open: members}
	ctx, cancel := all.context()
	defer cancel()
	err := g.s.writeAlone(ctx, func(tx store.Tx) error { return all.attempt(ctx, tx.(*transaction)) })
	code, _ := store.CodeOf(err)
	if err == nil || code == store.CodeUncertain {
		g.again(all.later)
		for _, m := range all.accepted {
			m.ended <- outcome{err: err}
		}
		for _, r := range all.unchanged {
			r.m.ended <- outcome{err: r.err, apart: err != nil}
		}
		return
	}
	for _, m := range all.all() {
		m.ended <- outcome{apart: true, crowded: code == store.CodeBusy}
	}
}
