package sqlite

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"time"

	"marquee/engine/document"
	"marquee/engine/query"
	"marquee/engine/store"
)

// view is a store.Snapshot on a connection that has a transaction open.
type view struct {
	s    *Store
	conn *conn
	ctx  context.Context
	// begun and fixed are the revisions before and after the snapshot was
	// taken: it is exactly that of a collection's revision where both have the
	// same, even one. They are nil in a transaction that writes, which keeps
	// no counts.
	begun, fixed map[string]uint64
	// broken is the error that ended the view.
	broken error
}

var errEnded = &store.Error{Code: store.CodeInternal, Text: "a transaction was used after its function had returned"}

func (v *view) guard(ctx context.Context) error {
	if v.broken == nil && ctx.Err() != nil {
		v.broken = deadline(ctx)
	}
	return v.broken
}

// query runs a statement that reads. An error of row is not the store's, and
// comes back as it is; any other ends the view.
func (v *view) query(ctx context.Context, sql string, args []any, row func(*stmt) error) error {
	if err := v.guard(ctx); err != nil {
		return err
	}
	var own error
	err := v.conn.rows(sql, args, func(s *stmt) error {
		own = row(s)
		return own
	})
	if own != nil {
		return own
	}
	return v.ended(err)
}

func (v *view) ended(err error) error {
	if err != nil {
		v.broken = translate(v.ctx, err)
	}
	return v.broken
}

// Read implements store.Store.
func (s *Store) Read(ctx context.Context, fn func(store.Snapshot) error) error {
	var c *conn
	select {
	case c = <-s.readers:
	case <-ctx.Done():
		return &store.Error{Code: store.CodeDeadline, Text: "all readers were busy until the deadline", Cause: ctx.Err()}
	case <-s.closing:
		return errClosed
	}
	defer func() {
		c.setContext(context.Background())
		_ = c.run("COMMIT") // of a read transaction: nothing to lose
		c.tidy()
		s.readers <- c
	}()
	v := &view{s: s, conn: c, ctx: ctx, begun: s.revs.load()}
	if err := c.run("BEGIN"); err != nil {
		return translate(ctx, err)
	}
	// SQLite takes the snapshot when a transaction first reads. That must not
	// be left to fn, whose first question may be answered from memory.
	if _, err := c.number("SELECT 1 FROM claims LIMIT 1"); err != nil {
		return translate(ctx, err)
	}
	v.fixed = s.revs.load()
	c.setContext(ctx)
	defer func() { v.broken = errEnded }()
	return fn(v)
}

const recordColumns = "network,id,version,state,create_time,update_time,create_user,update_user,warnings,doc"

// record reads a row of recordColumns. Its byte slices are SQLite's memory,
// which is used again after the next step.
func (s *stmt) record(r *store.Record) {
	r.Network, r.ID = s.ColumnText(0), s.ColumnText(1)
	r.Version, r.State = s.ColumnInt64(2), stateOf(s.ColumnRawText(3))
	r.CreateTime, r.UpdateTime = time.UnixMilli(s.ColumnInt64(4)).UTC(), time.UnixMilli(s.ColumnInt64(5)).UTC()
	r.CreateUser, r.UpdateUser = s.ColumnText(6), s.ColumnText(7)
	r.Warnings, r.Document = s.ColumnRawText(8), s.ColumnRawText(9)
}

// stateOf avoids a copy of the usual states.
func stateOf(text []byte) string {
	for _, state := range [...]string{"ACTIVE", "INACTIVE", "HIDDEN"} {
		if string(text) == state {
			return state
		}
	}
	return string(text)
}

// byNetwork groups keys; most calls have one network.
func byNetwork(keys []store.Key) map[string][]string {
	groups := map[string][]string{}
	for _, key := range keys {
		groups[key.Network] = append(groups[key.Network], key.ID)
	}
	return groups
}

// ids is the condition that names some ids, and its parameter. A list of any
// length is one statement.
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

