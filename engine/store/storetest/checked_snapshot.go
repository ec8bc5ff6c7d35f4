package storetest

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"marquee/engine/query"
	"marquee/engine/store"
)

// checkedSnapshot watches a store.Snapshot.
type checkedSnapshot struct {
	store.Snapshot
	use *use
}

func (v *checkedSnapshot) Get(ctx context.Context, collection string, keys []store.Key, yield func(*store.Record) error) error {
	t := v.use.t
	t.Helper()
	if err := v.use.begin("Get"); err != nil {
		return err
	}
	asked := make(map[store.Key]bool, len(keys))
	for _, key := range keys {
		asked[key] = true
	}
	var own error
	err := v.Snapshot.Get(ctx, collection, keys, func(r *store.Record) error {
		if own != nil {
			t.Error("Get: yielded after an error of yield")
		}
		if !asked[r.Key] {
			t.Errorf("Get: yielded %+v, which was not asked for", r.Key)
		}
		checkRecord(t, "Get", r)
		own = yield(r)
		return own
	})
	v.use.done("Get", err, own)
	return err
}

func (v *checkedSnapshot) Labels(ctx context.Context, collection, property string, keys []store.Key) (map[store.Key]string, error) {
	v.use.t.Helper()
	if err := v.use.begin("Labels"); err != nil {
		return nil, err
	}
	labels, err := v.Snapshot.Labels(ctx, collection, property, keys)
	for key := range labels {
		if !slices.Contains(keys, key) {
			v.use.t.Errorf("Labels: has %+v, which was not asked for", key)
		}
	}
	v.use.done("Labels", err, nil)
	return labels, err
}

func (v *checkedSnapshot) Find(ctx context.Context, q query.Query, yield func(*store.Record) error) error {
	t := v.use.t
	t.Helper()
	if err := v.use.begin("Find"); err != nil {
		return err
	}
	var own error
	last, n := q.After, 0
	err := v.Snapshot.Find(ctx, q, func(r *store.Record) error {
		if own != nil {
			t.Error("Find: yielded after an error of yield")
		}
		if n++; n > q.Limit {
			t.Errorf("Find: yielded %d of at most %d", n, q.Limit)
		}
		if r.Network != q.Network {
			t.Errorf("Find: yielded %+v for network %q", r.Key, q.Network)
		}
		checkRecord(t, "Find", r)
		last = v.checkPlace(q, last, r)
		own = yield(r)
		return own
	})
	v.use.done("Find", err, own)
	return err
}

// checkPlace checks that a record of a page stands behind the one before, and
// is one that the query asks for.
func (v *checkedSnapshot) checkPlace(q query.Query, last *query.Position, r *store.Record) *query.Position {
	v.use.t.Helper()
	m, err := newModel(r, nil)
	if err != nil {
		return last // checkRecord has complained
	}
	at := m.position(q.Order.Field)
	if q.Order.Field.System == query.ID && last != nil {
		last = &query.Position{Key: at.Key, ID: last.ID} // an id is its own key
	}
	at.ID = string([]byte(at.ID)) // the record is lent
	if key, ok := at.Key.(string); ok {
		at.Key = string([]byte(key))
	}
	if last != nil && precedes(*last, at, q.Order.Descending) >= 0 {
		v.use.t.Errorf("Find: yielded %v after %v (descending: %t)", at, *last, q.Order.Descending)
	}
	if !hasTerms(q.Where) && !m.matches(q.Where) {
		v.use.t.Errorf("Find: yielded %s %s, which does not match %+v", r.ID, shorten(string(r.Document)), q.Where)
	}
	return &at
}

// hasTerms reports whether a condition speaks of terms, which a record that
// was read does not show.
func hasTerms(e query.Expr) bool {
	switch e := e.(type) {
	case query.And:
		return slices.ContainsFunc(e, hasTerms)
	case query.Or:
		return slices.ContainsFunc(e, hasTerms)
	case query.Not:
		return hasTerms(e.Of)
	case query.Term:
		return true
	}
	return false
}

func (v *checkedSnapshot) Count(ctx context.Context, q query.Query) (int64, error) {
	v.use.t.Helper()
	if err := v.use.begin("Count"); err != nil {
		return 0, err
	}
	n, err := v.Snapshot.Count(ctx, q)
	if n < 0 {
		v.use.t.Errorf("Count: %d", n)
	}
	v.use.done("Count", err, nil)
	return n, err
}

