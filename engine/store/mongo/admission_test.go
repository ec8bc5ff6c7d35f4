package mongo

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/engine/store"
	"marquee/integration/mongodb"
)

// tenth is the number of records of a transaction that takes a tenth of the
// first window.
const tenth = firstWindow / 10 / recordWeight

// runs reports whether a transaction may run.
func runs(p *admitted) bool {
	select {
	case <-p.admitted:
		return true
	default:
		return false
	}
}

// fill admits as many transactions as there is room for.
func fill(a *admission) (running []*admitted) {
	for {
		p := a.place("first", tenth)
		if p.ask(); !runs(p) {
			p.leave()
			return running
		}
		running = append(running, p)
	}
}

// TestAdmissionOrder checks that callers take turns, and that aborted
// transactions come first.
func TestAdmissionOrder(t *testing.T) {
	a := newAdmission()
	ask := func(caller string, records int) *admitted {
		p := a.place(caller, records)
		p.ask()
		return p
	}
	const whole = 10 * tenth // counts as half of the window
	beside, running := ask("x", whole), ask("x", whole)
	if !runs(beside) || !runs(running) {
		t.Fatal("two transactions do not run at once")
	}
	line := map[string]*admitted{}
	for _, name := range []string{"a1", "a2", "b1", "a3", "b2", "c1"} {
		line[name] = ask(name[:1], whole)
	}
	small := ask("d", 1)
	if !runs(small) {
		t.Error("a small transaction waits")
	}
	if !running.conflicted() {
		t.Error("a transaction that was given up beside another is not crowded")
	}
	running.ask()
	line["again"] = running
	a.window = firstWindow
	small.end()
	for _, want := range []string{"again", "a1", "b1", "c1", "a2", "b2", "a3"} {
		for name, p := range line {
			if runs(p) != (name == want) {
				t.Fatalf("%s: %t when it is the turn of %s", name, runs(p), want)
			}
		}
		line[want].end()
		delete(line, want)
	}
	beside.end()
	if a.held != 0 || a.large != 0 {
		t.Errorf("at the end %d bytes are held by %d", a.held, a.large)
	}
}

func TestAdmissionWindow(t *testing.T) {
	a := newAdmission()
	running := fill(a)
	if len(running) != 10 {
		t.Fatalf("%d transactions of a tenth of the window run", len(running))
	}
	waiting := a.place("w", tenth)
	waiting.ask()
	running[0].committed()
	grown := a.window
	if grown <= firstWindow {
		t.Errorf("a commit while others wait leaves the window at %v", grown)
	}
	for _, p := range running {
		p.conflicted()
	}
	if want := grown * shrinking; a.window != want {
		t.Errorf("conflicts of one window shrink it to %v instead of %v", a.window, want)
	}
	running[1].committed()
	if a.window > grown*shrinking {
		t.Error("a commit of the window of before lets it grow")
	}
	a.fit(2 * leastWindow)
	if a.window != 2*leastWindow {
		t.Errorf("in a small cache the window is %v", a.window)
	}
	for range 100 {
		p := a.place("w", tenth)
		a.hold(p, leastWindow)
		p.shrunk = a.shrunk
		p.committed()
		a.release(p)
	}
	if a.window != 2*leastWindow {
		t.Errorf("in a small cache the window has grown to %v", a.window)
	}
	left, leave := context.WithCancel(t.Context())
	leave()
	if gone := a.place("w", tenth); gone.enter(left) || !waiting.leave() || a.line.Len() != 0 {
		t.Error("a transaction whose client has disconnected waits")
	}
	for _, p := range running {
		p.end()
	}
	for range 50 {
		p := a.place("x", tenth)
		p.enter(t.Context())
		p.conflicted()
		p.end()
	}
	if a.window != leastWindow {
		t.Errorf("the window has shrunk to %v", a.window)
	}
	one := a.place("x", 1_000_000)
	if !one.enter(t.Context()) {
		t.Error("a transaction that is larger than the window does not run")
	}
	one.end()
	grows := a.place("x", 0)
	grows.enter(t.Context())
	grows.sent(100_000, 0)
	if a.large != 1 || a.held == 0 {
		t.Errorf("a transaction that grows holds %d", a.held)
	}
	if beside := a.place("y", 1); !beside.conflicted() {
		t.Error("a small transaction beside a large one is not crowded")
	}
	grows.end()
	if alone := a.place("y", 1); alone.conflicted() {
		t.Error("a small transaction alone is crowded")
	}
}

