package plan

import (
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/engine/query"
	"marquee/engine/store/mongo/record"
)

var (
	state      = query.Field{System: query.State}
	createTime = query.Field{System: query.CreateTime, Kind: query.Time}
	group      = query.Field{Path: []query.Step{{Name: "group"}}}
	size       = query.Field{Path: []query.Step{{Name: "size"}}, Kind: query.Number}
	tags       = query.Field{Path: []query.Step{{Name: "tags", Array: true}}, Term: "tags"}
)

func is(f query.Field, value any) query.Expr {
	return query.Compare{Field: f, Op: query.Equal, Value: value}
}

func jsonText(t *testing.T, value any) string {
	t.Helper()
	text, err := bson.MarshalExtJSON(value, false, false)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestCompile compares each kind of condition with its filter.
func TestCompile(t *testing.T) {
	free := query.Field{Path: []query.Step{{Name: "free"}}, Open: true}
	odd := query.Field{Path: []query.Step{{Name: "o"}, {Name: "a.b"}}}
	for _, c := range []struct {
		where query.Expr
		want  string // the conditions
	}{
		{query.None, `{"_id.network":{"$in":[]}}`},
		{query.And{is(state, "ACTIVE"), query.And{is(size, int64(2))}}, `{"state":{"$eq":"ACTIVE"}},{"document.size":{"$eq":2}}`},
		{query.Or{is(group, "a"), query.Null{Field: group}}, `{"$or":[{"document.group":{"$eq":"a"}},{"document.group":null}]}`},
		{query.Not{Of: is(group, "a")}, `{"$nor":[{"document.group":{"$eq":"a"}}]}`},
		{query.Compare{Field: group, Op: query.NotEqual, Value: "a"}, `{"$nor":[{"document.group":{"$eq":"a"}}]}`},
		{query.Compare{Field: size, Op: query.Greater, Value: 1.5}, `{"document.size":{"$gt":1.5}}`},
		{query.Compare{Field: createTime, Op: query.Less, Value: "1970-01-01T00:00:01.000Z"}, `{"createTime":{"$lt":{"$date":"1970-01-01T00:00:01Z"}}}`},
		{is(query.Field{System: query.ID}, "a"), `{"_id":{"network":"n","id":"a"}}`},
		{query.In{Field: odd, Values: []any{"a", "b"}}, `{"document.o.a%2Eb":{"$in":["a","b"]}}`},
		{query.Contains{Field: group, Text: "A."}, `{"document.group":{"$regex":"[aA]\\."}}`},
		{is(free, "a"), `{"document.free":{"$eq":"a"},"$nor":[{"document.free":{"$type":"array"}}]}`},
		{query.Compare{Field: tags, Op: query.Greater, Value: "a"}, `{"document.tags":{"$gt":"a"}}`},
		{is(tags, "a"), `{"terms":"tags=a"}`},
		{query.In{Field: tags, Values: []any{"a", "b"}}, `{"terms":{"$in":["tags=a","tags=b"]}}`},
		{query.Term{Key: "q", Value: "be", Prefix: true}, `{"terms":{"$regularExpression":{"pattern":"^q=be","options":""}}}`},
	} {
		got := jsonText(t, Compile(query.Query{Network: "n", Where: c.where}).Filter())
		if want := `{"_id.network":"n","$and":[` + c.want + `]}`; got != want {
			t.Errorf("%#v:\n%s, want\n%s", c.where, got, want)
		}
	}
	if got := jsonText(t, Compile(query.Query{Network: "n"}).Filter()); got != `{"_id.network":"n"}` {
		t.Errorf("no condition: %s", got)
	}
}

// TestSegments checks which part of an order comes after a position.
func TestSegments(t *testing.T) {
	for _, c := range []struct {
		name       string
		order      query.Field
		descending bool
		after      any
		want       string
	}{
		{"by id", query.Field{System: query.ID}, false, nil, `[{"_id.id":{"$gt":"a"}}]`},
		{"a value, ascending", size, false, int64(1), `[{"document.size":1,"_id.id":{"$gt":"a"}} {"document.size":{"$gt":1}}]`},
		{"a value, descending", size, true, int64(1), `[{"document.size":1,"_id.id":{"$lt":"a"}} {"document.size":{"$lt":1}} {"document.size":null}]`},
		{"no value, ascending", size, false, nil, `[{"document.size":null,"_id.id":{"$gt":"a"}} {"document.size":{"$ne":null}}]`},
		{"no value, descending", size, true, nil, `[{"document.size":null,"_id.id":{"$lt":"a"}}]`},
	} {
		q := query.Query{Order: query.Order{Field: c.order, Descending: c.descending}, After: &query.Position{Key: c.after, ID: "a"}}
		var got []string
		for _, s := range Compile(q).Segments() {
			got = append(got, jsonText(t, s.conditions[0]))
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestIndexChoice checks which index answers the equalities and the order of a
// query.
func TestIndexChoice(t *testing.T) {
	byGroup, byGroupAndSize := newIndex([]string{"document.group"}, record.FieldCreateTime), newIndex([]string{"document.group"}, "document.size")
	known := []Index{newIndex(nil, record.KeyID), newIndex(nil, record.FieldCreateTime), byGroup, byGroupAndSize}
	for _, c := range []struct {
		name  string
		fixed []string
		order string
		want  *Index
	}{
		{"an order", nil, record.FieldCreateTime, &known[1]},
		{"an unknown order", nil, "document.name", nil},
		{"an equality", []string{"document.group", "state"}, "document.name", &known[2]},
		{"an equality and an order", []string{"document.group"}, "document.size", &known[3]},
	} {
		if got := best(known, c.fixed, c.order); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
