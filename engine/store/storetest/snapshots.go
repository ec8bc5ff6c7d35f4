package storetest

import (
	"fmt"
	"testing"

	"marquee/engine/query"
	"marquee/engine/store"
)

// reads are all ways to read; each describes what it finds.
var reads = map[string]func(*fixture, store.Snapshot) string{
	"Get": func(f *fixture, s store.Snapshot) string {
		found := f.records(s, things, key("a"), key("b"))
		return fmt.Sprint(len(found), string(found[key("a")].Document))
	},
	"Find": func(f *fixture, s store.Snapshot) string {
		return fmt.Sprint(idsOf(f.page(s, all(things, nil))), idsOf(f.page(s, all(things, equal(text("name"), "new")))))
	},
	"Count": func(f *fixture, s store.Snapshot) string {
		return fmt.Sprint(f.count(s, all(things, nil)), f.count(s, all(things, equal(text("name"), "new"))))
	},
	"terms": func(f *fixture, s store.Snapshot) string {
		return fmt.Sprint(idsOf(f.page(s, all(things, query.Term{Key: "t", Value: "v"}))))
	},
	"Existing": func(f *fixture, s store.Snapshot) string {
		there, err := store.Existing(f.ctx, s, things, []store.Key{key("a"), key("b")})
		return fmt.Sprint(there, err)
	},
	"Labels": func(f *fixture, s store.Snapshot) string {
		labels, err := s.Labels(f.ctx, store.LabelQuery{Collection: things, Property: "name", Keys: []store.Key{key("a"), key("b")}})
		return fmt.Sprint(labels, err)
	},
	"Claims": func(f *fixture, s store.Snapshot) string {
		owners, err := s.Claims(f.ctx, []store.Claim{claim("c")})
		return fmt.Sprint(owners, err)
	},
	"History": func(f *fixture, s store.Snapshot) string {
		changes, err := history(f.ctx, s, store.HistoryQuery{Network: net, Limit: 10})
		return fmt.Sprint(len(changes), err)
	},
	"Notices": func(f *fixture, s store.Snapshot) string {
		q := store.HistoryQuery{Network: net, Notices: true, Owner: "eva", Collections: []string{things}, Limit: 10}
		notices, err := noticesOf(f.ctx, s, q)
		n, wrong := s.HistoryCount(f.ctx, q)
		return fmt.Sprint(len(notices), err, n, wrong)
	},
}

// readAll reads in all ways, beginning with first.
func readAll(f *fixture, s store.Snapshot, first string) map[string]string {
	seen := map[string]string{first: reads[first](f, s)}
	for name, method := range reads {
		if name != first {
			seen[name] = method(f, s)
		}
	}
	return seen
}

// changeAll changes the result of each way to read.
func changeAll(f *fixture, tx store.Tx) error {
	a := f.records(tx, things, key("a"))[key("a")]
	changed, made := next(a, `{"name":"new"}`), newRecord("b", `{"name":"new"}`)
	changed.DropTerms = []store.Term{{Key: "t", Value: "v"}}
	made.AddTerms, made.AddClaims = changed.DropTerms, []store.Claim{claim("c")}
	if err := tx.Put(f.ctx, things, []store.Write{changed, made}); err != nil {
		return err
	}
	return tx.Append(f.ctx, []store.Change{{Time: epoch, Network: net, Collection: things, ID: "b", Version: 1,
		User: "anna", Fields: []byte(`[]`), Owner: "eva", Notices: []byte(`[{}]`)}})
}

// testSnapshots proves that a Read sees one state whatever is committed
// meanwhile, and that only the transaction itself sees its writes before the
// commit. Each way to read comes first once, which exposes a store that takes
// the snapshot late or answers from memory.
func testSnapshots(t *testing.T, h Harness) {
	for first := range reads {
		t.Run(first+" first", func(t *testing.T) {
			testSnapshot(open(t, h), first)
		})
	}
}

func testSnapshot(f *fixture, first string) {
	w := newRecord("a", `{"name":"old"}`)
	w.AddTerms = []store.Term{{Key: "t", Value: "v"}}
	f.put(things, w)
	var before, after map[string]string
	f.read(func(s store.Snapshot) { before = readAll(f, s, first) }) // also fills the store's caches
	f.read(func(s store.Snapshot) {
		// The first read fixes the snapshot.
		same(f, first, reads[first](f, s), before[first])
		f.must(f.write(func(tx store.Tx) error {
			if err := changeAll(f, tx); err != nil {
				return err
			}
			after = readAll(f, tx, first)
			// Use another snapshot: the outer one must not be read before the
			// commit, so that reading it later shows when it was taken.
			return f.s.Read(f.ctx, func(s store.Snapshot) error {
				if seen := fmt.Sprint(readAll(f, s, first)); seen != fmt.Sprint(before) {
					f.Errorf("a snapshot sees writes that are not committed:\n%s\n%v", seen, before)
				}
				return nil
			})
		}))
		if seen := fmt.Sprint(readAll(f, s, first)); seen != fmt.Sprint(before) {
			f.Errorf("a snapshot sees what was committed after it began:\n%s\n%v", seen, before)
		}
	})
	for name := range reads {
		if before[name] == after[name] {
			f.Errorf("%s: the transaction does not see its own writes: %s", name, after[name])
		}
	}
	f.read(func(s store.Snapshot) { same(f, "the next snapshot", readAll(f, s, first), after) })
}
