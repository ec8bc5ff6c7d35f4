package mongo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"marquee/engine/query"
	"marquee/engine/store"
	"marquee/integration/mongodb"
)

// gathered runs calls so that they form a group, and returns their errors.
func gathered(s *Store, calls ...func() error) []error {
	g := &s.groups
	g.mu.Lock()
	g.running += groupsAtOnce
	g.mu.Unlock()
	errs := make([]error, len(calls))
	ended := make(chan struct{}, len(calls))
	var wait sync.WaitGroup
	for i, call := range calls {
		wait.Go(func() {
			errs[i] = call()
			ended <- struct{}{}
		})
	}
	joined := func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return len(g.line)+len(ended) >= len(calls)
	}
	for !joined() {
		runtime.Gosched()
	}
	g.mu.Lock()
	g.running -= groupsAtOnce
	g.next()
	g.mu.Unlock()
	wait.Wait()
	return errs
}

// grouped is a store with a record "hot", and the commands that it sends.
type grouped struct {
	*testing.T
	s        *Store
	mu       sync.Mutex
	commands map[string]int
}

func newGrouped(t *testing.T) *grouped {
	t.Helper()
	return newGroupedOn(t, "")
}

// newGroupedOn is newGrouped with a URI of its own.
func newGroupedOn(t *testing.T, uri string) *grouped {
	t.Helper()
	t.Parallel()
	g := &grouped{T: t, commands: map[string]int{}}
	g.s = openTest(t, Options{URI: uri, Monitor: &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.commands[e.CommandName]++
	}}})
	if err := g.s.EnsureCollections(t.Context(), []store.Collection{{Name: faultThings}}); err != nil {
		t.Fatal(err)
	}
	if err := g.s.Write(t.Context(), func(tx store.Tx) error { return countUp(t.Context(), tx, hotKey) }); err != nil {
		t.Fatal(err)
	}
	return g
}

// call returns a call that has announced that it reads a record.
func (g *grouped) call(key store.Key, fn func(ctx context.Context, tx store.Tx) error) func() error {
	return g.callIn(g.Context(), key, fn)
}

func (g *grouped) callIn(ctx context.Context, key store.Key, fn func(ctx context.Context, tx store.Tx) error) func() error {
	ctx = store.WithEffort(ctx, store.Effort{Records: 1, Reads: []store.Lookup{{Collection: faultThings, Keys: []store.Key{key}}}})
	return func() error { return g.s.Write(ctx, func(tx store.Tx) error { return fn(ctx, tx) }) }
}

// counting returns a call that writes the next version of a record.
func (g *grouped) counting(key store.Key) func() error {
	return g.call(key, func(ctx context.Context, tx store.Tx) error { return countUp(ctx, tx, key) })
}

// during returns how often commands were sent during calls that are gathered, and
// their errors.
func (g *grouped) during(calls ...func() error) (map[string]int, []error) {
	g.mu.Lock()
	before := maps.Clone(g.commands)
	g.mu.Unlock()
	errs := gathered(g.s, calls...)
	g.mu.Lock()
	defer g.mu.Unlock()
	sent := map[string]int{}
	for name, n := range g.commands {
		sent[name] = n - before[name]
	}
	return sent, errs
}

// stored expects a record at a version with as many changes.
func (g *grouped) stored(key store.Key, want int64) {
	g.Helper()
	f := &faulty{T: g.T, other: g.s}
	if version, changes := f.counted(key); version != want || changes != want {
		g.Errorf("%s is at version %d with %d changes, want %d", key.ID, version, changes, want)
	}
}

