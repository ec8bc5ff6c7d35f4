package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"marquee/engine/query"
	"marquee/engine/store"
)

// generator creates random records and conditions with values that often match.
type generator struct{ *rand.Rand }

func pick[T any](g generator, list ...T) T { return list[g.IntN(len(list))] }

var words = []string{"", "a", "A", "b", "ab", "aB", "é", "É", "ß", "%", "'", `"`, `\`, "世", "a b"}

func (g generator) number() any {
	return pick[any](g, int64(0), int64(1), int64(-1), int64(2), 0.5, 1.5, -0.25, int64(9223372036854775807), int64(-9223372036854775808), 1e18)
}

func (g generator) record(i int) store.Write {
	object := map[string]any{}
	maybe := func(name string, value any) {
		switch g.IntN(4) {
		case 0:
		case 1:
			object[name] = nil
			if g.IntN(2) == 0 {
				object[name] = value
			}
		default:
			object[name] = value
		}
	}
	maybe("name", pick(g, words...))
	maybe("group", pick(g, words...))
	maybe("n", g.number())
	maybe("flag", pick(g, true, false))
	maybe("o", map[string]any{"p": pick(g, words...)})
	w := newRecord(fmt.Sprintf("%03d", (i*37)%1000), "")
	var list []any
	for range g.IntN(4) {
		tag := pick(g, words...)
		list = append(list, tag)
		w.AddTerms = append(w.AddTerms, store.Term{Key: "tags", Value: tag})
	}
	object["tags"] = list
	if list == nil {
		delete(object, "tags")
	}
	var items []any
	for range g.IntN(3) {
		items = append(items, pick[any](g, map[string]any{"w": g.number()}, map[string]any{}))
	}
	maybe("sizes", append([]any{}, items...))
	w.Document = encode(object)
	w.State = pick(g, "ACTIVE", "INACTIVE", "HIDDEN")
	w.CreateTime = epoch.AddDate(0, 0, g.IntN(5))
	w.UpdateTime = w.CreateTime.AddDate(0, 0, g.IntN(3))
	w.CreateUser, w.UpdateUser = pick(g, words[1:]...), pick(g, words[1:]...)
	return w
}

// fieldAndValue returns a field and a function for values of its kind.
func (g generator) fieldAndValue() (query.Field, func() any) {
	word := func() any { return pick(g, words...) }
	f := pick(g, text("name"), text("group"), text("o.p"), tags, termTags, number("n"), sizes, boolean("flag"),
		idField, stateField, createTime, updateTime, createUser, updateUser)
	switch {
	case f.Kind == query.Number:
		return f, g.number
	case f.Kind == query.Boolean:
		return f, func() any { return pick(g, true, false) }
	case f.Kind == query.Time:
		return f, func() any { return instant(epoch.AddDate(0, 0, g.IntN(6))) }
	case f.System == query.ID:
		return f, func() any { return fmt.Sprintf("%03d", g.IntN(1000)) }
	case f.System == query.State:
		return f, func() any { return pick(g, "ACTIVE", "INACTIVE", "GONE") }
	}
	return f, word
}

func (g generator) condition(depth int) query.Expr {
	kind := g.IntN(10)
	if depth == 0 {
		kind = g.IntN(6)
	}
	f, value := g.fieldAndValue()
	switch kind {
	case 0:
		return query.Null{Field: f}
	case 1:
		if f.Kind == query.String {
			return query.Contains{Field: f, Text: value().(string)}
		}
		return query.Not{Of: query.Null{Field: f}}
	case 2:
		return query.In{Field: f, Values: []any{value(), value(), value()}[:g.IntN(4)]}
	case 3:
		return query.Term{Key: "tags", Value: pick(g, words...), Prefix: g.IntN(2) == 0}
	case 4, 5:
		return is(f, query.Operator(g.IntN(6)), value())
	case 6, 7:
		return query.Not{Of: g.condition(depth - 1)}
	}
	list := make([]query.Expr, g.IntN(4))
	for i := range list {
		list[i] = g.condition(depth - 1)
	}
	if kind == 8 {
		return query.And(list)
	}
	return query.Or(list)
}

// testRandomQueries compares what a store finds and counts with the model, for
// random queries. The seed is fixed, so that failures repeat.
func testRandomQueries(t *testing.T, h Harness) {
	f := open(t, h)
	g := generator{rand.New(rand.NewPCG(20, 26))}
	var writes []store.Write
	var models []*model
	for i := range 150 {
		writes = append(writes, g.record(i))
	}
	for i := range writes {
		m, err := newModel(&writes[i].Record, writes[i].AddTerms)
		f.must(err)
		models = append(models, m)
	}
	f.put(things, writes...)
	orders := []query.Field{idField, createTime, updateTime, createUser, text("name"), number("n"), boolean("flag"), text("o.p")}
	rounds := 1500
	if underRace {
		rounds = 200
	}
	for i := 0; i < rounds && !t.Failed(); i++ {
		f.read(func(s store.Snapshot) { // one for each query, as none lasts for long
			q := query.Query{Collection: things, Network: net, Where: g.condition(3), Limit: 1 + g.IntN(30),
				Order: query.Order{Field: pick(g, orders...), Descending: g.IntN(2) == 0}}
			var want []query.Position
			for _, m := range models {
				if m.matches(q.Where) {
					want = append(want, m.position(q.Order.Field))
				}
			}
			slices.SortFunc(want, func(a, b query.Position) int { return precedes(a, b, q.Order.Descending) })
			if n := f.count(s, q); n != len(want) {
				t.Errorf("counted %d, want %d: %+v", n, len(want), q.Where)
			}
			if start := g.IntN(len(want) + 1); g.IntN(2) == 0 || start == 0 {
				q.Offset = start
				want = want[start:]
			} else {
				q.After = &want[start-1]
				want = want[start:]
			}
			want = want[:min(len(want), q.Limit)]
			found := f.page(s, q)
			ids := make([]string, len(want))
			for k := range want {
				ids[k] = want[k].ID
			}
			same(t, fmt.Sprintf("query %d, %+v", i, q), idsOf(found), ids)
		})
	}
}
