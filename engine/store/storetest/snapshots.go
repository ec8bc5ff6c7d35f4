package storetest

import (
	"fmt"
	"testing"

	"marquee/engine/query"
	"marquee/engine/store"
)

// testSnapshots proves that a Read sees one state, whatever is committed while
// it runs, and that a transaction sees its own writes and no one else does.
func testSnapshots(t *testing.T, h Harness) {
	// Each way to read is once the first of its snapshot: a store that takes
	// the snapshot late, or answers one way from memory, shows it there.
	methods := map[string]func(*fixture, store.Snapshot) string{
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
		"Labels": func(f *fixture, s store.Snapshot) string {
			labels, err := s.Labels(f.ctx, things, "name", []store.Key{key("a"), key("b")})
			return fmt.Sprint(labels, err)
		},
		"Claims": func(f *fixture, s store.Snapshot) string {
			owners, err := s.Claims(f.ctx, []store.Claim{claim("c")})
			return fmt.Sprint(owners, err)
		},
		"History": func(f *fixture, s store.Snapshot) string {
			changes, err := s.History(f.ctx, store.HistoryQuery{Network: net, Limit: 10})
			return fmt.Sprint(len(changes), err)
		},
		"Notices": func(f *fixture, s store.Snapshot) string {
			q := store.NoticeQuery{Network: net, Owner: "eva", Collections: []string{things}, Limit: 10}
			notices, err := s.Notices(f.ctx, q)
			n, wrong := s.NoticeCount(f.ctx, q)
			return fmt.Sprint(len(notices), err, n, wrong)
		},
	}
	look := func(f *fixture, s store.Snapshot, first string) map[string]string {
		seen := map[string]string{first: methods[first](f, s)}
		for name, method := range methods {
			if name != first {
				seen[name] = method(f, s)
			}
		}
		return seen
	}
	change := func(f *fixture, tx store.Tx) error {
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
	for first := range methods {
		t.Run(first+" first", func(t *testing.T) {
			f := open(t, h)
			w := newRecord("a", `{"name":"old"}`)
			w.AddTerms = []store.Term{{Key: "t", Value: "v"}}
			f.put(things, w)
			var before, after map[string]string
			f.read(func(s store.Snapshot) { before = look(f, s, first) }) // also fills what the store keeps in memory
			f.read(func(s store.Snapshot) {
				// What is read first fixes the snapshot for all others.
				same(t, first, methods[first](f, s), before[first])
				f.must(f.write(func(tx store.Tx) error {
					if err := change(f, tx); err != nil {
						return err
					}
					after = look(f, tx, first)
					// Another snapshot: this one must not be read before the
					// commit, so that it is seen when it was taken.
					return f.s.Read(f.ctx, func(s store.Snapshot) error {
						if seen := fmt.Sprint(look(f, s, first)); seen != fmt.Sprint(before) {
							t.Errorf("a snapshot sees writes that are not committed:\n%s\n%v", seen, before)
						}
						return nil
					})
				}))
				if seen := fmt.Sprint(look(f, s, first)); seen != fmt.Sprint(before) {
					t.Errorf("a snapshot sees what was committed after it began:\n%s\n%v", seen, before)
				}
			})
			for name := range methods {
				if before[name] == after[name] {
					t.Errorf("%s: the transaction does not see its own writes: %s", name, after[name])
				}
			}
			f.read(func(s store.Snapshot) { same(t, "the next snapshot", look(f, s, first), after) })
		})
	}
}