// TestGroupWaitsForReads: a read that the server answers late does not divide a group.
func TestGroupWaitsForReads(t *testing.T) {
	set := mongodb.NewReplicaSet(t, 1)
	g := newGroupedOn(t, set.URI("late"))
	late := bson.D{{Key: "configureFailPoint", Value: "failCommand"}, {Key: "mode", Value: bson.D{{Key: "times", Value: 1}}},
		{Key: "data", Value: bson.D{{Key: "failCommands", Value: bson.A{"find", "aggregate"}}, {Key: "namespace", Value: "late." + faultThings},
			{Key: "blockConnection", Value: true}, {Key: "blockTimeMS", Value: 2 * straggling.Milliseconds()}}}}
	if err := set.Client().Database("admin").RunCommand(t.Context(), late).Err(); err != nil {
		t.Fatal(err)
	}
	var calls []func() error
	for i := range 5 {
		calls = append(calls, g.counting(numbered(i)))
	}
	begun := time.Now()
	sent, errs := g.during(calls...)
	if err := errors.Join(errs...); err != nil || sent["commitTransaction"] != 1 {
		t.Errorf("calls whose read is late take %v: %v", sent, err)
	}
	if took := time.Since(begun); took < 2*straggling {
		t.Errorf("the read was not late: %v", took)
	}
}

func numbered(i int) store.Key {
	return store.Key{Network: faultNetwork, ID: fmt.Sprintf("record%02d", i)}
}

// TestGroupCommitsOnce: calls that wait together are read, written and committed
// together, and the fault of one is not that of another.
func TestGroupCommitsOnce(t *testing.T) {
	g := newGrouped(t)
	var calls []func() error
	for i := range 20 {
		calls = append(calls, g.counting(numbered(i)))
	}
	calls = append(calls, g.call(numbered(20), func(ctx context.Context, tx store.Tx) error {
		if err := countUp(ctx, tx, numbered(20)); err != nil {
			return err
		}
		return errOwn
	}))
	calls = append(calls, g.call(numbered(21), func(context.Context, store.Tx) error { panic("a fault of the function") }))
	sent, errs := g.during(calls...)
	for i, err := range errs[:20] {
		if err != nil {
			t.Error(err)
		}
		g.stored(numbered(i), 1)
	}
	if !errors.Is(errs[20], errOwn) {
		t.Errorf("a call that fails: %v", errs[20])
	}
	g.stored(numbered(20), 0)
	if code, _ := store.CodeOf(errs[21]); code != store.CodeInternal {
		t.Errorf("a call that panics: %v", errs[21])
	}
	if sent["commitTransaction"] != 1 || sent["insert"] != 3 {
		t.Errorf("20 calls take %v", sent)
	}
}

// TestGroupOnOneRecord: of calls that change the same record, each sees what those
// before it have written.
func TestGroupOnOneRecord(t *testing.T) {
	g := newGrouped(t)
	const n = 12
	_, errs := g.during(slices.Repeat([]func() error{g.counting(hotKey)}, n)...)
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	g.stored(hotKey, n+1)
}

// TestGroupReadsWhatAnotherWrites: a call is not stored by what another call of its
// group replaces. Each writes a record only if the other has not.
func TestGroupReadsWhatAnotherWrites(t *testing.T) {
	g := newGrouped(t)
	onlyWithout := func(own, other store.Key) func() error {
		return g.call(own, func(ctx context.Context, tx store.Tx) error {
			err := tx.Get(ctx, faultThings, []store.Key{other}, func(*store.Record) error { return errOwn })
			if err != nil {
				return err
			}
			return countUp(ctx, tx, own)
		})
	}
	_, errs := g.during(onlyWithout(numbered(1), numbered(2)), onlyWithout(numbered(2), numbered(1)))
	slices.SortFunc(errs, func(a, b error) int {
		if a == nil {
			return -1
		}
		return 1
	})
	if errs[0] != nil || !errors.Is(errs[1], errOwn) {
		t.Errorf("want one to be stored and one to be refused, got %v", errs)
	}
}

