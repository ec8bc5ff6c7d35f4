package storetest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"marquee/engine/query"
	"marquee/engine/store"
)

// testWhere proves the meaning of each condition.
func testWhere(t *testing.T, h Harness) {
	f := open(t, h)
	f.put(things, corpus()...)
	intruder := newRecord("intruder", `{"group":"g","n":1,"name":"Anna","tags":["red"]}`)
	intruder.Network, intruder.AddTerms = "n2", []store.Term{{Key: "tags", Value: "red"}, {Key: "q", Value: "anna"}}
	f.put(things, intruder)

	for _, c := range whereCases {
		f.run(c.name, func(f *fixture) { f.finds(c.where, c.want) })
	}

	f.run("terms that change", testTerms)
	for name, value := range map[string]string{"": "empty", "$": "dollar", "-": "dash", "a b": "space", "a-b": "hyphen",
		"a.b": "dot", `a"b`: "quote", `a\b`: "back", "é": "accent", "it's": "apostrophe", "0": "digit"} {
		f.run(fmt.Sprintf("the property %q", name), func(f *fixture) {
			field := query.Field{Path: []query.Step{{Name: name}}}
			f.finds(equal(field, value), "names")
			f.finds(query.Not{Of: query.Null{Field: field}}, "names")
			same(f, "ordered by it", f.ids(query.Query{Collection: things, Network: net, Limit: 1,
				Order: query.Order{Field: field, Descending: true}}), []string{"names"})
		})
	}
}

// testTerms proves that a record is found by its current terms.
func testTerms(f *fixture) {
	w := newRecord("termed", `{}`)
	terms := func(values ...string) (terms []store.Term) {
		for _, value := range values {
			terms = append(terms, store.Term{Key: "life", Value: value})
		}
		return terms
	}
	has := func(what string, values ...string) {
		f.Helper()
		for _, value := range []string{"a", "b", "c"} {
			want := []string{}
			if slices.Contains(values, value) {
				want = []string{"termed"}
			}
			same(f, what+": found by "+value, f.ids(all(things, query.Term{Key: "life", Value: value})), want)
		}
		n := 0
		f.read(func(s store.Snapshot) { n = f.count(s, all(things, query.Term{Key: "life", Prefix: true})) })
		same(f, what+": counted once", n, min(1, len(values)))
	}
	w.AddTerms = terms("a", "b", "b")
	f.put(things, w)
	has("new", "a", "b")
	for _, step := range []struct {
		what            string
		drop, add, want []string
	}{
		{"changed", []string{"a"}, []string{"c"}, []string{"b", "c"}},
		{"kept", nil, nil, []string{"b", "c"}},
		{"added again", nil, []string{"b"}, []string{"b", "c"}},
		{"dropped and added", []string{"b"}, []string{"b"}, []string{"b", "c"}},
		{"not there", []string{"a"}, nil, []string{"b", "c"}},
		{"all dropped", []string{"b", "c"}, nil, nil},
	} {
		r, _ := f.get(things, "termed")
		w := next(r, `{}`)
		w.DropTerms, w.AddTerms = terms(step.drop...), terms(step.add...)
		f.put(things, w)
		has(step.what, step.want...)
	}
}

// finds checks what a condition finds in the corpus, and its count.
func (f *fixture) finds(where query.Expr, want string) {
	f.Helper()
	found := f.ids(all(things, where))
	if n, err := strconv.Atoi(want); err == nil {
		if len(found) != n {
			f.Errorf("found %d, want %d: %q", len(found), n, found)
		}
	} else if got := strings.Join(found, " "); got != want {
		f.Errorf("found %q, want %q", got, want)
	}
	f.read(func(s store.Snapshot) { same(f, "the count", f.count(s, all(things, where)), len(found)) })
}
