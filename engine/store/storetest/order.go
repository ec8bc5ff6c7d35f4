package storetest

import (
	"fmt"
	"slices"
	"testing"

	"marquee/engine/query"
	"marquee/engine/store"
)

// testOrder proves that a list is ordered, including ties and absent values,
// and that its pages contain each record once.
func testOrder(t *testing.T, h Harness) {
	f := open(t, h)
	writes := unordered()
	f.put(things, writes...)
	var models []*model
	for i := range writes {
		m, err := newModel(&writes[i].Record, nil)
		f.must(err)
		models = append(models, m)
	}
	for name, by := range map[string]query.Field{"id": idField, "createTime": createTime, "updateTime": updateTime, "createUser": createUser,
		"updateUser": updateUser, "objectState": stateField, "an indexed text": text("name"), "an indexed number": number("n"), "a boolean": boolean("flag"),
		"a property that no record has": text("none")} {
		for _, descending := range []bool{false, true} {
			f.run(fmt.Sprintf("%s, descending %t", name, descending), func(f *fixture) {
				testOneOrder(f, models, query.Order{Field: by, Descending: descending})
			})
		}
	}
	f.run("no limit, no records", testNoLimit)
	f.run("a position replaces the offset", testPositionBeforeOffset)
	f.run("records added between pages", testNewRecordsBetweenPages)
}

// unordered returns records with equal, absent and unsorted values.
func unordered() (writes []store.Write) {
	docs := []string{`{}`, `{"flag":true,"n":1,"name":"b"}`, `{"n":1,"name":"B"}`, `{"flag":false,"n":-1.5,"name":"b"}`, `{"n":null,"name":null}`,
		`{"n":9223372036854775807,"name":"é"}`, `{"flag":true,"n":9223372036854775806,"name":""}`, `{"n":1,"name":"b"}`, `{"n":0.1,"name":"10"}`,
		`{"n":1,"name":"9"}`, `{}`, `{"flag":false,"n":2,"name":"世"}`, `{"n":9007199254740993,"name":"😀"}`, `{"n":9007199254740992,"name":"` + "\uffff" + `"}`}
	for i := range 3 * len(docs) {
		w := newRecord(fmt.Sprintf("%03d", (i*29)%101), docs[i%len(docs)])
		w.CreateTime, w.UpdateTime = epoch.AddDate(0, 0, i%4), epoch.AddDate(0, 0, i%3-5)
		w.CreateUser, w.UpdateUser = string(rune('a'+i%5)), string(rune('A'+i%2))
		w.State = []string{"ACTIVE", "ACTIVE", "HIDDEN"}[i%3]
		writes = append(writes, w)
	}
	return writes
}

// testOneOrder compares the pages of a list with the model.
func testOneOrder(f *fixture, models []*model, order query.Order) {
	for where, condition := range map[string]query.Expr{"all": nil, "some": equal(stateField, "ACTIVE"), "none": query.None} {
		q := query.Query{Collection: things, Network: net, Where: condition, Limit: everything, Order: order}
		var want []query.Position
		for _, m := range models {
			if m.matches(condition) {
				want = append(want, m.position(order.Field))
			}
		}
		slices.SortFunc(want, func(a, b query.Position) int { return precedes(a, b, order.Descending) })
		ids := make([]string, len(want))
		for i := range want {
			ids[i] = want[i].ID
		}
		same(f, where, f.ids(q), ids)
		for _, size := range []int{1, 2, 5, len(ids) + 1} {
			same(f, fmt.Sprintf("%s, pages of %d by offset", where, size), f.byOffset(q, size), ids)
			same(f, fmt.Sprintf("%s, pages of %d by position", where, size), f.byPosition(q, size), ids)
		}
	}
}

func testNoLimit(f *fixture) {
	q := all(things, nil)
	q.Limit = 0
	same(f, "found", f.ids(q), []string{})
}

func testPositionBeforeOffset(f *fixture) {
	for _, by := range []query.Field{idField, number("n")} {
		q := query.Query{Collection: things, Network: net, Limit: 3, Order: query.Order{Field: by}}
		first := f.find(q)
		m, err := newModel(&first[2], nil)
		f.must(err)
		at := m.position(by)
		q.After = &at
		want := f.ids(q)
		q.Offset = 2
		same(f, "the page", f.ids(q), want)
	}
}

func testNewRecordsBetweenPages(f *fixture) {
	q := query.Query{Collection: things, Network: net, Limit: 4, Order: query.Order{Field: number("n"), Descending: true}}
	before := f.byPosition(q, 4)
	var seen []string
	for i := 0; ; i++ {
		page := f.find(q)
		if len(page) == 0 {
			break
		}
		seen = append(seen, idsOf(page)...)
		m, err := newModel(&page[len(page)-1], nil)
		f.must(err)
		at := m.position(q.Order.Field)
		q.After = &at
		f.put(things, newRecord(fmt.Sprintf("new-%d", i), `{"n":9223372036854775807}`)) // before the page
	}
	same(f, "the records from before", seen, before)
}

// byOffset returns the ids of all pages of a query.
func (f *fixture) byOffset(q query.Query, size int) []string {
	ids := []string{}
	f.read(func(s store.Snapshot) {
		for q.Limit = size; ; q.Offset += size {
			page := f.page(s, q)
			ids = append(ids, idsOf(page)...)
			if len(page) < size {
				return
			}
		}
	})
	return ids
}

// byPosition returns the ids of all pages of a query, each of which begins
// after the last record of the previous one.
func (f *fixture) byPosition(q query.Query, size int) []string {
	ids := []string{}
	f.read(func(s store.Snapshot) {
		for q.Limit = size; ; {
			page := f.page(s, q)
			ids = append(ids, idsOf(page)...)
			if len(page) < size || len(ids) > 10_000 {
				return
			}
			m, err := newModel(&page[len(page)-1], nil)
			f.must(err)
			at := m.position(q.Order.Field)
			q.After = &at
		}
	})
	return ids
}