// TestGroupLocks: calls that lock the same record share a transaction, and a lock conflicts
// with a write outside the group.
func TestGroupLocks(t *testing.T) {
	g := newGrouped(t)
	runs := 0
	locking := func(key store.Key, first func() error) func() error {
		return g.call(key, func(ctx context.Context, tx store.Tx) error {
			if err := tx.Lock(ctx, faultThings, []store.Key{hotKey}); err != nil {
				return err
			}
			if err := tx.Get(ctx, faultThings, []store.Key{hotKey}, func(*store.Record) error { return nil }); err != nil {
				return err
			}
			if err := first(); err != nil {
				return err
			}
			return countUp(ctx, tx, key)
		})
	}
	disturbing := func() error {
		if runs++; runs > 1 {
			return nil
		}
		return g.s.Write(t.Context(), func(tx store.Tx) error { return countUp(t.Context(), tx, hotKey) })
	}
	nothing := func() error { return nil }
	sent, errs := g.during(locking(numbered(0), disturbing), g.counting(numbered(1)))
	if err := errors.Join(errs...); err != nil || runs != 2 || sent["commitTransaction"] != 2 {
		t.Errorf("a call whose lock meets a write runs %d times, with %v: %v", runs, sent, err)
	}
	sent, errs = g.during(locking(numbered(0), nothing), locking(numbered(1), nothing), g.counting(numbered(2)))
	if err := errors.Join(errs...); err != nil || sent["commitTransaction"] != 1 {
		t.Errorf("two calls that lock the same record take %v: %v", sent, err)
	}
	g.stored(hotKey, 2)
	g.stored(numbered(0), 2)
	g.stored(numbered(1), 2)
	g.stored(numbered(2), 1)
}

// TestGroupRanges: calls that look for claims in a range share a transaction, unless one adds
// what concerns another, which then sees it.
func TestGroupRanges(t *testing.T) {
	g := newGrouped(t)
	claim := func(value string) store.Claim {
		return store.Claim{Collection: faultThings, Network: faultNetwork, Property: "p", Value: value}
	}
	adding := func(i int, value, concerned string) func() error {
		return g.call(numbered(i), func(ctx context.Context, tx store.Tx) error {
			r := store.ClaimRange{After: claim(""), Limit: 10, Concerns: func(c store.Claim) bool { return c.Value == concerned }}
			met := false
			err := tx.ClaimsAfter(ctx, r, func(c store.Claim, _ string) error {
				met = met || c.Value == concerned
				return nil
			})
			if err != nil || met {
				return cmpError(err, errOwn)
			}
			return tx.Put(ctx, faultThings, []store.Write{{Record: faultRecord(numbered(i), 1), AddClaims: []store.Claim{claim(value)}}})
		})
	}
	sent, errs := g.during(adding(0, "a", "x"), adding(1, "b", "x"), adding(2, "c", "x"))
	if err := errors.Join(errs...); err != nil || sent["commitTransaction"] != 1 {
		t.Errorf("ranges that do not concern each other take %v: %v", sent, err)
	}
	_, errs = g.during(adding(3, "d", "e"), adding(4, "e", "d"))
	if (errs[0] == nil) == (errs[1] == nil) || errs[0] != nil && !errors.Is(errs[0], errOwn) || errs[1] != nil && !errors.Is(errs[1], errOwn) {
		t.Errorf("of claims that concern each other, one is to be added: %v", errs)
	}
}

// TestGroupClaims: one of several calls gets a value, and the others see its owner.
func TestGroupClaims(t *testing.T) {
	g := newGrouped(t)
	claim := store.Claim{Collection: faultThings, Network: faultNetwork, Property: "p", Value: "wanted"}
	var calls []func() error
	for i := range 5 {
		calls = append(calls, g.call(numbered(i), func(ctx context.Context, tx store.Tx) error {
			owners, err := tx.Claims(ctx, []store.Claim{claim})
			if err != nil || owners[claim] != "" {
				return cmpError(err, errOwn)
			}
			return tx.Put(ctx, faultThings, []store.Write{{Record: faultRecord(numbered(i), 1), AddClaims: []store.Claim{claim}}})
		}))
	}
	_, errs := g.during(calls...)
	if refused := slices.DeleteFunc(errs, func(err error) bool { return err == nil }); len(refused) != 4 || !errors.Is(errors.Join(refused...), errOwn) {
		t.Errorf("of 5 calls, these were refused: %v", refused)
	}
}

