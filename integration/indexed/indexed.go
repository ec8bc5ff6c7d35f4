// Package indexed lists the queries that the built-in schemas expect to be answered from
// indexes, so that each adapter can test its plans for them. It imports catalog, query,
// schema, store, storetest and schemas, and no adapter. Begin with Check.
package indexed

import (
	"testing"
	"testing/fstest"

	"marquee/engine/catalog"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/store/storetest"
	"marquee/schemas"
)

// Explain asks a store how it answers a query, or counts its records.
type Explain func(t testing.TB, s store.Store, q query.Query, count bool) storetest.Plan

// bookings is a type whose objects belong to teams and to users, and of which some are public.
var bookings = fstest.MapFS{"bookings.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Booking", "type": "object",
	"x-resource": {"path": "bookings", "team": "order.team", "owner": ["guest", "order.salespersonUser"],
		"public": {"when": {"properties": {"shown": {"const": true}}, "required": ["shown"]}}},
	"properties": {"shown": {"type": "boolean"}, "guest": {"x-ref": "users"}, "order": {"x-ref": "orders"}}}`)}}

// Check asks by every property that a built-in schema names in index, sort or
// x-ref, as a list does, and by what callers of each scope see; it fails where the
// index that the schema asks for does not answer. The store is empty.
func Check(t *testing.T, s store.Store, explain Explain) {
	registry, err := schema.Load(schema.Source{FS: schemas.FS}, schema.Source{FS: bookings})
	must(t, err)
	c := &check{t: t, store: s, explain: explain}
	for _, kind := range registry.Types() {
		collection, err := catalog.CollectionOf(kind)
		must(t, err)
		must(t, s.EnsureCollections(t.Context(), []store.Collection{collection}))
		c.filters(kind)
		c.orders(kind)
		c.owners(kind)
		c.ask(kind, "its words", query.And{query.Term{Key: query.SearchKey, Value: "a", Prefix: true}}, query.Order{Field: createTime}, false)
	}
	if c.asked < 200 {
		t.Errorf("only %d queries: the schemas are not seen", c.asked)
	}
}

var createTime = query.Field{System: query.CreateTime, Kind: query.Time}

type check struct {
	t       *testing.T
	store   store.Store
	explain Explain
	asked   int
}

// filters asks by each property in index or x-ref, in both directions of its order.
func (c *check) filters(kind *schema.Type) {
	c.t.Helper()
	for _, index := range kind.Indexes {
		field, err := kind.Field("index", index.Property)
		must(c.t, err)
		order := createTime
		if index.Order != "" {
			order, err = kind.SortField(index.Order)
			must(c.t, err)
		}
		var value any = "x"
		switch field.Kind {
		case query.Number:
			value = int64(1)
		case query.Boolean:
			value = true
		}
		for _, descending := range []bool{false, true} {
			equal := query.And{query.Compare{Field: field, Op: query.Equal, Value: value}}
			c.ask(kind, index.Property, equal, query.Order{Field: order, Descending: descending}, !field.Multiple())
		}
	}
}

// orders asks for all objects by each property in sort, in both directions, and by
// their age.
func (c *check) orders(kind *schema.Type) {
	c.t.Helper()
	for _, name := range kind.Sort {
		field, err := kind.SortField(name)
		must(c.t, err)
		c.ask(kind, name, nil, query.Order{Field: field}, true)
		c.ask(kind, name, nil, query.Order{Field: field, Descending: true}, true)
	}
	c.ask(kind, "its newest", nil, query.Order{Field: createTime, Descending: true}, true)
}

// owners asks for what belongs to the teams of a caller, or to the caller, and for what is public
// besides.
func (c *check) owners(kind *schema.Type) {
	c.t.Helper()
	owned := map[string]query.Expr{}
	in := func(values ...any) query.Expr { return query.In{Field: kind.OwnerField(), Values: values} }
	if len(kind.Team) > 0 {
		owned["teams"] = in(schema.Unowned, schema.OwnerValue("teams", "a"), schema.OwnerValue("teams", "b"))
	}
	if len(kind.Owner) > 0 {
		owned["a user"] = in(schema.OwnValue("u"))
		owned["teams and a user"] = in(schema.Unowned, schema.OwnerValue("teams", "a"), schema.OwnValue("u"))
	}
	if kind.Public != nil {
		c.ask(kind, "what is public", query.And{kind.PublicObjects()}, query.Order{Field: createTime}, false)
	}
	for whose, visible := range owned {
		c.ask(kind, "what belongs to "+whose, query.And{visible}, query.Order{Field: createTime}, false)
		if kind.Public != nil {
			c.ask(kind, "what is public or belongs to "+whose, query.And{query.Or{kind.PublicObjects(), visible}}, query.Order{Field: createTime}, false)
		}
	}
}

// ask fails if a list or its count scans the collection, or if the list sorts although
// the index is sorted.
func (c *check) ask(kind *schema.Type, what string, where query.And, order query.Order, sorted bool) {
	c.t.Helper()
	c.asked++
	if where != nil {
		where = append(where, query.In{Field: query.Field{System: query.State}, Values: []any{"ACTIVE", "INACTIVE"}})
	}
	q := query.Query{Collection: kind.Name, Network: "n", Where: where, Order: order, Limit: 100}
	if plan := c.explain(c.t, c.store, q, false); plan.Scans || plan.Sorts && sorted {
		c.t.Errorf("%s by %s:\n%s", kind.Name, what, plan.Text)
	}
	if plan := c.explain(c.t, c.store, q, true); plan.Scans {
		c.t.Errorf("%s counted by %s:\n%s", kind.Name, what, plan.Text)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
