package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"marquee/engine/document"
	"marquee/engine/query"
	"marquee/engine/store"
)

// The collections of most tests.
const (
	things = "things"
	others = "others"
	// net is the network of most records.
	net = "n1"
)

// everything is a limit that no test reaches.
const everything = 1 << 30

// fixture is a store with collections and helpers for tests.
type fixture struct {
	testing.TB
	h   Harness
	ctx context.Context
	// raw is the adapter's store, and s is raw wrapped by Checked.
	raw, s store.Store
}

func open(t testing.TB, h Harness) *fixture {
	t.Helper()
	f := &fixture{TB: t, h: h, ctx: t.Context()}
	f.use(h.Open(t))
	f.ensure()
	return f
}

func (f *fixture) ensure() {
	f.Helper()
	f.must(f.s.EnsureCollections(f.ctx, []store.Collection{
		{Name: things, Indexes: []store.Index{
			{Equal: []query.Field{text("group")}, Order: createTime},
			{Equal: []query.Field{text("group")}, Order: number("n")},
			{Order: number("n")},
			{Order: text("name")},
		}},
		{Name: others},
	}))
}

func (f *fixture) use(raw store.Store) { f.raw, f.s = raw, Checked(raw, f.TB) }

// run runs a subtest on the same store.
func (f *fixture) run(name string, test func(*fixture)) {
	f.TB.(*testing.T).Run(name, func(t *testing.T) {
		sub := *f
		sub.TB, sub.ctx = t, t.Context()
		test(&sub)
	})
}

