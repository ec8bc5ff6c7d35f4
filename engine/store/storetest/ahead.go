package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"marquee/engine/store"
)

// testAhead proves that a transaction reads the same whether it has said in advance what
// it will read (store.Effort.Reads) or not.
func testAhead(t *testing.T, h Harness) {
	t.Run("what was announced", func(t *testing.T) { testAnnounced(open(t, h)) })
	t.Run("what others write", func(t *testing.T) { testAnnouncedByMany(open(t, h)) })
	t.Run("more than an answer holds", func(t *testing.T) {
		if h.Reopen == nil {
			t.Skip("the store keeps nothing")
		}
		testAnnouncedLarge(open(t, h))
	})
}

func testAnnounced(f *fixture) {
	f.put(things, newRecord("a", `{"n":1}`), newRecord("b", `{"n":2}`))
	f.put(others, newRecord("c", `{"n":3}`))
	elsewhere := newRecord("a", `{"n":4}`)
	elsewhere.Network = "elsewhere"
	f.put(others, elsewhere)
	ctx := store.WithEffort(f.ctx, store.Effort{Records: 1, Reads: []store.Lookup{
		{Collection: things, Keys: []store.Key{key("a"), key("missing"), key("b")}},
		{Collection: others, Keys: []store.Key{key("c"), elsewhere.Key}},
	}})
	f.must(f.s.Write(ctx, func(tx store.Tx) error {
		read := func(what, collection, want string, keys ...store.Key) {
			f.Helper()
			got := ""
			records := f.records(tx, collection, keys...)
			for _, k := range keys {
				got += string(records[k].Document)
			}
			same(f, what, got, want)
		}
		read("what is stored", things, `{"n":1}{"n":2}`, key("a"), key("b"), key("missing"))
		read("some that were not announced", others, `{"n":3}{"n":4}`, key("a"), key("c"), elsewhere.Key)
		a, b := f.records(tx, things, key("a"))[key("a")], f.records(tx, things, key("b"))[key("b")]
		if err := tx.Put(ctx, things, []store.Write{next(a, `{"n":5}`), newRecord("missing", `{"n":6}`)}); err != nil {
			return err
		}
		read("after a put", things, `{"n":5}{"n":2}{"n":6}`, key("a"), key("b"), key("missing"))
		b.Document = []byte(`{"n":7}`)
		if err := tx.Rewrite(ctx, things, []store.Record{b}); err != nil {
			return err
		}
		read("after a rewrite", things, `{"n":7}`, key("b"))
		if err := store.Drop(ctx, tx, others, []store.Key{elsewhere.Key}); err != nil {
			return err
		}
		read("after a drop", others, `{"n":3}`, elsewhere.Key, key("c"))
		return nil
	}))
}

// testAnnouncedByMany counts in a record that all calls announce, some of which fail after
// they have written.
func testAnnouncedByMany(f *fixture) {
	const clients, each = 16, 12
	f.put(things, newRecord("a", `{"n":0}`))
	f.put(others, newRecord("c", `{"n":3}`))
	ctx, cancel := context.WithTimeout(f.ctx, 5*time.Minute) // calls without a deadline give up after some conflicts
	defer cancel()
	ctx = store.WithEffort(ctx, store.Effort{Records: 1, Reads: []store.Lookup{
		{Collection: things, Keys: []store.Key{key("a"), key("missing")}}, {Collection: others, Keys: []store.Key{key("c")}}}})
	var group sync.WaitGroup
	errs := make(chan error, clients*each)
	for client := range clients {
		group.Go(func() {
			for i := range each {
				refused := (client+i)%3 == 0
				err := f.s.Write(ctx, func(tx store.Tx) error {
					var found store.Record
					err := tx.Get(ctx, things, []store.Key{key("a"), key("missing")}, func(r *store.Record) error {
						found = *r.Clone()
						return nil
					})
					if err != nil {
						return err
					}
					n := found.Revision
					if want := fmt.Sprintf(`{"n":%d}`, n-1); string(found.Document) != want {
						return fmt.Errorf("revision %d is %s", n, found.Document)
					}
					if err := tx.Put(ctx, things, []store.Write{next(found, fmt.Sprintf(`{"n":%d}`, n))}); err != nil {
						return err
					}
					if refused {
						return store.ErrRollback
					}
					return nil
				})
				if refused && errors.Is(err, store.ErrRollback) {
					err = nil
				}
				errs <- err
			}
		})
	}
	group.Wait()
	close(errs)
	for err := range errs {
		f.must(err)
	}
	counted, _ := f.get(things, "a")
	same(f, "the writes", counted.Revision, int64(1+clients*each*2/3))
}

// testAnnouncedLarge reads 20 MB in a store that does not know how large the records are.
func testAnnouncedLarge(f *fixture) {
	const n = 20
	document := fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", 1<<20))
	var keys []store.Key
	for i := range n {
		id := fmt.Sprintf("large%02d", i)
		f.put(things, newRecord(id, document))
		keys = append(keys, key(id))
	}
	f.put(others, newRecord("a", `{}`))
	f.reopen()
	ctx := store.WithEffort(f.ctx, store.Effort{Records: 1, Reads: []store.Lookup{{Collection: things, Keys: keys}, {Collection: others, Keys: []store.Key{key("a")}}}})
	f.must(f.s.Write(ctx, func(tx store.Tx) error {
		read := 0
		if err := tx.Get(ctx, things, keys, func(r *store.Record) error {
			read += len(r.Document)
			return nil
		}); err != nil {
			return err
		}
		same(f, "the bytes read", read, n*len(document))
		return tx.Put(ctx, others, []store.Write{newRecord("b", `{}`)})
	}))
}