func (v *view) Get(ctx context.Context, collection string, keys []store.Key, yield func(*store.Record) error) error {
	var record store.Record
	for network, ids := range byNetwork(keys) {
		condition, list := idCondition(ids)
		sql := "SELECT " + recordColumns + " FROM " + table(collection) + " WHERE network=? AND " + condition
		err := v.query(ctx, sql, []any{network, list}, func(s *stmt) error {
			s.record(&record)
			return yield(&record)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *view) Labels(ctx context.Context, collection, property string, keys []store.Key) (map[store.Key]string, error) {
	labels := make(map[store.Key]string, len(keys))
	label := expression(query.Field{Path: []query.Step{{Name: property}}})
	for network, ids := range byNetwork(keys) {
		condition, list := idCondition(ids)
		sql := "SELECT id," + label + " FROM " + table(collection) + " WHERE network=? AND " + condition
		err := v.query(ctx, sql, []any{network, list}, func(s *stmt) error {
			labels[store.Key{Network: network, ID: s.ColumnText(0)}] = s.ColumnText(1)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return labels, nil
}

// Find walks the order in at most two segments, so that a position behind
// which it starts is a range of the index: the records whose key is absent,
// which come first in ascending order, and the others.
func (v *view) Find(ctx context.Context, q query.Query, yield func(*store.Record) error) error {
	p, err := v.plan(ctx, q)
	if err != nil {
		return err
	}
	remaining := q.Limit
	var record store.Record
	for _, segment := range segments(q) {
		if remaining <= 0 {
			return nil
		}
		sql, args := findSQL(p, segment, remaining)
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

// segment is a condition on the order's key, with its parameters.
type segment struct {
	sql  string
	args []any
	// byID says that all keys are the same: only the id orders. SQLite does
	// not see that by itself, and would sort.
	byID bool
}

func segments(q query.Query) []segment {
	if q.After == nil {
		return []segment{{}}
	}
	key, after, more := expression(q.Order.Field), ">", ">="
	if q.Order.Descending {
		after, more = "<", "<="
	}
	if q.Order.Field.System == query.ID {
		return []segment{{sql: "id" + after + "?", args: []any{q.After.ID}}}
	}
	value := column(q.Order.Field, q.After.Key)
	// All values are at least -9e999, which is less than any number: unlike IS
	// NOT NULL, this is a range of an index.
	absent, present := segment{sql: key + " IS NULL", byID: true}, segment{sql: key + ">=-9e999"}
	if value == nil {
		absent.sql += " AND id" + after + "?"
		absent.args = []any{q.After.ID}
	} else {
		present.sql = fmt.Sprintf("%[1]s%[3]s? AND (%[1]s%[2]s? OR id%[2]s?)", key, after, more)
		present.args = []any{value, value, q.After.ID}
	}
	switch {
	case q.Order.Field.System != query.NotSystem:
		return []segment{present}
	case q.Order.Descending && value == nil:
		return []segment{absent}
	case q.Order.Descending:
		return []segment{present, absent}
	case value == nil:
		return []segment{absent, present}
	}
	return []segment{present}
}

func findSQL(q plan, within segment, limit int) (string, []any) {
	c := where(q)
	if within.sql != "" {
		c.WriteString(" AND " + within.sql)
		c.args = append(c.args, within.args...)
	}
	direction := ""
	if q.Order.Descending {
		direction = " DESC"
	}
	order := "id" + direction
	if q.Order.Field.System != query.ID && !within.byID {
		order = expression(q.Order.Field) + direction + "," + order
	}
	sql := "SELECT " + recordColumns + " FROM " + table(q.Collection) + " WHERE " + c.String() + " ORDER BY " + order + " LIMIT ?"
	args := append(c.args, limit)
	if q.Offset > 0 && q.After == nil {
		sql += " OFFSET ?"
		args = append(args, q.Offset)
	}
	return sql, args
}

func (v *view) Count(ctx context.Context, q query.Query) (int64, error) {
	p, err := v.plan(ctx, q)
	if err != nil {
		return 0, err
	}
	if err := v.guard(ctx); err != nil {
		return 0, err
	}
	sql, args := countSQL(p)
	revision := v.begun[q.Collection]
	key := countKey(sql, args)
	exact := v.fixed != nil && revision&1 == 0 && v.fixed[q.Collection] == revision
	if exact {
		if n, ok := v.s.counts.get(key, revision); ok {
			return n, nil
		}
	}
	n, err := v.conn.number(sql, args...)
	if err == nil && exact {
		v.s.counts.put(key, revision, n)
	}
	return n, v.ended(err)
}

func countSQL(q plan) (string, []any) {
	c := where(q)
	return "SELECT count(*) FROM " + table(q.Collection) + " WHERE " + c.String(), c.args
}

// countKey stands for a count in little memory: its statement may be long.
func countKey(sql string, args []any) [sha256.Size]byte {
	digest := sha256.New()
	fmt.Fprint(digest, sql)
	for _, arg := range args {
		fmt.Fprintf(digest, "\x00%T:%v", arg, arg)
	}
	return [sha256.Size]byte(digest.Sum(nil))
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

const changeColumns = "seq,time,network,collection,id,version,user,owner,fields,notices"

func (s *stmt) change() store.Change {
	return store.Change{
		Position: strconv.FormatInt(s.ColumnInt64(0), 10), Time: time.UnixMilli(s.ColumnInt64(1)).UTC(),
		Network: s.ColumnText(2), Collection: s.ColumnText(3), ID: s.ColumnText(4),
		Version: s.ColumnInt64(5), User: s.ColumnText(6), Owner: s.ColumnText(7),
		Fields: slices.Clone(s.ColumnRawText(8)), Notices: slices.Clone(s.ColumnRawText(9)),
	}
}

// historyWhere is the condition of a history query, with its parameters.
// Before a list of collections stands unindexed, which is a plus where the
// order of the changes is wanted: SQLite would leave it for the list's sake.
func historyWhere(q store.HistoryQuery, unindexed string) (string, []any) {
	sql, args := " FROM changes WHERE network=?", []any{q.Network}
	if q.Collection != "" {
		sql, args = sql+" AND collection=?", append(args, q.Collection)
	}
	if q.ID != "" {
		sql, args = sql+" AND id=?", append(args, q.ID)
	}
	if q.Collections != nil {
		names := make([]any, len(q.Collections))
		for i, name := range q.Collections {
			names[i] = name
		}
		sql, args = sql+" AND "+unindexed+"collection IN (SELECT value FROM json_each(?))", append(args, document.Append(nil, names))
	}
	return sql, args
}

func (v *view) History(ctx context.Context, q store.HistoryQuery) ([]store.Change, error) {
	where, args := historyWhere(q, "+")
	var changes []store.Change
	err := v.query(ctx, "SELECT "+changeColumns+where+" ORDER BY seq DESC LIMIT ? OFFSET ?", append(args, q.Limit, q.Offset), func(s *stmt) error {
		changes = append(changes, s.change())
		return nil
	})
	return changes, err
}

func (v *view) HistoryCount(ctx context.Context, q store.HistoryQuery) (n int64, err error) {
	where, args := historyWhere(q, "")
	err = v.query(ctx, "SELECT count(*)"+where, args, func(s *stmt) error {
		n = s.ColumnInt64(0)
		return nil
	})
	return n, err
}

// The statements of notices. Those of one change come in their order, as they
// are found.
const (
	noticeWhere    = " WHERE network=? AND owner=? AND +collection IN (SELECT value FROM json_each(?))"
	noticesSQL     = "SELECT seq,time,network,collection,changes.id,version,user,owner,NULL,NULL,notice.value FROM changes, json_each(changes.notices) AS notice" + noticeWhere + " ORDER BY seq DESC LIMIT ? OFFSET ?"
	noticeCountSQL = "SELECT total(json_array_length(notices)) FROM changes" + noticeWhere
)

func noticeArgs(q store.NoticeQuery) []any {
	names := make([]any, len(q.Collections))
	for i, name := range q.Collections {
		names[i] = name
	}
	return []any{q.Network, q.Owner, document.Append(nil, names)}
}

func (v *view) Notices(ctx context.Context, q store.NoticeQuery) ([]store.Notice, error) {
	var notices []store.Notice
	err := v.query(ctx, noticesSQL, append(noticeArgs(q), q.Limit, q.Offset), func(s *stmt) error {
		notices = append(notices, store.Notice{Change: s.change(), Text: slices.Clone(s.ColumnRawText(10))})
		return nil
	})
	return notices, err
}

func (v *view) NoticeCount(ctx context.Context, q store.NoticeQuery) (n int64, err error) {
	err = v.query(ctx, noticeCountSQL, noticeArgs(q), func(s *stmt) error {
		n = s.ColumnInt64(0)
		return nil
	})
	return n, err
}

// Changes implements store.Store.
func (s *Store) Changes(ctx context.Context, after string, limit int, collections ...string) ([]store.Change, string, error) {
	position := int64(0)
	if after != "" {
		var err error
		if position, err = strconv.ParseInt(after, 10, 64); err != nil || position < 0 {
			return nil, "", &store.Error{Code: store.CodeBadPosition, Text: "the position is not one of this store"}
		}
	}
	where, args := " FROM changes WHERE seq>?", []any{position}
	if len(collections) > 0 {
		names := make([]any, len(collections))
		for i, name := range collections {
			names[i] = name
		}
		where, args = where+" AND +collection IN (SELECT value FROM json_each(?))", append(args, document.Append(nil, names))
	}
	var changes []store.Change
	err := s.Read(ctx, func(snapshot store.Snapshot) error {
		v := snapshot.(*view)
		changes = nil
		err := v.query(ctx, "SELECT "+changeColumns+where+" ORDER BY seq LIMIT ?", append(args, limit), func(s *stmt) error {
			changes = append(changes, s.change())
			return nil
		})
		switch {
		case err != nil:
			return err
		case len(changes) < limit && len(collections) > 0:
			// Those that were passed over need not be passed over again.
			after, err = v.end(ctx, after)
		case len(changes) > 0:
			after = changes[len(changes)-1].Position
		}
		return err
	})
	return changes, after, err
}

// End implements store.Store.
func (s *Store) End(ctx context.Context) (position string, err error) {
	err = s.Read(ctx, func(snapshot store.Snapshot) error {
		position, err = snapshot.(*view).end(ctx, "")
		return err
	})
	return position, err
}

// end is the position of the last change, or another where there is none.
func (v *view) end(ctx context.Context, otherwise string) (string, error) {
	err := v.query(ctx, "SELECT seq FROM changes ORDER BY seq DESC LIMIT 1", nil, func(s *stmt) error {
		otherwise = strconv.FormatInt(s.ColumnInt64(0), 10)
		return nil
	})
	return otherwise, err
}
