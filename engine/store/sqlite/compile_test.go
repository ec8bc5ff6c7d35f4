package sqlite

import (
	"fmt"
	"testing"

	"marquee/engine/query"
)

// TestCompile compares each kind of condition with its SQL.
func TestCompile(t *testing.T) {
	free := query.Field{Path: []query.Step{{Name: "free"}}, Open: true}
	word := query.Term{Key: "q", Value: "be", Prefix: true}
	for _, c := range []struct {
		where query.Expr
		sql   string
		args  []any
	}{
		{nil, `network=?`, nil},
		{query.None, `network=? AND 0`, nil},
		{query.And{is(state, "ACTIVE"), query.And{is(size, int64(2))}}, `network=? AND state=? AND json_extract(doc,'$.size')=?`, []any{"ACTIVE", int64(2)}},
		{query.Or{is(group, "a"), query.Null{Field: group}}, `network=? AND (json_extract(doc,'$.group')=? OR json_extract(doc,'$.group') IS NULL)`, []any{"a"}},
		{query.Not{Of: is(group, "a")}, `network=? AND (json_extract(doc,'$.group')=?) IS NOT TRUE`, []any{"a"}},
		{query.Compare{Field: group, Op: query.NotEqual, Value: "a"}, `network=? AND (json_extract(doc,'$.group')=?) IS NOT TRUE`, []any{"a"}},
		{query.Compare{Field: size, Op: query.Greater, Value: 1.5}, `network=? AND json_extract(doc,'$.size')>? AND json_extract(doc,'$.size')<''`, []any{1.5}},
		{query.Compare{Field: createTime, Op: query.Less, Value: "1970-01-01T00:00:01.000Z"}, `network=? AND create_time<?`, []any{int64(1000)}},
		{query.In{Field: odd, Values: []any{"a", "b"}}, `network=? AND json_extract(doc,'$.o."it''s a-b"') IN (?,?)`, []any{"a", "b"}},
		{query.Contains{Field: group, Text: "AB"}, `network=? AND contains_folded(json_extract(doc,'$.group'),?)`, []any{"ab"}},
		{is(free, "a"), `network=? AND iif(json_type(doc,'$.free')='text',json_extract(doc,'$.free'),NULL)=?`, []any{"a"}},
		{query.Compare{Field: tags, Op: query.Greater, Value: "a"}, `network=? AND EXISTS(SELECT 1 FROM json_each(doc,'$.tags') AS e0 WHERE e0.value>?)`, []any{"a"}},
		{is(tags, "a"), `network=? AND EXISTS(SELECT 1 FROM t_things WHERE key=` + termKey + ` AND value=? AND record=seq)`, []any{"tags", "n", "a"}},
		{word, `network=? AND seq IN (SELECT record FROM t_things WHERE key=` + termKey + ` AND value>=? AND value<?)`, []any{"q", "n", "be", "be\xff"}},
	} {
		p := plan{compiled: compile(query.Query{Collection: "things", Network: "n", Where: c.where}), driver: -1}
		where := p.where()
		args := append([]any{"n"}, c.args...)
		if where.String() != c.sql || fmt.Sprintf("%#v", where.args) != fmt.Sprintf("%#v", args) {
			t.Errorf("%#v:\n%s %#v, want\n%s %#v", c.where, where.String(), where.args, c.sql, args)
		}
	}
}

// TestDriver checks that the records of the driving condition are listed first,
// and that no index by network competes with the list.
func TestDriver(t *testing.T) {
	c := compile(query.Query{Collection: "things", Network: "n", Where: query.And{is(state, "ACTIVE"), is(tags, "a")}})
	want := `+network=? AND state=? AND seq IN (SELECT record FROM t_things WHERE key=` + termKey + ` AND value=?)`
	if got := (plan{compiled: c, driver: 1}).where().String(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestSegments checks which part of an order comes after a position.
func TestSegments(t *testing.T) {
	const key = `json_extract(doc,'$.size')`
	for _, c := range []struct {
		name       string
		order      query.Field
		descending bool
		after      any
		want       []string
	}{
		{"by id", id, false, nil, []string{"id>?"}},
		{"by time", createTime, true, "1970-01-01T00:00:01.000Z", []string{"create_time<=? AND (create_time<? OR id<?)"}},
		{"a value, ascending", size, false, int64(1), []string{key + ">=? AND (" + key + ">? OR id>?)"}},
		{"a value, descending", size, true, int64(1), []string{key + "<=? AND (" + key + "<? OR id<?)", key + " IS NULL"}},
		{"no value, ascending", size, false, nil, []string{key + " IS NULL AND id>?", key + ">=-9e999"}},
		{"no value, descending", size, true, nil, []string{key + " IS NULL AND id<?"}},
	} {
		q := query.Query{Order: query.Order{Field: c.order, Descending: c.descending}, After: &query.Position{Key: c.after, ID: "a"}}
		var got []string
		for _, s := range compile(q).segments() {
			got = append(got, s.sql)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func is(f query.Field, value any) query.Expr {
	return query.Compare{Field: f, Op: query.Equal, Value: value}
}