// reopen closes the store and opens it again.
func (f *fixture) reopen() {
	f.Helper()
	f.use(f.h.Reopen(f.TB, f.raw))
	f.ensure()
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// code fails the test unless an error has the code.
func (f *fixture) code(err error, want store.Code) {
	f.Helper()
	if got, ok := store.CodeOf(err); !ok || got != want {
		f.Fatalf("error %v has code %d (a store's: %t), want %d", err, got, ok, want)
	}
}

// write runs a transaction until it has no conflict. Adapters differ in how
// often they retry.
func (f *fixture) write(fn func(store.Tx) error) error {
	for range 1000 {
		err := f.s.Write(f.ctx, fn)
		if code, ok := store.CodeOf(err); !ok || code != store.CodeConflict {
			return err
		}
	}
	return errors.New("a transaction had 1000 conflicts")
}

// put stores writes in a transaction of their own.
func (f *fixture) put(collection string, writes ...store.Write) {
	f.Helper()
	f.must(f.tryPut(collection, writes...))
}

func (f *fixture) tryPut(collection string, writes ...store.Write) error {
	return f.s.Write(f.ctx, func(tx store.Tx) error { return tx.Put(f.ctx, collection, writes) })
}

// read runs fn on a snapshot.
func (f *fixture) read(fn func(store.Snapshot)) {
	f.Helper()
	f.must(f.s.Read(f.ctx, func(s store.Snapshot) error {
		fn(s)
		return nil
	}))
}

// records returns copies of the records of keys that exist.
func (f *fixture) records(s store.Snapshot, collection string, keys ...store.Key) map[store.Key]store.Record {
	f.Helper()
	found := map[store.Key]store.Record{}
	if err := s.Get(f.ctx, collection, keys, func(r *store.Record) error {
		found[r.Key] = keep(r)
		return nil
	}); err != nil {
		f.Error(err)
	}
	return found
}

// get returns the record of an id in the default network.
func (f *fixture) get(collection, id string) (r store.Record, ok bool) {
	f.Helper()
	f.read(func(s store.Snapshot) { r, ok = f.records(s, collection, key(id))[key(id)] })
	return r, ok
}

// page returns the records that a query finds, in order.
func (f *fixture) page(s store.Snapshot, q query.Query) []store.Record {
	f.Helper()
	var found []store.Record
	if err := s.Find(f.ctx, q, func(r *store.Record) error {
		found = append(found, keep(r))
		return nil
	}); err != nil {
		f.Errorf("finding %+v: %v", q, err)
	}
	return found
}

func (f *fixture) find(q query.Query) (found []store.Record) {
	f.Helper()
	f.read(func(s store.Snapshot) { found = f.page(s, q) })
	return found
}

func (f *fixture) ids(q query.Query) []string {
	f.Helper()
	return idsOf(f.find(q))
}

func (f *fixture) count(s store.Snapshot, q query.Query) int {
	f.Helper()
	n, err := s.Count(f.ctx, q)
	if err != nil {
		f.Errorf("counting %+v: %v", q, err)
	}
	return int(n)
}

// keep copies a record out of the store's memory.
func keep(r *store.Record) store.Record {
	kept := *r
	kept.ID, kept.Network, kept.State = strings.Clone(r.ID), strings.Clone(r.Network), strings.Clone(r.State)
	kept.CreateUser, kept.UpdateUser = strings.Clone(r.CreateUser), strings.Clone(r.UpdateUser)
	kept.Warnings, kept.Document = slices.Clone(r.Warnings), slices.Clone(r.Document)
	return kept
}

func idsOf(records []store.Record) []string {
	ids := make([]string, len(records))
	for i := range records {
		ids[i] = records[i].ID
	}
	return ids
}

func key(id string) store.Key { return store.Key{Network: net, ID: id} }

// epoch is the default time of records.
var epoch = time.Date(2024, 2, 29, 12, 30, 15, 123e6, time.UTC)

// newRecord returns the write of a new record.
func newRecord(id, doc string) store.Write {
	return store.Write{Record: store.Record{Key: key(id), Revision: 1, Version: 1, State: "ACTIVE", CreateTime: epoch, UpdateTime: epoch,
		CreateUser: "anna", UpdateUser: "anna", Document: []byte(doc)}}
}

// next returns the next write of a record, with another document.
func next(r store.Record, doc string) store.Write {
	w := store.Write{Record: r, Expected: r.Revision, Was: r.State}
	w.Revision++
	w.Version++
	w.UpdateTime, w.UpdateUser, w.Document = r.UpdateTime.Add(time.Second), "bert", []byte(doc)
	return w
}

// all returns a query for a whole collection of the default network, ordered by
// id.
func all(collection string, where query.Expr) query.Query {
	return query.Query{Collection: collection, Network: net, Where: where, Order: query.Order{Field: idField}, Limit: everything}
}

var (
	idField    = query.Field{System: query.ID, Kind: query.String}
	stateField = query.Field{System: query.State, Kind: query.String}
	createTime = query.Field{System: query.CreateTime, Kind: query.Time}
	updateTime = query.Field{System: query.UpdateTime, Kind: query.Time}
	createUser = query.Field{System: query.CreateUser, Kind: query.String}
	updateUser = query.Field{System: query.UpdateUser, Kind: query.String}
)

// field returns the field at a dotted path, in which [] marks arrays.
func field(path string, kind query.Kind) query.Field {
	f := query.Field{Kind: kind}
	for _, name := range strings.Split(path, ".") {
		name, array := strings.CutSuffix(name, "[]")
		f.Path = append(f.Path, query.Step{Name: name, Array: array})
	}
	return f
}

func text(path string) query.Field    { return field(path, query.String) }
func number(path string) query.Field  { return field(path, query.Number) }
func boolean(path string) query.Field { return field(path, query.Boolean) }
func object(path string) query.Field  { return field(path, query.Object) }

func is(f query.Field, op query.Operator, value any) query.Expr {
	return query.Compare{Field: f, Op: op, Value: value}
}

func equal(f query.Field, value any) query.Expr { return is(f, query.Equal, value) }

func instant(t time.Time) string { return document.FormatTime(t) }

func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprintf("%v", got), fmt.Sprintf("%v", want); g != w {
		t.Errorf("%s: got %s, want %s", what, shorten(g), shorten(w))
	}
}

func shorten(s string) string {
	if len(s) > 2000 {
		return s[:2000] + "…"
	}
	return s
}

// together runs n functions concurrently and waits for them.
func together(n int, run func(i int)) {
	start, done := make(chan struct{}), make(chan struct{})
	for i := range n {
		go func() {
			defer func() { done <- struct{}{} }()
			<-start
			run(i)
		}()
	}
	close(start)
	for range n {
		<-done
	}
}

func encode(object map[string]any) []byte { return document.Append(nil, object) }