// TestConflictsOfMany makes the server abort a large transaction repeatedly: it
// is retried until the deadline, because the conflict is not the client's.
func TestConflictsOfMany(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, mongodb.Lend(t))
	large := func(ctx context.Context) context.Context {
		return store.WithEffort(ctx, store.Effort{Caller: "u", Records: 1000})
	}
	f.failing(failPoint{step{"insert", faultThings}, faultCode(112), 2 * maxConflicts}, func() {
		if n, err := f.write(large(t.Context())); err != nil || n != 2*maxConflicts+1 {
			t.Errorf("after %d runs: %v", n, err)
		}
	})
	f.settled("a large transaction", true)
	f.failing(failPoint{step{"insert", faultThings}, faultCode(112), 0}, func() {
		ctx, cancel := context.WithTimeout(t.Context(), 5*short)
		defer cancel()
		_, err := f.write(large(ctx))
		if code, _ := store.CodeOf(err); code != store.CodeBusy {
			t.Errorf("at the deadline: %v", err)
		}
		ctx, leave := context.WithCancel(t.Context())
		time.AfterFunc(short, leave)
		_, err = f.write(large(ctx))
		if code, _ := store.CodeOf(err); code != store.CodeDeadline {
			t.Errorf("when the client has disconnected: %v", err)
		}
	})
	f.settled("a large transaction that is given up", false)
	f.nothingOpen("at the end", time.Second)
}

// TestWritesAtOnce writes far more at once than a small cache holds
// uncommitted. Everything is written, with few aborts; without admission there
// are several times as many aborts as writes.
func TestWritesAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 64,000 records")
	}
	t.Parallel()
	const writes, records = 64, 1000
	set := mongodb.NewReplicaSet(t, 3) // of 0.5 GB of cache each
	s := openTest(t, Options{URI: set.URI("at_once")})
	if err := s.EnsureCollections(t.Context(), []store.Collection{{Name: faultThings}}); err != nil {
		t.Fatal(err)
	}
	write := func(n int) error {
		ctx := store.WithEffort(t.Context(), store.Effort{Caller: fmt.Sprint(n % 4), Records: records})
		return s.Write(ctx, func(tx store.Tx) error {
			puts, changes := make([]store.Write, records), make([]store.Change, records)
			for i := range records {
				key := store.Key{Network: faultNetwork, ID: fmt.Sprintf("%d-%d", n, i)}
				puts[i] = store.Write{Record: faultRecord(key, 1)}
				for k := range 8 {
					puts[i].AddTerms = append(puts[i].AddTerms, store.Term{Key: "k", Value: fmt.Sprintf("a word of the text, %d %d", i, k)})
				}
				changes[i] = faultChange(key, 1)
			}
			if err := tx.Put(ctx, faultThings, puts); err != nil {
				return err
			}
			return tx.Append(ctx, changes)
		})
	}
	begun, failed := time.Now(), make(chan error, writes)
	for n := range writes {
		go func() { failed <- write(n) }()
	}
	for range writes {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	var status struct {
		Transactions struct {
			Committed int64 `bson:"totalCommitted"`
			Aborted   int64 `bson:"totalAborted"`
		}
	}
	if err := set.Client().Database("admin").RunCommand(t.Context(), bson.D{{Key: "serverStatus", Value: 1}}).Decode(&status); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d writes of %d records in %v: %+v", writes, records, time.Since(begun), status.Transactions)
	if status.Transactions.Aborted > 2*writes {
		t.Errorf("%d transactions were given up", status.Transactions.Aborted)
	}
}
