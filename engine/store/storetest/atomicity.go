package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"marquee/engine/query"
	"marquee/engine/store"
)

// steps returns the steps of a transaction that uses everything a store keeps.
func steps(f *fixture) []func(store.Tx) error {
	first := newRecord("first", `{"name":"first"}`)
	first.AddTerms = []store.Term{{Key: "t", Value: "first"}}
	first.AddClaims = []store.Claim{claim("first")}
	second := newRecord("second", `{"name":"second"}`)
	second.AddTerms = []store.Term{{Key: "t", Value: "second"}}
	change := store.Change{Time: epoch, Network: net, Collection: things, ID: "first", Revision: 1, Version: 1, User: "anna", Fields: []byte(`[]`)}
	return []func(store.Tx) error{
		func(tx store.Tx) error { return tx.Put(f.ctx, things, []store.Write{first}) },
		func(tx store.Tx) error { return tx.Append(f.ctx, []store.Change{change}) },
		func(tx store.Tx) error { f.records(tx, things, key("first")); return nil },
		func(tx store.Tx) error { return tx.Put(f.ctx, others, []store.Write{second, first}) },
		func(tx store.Tx) error { f.page(tx, all(others, nil)); return nil },
		func(tx store.Tx) error { return tx.Put(f.ctx, things, []store.Write{second, next(first.Record, `{}`)}) },
		func(tx store.Tx) error { return tx.Append(f.ctx, []store.Change{change, change}) },
	}
}

// state describes everything that steps may store.
func state(f *fixture) string {
	var b strings.Builder
	f.read(func(s store.Snapshot) {
		for _, collection := range []string{things, others} {
			fmt.Fprintln(&b, collection, idsOf(f.page(s, all(collection, nil))), f.count(s, all(collection, nil)),
				idsOf(f.page(s, all(collection, query.Term{Key: "t", Prefix: true}))))
		}
		owners, err := s.Claims(f.ctx, []store.Claim{claim("first")})
		f.must(err)
		changes, err := history(f.ctx, s, store.HistoryQuery{Network: net, Limit: everything})
		f.must(err)
		fmt.Fprintln(&b, owners, len(changes))
	})
	changes, _, err := f.s.Changes(f.ctx, "", everything)
	f.must(err)
	fmt.Fprintln(&b, len(changes))
	return b.String()
}

// testAtomicity injects an error at every position of a transaction: nothing of
// it is stored, and the same transaction succeeds afterwards.
func testAtomicity(t *testing.T, h Harness) {
	wrong := newRecord("wrong", `{}`)
	wrong.Expected, wrong.Revision = 7, 8
	for name, fault := range injectedFaults(wrong) {
		t.Run(name, func(t *testing.T) { testInjected(open(t, h), fault) })
	}
	t.Run("an ignored error of a method", func(t *testing.T) { testIgnoredError(open(t, h), wrong) })
	t.Run("other transactions", func(t *testing.T) { testOtherTransactions(open(t, h)) })
}

// injectedFault ends a transaction, and checks the error that Write then returns.
type injectedFault struct {
	fail func(f *fixture, tx store.Tx, cancel func()) error
	want func(f *fixture, err error)
}

// injectedFaults returns the ways in which a transaction can fail, by name; wrong is a
// record that conflicts with what is stored.
func injectedFaults(wrong store.Write) map[string]injectedFault {
	own := errors.New("an error of the function")
	return map[string]injectedFault{
		"an error": {
			func(*fixture, store.Tx, func()) error { return own },
			func(f *fixture, err error) {
				if err != own {
					f.Errorf("got %v (%T), want the error of the function unchanged", err, err)
				}
			}},
		"ErrRollback": {
			func(*fixture, store.Tx, func()) error { return store.ErrRollback },
			func(f *fixture, err error) {
				if err != store.ErrRollback {
					f.Errorf("got %v (%T), want ErrRollback unchanged", err, err)
				}
			}},
		"a panic": {
			func(*fixture, store.Tx, func()) error { panic("in a transaction") },
			func(f *fixture, err error) { f.code(err, store.CodeInternal) }},
		"a conflict": {
			func(f *fixture, tx store.Tx, _ func()) error {
				return tx.Put(f.ctx, things, []store.Write{newRecord("beside", `{}`), wrong})
			},
			func(f *fixture, err error) { f.code(err, store.CodeConflict) }},
		"the end of the context": {
			func(f *fixture, tx store.Tx, cancel func()) error {
				cancel()
				return tx.Put(f.ctx, things, []store.Write{newRecord("late", `{}`)})
			},
			func(f *fixture, err error) { f.code(err, store.CodeDeadline) }},
	}
}