func (v *checkedSnapshot) Claims(ctx context.Context, claims []store.Claim) (map[store.Claim]string, error) {
	v.use.t.Helper()
	if err := v.use.begin("Claims"); err != nil {
		return nil, err
	}
	owners, err := v.Snapshot.Claims(ctx, claims)
	for claim, owner := range owners {
		if owner == "" || !slices.Contains(claims, claim) {
			v.use.t.Errorf("Claims: %+v of %q", claim, owner)
		}
	}
	v.use.done("Claims", err, nil)
	return owners, err
}

func (v *checkedSnapshot) History(ctx context.Context, q store.HistoryQuery) ([]store.Change, error) {
	t := v.use.t
	t.Helper()
	if err := v.use.begin("History"); err != nil {
		return nil, err
	}
	changes, err := v.Snapshot.History(ctx, q)
	if len(changes) > q.Limit {
		t.Errorf("History: %d of at most %d", len(changes), q.Limit)
	}
	version := map[[2]string]int64{}
	for i := range changes {
		c := &changes[i]
		checkChange(t, "History", c)
		if c.Network != q.Network || q.Collection != "" && c.Collection != q.Collection || q.ID != "" && c.ID != q.ID ||
			q.Collections != nil && !slices.Contains(q.Collections, c.Collection) {
			t.Errorf("History: %+v does not match %+v", *c, q)
		}
		newer, seen := version[[2]string{c.Collection, c.ID}]
		if seen && c.Version > newer {
			t.Errorf("History: version %d of %s after version %d", c.Version, c.ID, newer)
		}
		version[[2]string{c.Collection, c.ID}] = c.Version
	}
	v.use.done("History", err, nil)
	if err == nil && q.Offset == 0 && len(changes) < q.Limit {
		if n, err := v.Snapshot.HistoryCount(ctx, q); err != nil || n != int64(len(changes)) {
			t.Errorf("HistoryCount: %d, %v; History has %d", n, err, len(changes))
		}
	}
	return changes, err
}

func (v *checkedSnapshot) Notices(ctx context.Context, q store.NoticeQuery) ([]store.Notice, error) {
	t := v.use.t
	t.Helper()
	if err := v.use.begin("Notices"); err != nil {
		return nil, err
	}
	notices, err := v.Snapshot.Notices(ctx, q)
	if len(notices) > q.Limit {
		t.Errorf("Notices: %d of at most %d", len(notices), q.Limit)
	}
	for i := range notices {
		n := &notices[i]
		checkChange(t, "Notices", &n.Change)
		if n.Network != q.Network || n.Owner != q.Owner || !slices.Contains(q.Collections, n.Collection) || n.Fields != nil || n.Change.Notices != nil || len(n.Text) == 0 {
			t.Errorf("Notices: %+v does not match %+v", *n, q)
		}
	}
	v.use.done("Notices", err, nil)
	return notices, err
}

// checkedTx watches a store.Tx.
type checkedTx struct {
	checkedSnapshot
	tx store.Tx
}

func (v *checkedTx) Put(ctx context.Context, collection string, writes []store.Write) error {
	t := v.use.t
	t.Helper()
	if err := v.use.begin("Put"); err != nil {
		return err
	}
	for i := range writes {
		checkRecord(t, "Put", &writes[i].Record)
		if writes[i].Version != writes[i].Expected+1 {
			t.Errorf("Put: version %d of %s on %d", writes[i].Version, writes[i].ID, writes[i].Expected)
		}
	}
	err := v.tx.Put(ctx, collection, writes)
	v.use.done("Put", err, nil, store.CodeConflict)
	return err
}

func (v *checkedTx) Append(ctx context.Context, changes []store.Change) error {
	v.use.t.Helper()
	if err := v.use.begin("Append"); err != nil {
		return err
	}
	err := v.tx.Append(ctx, changes)
	v.use.done("Append", err, nil)
	return err
}

// checkRecord checks that a record has what every record has.
func checkRecord(t testing.TB, method string, r *store.Record) {
	t.Helper()
	switch {
	case r.ID == "", r.Version < 1, r.State == "":
		t.Errorf("%s: an incomplete record: %+v", method, *r)
	case !json.Valid(r.Document) || r.Document[0] != '{':
		t.Errorf("%s: the document of %s is not an object: %q", method, r.ID, shorten(string(r.Document)))
	case len(r.Warnings) > 0 && (!json.Valid(r.Warnings) || r.Warnings[0] != '['):
		t.Errorf("%s: the warnings of %s are not an array: %q", method, r.ID, r.Warnings)
	}
	for _, at := range []time.Time{r.CreateTime, r.UpdateTime} {
		if at.IsZero() || method != "Put" && (at.Location() != time.UTC || !at.Equal(at.Truncate(time.Millisecond))) {
			t.Errorf("%s: a time of %s is not in UTC and milliseconds: %v", method, r.ID, at)
		}
	}
}
