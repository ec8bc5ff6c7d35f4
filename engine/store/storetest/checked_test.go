package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"marquee/engine/query"
	"marquee/engine/store"
	"marquee/engine/store/sqlite"
	"marquee/engine/store/storetest"
)

// recorder keeps the errors of a test instead of failing it.
type recorder struct {
	testing.TB
	reported []string
}

func (r *recorder) Helper()           {}
func (r *recorder) Error(args ...any) { r.reported = append(r.reported, fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, args ...any) {
	r.reported = append(r.reported, fmt.Sprintf(format, args...))
}

// broken is a store that keeps its promise except in the ways that are set.
type broken struct {
	store.Store
	err     error                 // of Write, Read and Check
	write   error                 // instead of the error of Write
	swallow bool                  // returns no error of Write
	record  func(r *store.Record) // changes the records found
	reverse bool                  // uses another order
	more    bool                  // exceeds the limit
	again   bool                  // continues after an error of yield
}

func (b *broken) Check(ctx context.Context) error {
	if b.err != nil {
		return b.err
	}
	return b.Store.Check(ctx)
}

func (b *broken) Write(ctx context.Context, fn func(store.Tx) error) error {
	err := b.Store.Write(ctx, fn)
	switch {
	case b.swallow:
		return nil
	case b.write != nil:
		return b.write
	}
	return err
}

func (b *broken) Read(ctx context.Context, fn func(store.Snapshot) error) error {
	return b.Store.Read(ctx, func(s store.Snapshot) error { return fn(&brokenSnapshot{s, b}) })
}

type brokenSnapshot struct {
	store.Snapshot
	b *broken
}

func (v *brokenSnapshot) Find(ctx context.Context, q query.Query, yield func(*store.Record) error) error {
	if v.b.reverse {
		q.Order.Descending = !q.Order.Descending
	}
	if v.b.more {
		q.Limit++
	}
	return v.Snapshot.Find(ctx, q, func(r *store.Record) error {
		if v.b.record != nil {
			v.b.record(r)
		}
		err := yield(r)
		if v.b.again {
			_ = yield(r)
		}
		return err
	})
}

var errOwn = errors.New("own")

// threeOf finds two of the three records of TestChecked.
var threeOf = query.Query{Collection: "things", Network: "n", Order: query.Order{Field: query.Field{System: query.ID}}, Limit: 2,
	Where: query.Compare{Field: query.Field{Path: []query.Step{{Name: "n"}}}, Op: query.Equal, Value: int64(1)}}

func newWrite(id string) store.Write {
	at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	return store.Write{Record: store.Record{Key: store.Key{Network: "n", ID: id}, State: "ACTIVE",
		CreateTime: at, UpdateTime: at, Document: []byte(`{"n":1}`)}}
}

func find(ctx context.Context, s store.Store) {
	_ = s.Read(ctx, func(snapshot store.Snapshot) error {
		return snapshot.Find(ctx, threeOf, func(*store.Record) error { return nil })
	})
}

func fails(ctx context.Context, s store.Store) {
	_ = s.Write(ctx, func(store.Tx) error { return errOwn })
}

func check(ctx context.Context, s store.Store) { _ = s.Check(ctx) }

// breaches are stores that break their promise, and what Checked reports.
var breaches = []struct {
	name   string
	breach broken
	use    use
	want   string // part of the report; "" when there is none
}{
	{"no breach of Find", broken{}, find, ""},
	{"no breach of Write", broken{}, fails, ""},
	{"no breach of Check", broken{}, check, ""},
	{"another library's error", broken{err: errOwn}, check, "not a *store.Error"},
	{"a code that is not documented", broken{err: &store.Error{Code: store.CodeConflict, Text: "x"}}, check, "not documented"},
	{"an error that is swallowed", broken{swallow: true}, fails, "lost the function's error"},
	{"an error that is wrapped", broken{write: fmt.Errorf("wrapped: %w", errOwn)}, fails, "instead of the function's own"},
	{"another order", broken{reverse: true}, find, "yielded {<nil> b} after {<nil> c}"},
	{"more than the limit", broken{more: true}, find, "yielded 3 of at most 2"},
	{"a record twice", broken{again: true}, find, "yielded {<nil> a} after {<nil> a}"},
	{"after an error of yield", broken{again: true}, func(ctx context.Context, s store.Store) {
		_ = s.Read(ctx, func(snapshot store.Snapshot) error {
			return snapshot.Find(ctx, threeOf, func(*store.Record) error { return errOwn })
		})
	}, "yielded after an error of yield"},
	{"another network", broken{record: func(r *store.Record) { r.Network = "m" }}, find, `for network "n"`},
	{"no revision", broken{record: func(r *store.Record) { r.Revision = 0 }}, find, "incomplete record"},
	{"no version", broken{record: func(r *store.Record) { r.Version = 0 }}, find, "incomplete record"},
	{"no state", broken{record: func(r *store.Record) { r.State = "" }}, find, "incomplete record"},
	{"a document that is none", broken{record: func(r *store.Record) { r.Document = []byte("[]") }}, find, "not an object"},
	{"a local time", broken{record: func(r *store.Record) { r.CreateTime = r.CreateTime.In(time.FixedZone("east", 60)) }}, find, "not in UTC"},
	{"records that were not asked for", broken{record: func(r *store.Record) { r.Document = []byte(`{"n":2}`) }}, find, "does not match"},
	{"a snapshot used after its function", broken{}, func(ctx context.Context, s store.Store) {
		var kept store.Snapshot
		_ = s.Read(ctx, func(snapshot store.Snapshot) error { kept = snapshot; return nil })
		_, _ = kept.Count(ctx, threeOf)
	}, "used after its function returned"},
	{"a transaction used after its function", broken{}, func(ctx context.Context, s store.Store) {
		var kept store.Tx
		_ = s.Write(ctx, func(tx store.Tx) error { kept = tx; return nil })
		_ = kept.Append(ctx, nil)
	}, "used after its function returned"},
	{"a snapshot used from yield", broken{}, func(ctx context.Context, s store.Store) {
		_ = s.Read(ctx, func(snapshot store.Snapshot) error {
			return snapshot.Find(ctx, threeOf, func(*store.Record) error { _, err := snapshot.Count(ctx, threeOf); return err })
		})
	}, "while another call is under way"},
	{"a revision out of step", broken{}, func(ctx context.Context, s store.Store) {
		w := newWrite("d")
		w.Revision = 7
		_ = s.Write(ctx, func(tx store.Tx) error { return errors.Join(tx.Put(ctx, "things", []store.Write{w}), errOwn) })
	}, "revision 7 of d on 0"},
	{"an error that the function ignores", broken{swallow: true}, func(ctx context.Context, s store.Store) {
		_ = s.Write(ctx, func(tx store.Tx) error { _ = tx.Put(ctx, "things", []store.Write{newWrite("a")}); return nil })
	}, "committed although a method had failed"},
}

// TestChecked: the decorator reports nothing of a store that keeps its promise,
// and each breach of one that does not.
func TestChecked(t *testing.T) {
	ctx := t.Context()
	s, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(t.TempDir(), "marquee.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.EnsureCollections(ctx, []store.Collection{{Name: "things"}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(ctx, func(tx store.Tx) error {
		return tx.Put(ctx, "things", []store.Write{newWrite("a"), newWrite("b"), newWrite("c")})
	}); err != nil {
		t.Fatal(err)
	}
	for _, c := range breaches {
		t.Run(c.name, func(t *testing.T) {
			c.breach.Store = s
			reports(t, &c.breach, c.use, c.want)
		})
	}
}

// reports uses a store, and checks what Checked reports of it.
func reports(t *testing.T, s store.Store, use use, want string) {
	t.Helper()
	r := &recorder{TB: t}
	use(t.Context(), storetest.Checked(s, r))
	switch reported := strings.Join(r.reported, "\n"); {
	case want == "" && reported != "":
		t.Errorf("reported of a store that keeps its promise: %s", reported)
	case !strings.Contains(reported, want):
		t.Errorf("reported %q, want %q", reported, want)
	}
}
