package storetest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"marquee/engine/document"
	"marquee/engine/query"
	"marquee/engine/store"
)

func testLabels(f *fixture) {
	names := []string{"name", "a-b", "with space", "it's", `quo"te`, `back\slash`, "ünï", "a.b", "$x", "100%"}
	label := `Zoë "the" \ 'first' 😀`
	for i, name := range names {
		f.put(things, newRecord(fmt.Sprintf("label-%d", i), string(encode(map[string]any{name: label, "other": "x"}))))
	}
	for i, name := range names {
		f.read(func(s store.Snapshot) {
			with, without := key(fmt.Sprintf("label-%d", i)), key(fmt.Sprintf("label-%d", (i+1)%len(names)))
			got, err := s.Labels(f.ctx, store.LabelQuery{Collection: things, Property: name, Keys: []store.Key{with, without, key("none"), with}})
			f.must(err)
			if want := map[store.Key]string{with: label, without: ""}; len(got) != 1 || !maps.Equal(got[0], want) {
				f.Errorf("%s: got %q, want %q", name, got, want)
			}
		})
	}
	// Several queries, some for the same collection, network or key, more than one
	// command holds, and one without keys.
	f.put(others, newRecord("label-1", string(encode(map[string]any{names[1]: "another"}))))
	var queries []store.LabelQuery
	var wants []map[store.Key]string
	for i := range 50 {
		name, there := names[i%len(names)], key(fmt.Sprintf("label-%d", i%len(names)))
		queries = append(queries, store.LabelQuery{Collection: things, Property: name, Keys: []store.Key{there, {Network: "elsewhere", ID: there.ID}}},
			store.LabelQuery{Collection: others, Property: name, Keys: []store.Key{there}}, store.LabelQuery{Collection: things, Property: name})
		wants = append(wants, map[store.Key]string{there: label}, map[store.Key]string{}, map[store.Key]string{})
		if i%len(names) == 1 {
			wants[3*i+1] = map[store.Key]string{there: "another"}
		}
	}
	check := func(s store.Snapshot) {
		got, err := s.Labels(f.ctx, queries...)
		f.must(err)
		if !slices.EqualFunc(got, wants, maps.Equal) {
			f.Errorf("got %q, want %q", got, wants)
		}
		none, err := s.Labels(f.ctx)
		f.must(err)
		same(f, "no queries", len(none), 0)
	}
	f.read(check)
	f.must(f.s.Write(f.ctx, func(tx store.Tx) error {
		check(tx)
		return nil
	}))
}

// labelOwner is a field with ordered terms.
var labelOwner = query.Field{Kind: query.String, Term: query.OrderedKey + "owner", Path: []query.Step{{Name: "owners", Array: true}}}

// testLabelsOfSome asks for the labels of the records that meet a condition, and of
// those that a query finds, beside others and alone.
func testLabelsOfSome(f *fixture) {
	const many = 600 // more than an adapter may look up at once
	elsewhere := newRecord("some-1", `{"name":"elsewhere"}`)
	elsewhere.Network = "elsewhere"
	keys, writes := []store.Key{key("none"), elsewhere.Key}, []store.Write{elsewhere}
	for i := range many {
		w := newRecord(fmt.Sprintf("some-%d", i), fmt.Sprintf(`{"group":"g%d","name":"n%d"}`, i%3, i))
		w.CreateTime = epoch.Add(time.Duration(-i) * time.Second)
		w.AddTerms = []store.Term{{Key: labelOwner.Term, Value: fmt.Sprint("o", i%4)}}
		writes, keys = append(writes, w), append(keys, w.Key)
	}
	f.put(things, writes...)
	owned := query.In{Field: labelOwner, Values: []any{"o1", "o3"}}
	oldest := query.Query{Collection: things, Network: net, Where: equal(text("group"), "g1"), Order: query.Order{Field: createTime}, Limit: 2}
	none := oldest
	none.Limit = 0
	first := store.LabelQuery{Collection: things, Property: "name", Keys: keys[2:3]}
	check := func(s store.Snapshot) {
		labels := func(queries ...store.LabelQuery) []map[store.Key]string {
			got, err := s.Labels(f.ctx, queries...)
			f.must(err)
			return got
		}
		for _, c := range []struct {
			what  string
			where query.Expr
			meets func(i int) bool // -1 is the record elsewhere
		}{
			{"an ordered term", owned, func(i int) bool { return i > 0 && i%2 == 1 }},
			{"no term", query.And{query.Not{Of: owned}, query.Not{Of: equal(text("name"), "n2")}}, func(i int) bool { return i == -1 || i%2 == 0 && i != 2 }},
			{"an id", query.Or{equal(idField, "some-1"), equal(idField, "some-2")}, func(i int) bool { return i == -1 || i == 1 || i == 2 }},
			{"nothing", query.None, func(int) bool { return false }},
			{"anything", query.All, func(int) bool { return true }},
		} {
			want := map[store.Key]string{}
			for i, w := range writes {
				if c.meets(i - 1) {
					want[w.Key] = document.MemberText(w.Document, "name")
				}
			}
			q := store.LabelQuery{Collection: things, Property: "name", Keys: keys, Where: c.where}
			same(f, "labels where "+c.what, labels(q), []map[store.Key]string{want})
			same(f, "labels beside others where "+c.what, labels(first, q)[1], want)
		}
		found := map[store.Key]string{key("some-598"): "n598", key("some-595"): "n595"}
		q := store.LabelQuery{Find: &oldest, Property: "name"}
		same(f, "labels of what a query finds", labels(q), []map[store.Key]string{found})
		same(f, "beside others", labels(first, q, store.LabelQuery{Find: &none, Property: "name"}, store.LabelQuery{Find: &oldest, Property: "none"}),
			[]map[store.Key]string{{key("some-0"): "n0"}, found, {}, {key("some-598"): "", key("some-595"): ""}})
	}
	f.read(check)
	f.must(f.s.Write(f.ctx, func(tx store.Tx) error {
		check(tx)
		return nil
	}))
}