func cmpError(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// TestGroupApart: a call that a group cannot run has a transaction of its own: one that
// reads by a condition, one that reads what it has written, and one that takes long.
func TestGroupApart(t *testing.T) {
	g := newGrouped(t)
	others := make(chan struct{})
	var ended sync.WaitGroup
	ended.Add(3)
	go func() {
		ended.Wait()
		close(others)
	}()
	noted := func(call func() error) func() error {
		return func() error {
			defer ended.Done()
			return call()
		}
	}
	_, errs := g.during(
		g.call(numbered(0), func(ctx context.Context, tx store.Tx) error {
			<-others
			return countUp(ctx, tx, numbered(0))
		}),
		noted(g.counting(numbered(1))),
		noted(g.call(numbered(2), func(ctx context.Context, tx store.Tx) error {
			n, err := tx.Count(ctx, query.Query{Collection: faultThings, Network: faultNetwork})
			if err == nil && n == 0 {
				err = errOwn
			}
			return cmpError(err, countUp(ctx, tx, numbered(2)))
		})),
		noted(g.call(numbered(3), func(ctx context.Context, tx store.Tx) error {
			if err := countUp(ctx, tx, numbered(3)); err != nil {
				return err
			}
			return countUp(ctx, tx, numbered(3))
		})),
	)
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	g.stored(numbered(0), 1)
	g.stored(numbered(1), 1)
	g.stored(numbered(2), 1)
	g.stored(numbered(3), 2)
}

// TestGroupMeetsConflicts: a group that conflicts with other writes runs again, and is
// divided when that happens twice.
func TestGroupMeetsConflicts(t *testing.T) {
	g := newGrouped(t)
	conflicts := 0
	disturbed := g.call(hotKey, func(ctx context.Context, tx store.Tx) error {
		if err := countUp(ctx, tx, hotKey); err != nil || conflicts == groupAttempts {
			return err
		}
		conflicts++
		return g.s.Write(t.Context(), func(tx store.Tx) error { return countUp(t.Context(), tx, hotKey) })
	})
	sent, errs := g.during(disturbed, g.counting(numbered(1)), g.counting(numbered(2)))
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	g.stored(hotKey, groupAttempts+2)
	g.stored(numbered(1), 1)
	g.stored(numbered(2), 1)
	if sent["commitTransaction"] != groupAttempts+3 {
		t.Errorf("of three calls, of which one has conflicts: %v", sent)
	}
}

// TestGroupLosesAClient: a client that disconnects, before or while its function runs,
// takes nothing from the others.
func TestGroupLosesAClient(t *testing.T) {
	g := newGrouped(t)
	gone, leave := context.WithCancel(t.Context())
	leave()
	going, leaveLater := context.WithCancel(t.Context())
	_, errs := g.during(g.counting(numbered(0)),
		g.callIn(gone, numbered(1), func(ctx context.Context, tx store.Tx) error { return countUp(ctx, tx, numbered(1)) }),
		g.callIn(going, numbered(2), func(ctx context.Context, tx store.Tx) error {
			leaveLater()
			return countUp(ctx, tx, numbered(2))
		}))
	if errs[0] != nil {
		t.Error(errs[0])
	}
	for _, err := range errs[1:] {
		if code, _ := store.CodeOf(err); code != store.CodeDeadline {
			t.Errorf("a call without a client: %v", err)
		}
	}
	g.stored(numbered(0), 1)
	g.stored(numbered(1), 0)
	g.stored(numbered(2), 0)
}