// testInjected fails after each number of steps, and then takes all of them.
func testInjected(f *fixture, fault injectedFault) {
	before := state(f)
	for position := range len(steps(f)) + 1 {
		ctx, cancel := context.WithCancel(f.ctx)
		err := f.s.Write(ctx, func(tx store.Tx) error {
			inside := *f
			inside.ctx = ctx
			for _, step := range steps(&inside)[:position] {
				if err := step(tx); err != nil {
					return err
				}
			}
			return fault.fail(&inside, tx, cancel)
		})
		cancel()
		fault.want(f, err)
		if after := state(f); after != before {
			f.Fatalf("an error after %d steps left\n%s", position, after)
		}
	}
	f.must(f.write(func(tx store.Tx) error {
		for _, step := range steps(f) {
			if err := step(tx); err != nil {
				return err
			}
		}
		return nil
	}))
	same(f, "in the end", state(f), "things [first second] 2 [first second]\nothers [first second] 2 [first second]\n"+
		fmt.Sprintln(map[store.Claim]string{claim("first"): "first"}, 3)+"3\n")
}

// testIgnoredError proves that a transaction whose Put failed is not committed,
// even when its function ignores the error.
func testIgnoredError(f *fixture, wrong store.Write) {
	before := state(f)
	err := f.raw.Write(f.ctx, func(tx store.Tx) error {
		if err := tx.Put(f.ctx, things, []store.Write{newRecord("beside", `{}`), wrong}); err == nil {
			f.Error("the conflict was not seen")
		}
		if err := tx.Put(f.ctx, things, []store.Write{newRecord("after", `{}`)}); err == nil {
			f.Error("a Put succeeded in a transaction that had ended")
		}
		ignore := func(*store.Record) error { return nil }
		if err := tx.Get(f.ctx, things, []store.Key{key("beside")}, ignore); err == nil {
			f.Error("a Get succeeded in a transaction that had ended")
		}
		return nil
	})
	f.code(err, store.CodeConflict)
	same(f, "records", state(f), before)
}

// testOtherTransactions proves that a failing transaction does not affect
// concurrent ones.
func testOtherTransactions(f *fixture) {
	const n = 40
	own := errors.New("own")
	results := make([]error, n)
	together(n, func(i int) {
		results[i] = f.write(func(tx store.Tx) error {
			if err := tx.Put(f.ctx, things, []store.Write{newRecord(fmt.Sprintf("t%02d", i), `{}`)}); err != nil {
				return err
			}
			switch i % 4 {
			case 1:
				panic("in a transaction")
			case 2:
				return own
			}
			return nil
		})
	})
	var want []string
	for i, err := range results {
		if fails := i%4 == 1 || i%4 == 2; fails != (err != nil) {
			f.Errorf("transaction %d: %v", i, err)
		} else if !fails {
			want = append(want, fmt.Sprintf("t%02d", i))
		}
	}
	same(f, "records", f.ids(all(things, nil)), want)
}

// testContext proves that calls end with their context.
func testContext(t *testing.T, h Harness) {
	f := open(t, h)
	f.put(things, newRecord("there", `{}`))
	ended, cancel := context.WithCancel(f.ctx)
	cancel()

	f.run("before a Write", func(f *fixture) {
		f.code(f.s.Write(ended, func(tx store.Tx) error {
			return tx.Put(ended, things, []store.Write{newRecord("late", `{}`)})
		}), store.CodeDeadline)
		same(f, "records", f.ids(all(things, nil)), []string{"there"})
	})
	f.run("before a Read", func(f *fixture) {
		f.code(f.s.Read(ended, func(s store.Snapshot) error {
			return s.Find(ended, all(things, nil), func(*store.Record) error { return nil })
		}), store.CodeDeadline)
	})
	f.run("within a Read", func(f *fixture) {
		ctx, cancel := context.WithCancel(f.ctx)
		f.code(f.s.Read(ctx, func(s store.Snapshot) error {
			f.records(s, things, key("there"))
			cancel()
			return s.Get(ctx, things, []store.Key{key("there")}, func(*store.Record) error { return nil })
		}), store.CodeDeadline)
		same(f, "the next read", f.ids(all(things, nil)), []string{"there"})
	})
	f.run("other methods", func(f *fixture) {
		_, _, err := f.s.Changes(ended, "", 1)
		f.code(err, store.CodeDeadline)
		_, err = f.s.End(ended)
		f.code(err, store.CodeDeadline)
		f.code(f.s.EnsureCollections(ended, []store.Collection{{Name: "late"}}), store.CodeDeadline)
		f.must(f.s.Check(f.ctx))
	})
}
