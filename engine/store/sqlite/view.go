package sqlite

import (
	"context"
	"slices"
	"strings"
	"time"

	"marquee/engine/document"
	"marquee/engine/query"
	"marquee/engine/store"
	"marquee/engine/turn"
)

// view is a store.Snapshot on a connection with an open transaction.
type view struct {
	s    *Store
	conn *conn
	ctx  context.Context
	// untaken reports whether the snapshot has yet to be taken, which SQLite
	// does at the first read. The snapshot sees the commits up to since and some
	// of maybe, in order, unless that is unknown.
	untaken, unknown bool
	since            uint64
	maybe            []*commit
	// rows has the places of some records that a write transaction has read.
	rows map[place]row
	// broken is the error that ended the view.
	broken error
}

var errEnded = &store.Error{Code: store.CodeInternal, Text: "a transaction was used after its function had returned"}

func (v *view) guard(ctx context.Context) error {
	if v.broken == nil && (ctx.Err() != nil || v.ctx.Err() != nil) {
		v.broken = deadline(ctx)
	}
	return v.broken
}

// query runs a statement that reads. An error of row is returned unchanged; any
// other ends the view.
func (v *view) query(ctx context.Context, sql string, args []any, row func(*stmt) error) error {
	if err := v.guard(ctx); err != nil {
		return err
	}
	defer v.interruptible()()
	var own error
	err := v.conn.rows(sql, args, func(s *stmt) error {
		v.taken()
		own = row(s)
		return own
	})
	v.taken()
	if own != nil {
		return own
	}
	return v.ended(err)
}

// taken notes that SQLite has taken the snapshot.
func (v *view) taken() {
	if v.untaken {
		var known bool
		v.maybe, known = v.s.commits.between(v.since)
		v.untaken, v.unknown = false, !known
	}
}

// take makes SQLite take the snapshot.
func (v *view) take() error {
	if !v.untaken {
		return nil
	}
	_, err := v.conn.number("SELECT 1 FROM claims LIMIT 1")
	v.taken()
	return err
}

// interruptible makes statements that read end with the context, until end is
// called. Statements that write are not interrupted, because SQLite would roll
// back the whole transaction, which others share.
func (v *view) interruptible() (end func()) {
	v.conn.setContext(v.ctx)
	return func() { v.conn.setContext(context.Background()) }
}

func (v *view) ended(err error) error {
	if err != nil {
		v.broken = v.s.observe(v.ctx, err)
	}
	return v.broken
}

// Read implements store.Store.
func (s *Store) Read(ctx context.Context, fn func(store.Snapshot) error) error {
	if ctx.Err() != nil {
		return deadline(ctx)
	}
	effort, began := store.EffortOf(ctx), time.Now()
	if effort.Extensive {
		if err := s.walking.Enter(ctx, effort.Caller, 1); err != nil {
			waited(s.measured.connectionWaits, effort, time.Since(began))
			return notRead(err)
		}
		defer s.walking.Leave(effort.Caller, 1)
	}
	err := s.reading.Enter(ctx, effort.Caller, 1)
	waited(s.measured.connectionWaits, effort, time.Since(began))
	if err != nil {
		return notRead(err)
	}
	defer s.reading.Leave(effort.Caller, 1)
	if !effort.Extensive {
		return s.readOnce(ctx, fn)
	}
	if ended, err := s.readEndable(ctx, fn); !ended {
		return err
	}
	defer s.walks.repeat()()
	return s.readOnce(ctx, fn)
}

// readEndable is readOnce for a read that may be ended for the log, and reports whether it was.
func (s *Store) readEndable(ctx context.Context, fn func(store.Snapshot) error) (ended bool, err error) {
	endable, done := s.walks.begin(ctx)
	defer done()
	err = s.readOnce(endable, fn)
	return context.Cause(endable) == errInTheWay, err
}

// readOnce runs fn on a snapshot that ends with the context.
func (s *Store) readOnce(ctx context.Context, fn func(store.Snapshot) error) error {
	c := s.readers.take()
	defer func() {
		_ = c.run("COMMIT") // of a read transaction: nothing to lose
		c.tidy()
		s.readers.give(c)
	}()
	if err := c.limitCache(); err != nil {
		return s.observe(ctx, err)
	}
	v := &view{s: s, conn: c, ctx: ctx, since: s.commits.begin(), untaken: true}
	if err := c.run("BEGIN"); err != nil {
		return s.observe(ctx, err)
	}
	defer func() { v.broken = errEnded }()
	return fn(v)
}

