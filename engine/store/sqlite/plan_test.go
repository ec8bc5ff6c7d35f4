package sqlite

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"marquee/engine/query"
	"marquee/engine/store"
	"marquee/engine/store/storetest"
)

// explainQuery returns SQLite's plan of a query.
func explainQuery(t testing.TB, s store.Store, q query.Query, count bool) storetest.Plan {
	t.Helper()
	var statements []string
	var args [][]any
	planned := planOf(t, s.(*Store), q)
	switch {
	case count:
		sql, a := planned.countSQL()
		statements, args = []string{sql}, [][]any{a}
	case planned.merged >= 0:
		sql, a := planned.mergedSQL()
		statements, args = []string{sql}, [][]any{a}
	default:
		for _, within := range planned.segments() {
			sql, a := planned.findSQL(within, q.Limit)
			statements, args = append(statements, sql), append(args, a)
		}
	}
	var plan storetest.Plan
	for i, sql := range statements {
		for _, line := range explain(t, s.(*Store), sql, args[i]...) {
			plan.Text += line + "\n"
			// A list of values, a query without rows and the rows of a part of the
			// statement are read whole, and so may be a network when the query asks for all of it.
			walks := strings.HasPrefix(line, "SCAN ") && !strings.HasPrefix(line, "SCAN json_each") && !strings.HasPrefix(line, "SCAN (subquery") && line != "SCAN CONSTANT ROW"
			whole := strings.HasSuffix(line, "(network=?)") && (selective(q.Where) || !count && q.After != nil)
			plan.Scans = plan.Scans || walks || whole
			plan.Sorts = plan.Sorts || strings.Contains(line, "TEMP B-TREE")
		}
	}
	return plan
}

