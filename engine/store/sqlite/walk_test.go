package sqlite

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"marquee/engine/query"
	"marquee/engine/store"
)

// TestWalk proves that pages of common words have the same records in the same order,
// however many records are read before those that have the word are listed, or walked.
func TestWalk(t *testing.T) {
	s := openTest(t, Options{})
	random := rand.New(rand.NewPCG(1, 1))
	if err := s.EnsureCollections(t.Context(), []store.Collection{{Name: "things"}}); err != nil {
		t.Fatal(err)
	}
	const records = 400
	var writes []store.Write
	for i := range records {
		name := "all"
		if i%5 == 0 {
			name += " some"
		}
		if i > records*3/4 {
			name += " late"
		}
		w := store.InternalWrite(store.Record{Key: store.Key{Network: "n", ID: fmt.Sprint(i * 7 % records)}}, []string{"ACTIVE", "HIDDEN"}[random.IntN(2)],
			fmt.Appendf(nil, `{"name":%q}`, name), time.UnixMilli(int64(1000+i/3)))
		for _, word := range query.Words(name) {
			w.AddTerms = append(w.AddTerms, store.Term{Key: "q", Value: word})
		}
		writes = append(writes, w)
	}
	if err := s.Write(t.Context(), func(tx store.Tx) error { return tx.Put(t.Context(), "things", writes) }); err != nil {
		t.Fatal(err)
	}
	find := func(q query.Query, walked, rare int) (ids []string) {
		s.walked, s.rare = walked, rare
		err := s.Read(t.Context(), func(v store.Snapshot) error {
			ids = nil
			return v.Find(t.Context(), q, func(r *store.Record) error {
				ids = append(ids, r.ID)
				return nil
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
	word := func(prefix string) query.Expr {
		return query.Term{Key: "q", Value: prefix, Prefix: true, Searched: []string{"name"}}
	}
	active := query.Compare{Field: query.Field{System: query.State}, Value: "ACTIVE"}
	for range 300 {
		q := query.Query{Collection: "things", Network: "n", Limit: 1 + random.IntN(60),
			Where: []query.Expr{word("all"), word("so"), word("late"), query.And{word("a"), word("s")}, query.And{active, word("late")}}[random.IntN(5)],
			Order: query.Order{Field: query.Field{System: []query.System{query.CreateTime, query.UpdateTime, query.ID}[random.IntN(3)], Kind: query.Time},
				Descending: random.IntN(2) == 0}}
		if q.Order.Field.System == query.ID {
			q.Order.Field.Kind = query.String
		}
		switch random.IntN(3) {
		case 0:
			q.Offset = random.IntN(80)
		case 1:
			w := writes[random.IntN(records)]
			q.After = store.PositionOf(q.Order.Field, &w.Record)
		}
		if want, got := find(q, 0, records), find(q, 1+random.IntN(records), random.IntN(5)); !slices.Equal(got, want) {
			t.Fatalf("after a walk of %d records, where %d are rare: got %v, want %v of %+v", s.walked, s.rare, got, want, q)
		}
	}
}