// notRead translates an error of places for reads.
func notRead(err error) error {
	if err == turn.ErrClosed {
		return errClosed
	}
	return &store.Error{Code: store.CodeBusy, Text: "all readers were busy until the deadline", Cause: err}
}

const recordColumns = "network,id,coalesce(revision,version),version,state,create_time,update_time,create_user,update_user,warnings,doc"

// seqColumn is the column that follows those of the record in a Get.
const seqColumn = 11

// record reads a row of recordColumns. Its byte slices are SQLite's memory,
// which the next step reuses.
func (s *stmt) record(r *store.Record) {
	r.Network, r.ID = s.ColumnText(0), s.ColumnText(1)
	r.Revision, r.Version, r.State = s.ColumnInt64(2), s.ColumnInt64(3), stateOf(s.ColumnRawText(4))
	r.CreateTime, r.UpdateTime = time.UnixMilli(s.ColumnInt64(5)).UTC(), time.UnixMilli(s.ColumnInt64(6)).UTC()
	r.CreateUser, r.UpdateUser = s.ColumnText(7), s.ColumnText(8)
	r.Warnings, r.Document = s.ColumnRawText(9), s.ColumnRawText(10)
}

// stateOf avoids allocating the usual states.
func stateOf(text []byte) string {
	for _, state := range [...]string{"ACTIVE", "INACTIVE", "HIDDEN"} {
		if string(text) == state {
			return state
		}
	}
	return string(text)
}

// idsOf are ids of one network.
type idsOf struct {
	network string
	ids     []string
}

// byNetwork groups keys by network. Most calls have one.
func byNetwork(keys []store.Key) []idsOf {
	var groups []idsOf
	number := map[string]int{} // of the group of a network
	for _, key := range keys {
		i, known := number[key.Network]
		if !known {
			i = len(groups)
			number[key.Network] = i
			groups = append(groups, idsOf{key.Network, nil})
		}
		groups[i].ids = append(groups[i].ids, key.ID)
	}
	return groups
}

// idCondition returns the condition on some ids and its parameter. The
// statement is the same for any number of ids.
func idCondition(ids []string) (string, any) {
	if len(ids) == 1 {
		return "id=?", ids[0]
	}
	list := []byte{'['}
	for i, id := range ids {
		if i > 0 {
			list = append(list, ',')
		}
		list = document.AppendString(list, id)
	}
	return "id IN (SELECT value FROM json_each(?))", append(list, ']')
}

// byKeys reads columns of a table, or of several that are joined, for the records of keys.
func (v *view) byKeys(ctx context.Context, from string, keys []store.Key, columns string, row func(network string, s *stmt) error) error {
	for _, group := range byNetwork(keys) {
		condition, list := idCondition(group.ids)
		sql := "SELECT " + columns + " FROM " + from + " WHERE network=? AND " + condition
		err := v.query(ctx, sql, []any{group.network, list}, func(s *stmt) error { return row(group.network, s) })
		if err != nil {
			return err
		}
	}
	return nil
}

// Get implements store.Snapshot.
func (v *view) Get(ctx context.Context, collection string, keys []store.Key, yield func(*store.Record) error) error {
	return v.records(ctx, collection, keys, func(r *store.Record, at row) error {
		v.note(collection, r.Key, at)
		return yield(r)
	})
}

// records yields the lent records of keys, with their rows.
func (v *view) records(ctx context.Context, collection string, keys []store.Key, yield func(*store.Record, row) error) error {
	var record store.Record
	return v.byKeys(ctx, table(collection), keys, recordColumns+",seq", func(_ string, s *stmt) error {
		s.record(&record)
		return yield(&record, row{seq: s.ColumnInt64(seqColumn), revision: record.Revision, created: record.CreateTime.UnixMilli(), state: record.State})
	})
}

// note remembers the row of a record, in a write transaction.
func (v *view) note(collection string, key store.Key, at row) {
	if v.rows != nil && len(v.rows) < maxRows {
		v.rows[place{collection, key}] = at
	}
}