// planOf returns the store's plan of a query.
func planOf(t testing.TB, s *Store, q query.Query) (p plan) {
	t.Helper()
	err := s.Read(t.Context(), func(snapshot store.Snapshot) (err error) {
		v := snapshot.(*view)
		if p, err = v.plan(t.Context(), q, false); err == nil {
			err = v.intersect(t.Context(), &p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// selective reports whether an index should answer a condition.
func selective(e query.Expr) bool {
	switch e := e.(type) {
	case query.And:
		for _, e := range e {
			if selective(e) {
				return true
			}
		}
	case query.Compare, query.In, query.Term:
		return true
	}
	return false
}

func explain(t testing.TB, s *Store, sql string, args ...any) []string {
	t.Helper()
	var lines []string
	if err := s.Read(t.Context(), func(snapshot store.Snapshot) error {
		return snapshot.(*view).conn.rows("EXPLAIN QUERY PLAN "+sql, args, func(s *stmt) error {
			lines = append(lines, s.ColumnText(3))
			return nil
		})
	}); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return lines
}

var (
	id         = query.Field{System: query.ID, Kind: query.String}
	state      = query.Field{System: query.State, Kind: query.String}
	createTime = query.Field{System: query.CreateTime, Kind: query.Time}
	group      = query.Field{Path: []query.Step{{Name: "group"}}}
	odd        = query.Field{Path: []query.Step{{Name: "o"}, {Name: "it's a-b"}}}
	size       = query.Field{Path: []query.Step{{Name: "size"}}, Kind: query.Number}
	tags       = query.Field{Path: []query.Step{{Name: "tags", Array: true}}, Term: "tags"}
)

// TestIndexes checks that an index that is no longer listed, which would slow
// down every write, is dropped, and that others are not rebuilt.
func TestIndexes(t *testing.T) {
	s := openTest(t, Options{})
	have := func(indexes ...store.Index) (names []string) {
		t.Helper()
		if err := s.EnsureCollections(t.Context(), []store.Collection{{Name: "things", Indexes: indexes}, {Name: "things_x", Indexes: indexes}}); err != nil {
			t.Fatal(err)
		}
		if err := s.Read(t.Context(), func(snapshot store.Snapshot) error {
			return snapshot.(*view).conn.rows("SELECT name||rootpage FROM sqlite_master WHERE type='index' AND tbl_name='r_things' ORDER BY 1", nil,
				func(s *stmt) error { names = append(names, s.ColumnText(0)); return nil })
		}); err != nil {
			t.Fatal(err)
		}
		return names
	}
	none := have()
	one := have(store.Index{Order: size})
	two := have(store.Index{Order: size}, store.Index{Equal: []query.Field{group}, Order: createTime}, store.Index{Order: size}, store.Index{Order: createTime})
	if len(none) != 3 || len(one) != 4 || len(two) != 5 {
		t.Errorf("%q, %q, %q", none, one, two)
	}
	for _, name := range one {
		if !slices.Contains(two, name) {
			t.Errorf("%s was built again", name)
		}
	}
	if again := have(); !slices.Equal(again, none) {
		t.Errorf("%q, %q at first", again, none)
	}
}

// TestPlans compares SQLite's plan of each kind of query that an index is
// declared for.
func TestPlans(t *testing.T) {
	s := openPlanned(t)
	active := query.In{Field: state, Values: []any{"ACTIVE", "INACTIVE"}}
	for _, c := range []struct {
		name  string
		where query.Expr
		order query.Field
		// find and count are part of the plans. The plan of find must not sort,
		// that of count must not read records.
		find, count string
	}{
		{"default order", usual, createTime, "(network=?)", "(network=?)"},
		{"id order", active, id, "(network=?)", "(network=?)"},
		{"a sort field", usual, size, "(network=?)", "(network=?)"},
		{"equality, default order", query.And{is(group, "g"), usual}, createTime, "(network=? AND <expr>=?)", "(network=? AND <expr>=?)"},
		{"equality, states listed", query.And{active, is(group, "g")}, createTime, "(network=? AND <expr>=?", "(network=? AND <expr>=?"},
		{"equality, sort field", query.And{is(group, "g"), usual}, size, "(network=? AND <expr>=?)", "(network=? AND <expr>=?)"},
		{"two equalities, id order", query.And{is(size, int64(1)), usual, is(odd, "x")}, id, "(network=? AND <expr>=? AND <expr>=?)", "(network=? AND <expr>=? AND <expr>=?)"},
		{"a range of a sort field", query.And{query.Compare{Field: size, Op: query.Greater, Value: 1.5}, usual}, size, "(network=? AND <expr>>? AND <expr><?)", "(network=? AND <expr>>? AND <expr><?)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, descending := range []bool{false, true} {
				q := query.Query{Collection: "things", Network: "n", Where: c.where, Order: query.Order{Field: c.order, Descending: descending}, Limit: 10}
				sql, args := planOf(t, s, q).findSQL(segment{}, 10)
				plan := strings.Join(explain(t, s, sql, args...), "\n")
				if !strings.Contains(plan, c.find) || strings.Contains(plan, "SCAN") || strings.Contains(plan, "TEMP B-TREE") {
					t.Errorf("find, descending %t:\n%s\n%s", descending, sql, plan)
				}
				sql, args = planOf(t, s, q).countSQL()
				plan = strings.Join(explain(t, s, sql, args...), "\n")
				if !strings.Contains(plan, "USING COVERING INDEX") || !strings.Contains(plan, c.count) || strings.Contains(plan, "SCAN") {
					t.Errorf("count:\n%s\n%s", sql, plan)
				}
			}
		})
	}
}

// A term is found in the table of terms, and its record by its number.
func TestPlansOfTerms(t *testing.T) {
	s := openPlanned(t)
	for _, where := range []query.Expr{is(tags, "t"), query.And{usual, is(tags, "t")}, query.Term{Key: "q", Value: "w", Prefix: true},
		query.And{query.And{query.In{Field: tags, Values: []any{"a", "b"}}}}} {
		q := query.Query{Collection: "things", Network: "n", Where: where, Order: query.Order{Field: createTime}, Limit: 10}
		find, findArgs := planOf(t, s, q).findSQL(segment{}, 10)
		count, countArgs := planOf(t, s, q).countSQL()
		for sql, args := range map[string][]any{find: findArgs, count: countArgs} {
			plan := strings.Join(explain(t, s, sql, args...), "\n")
			if !strings.Contains(plan, "SEARCH r_things USING INTEGER PRIMARY KEY (rowid=?)") ||
				!strings.Contains(plan, "SEARCH t_things USING PRIMARY KEY (key=? AND value") {
				t.Errorf("%s\n%s", sql, plan)
			}
		}
	}
}

// Records that the query names are read by their ids, and the words are looked for in
// their documents; so are the other words of records with a rare one.
func TestPlansOfWordsInFewRecords(t *testing.T) {
	s := openPlanned(t)
	word := func(prefix string) query.Expr {
		return query.Term{Key: "q", Value: prefix, Prefix: true, Searched: []string{"name"}}
	}
	ids := query.In{Field: id}
	for i := range 1000 {
		ids.Values = append(ids.Values, "o"+strconv.Itoa(i))
	}
	for name, c := range map[string]struct {
		where query.Expr
		index string
		lists int // of records with a term
	}{
		"ids":            {query.And{usual, ids}, "INDEX k_things (network=? AND id=?)", 0},
		"an id":          {query.And{is(id, "o"), is(group, "g")}, "INDEX k_things (network=? AND id=?)", 0},
		"no id":          {query.In{Field: id}, "", 0},
		"ids and words":  {query.And{ids, word("a"), word("b")}, "INDEX k_things (network=? AND id=?)", 0},
		"ids and a term": {query.And{ids, is(tags, "t")}, "INDEX k_things (network=? AND id=?)", 1},
		"a rare word":    {query.And{word("a"), word("b"), word("c")}, "USING INTEGER PRIMARY KEY (rowid=?)", 1},
	} {
		q := query.Query{Collection: "things", Network: "n", Where: c.where, Order: query.Order{Field: createTime}, Limit: 10}
		find, findArgs := planOf(t, s, q).findSQL(segment{}, 10)
		count, countArgs := planOf(t, s, q).countSQL()
		for sql, args := range map[string][]any{find: findArgs, count: countArgs} {
			plan := strings.Join(explain(t, s, sql, args...), "\n")
			if !strings.Contains(plan, c.index) || strings.Count(plan, "t_things") != c.lists {
				t.Errorf("%s: %s\n%s", name, sql, plan)
			}
		}
	}
}

// Notifications are found and counted by their owner.
func TestPlansOfNotices(t *testing.T) {
	s := openPlanned(t)
	q := store.HistoryQuery{Network: "n", Notices: true, Owner: "o", Collections: []string{"things"}, Limit: 1}
	behind := q
	behind.After = "9"
	statements := map[string][]any{noticeCountSQL: noticeArgs(q)}
	for _, q := range []store.HistoryQuery{q, behind} {
		sql, args, err := noticesSQL(q)
		if err != nil {
			t.Fatal(err)
		}
		statements[sql] = args
	}
	for sql, args := range statements {
		plan := strings.Join(explain(t, s, sql, args...), "\n")
		if !strings.Contains(plan, "SEARCH changes USING INDEX changes_owner (network=? AND owner=?") || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s\n%s", sql, plan)
		}
	}
}

// Records are read by their ids.
func TestPlansOfGet(t *testing.T) {
	s := openPlanned(t)
	for _, ids := range [][]string{{"a"}, {"a", "b"}} {
		condition, list := idCondition(ids)
		plan := strings.Join(explain(t, s, "SELECT "+recordColumns+" FROM r_things WHERE network=? AND "+condition, "n", list), "\n")
		if !strings.Contains(plan, "SEARCH r_things USING INDEX k_things (network=? AND id=?)") {
			t.Errorf("%v\n%s", ids, plan)
		}
	}
}

// The history is read and counted by an index, the feed by its position.
func TestPlansOfChanges(t *testing.T) {
	s := openPlanned(t)
	for _, c := range []struct {
		q           store.HistoryQuery
		page, count string
	}{
		{store.HistoryQuery{Network: "n", Collection: "things", ID: "a"}, "changes_object (network=? AND collection=? AND id=? AND feed_only=?)", "changes_object (network=? AND collection=? AND id=? AND feed_only=?)"},
		{store.HistoryQuery{Network: "n"}, "changes_network (network=? AND feed_only=?)", "changes_network (network=? AND feed_only=?)"},
		{store.HistoryQuery{Network: "n", Collection: "things"}, "changes_network (network=? AND feed_only=?)", "changes_object (network=? AND collection=?)"},
		{store.HistoryQuery{Network: "n", Collections: []string{"things"}}, "changes_network (network=? AND feed_only=?)", "changes_object (network=? AND collection=?)"},
	} {
		for _, after := range []string{"", "9"} {
			q := c.q
			q.Limit, q.After = 10, after
			page, args, err := historySQL(q)
			if err != nil {
				t.Fatal(err)
			}
			index := c.page
			if after != "" {
				index = strings.TrimSuffix(index, ")") + " AND rowid<?)"
			}
			if plan := strings.Join(explain(t, s, page, args...), "\n"); !strings.Contains(plan, "USING INDEX "+index) || strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("a page of %+v\n%s", q, plan)
			}
		}
		count, args := historyWhere(c.q, "")
		plan := strings.Join(explain(t, s, "SELECT count(*)"+count, args...), "\n")
		if !strings.Contains(plan, "USING COVERING INDEX "+c.count) {
			t.Errorf("the count of %+v\n%s", c.q, plan)
		}
	}
	plan := strings.Join(explain(t, s, "SELECT "+changeColumns+" FROM changes WHERE seq>? ORDER BY seq LIMIT 10"), "\n")
	if !strings.Contains(plan, "USING INTEGER PRIMARY KEY (rowid>?)") || strings.Contains(plan, "TEMP B-TREE") {
		t.Errorf("the feed\n%s", plan)
	}
}

// usual is the condition of lists without parameters.
var usual = query.Not{Of: query.Compare{Field: state, Op: query.Equal, Value: "HIDDEN"}}

// openPlanned opens a store with the indexes that the plans use.
func openPlanned(t *testing.T) *Store {
	t.Helper()
	s := openTest(t, Options{})
	if err := s.EnsureCollections(t.Context(), []store.Collection{{Name: "things", Indexes: []store.Index{
		{Equal: []query.Field{group}, Order: createTime},
		{Equal: []query.Field{odd, size}, Order: id},
		{Equal: []query.Field{group}, Order: size},
		{Order: size},
	}}}); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestCommonTerms checks that queries on common terms use another index, or the
// order: their records are not all sorted for one page.
func TestCommonTerms(t *testing.T) {
	s := openTest(t, Options{})
	s.rare = 3
	tags, group := query.Field{Path: []query.Step{{Name: "tags", Array: true}}, Term: "tags"}, query.Field{Path: []query.Step{{Name: "group"}}}
	createTime := query.Field{System: query.CreateTime, Kind: query.Time}
	err := s.EnsureCollections(t.Context(), []store.Collection{{Name: "things", Indexes: []store.Index{{Equal: []query.Field{group}, Order: createTime}}}})
	if err != nil {
		t.Fatal(err)
	}
	var writes []store.Write
	for i := range 10 {
		w := store.Write{Record: store.Record{Key: store.Key{Network: "n", ID: string(rune('a' + i))}, Version: 1, State: "ACTIVE",
			Document: []byte(`{"group":"g"}`)}, AddTerms: []store.Term{{Key: "tags", Value: "common"}}}
		if i < 2 {
			w.AddTerms = append(w.AddTerms, store.Term{Key: "tags", Value: "rare"})
		}
		writes = append(writes, w)
	}
	if err := s.Write(t.Context(), func(tx store.Tx) error { return tx.Put(t.Context(), "things", writes) }); err != nil {
		t.Fatal(err)
	}
	common, rare := query.Compare{Field: tags, Value: "common"}, query.Compare{Field: tags, Value: "rare"}
	inGroup := query.Compare{Field: group, Value: "g"}
	for name, c := range map[string]struct {
		where query.Expr
		plan  string
	}{
		"common":           {common, "(network=?)"},
		"common, in group": {query.And{common, inGroup}, "(network=? AND <expr>=?)"},
		"common and rare":  {query.And{common, rare}, "INTEGER PRIMARY KEY (rowid=?)"},
		"rare, in group":   {query.And{inGroup, rare}, "INTEGER PRIMARY KEY (rowid=?)"},
	} {
		q := query.Query{Collection: "things", Network: "n", Where: c.where, Order: query.Order{Field: createTime}, Limit: 5}
		sql, args := planOf(t, s, q).findSQL(segment{}, 5)
		plan := strings.Join(explain(t, s, sql, args...), "\n")
		if !strings.Contains(plan, c.plan) || strings.Contains(plan, "SCAN r_") {
			t.Errorf("%s: want %s\n%s\n%s", name, c.plan, sql, plan)
		}
	}
}

// TestCommonPrefixes checks that common prefixes become a set of records, and that the records
// of the rarest one are listed and compared with the others if they are few enough, wherever it
// is in the query.
func TestCommonPrefixes(t *testing.T) {
	s := openTest(t, Options{})
	s.rare = 3 // up to 12 are compared with their documents, up to 150 are listed
	ensureThings(t, s)
	writes := batch(1, 600, 10)
	for i := range writes {
		for word, every := range map[string]int{"all": 1, "half": 2, "seventh": 7, "fiftieth": 50, "tenth-of-a-tenth": 100} {
			if i%every == 0 {
				writes[i].AddTerms = append(writes[i].AddTerms, store.Term{Key: "q", Value: word})
			}
		}
	}
	if err := s.Write(t.Context(), func(tx store.Tx) error { return tx.Put(t.Context(), "things", writes) }); err != nil {
		t.Fatal(err)
	}
	word := func(prefix string) query.Expr {
		return query.Term{Key: "q", Value: prefix, Prefix: true, Searched: []string{"a"}}
	}
	group := query.Compare{Field: query.Field{Path: []query.Step{{Name: "group"}}}, Value: "g"}
	for name, c := range map[string]struct {
		where query.And
		// met is the number of records of the set or, if they are listed, of the list.
		met         int
		listed, few bool
	}{
		"last":              {query.And{word("a"), word("h"), word("te")}, 6, true, true},
		"first":             {query.And{word("te"), word("a"), word("h")}, 6, true, true},
		"few have both":     {query.And{word("a"), word("f"), word("se")}, 12, true, true},
		"some":              {query.And{word("a"), word("se")}, 86, true, false},
		"many":              {query.And{word("a"), word("h")}, 300, false, false},
		"the same":          {query.And{word("a"), word("al")}, 600, false, false},
		"one":               {query.And{word("h")}, 300, false, false},
		"a property":        {query.And{word("a"), word("te"), group}, 6, true, true},
		"a common property": {query.And{word("a"), group}, 600, false, false},
	} {
		err := s.Read(t.Context(), func(snapshot store.Snapshot) error {
			v := snapshot.(*view)
			p, err := v.plan(t.Context(), query.Query{Collection: "things", Network: "n", Where: c.where}, false)
			if err == nil {
				err = v.intersect(t.Context(), &p)
			}
			if err != nil {
				return err
			}
			met := 0
			for i, condition := range p.conditions {
				switch {
				case i == p.driver:
					met = strings.Count(condition.terms.args[0].(string), ",") + 1
				case strings.HasPrefix(condition.sql, "among"):
					met = condition.args[0].(*recordSet).length
				}
			}
			if met != c.met || p.few != c.few || (p.driver >= 0) != c.listed {
				t.Errorf("%s: %d records, listed: %t, few: %t", name, met, p.driver >= 0, p.few)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
