package storetest

import (
	"fmt"
	"testing"
	"time"

	"marquee/engine/query"
	"marquee/engine/store"
)

// manyDocuments is the number of records that queries must not read as a whole.
func manyDocuments() int {
	if underRace {
		return 10_000
	}
	return 100_000
}

// testPlans proves that the indexes of a collection are used, by the store's
// own plan and by the results among many records.
func testPlans(t *testing.T, h Harness) {
	if testing.Short() {
		t.Skip("many records")
	}
	f := open(t, h)
	many := manyDocuments()
	f.must(f.s.EnsureCollections(f.ctx, []store.Collection{{Name: "many", Indexes: []store.Index{
		{Equal: []query.Field{text("group")}, Order: createTime},
		{Equal: []query.Field{text("group")}, Order: number("n")},
		{Equal: []query.Field{text("o.a-b"), boolean("flag")}, Order: idField},
		{Order: number("n")},
	}}}))
	putMany(f, many)
	for _, c := range planCases(many) {
		f.run(c.name, func(f *fixture) { testPlan(f, c) })
	}
}

// groups is the number of groups; each has 1 % of the records.
const groups = 100

// putMany stores records in two networks. 1 of 50 has no number, and half are
// hidden.
func putMany(f *fixture, many int) {
	put := func(from, to int, network string) {
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
		f.put("many", writes...)
	}
	for from := 0; from < many; from += many / 5 {
		put(from, from+many/5, net)
	}
	put(0, many/10, "n2")
}

// planCase is a query that an index must answer.
type planCase struct {
	name  string
	where query.Expr
	order query.Order
	after *query.Position
	want  int  // number of matching records; -1 is not checked
	sorts bool // whether the result may be sorted
}

func planCases(many int) []planCase {
	usual := query.Not{Of: equal(stateField, "HIDDEN")}
	group := equal(text("group"), "g7")
	newest := query.Order{Field: createTime, Descending: true}
	half := &query.Position{ID: fmt.Sprintf("%07d", many/2)}
	at := func(key any) *query.Position { return &query.Position{Key: key, ID: half.ID} }
	middle := instant(epoch.Add(time.Duration(many/2) * time.Second))
	return []planCase{
		{"all, newest first", nil, newest, nil, many, false},
		{"all, oldest first", usual, query.Order{Field: createTime}, nil, many / 2, false},
		{"all, last changed first", usual, query.Order{Field: updateTime, Descending: true}, nil, many / 2, false},
		{"all by id", usual, query.Order{Field: idField}, nil, many / 2, false},
		{"all by id, after a position", usual, query.Order{Field: idField}, half, -1, false},
		{"all by id, backwards", nil, query.Order{Field: idField, Descending: true}, half, -1, false},
		{"newest first, after a position", usual, newest, at(middle), -1, false},
		{"by number", usual, query.Order{Field: number("n")}, nil, many / 2, false},
		{"by number, backwards", nil, query.Order{Field: number("n"), Descending: true}, nil, many, false},
		{"by number, after a position", usual, query.Order{Field: number("n")}, at(int64(many / 2)), -1, false},
		{"by number, backwards, after a position", usual, query.Order{Field: number("n"), Descending: true}, at(int64(many / 2)), -1, false},
		{"by number, among those without", usual, query.Order{Field: number("n")}, half, -1, false},
		{"a group, newest first", group, newest, nil, many / groups, false},
		{"a group with the usual condition", query.And{group, usual}, newest, nil, many / groups / 2, false},
		{"a group after a position", query.And{group, usual}, newest, at(middle), -1, false},
		{"a group by number", query.And{group, usual}, query.Order{Field: number("n")}, nil, many / groups / 2, false},
		{"a group by number, after a position", query.And{usual, group}, query.Order{Field: number("n"), Descending: true}, at(int64(many / 2)), -1, false},
		{"two properties by id", query.And{equal(text("o.a-b"), "g7"), equal(boolean("flag"), false), usual}, query.Order{Field: idField}, nil, many / groups / 2, false},
		{"a tag, newest first", query.And{equal(termTags, "g7"), usual}, newest, nil, many / groups / 2, true},
		{"a tag by id", equal(termTags, "g7"), query.Order{Field: idField}, nil, many / groups, true},
		{"any of some tags", query.And{query.In{Field: termTags, Values: []any{"g7", "g8"}}, usual}, newest, nil, many / groups, true},
		{"a prefix of a word", query.And{query.Term{Key: "tags", Value: "g7", Prefix: true}, usual}, newest, nil, 11 * many / groups / 2, true},
		{"some ids", query.In{Field: idField, Values: []any{"0000001", "0000002", "none"}}, query.Order{Field: idField}, nil, 2, true},
		{"one id", query.And{equal(idField, "0000001"), usual}, newest, nil, 1, true},
	}
}

func testPlan(f *fixture, c planCase) {
	q := query.Query{Collection: "many", Network: net, Where: c.where, Order: c.order, After: c.after, Limit: 5}
	wanted := min(q.Limit, c.want)
	if c.want < 0 {
		wanted = q.Limit
	}
	found := f.ids(q)
	if c.name == "by number, among those without" {
		wanted = len(found) // depends on the number of records
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
}
