package storetest

import (
	"fmt"
	"testing"
	"time"

	"marquee/engine/query"
	"marquee/engine/store"
)

// manyDocuments is how many records the queries must not walk.
func manyDocuments() int {
	if underRace {
		return 10_000
	}
	return 100_000
}

// testPlans proves that the indexes which a collection asks for are used: by
// the store's own plan, and by answers that are right among many records.
func testPlans(t *testing.T, h Harness) {
	if testing.Short() {
		t.Skip("many records")
	}
	f := open(t, h)
	many := manyDocuments()
	// 1 of 100 has each group, 1 of 50 no number; half are hidden.
	const groups = 100
	f.must(f.s.EnsureCollections(f.ctx, []store.Collection{{Name: "many", Indexes: []store.Index{
		{Equal: []query.Field{text("group")}, Order: createTime},
		{Equal: []query.Field{text("group")}, Order: number("n")},
		{Equal: []query.Field{text("o.a-b"), boolean("flag")}, Order: idField},
		{Order: number("n")},
	}}}))
	put := func(from, to int, network string) {
		f.must(f.s.Write(f.ctx, func(tx store.Tx) error {
			var writes []store.Write
			for i := from; i < to; i++ {
				group := fmt.Sprintf("g%d", i%groups)
				n := fmt.Sprintf(`,"n":%d`, (i*7919)%many)
				if i%50 == 0 {
					n = ""
				}
				w := newRecord(fmt.Sprintf("%07d", i), fmt.Sprintf(`{"flag":%t,"group":%q%s,"o":{"a-b":%q},"tags":[%[2]q]}`, i%2 == 0, group, n, group))
				w.Network = network
				w.CreateTime = epoch.Add(time.Duration((i*104729)%many) * time.Second)
				w.UpdateTime = w.CreateTime.Add(time.Duration(i%7) * time.Hour)
				w.AddTerms = []store.Term{{Key: "tags", Value: group}}
				if i%200 >= 100 {
					w.State = "HIDDEN"
				}
				writes = append(writes, w)
			}
			return tx.Put(f.ctx, "many", writes)
		}))
	}
	for from := 0; from < many; from += many / 5 {
		put(from, from+many/5, net)
	}
	put(0, many/10, "n2")

	usual := query.Not{Of: equal(stateField, "HIDDEN")}
	group := equal(text("group"), "g7")
	newest := query.Order{Field: createTime, Descending: true}
	half := &query.Position{ID: fmt.Sprintf("%07d", many/2)}
	at := func(key any) *query.Position { return &query.Position{Key: key, ID: half.ID} }
	middle := instant(epoch.Add(time.Duration(many/2) * time.Second))
	for _, c := range []struct {
		name  string
		where query.Expr
		order query.Order
		after *query.Position
		want  int // records in all; -1 is not told
		sorts bool
	}{
		{"all, newest first", nil, newest, nil, many, false},
		{"all, oldest first", usual, query.Order{Field: createTime}, nil, many / 2, false},
		{"all, last changed first", usual, query.Order{Field: updateTime, Descending: true}, nil, many / 2, false},
		{"all by id", usual, query.Order{Field: idField}, nil, many / 2, false},
		{"all by id, behind a position", usual, query.Order{Field: idField}, half, -1, false},
		{"all by id, backwards", nil, query.Order{Field: idField, Descending: true}, half, -1, false},
		{"newest first, behind a position", usual, newest, at(middle), -1, false},
		{"by number", usual, query.Order{Field: number("n")}, nil, many / 2, false},
		{"by number, backwards", nil, query.Order{Field: number("n"), Descending: true}, nil, many, false},
		{"by number, behind a position", usual, query.Order{Field: number("n")}, at(int64(many / 2)), -1, false},
		{"by number, backwards, behind a position", usual, query.Order{Field: number("n"), Descending: true}, at(int64(many / 2)), -1, false},
		{"by number, among those without", usual, query.Order{Field: number("n")}, half, -1, false},
		{"a group, newest first", group, newest, nil, many / groups, false},
		{"a group with the usual condition", query.And{group, usual}, newest, nil, many / groups / 2, false},
		{"a group behind a position", query.And{group, usual}, newest, at(middle), -1, false},
		{"a group by number", query.And{group, usual}, query.Order{Field: number("n")}, nil, many / groups / 2, false},
		{"a group by number, behind a position", query.And{usual, group}, query.Order{Field: number("n"), Descending: true}, at(int64(many / 2)), -1, false},
		{"two properties by id", query.And{equal(text("o.a-b"), "g7"), equal(boolean("flag"), false), usual}, query.Order{Field: idField}, nil, many / groups / 2, false},
		{"a tag, newest first", query.And{equal(termTags, "g7"), usual}, newest, nil, many / groups / 2, true},
		{"a tag by id", equal(termTags, "g7"), query.Order{Field: idField}, nil, many / groups, true},
		{"any of some tags", query.And{query.In{Field: termTags, Values: []any{"g7", "g8"}}, usual}, newest, nil, many / groups, true},
		{"a word's beginning", query.And{query.Term{Key: "tags", Value: "g7", Prefix: true}, usual}, newest, nil, 11 * many / groups / 2, true},
		{"some ids", query.In{Field: idField, Values: []any{"0000001", "0000002", "none"}}, query.Order{Field: idField}, nil, 2, true},
		{"one id", query.And{equal(idField, "0000001"), usual}, newest, nil, 1, true},
	} {
		f.run(c.name, func(f *fixture) {
			q := query.Query{Collection: "many", Network: net, Where: c.where, Order: c.order, After: c.after, Limit: 5}
			wanted := min(q.Limit, c.want)
			if c.want < 0 {
				wanted = q.Limit
			}
			found := f.ids(q)
			if c.name == "by number, among those without" {
				wanted = len(found) // some, and their number depends on how many there are
			}
			same(f, "the page", len(found), wanted)
			if c.want >= 0 {
				f.read(func(s store.Snapshot) { same(f, "the count", f.count(s, q), c.want) })
			}
			if f.h.Explain == nil {
				return
			}
			if plan := f.h.Explain(f, f.raw, q, false); plan.Scans || plan.Sorts && !c.sorts {
				f.Errorf("the plan scans: %t, sorts: %t\n%s", plan.Scans, plan.Sorts, plan.Text)
			}
			if plan := f.h.Explain(f, f.raw, q, true); plan.Scans {
				f.Errorf("the plan of the count scans\n%s", plan.Text)
			}
		})
	}
}
