package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"marquee/engine/query"
	"marquee/engine/store"
)

// orderedKey is a key of ordered terms, and byOrdered the field with its values.
const orderedKey = query.OrderedKey + "k"

var byOrdered = query.Field{Term: orderedKey, Path: []query.Step{{Name: "k", Array: true}}}

// byPublic is the field with the values of another ordered key: records with the value c of the
// first one have it.
var byPublic = query.Field{Term: query.OrderedKey + "p", Path: []query.Step{{Name: "p", Array: true}}}

// orderedRecord is a record as testOrdered expects it.
type orderedRecord struct {
	store.Record
	values []string
}

// testOrdered proves that lists by ordered terms, counts and positions in them are
// what a scan finds, while records change their terms and their state.
func testOrdered(t *testing.T, h Harness) {
	f := open(t, h)
	random := rand.New(rand.NewPCG(3, 5))
	records := map[string]*orderedRecord{}
	for round := range 40 {
		changeOrdered(f, random, records)
		for range 8 {
			q := query.Query{Collection: things, Network: net, Order: query.Order{Field: createTime, Descending: random.IntN(2) == 0}, Limit: 1 + random.IntN(9)}
			if random.IntN(6) == 0 {
				q.Order.Field = idField
			}
			checkOrdered(f, random, records, q)
		}
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
	if h.Reopen != nil {
		f.reopen()
	}
	f.read(func(s store.Snapshot) { checkOrderedTerms(f, s, records) })
	f.must(f.s.Forget(f.ctx, things, []string{orderedKey}, nil))
	f.read(func(s store.Snapshot) {
		same(f, "after they were forgotten", f.count(s, all(things, query.In{Field: byOrdered, Values: []any{"a", "b", "c", "d"}})), 0)
	})
	for id, r := range records {
		entry := store.Entry{Key: key(id), Terms: orderedTerms(r.values...)}
		f.must(f.write(func(tx store.Tx) error { return tx.Index(f.ctx, things, []store.Entry{entry, entry}) }))
	}
	f.read(func(s store.Snapshot) { checkOrderedTerms(f, s, records) })
	checkOrdered(f, random, records, query.Query{Collection: things, Network: net, Order: query.Order{Field: createTime}, Limit: 5})
}

func orderedTerms(values ...string) (terms []store.Term) {
	for _, value := range values {
		if terms = append(terms, store.Term{Key: orderedKey, Value: value}); value == "c" {
			terms = append(terms, store.Term{Key: byPublic.Term, Value: "all"})
		}
	}
	return terms
}

// changeOrdered writes a new record, or changes one.
func changeOrdered(f *fixture, random *rand.Rand, records map[string]*orderedRecord) {
	f.Helper()
	id := fmt.Sprint("r", random.IntN(60))
	var values []string
	for _, value := range []string{"a", "b", "c", "d"} {
		if random.IntN(3) == 0 {
			values = append(values, value)
		}
	}
	w := newRecord(id, fmt.Sprintf(`{"n":%d,"tags":["x"]}`, random.IntN(3)))
	w.CreateTime = epoch.AddDate(0, 0, random.IntN(4))
	was := records[id]
	if was != nil {
		w = next(was.Record, string(w.Document))
		w.DropTerms = orderedTerms(slices.DeleteFunc(slices.Clone(was.values), func(v string) bool { return slices.Contains(values, v) })...)
	}
	w.State = []string{"ACTIVE", "INACTIVE", "HIDDEN"}[random.IntN(3)]
	w.AddTerms = append(orderedTerms(values...), store.Term{Key: "tags", Value: "x"})
	f.put(things, w)
	stored, _ := f.get(things, id)
	records[id] = &orderedRecord{stored, values}
}

// checkOrdered compares a list with random conditions, and its count, with what a scan
// of the records finds.
func checkOrdered(f *fixture, random *rand.Rand, records map[string]*orderedRecord, q query.Query) {
	f.Helper()
	conditions, holds := orderedConditions(random)
	q.Where = conditions
	var want []*orderedRecord
	for _, r := range records {
		if holds(r) {
			want = append(want, r)
		}
	}
	slices.SortFunc(want, func(a, b *orderedRecord) int {
		order := precedesRecord(a, b, q.Order.Field.System == query.CreateTime)
		if q.Order.Descending {
			order = -order
		}
		return order
	})
	ids := []string{}
	for _, r := range want {
		ids = append(ids, r.ID)
	}
	byOffset := random.IntN(2) == 0
	var got []string
	f.read(func(s store.Snapshot) {
		same(f, fmt.Sprintf("the count of %+v", q.Where), f.count(s, q), len(want))
		got = orderedList(f, s, q, byOffset)
	})
	same(f, fmt.Sprintf("the list of %+v", q), got, ids)
}

// orderedConditions returns random conditions with ordered terms, and a function that
// reports whether a record meets them.
func orderedConditions(random *rand.Rand) (conditions query.And, holds func(*orderedRecord) bool) {
	in := query.In{Field: byOrdered}
	for _, value := range []string{"a", "b", "c", "d", "none"} {
		if random.IntN(2) == 0 {
			in.Values = append(in.Values, value)
		}
	}
	conditions = query.And{in}
	holds = func(r *orderedRecord) bool {
		return slices.ContainsFunc(r.values, func(v string) bool { return slices.Contains(in.Values, any(v)) })
	}
	if random.IntN(3) == 0 {
		named := holds
		conditions[0] = query.Or{query.In{Field: byPublic, Values: []any{"all"}}, in}
		holds = func(r *orderedRecord) bool { return slices.Contains(r.values, "c") || named(r) }
	}
	and := func(e query.Expr, also func(r *orderedRecord) bool) {
		before := holds
		conditions, holds = append(conditions, e), func(r *orderedRecord) bool { return before(r) && also(r) }
	}
	if random.IntN(2) == 0 {
		and(is(stateField, query.NotEqual, "HIDDEN"), func(r *orderedRecord) bool { return r.State != "HIDDEN" })
	}
	switch random.IntN(5) {
	case 0:
		and(is(number("n"), query.Less, int64(2)), func(r *orderedRecord) bool { return string(r.Document[5]) < "2" })
	case 1:
		and(query.Not{Of: query.In{Field: byOrdered, Values: []any{"b", "d"}}}, func(r *orderedRecord) bool {
			return !slices.Contains(r.values, "b") && !slices.Contains(r.values, "d")
		})
	case 2:
		and(query.Term{Key: "tags", Value: "x"}, func(*orderedRecord) bool { return true })
	}
	return conditions, holds
}

// orderedList reads a list to its end, page by page, by positions or offsets.
func orderedList(f *fixture, s store.Snapshot, q query.Query, byOffset bool) (ids []string) {
	f.Helper()
	for {
		page := f.page(s, q)
		ids = append(ids, idsOf(page)...)
		if len(page) < q.Limit {
			return ids
		}
		if byOffset {
			q.Offset += q.Limit
		} else {
			q.After = store.PositionOf(q.Order.Field, &page[len(page)-1])
		}
	}
}

func precedesRecord(a, b *orderedRecord, byTime bool) int {
	if byTime && !a.CreateTime.Equal(b.CreateTime) {
		return a.CreateTime.Compare(b.CreateTime)
	}
	switch {
	case a.ID < b.ID:
		return -1
	case a.ID > b.ID:
		return 1
	}
	return 0
}

// checkOrderedTerms compares the terms of all records.
func checkOrderedTerms(f *fixture, s store.Snapshot, records map[string]*orderedRecord) {
	f.Helper()
	keys := []store.Key{key("missing")}
	var entries []store.Entry
	for id, r := range records {
		keys = append(keys, key(id))
		entries = append(entries, store.Entry{Key: key(id), Terms: orderedTerms(r.values...)})
	}
	found, err := s.OrderedTerms(f.ctx, things, keys)
	f.must(err)
	for id, r := range records {
		var values []string
		for _, term := range found[key(id)] {
			if term.Key != byPublic.Term {
				same(f, "the key", term.Key, orderedKey)
				values = append(values, term.Value)
			}
		}
		slices.Sort(values)
		same(f, "the terms of "+id, values, r.values)
	}
	lacking, err := s.Lacking(f.ctx, things, entries)
	f.must(err)
	same(f, "lacking", lacking, []store.Entry(nil))
	lacking, err = s.Lacking(f.ctx, things, []store.Entry{{Key: keys[1], Terms: orderedTerms("new")}})
	f.must(err)
	same(f, "lacking", len(lacking), 1)
}
