package storetest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"marquee/engine/query"
	"marquee/engine/store"
)

// checkedSnapshot checks a store.Snapshot.
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
			t.Errorf("Get: yielded %+v, which was not requested", r.Key)
		}
		checkRecord(t, "Get", r)
		own = yield(r)
		return own
	})
	v.use.done("Get", err, own)
	return err
}

func (v *checkedSnapshot) Labels(ctx context.Context, queries ...store.LabelQuery) ([]map[store.Key]string, error) {
	v.use.t.Helper()
	if err := v.use.begin("Labels"); err != nil {
		return nil, err
	}
	results, err := v.Snapshot.Labels(ctx, queries...)
	if err == nil && len(results) != len(queries) {
		v.use.t.Errorf("Labels: %d results of %d queries", len(results), len(queries))
	}
	for i, labels := range results {
		for key := range labels {
			if queries[i].Find == nil && !slices.Contains(queries[i].Keys, key) {
				v.use.t.Errorf("Labels: returned %+v, which was not requested", key)
			}
		}
	}
	v.use.done("Labels", err, nil)
	return results, err
}

func (v *checkedSnapshot) Lacking(ctx context.Context, collection string, entries []store.Entry) ([]store.Entry, error) {
	v.use.t.Helper()
	if err := v.use.begin("Lacking"); err != nil {
		return nil, err
	}
	lacking, err := v.Snapshot.Lacking(ctx, collection, entries)
	v.use.done("Lacking", err, nil)
	return lacking, err
}

func (v *checkedSnapshot) OrderedTerms(ctx context.Context, collection string, keys []store.Key) (map[store.Key][]store.Term, error) {
	v.use.t.Helper()
	if err := v.use.begin("OrderedTerms"); err != nil {
		return nil, err
	}
	terms, err := v.Snapshot.OrderedTerms(ctx, collection, keys)
	for key, held := range terms {
		if !slices.Contains(keys, key) || len(held) == 0 {
			v.use.t.Errorf("OrderedTerms: returned %v of %+v", held, key)
		}
	}
	v.use.done("OrderedTerms", err, nil)
	return terms, err
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

// checkPlace checks that a record of a page comes after the last one and
// matches the query.
func (v *checkedSnapshot) checkPlace(q query.Query, last *query.Position, r *store.Record) *query.Position {
	v.use.t.Helper()
	m, err := newModel(r, nil)
	if err != nil {
		return last // checkRecord has reported it
	}
	at := m.position(q.Order.Field)
	if q.Order.Field.System == query.ID && last != nil {
		last = &query.Position{Key: at.Key, ID: last.ID} // an id is its own key
	}
	at.ID = string([]byte(at.ID)) // the store reuses the record
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

// hasTerms reports whether a condition uses terms, which a record does not
// contain.
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
	terms, ok := query.TermsOf(e)
	return ok && terms.Ordered()
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

func (v *checkedSnapshot) ClaimsAfter(ctx context.Context, r store.ClaimRange, yield func(store.Claim, string) error) error {
	v.use.t.Helper()
	if err := v.use.begin("ClaimsAfter"); err != nil {
		return err
	}
	last, n := r.After.Value, 0
	err := v.Snapshot.ClaimsAfter(ctx, r, func(claim store.Claim, owner string) error {
		if n++; owner == "" || claim.Value <= last || !strings.HasPrefix(claim.Value, r.Prefix) || n > r.Limit {
			v.use.t.Errorf("ClaimsAfter: %+v of %q after %q", claim, owner, last)
		}
		last = claim.Value
		return yield(claim, owner)
	})
	v.use.done("ClaimsAfter", err, nil)
	return err
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

func (v *checkedSnapshot) History(ctx context.Context, q store.HistoryQuery, yield func(*store.Change) error) error {
	t := v.use.t
	t.Helper()
	if err := v.use.begin("History"); err != nil {
		return err
	}
	revision := map[[2]string]int64{}
	var own error
	n := 0
	err := v.Snapshot.History(ctx, q, func(c *store.Change) error {
		if own != nil {
			t.Error("History: yielded after an error of yield")
		}
		if n++; n > q.Limit {
			t.Errorf("History: yielded %d of at most %d", n, q.Limit)
		}
		checkChange(t, "History", c)
		if q.Notices {
			if c.Network != q.Network || c.Owner != q.Owner || !slices.Contains(q.Collections, c.Collection) || c.Fields != nil || c.Cause != nil || len(c.Notices) == 0 {
				t.Errorf("History: the notice %+v does not match %+v", *c, q)
			}
			own = yield(c)
			return own
		}
		if c.Network != q.Network || q.Collection != "" && c.Collection != q.Collection || q.ID != "" && c.ID != q.ID ||
			q.IDs != nil && !slices.Contains(q.IDs, c.ID) || q.Collections != nil && !slices.Contains(q.Collections, c.Collection) {
			t.Errorf("History: %+v does not match %+v", *c, q)
		}
		if c.FeedOnly {
			t.Errorf("History: %+v is FeedOnly", *c)
		}
		newer, seen := revision[[2]string{c.Collection, c.ID}]
		if seen && c.Revision > newer {
			t.Errorf("History: revision %d of %s after revision %d", c.Revision, c.ID, newer)
		}
		revision[[2]string{c.Collection, c.ID}] = c.Revision
		own = yield(c)
		return own
	})
	v.use.done("History", err, own)
	if err == nil && q.Offset == 0 && q.After == "" && n < q.Limit {
		if count, err := v.Snapshot.HistoryCount(ctx, q); err != nil || count != int64(n) {
			t.Errorf("HistoryCount: %d, %v; History has %d", count, err, n)
		}
	}
	return err
}

// checkedTx checks a store.Tx.
type checkedTx struct {
	checkedSnapshot
	tx store.Tx
}

// ReadAhead implements store.Ahead for a store that does.
func (v *checkedTx) ReadAhead(yield func(collection string, r *store.Record) error) error {
	ahead, ok := v.tx.(store.Ahead)
	if !ok {
		return nil
	}
	v.use.t.Helper()
	if err := v.use.begin("ReadAhead"); err != nil {
		return err
	}
	var own error
	err := ahead.ReadAhead(func(collection string, r *store.Record) error {
		checkRecord(v.use.t, "ReadAhead", r)
		own = yield(collection, r)
		return own
	})
	v.use.done("ReadAhead", err, own)
	return err
}

func (v *checkedTx) Put(ctx context.Context, collection string, writes []store.Write) error {
	t := v.use.t
	t.Helper()
	for i := range writes {
		checkRecord(t, "Put", &writes[i].Record)
		if revision := writes[i].Revision; revision != 0 && revision != writes[i].Expected && revision != writes[i].Next() {
			t.Errorf("Put: revision %d of %s on %d", revision, writes[i].ID, writes[i].Expected)
		}
	}
	return v.use.call("Put", func() error { return v.tx.Put(ctx, collection, writes) }, store.CodeConflict)
}

func (v *checkedTx) Append(ctx context.Context, changes []store.Change) error {
	v.use.t.Helper()
	return v.use.call("Append", func() error { return v.tx.Append(ctx, changes) })
}

// checkRecord checks the members that every record must have.
func checkRecord(t testing.TB, method string, r *store.Record) {
	t.Helper()
	switch {
	case r.ID == "", r.State == "", method != "Put" && (r.Revision < 1 || r.Version < 1):
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
