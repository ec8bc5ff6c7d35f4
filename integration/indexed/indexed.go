// Package indexed lists the queries that the built-in schemas expect to be answered
// from indexes, so that each store can be asked how it answers them. Begin with Check.
package indexed

import (
	"testing"

	"marquee/engine/catalog"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/store/storetest"
	"marquee/schemas"
)

// Check asks by every property that a built-in schema names in index, sort or
// x-ref, as a list does, and fails where the index that the schema asks for
// does not answer. The store is empty.
func Check(t *testing.T, s store.Store, explain func(t testing.TB, s store.Store, q query.Query, count bool) storetest.Plan) {
	registry, err := schema.Load(schema.Source{FS: schemas.FS})
	if err != nil {
		t.Fatal(err)
	}
	states := query.In{Field: query.Field{System: query.State}, Values: []any{"ACTIVE", "INACTIVE"}}
	createTime := query.Field{System: query.CreateTime, Kind: query.Time}
	asked := 0
	for _, kind := range registry.Types() {
		collection, err := catalog.CollectionOf(kind)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.EnsureCollections(t.Context(), []store.Collection{collection}); err != nil {
			t.Fatal(err)
		}
		ask := func(what string, where query.And, order query.Order, sorted bool) {
			asked++
			if where != nil {
				where = append(where, states)
			}
			q := query.Query{Collection: kind.Name, Network: "n", Where: where, Order: order, Limit: 100}
			if plan := explain(t, s, q, false); plan.Scans || plan.Sorts && sorted {
				t.Errorf("%s by %s:\n%s", kind.Name, what, plan.Text)
			}
			if plan := explain(t, s, q, true); plan.Scans {
				t.Errorf("%s counted by %s:\n%s", kind.Name, what, plan.Text)
			}
		}
		for _, index := range kind.Indexes {
			field, err := kind.Field("index", index.Property)
			if err != nil {
				t.Fatal(err)
			}
			order := createTime
			if index.Order != "" {
				if order, err = kind.SortField(index.Order); err != nil {
					t.Fatal(err)
				}
			}
			var value any = "x"
			switch field.Kind {
			case query.Number:
				value = int64(1)
			case query.Boolean:
				value = true
			}
			equal := query.And{query.Compare{Field: field, Op: query.Equal, Value: value}}
			ask(index.Property, equal, query.Order{Field: order}, !field.Multiple())
			ask(index.Property, equal, query.Order{Field: order, Descending: true}, !field.Multiple())
		}
		for _, name := range kind.Sort {
			field, err := kind.SortField(name)
			if err != nil {
				t.Fatal(err)
			}
			ask(name, nil, query.Order{Field: field}, true)
			ask(name, nil, query.Order{Field: field, Descending: true}, true)
		}
		ask("its newest", nil, query.Order{Field: createTime, Descending: true}, true)
		ask("its words", query.And{query.Term{Key: query.SearchKey, Value: "a", Prefix: true}}, query.Order{Field: createTime}, false)
	}
	if asked < 200 {
		t.Errorf("only %d queries: the schemas are not seen", asked)
	}
}