// Labels implements store.Snapshot.
func (v *view) Labels(ctx context.Context, queries ...store.LabelQuery) ([]map[store.Key]string, error) {
	results := make([]map[store.Key]string, len(queries))
	for i, q := range queries {
		labels, err := v.labels(ctx, q)
		if err != nil {
			return nil, err
		}
		results[i] = labels
	}
	return results, nil
}

func (v *view) labels(ctx context.Context, q store.LabelQuery) (map[store.Key]string, error) {
	labels := make(map[store.Key]string, len(q.Keys))
	switch {
	case q.Find != nil:
		return labels, v.findLabels(ctx, *q.Find, q.Property, labels)
	case q.Where != nil:
		return labels, v.labelsWhere(ctx, q, labels)
	}
	label := "''"
	if q.Property != "" {
		label = expression(query.Field{Path: []query.Step{{Name: q.Property}}})
	}
	return labels, v.byKeys(ctx, table(q.Collection), q.Keys, "id,"+label, func(network string, s *stmt) error {
		labels[store.Key{Network: network, ID: s.ColumnText(0)}] = s.ColumnText(1)
		return nil
	})
}

// labelsAtOnce is the number of ids in a statement that also has a condition.
const labelsAtOnce = 500

// labelsWhere adds the labels of the records of keys that meet a condition.
func (v *view) labelsWhere(ctx context.Context, q store.LabelQuery, labels map[store.Key]string) error {
	id := query.Field{System: query.ID, Kind: query.String}
	for _, group := range byNetwork(q.Keys) {
		for some := range slices.Chunk(group.ids, labelsAtOnce) {
			among := query.In{Field: id}
			for _, id := range some {
				among.Values = append(among.Values, id)
			}
			err := v.findLabels(ctx, query.Query{Collection: q.Collection, Network: group.network, Where: query.And{among, q.Where},
				Order: query.Order{Field: id}, Limit: len(some)}, q.Property, labels)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// findLabels adds the labels of the records that a query finds.
func (v *view) findLabels(ctx context.Context, q query.Query, property string, labels map[store.Key]string) error {
	return v.Find(ctx, q, func(r *store.Record) error {
		labels[store.Key{Network: q.Network, ID: strings.Clone(r.ID)}] = document.MemberText(r.Document, property)
		return nil
	})
}

// Find implements store.Snapshot.
func (v *view) Find(ctx context.Context, q query.Query, yield func(*store.Record) error) error {
	p, err := v.plan(ctx, q, false)
	if err != nil {
		return err
	}
	if p.merged >= 0 {
		return v.findMerged(ctx, p, yield)
	}
	if p.walks() {
		if done, err := v.walk(ctx, &p, yield); err != nil || done {
			return err
		}
	}
	if err := v.intersect(ctx, &p); err != nil {
		return err
	}
	remaining := p.Limit
	var record store.Record
	for _, segment := range p.segments() {
		if remaining <= 0 {
			return nil
		}
		sql, args := p.findSQL(segment, remaining)
		err := v.query(ctx, sql, args, func(s *stmt) error {
			remaining--
			s.record(&record)
			return yield(&record)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *view) Claims(ctx context.Context, claims []store.Claim) (map[store.Claim]string, error) {
	owners := map[store.Claim]string{}
	for _, claim := range claims {
		err := v.query(ctx, "SELECT id FROM claims WHERE collection=? AND network=? AND property=? AND value=?",
			[]any{claim.Collection, claim.Network, claim.Property, claim.Value}, func(s *stmt) error {
				owners[claim] = s.ColumnText(0)
				return nil
			})
		if err != nil {
			return nil, err
		}
	}
	return owners, nil
}

func (v *view) ClaimsAfter(ctx context.Context, r store.ClaimRange, yield func(store.Claim, string) error) error {
	after := r.After
	return v.query(ctx, "SELECT value,id FROM claims WHERE collection=? AND network=? AND property=? AND value>? AND value>=? AND value<? ORDER BY value LIMIT ?",
		[]any{after.Collection, after.Network, after.Property, after.Value, r.Prefix, store.Beyond(r.Prefix), max(r.Limit, 0)}, func(s *stmt) error {
			claim := after
			claim.Value = s.ColumnText(0)
			return yield(claim, s.ColumnText(1))
		})
}
