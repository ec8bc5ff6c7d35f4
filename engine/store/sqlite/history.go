package sqlite

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"marquee/engine/document"
	"marquee/engine/store"
)

const changeColumns = "seq,time,network,collection,changes.id,coalesce(revision,version),version,user,owner,feed_only"

// contentColumns are the columns of a change that are not part of a notice.
const contentColumns = ",fields,cause,notices"

// change reads a row of changeColumns, and content one that also has
// contentColumns. Both return SQLite's memory.
func (s *stmt) change() store.Change {
	return store.Change{
		Position: strconv.FormatInt(s.ColumnInt64(0), 10), Time: time.UnixMilli(s.ColumnInt64(1)).UTC(),
		Network: s.ColumnText(2), Collection: s.ColumnText(3), ID: s.ColumnText(4),
		Revision: s.ColumnInt64(5), Version: s.ColumnInt64(6), User: s.ColumnText(7), Owner: s.ColumnText(8), FeedOnly: s.ColumnBool(9),
	}
}

func (s *stmt) content() store.Change {
	c := s.change()
	c.Fields, c.Cause, c.Notices = s.ColumnRawText(10), s.ColumnRawText(11), s.ColumnRawText(12)
	return c
}

// kept copies a change out of SQLite's memory.
func kept(c store.Change) store.Change {
	c.Fields, c.Cause, c.Notices = slices.Clone(c.Fields), slices.Clone(c.Cause), slices.Clone(c.Notices)
	return c
}

// historyWhere returns the condition of a history query with its parameters. It
// repeats the condition of the indexes, which hold no FeedOnly changes: SQLite
// uses them only then.
//
// Unindexed is written before a list of collections: a plus keeps SQLite from
// choosing an index by the list where the order of the changes is wanted.
func historyWhere(q store.HistoryQuery, unindexed string) (string, []any) {
	sql, args := " FROM changes WHERE feed_only IS NULL AND network=?", []any{q.Network}
	if q.Collection != "" {
		sql, args = sql+" AND collection=?", append(args, q.Collection)
	}
	if q.ID != "" {
		sql, args = sql+" AND id=?", append(args, q.ID)
	}
	if q.IDs != nil {
		sql, args = sql+" AND id IN (SELECT value FROM json_each(?))", append(args, listed(q.IDs))
	}
	if q.Collections != nil {
		sql, args = sql+" AND "+unindexed+"collection IN (SELECT value FROM json_each(?))", append(args, listed(q.Collections))
	}
	return sql, args
}

// listed returns texts as a parameter of json_each.
func listed(texts []string) []byte {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return document.Append(nil, list)
}

// historySQL returns the statement of a page of the history with its
// parameters.
func historySQL(q store.HistoryQuery) (string, []any, error) {
	where, args := historyWhere(q, "+")
	offset := q.Offset
	if q.After != "" {
		seq, err := seqOf(q.After)
		if err != nil {
			return "", nil, err
		}
		where, args, offset = where+" AND seq<?", append(args, seq), 0
	}
	return "SELECT " + changeColumns + contentColumns + where + " ORDER BY seq DESC LIMIT ? OFFSET ?", append(args, q.Limit, offset), nil
}

// seqOf parses a position.
func seqOf(position string) (int64, error) {
	seq, err := strconv.ParseInt(position, 10, 64)
	if err != nil || seq < 0 {
		return 0, &store.Error{Code: store.CodeBadPosition, Text: "the position does not come from this store"}
	}
	return seq, nil
}

// History implements store.Snapshot.
func (v *view) History(ctx context.Context, q store.HistoryQuery, yield func(*store.Change) error) error {
	statement, row := historySQL, (*stmt).content
	if q.Notices {
		statement, row = noticesSQL, (*stmt).notice
	}
	sql, args, err := statement(q)
	if err != nil {
		return err
	}
	return v.query(ctx, sql, args, func(s *stmt) error {
		c := row(s)
		return yield(&c)
	})
}

// historyTally is the name under which the changes of the history are tallied, by
// the collection that they changed.
const historyTally = "changes"

// HistoryCount implements store.Snapshot.
func (v *view) HistoryCount(ctx context.Context, q store.HistoryQuery) (n int64, err error) {
	if q.Notices {
		return v.total(ctx, noticeCountSQL, noticeArgs(q))
	}
	number, known, err := v.number(ctx)
	if known && q.ID == "" && q.IDs == nil {
		return v.s.tallies.Sum(store.Place{Collection: historyTally, Network: q.Network}, number, q.Includes, func() (map[string]int64, error) {
			return v.tally(ctx, "SELECT collection FROM changes WHERE feed_only IS NULL AND network=?", q.Network)
		})
	}
	if err != nil {
		return 0, err
	}
	where, args := historyWhere(q, "")
	return v.total(ctx, "SELECT count(*)"+where, args)
}

// total returns the number that a statement yields.
func (v *view) total(ctx context.Context, sql string, args []any) (n int64, err error) {
	err = v.query(ctx, sql, args, func(s *stmt) error {
		n = s.ColumnInt64(0)
		return nil
	})
	return n, err
}

// The statements of notices. The notices of one change are found in their
// order.
const (
	noticeWhere    = " WHERE network=? AND owner=? AND +collection IN (SELECT value FROM json_each(?))"
	noticeColumns  = "SELECT " + changeColumns + ",notice.key,notice.value FROM changes, json_each(changes.notices) AS notice" + noticeWhere
	noticePage     = " ORDER BY seq DESC LIMIT ? OFFSET ?"
	noticeBehind   = " AND seq<=? AND (seq<? OR notice.key>?)"
	noticeCountSQL = "SELECT total(json_array_length(notices)) FROM changes" + noticeWhere
)

// noticesSQL returns the statement of a page of notices with its parameters.
func noticesSQL(q store.HistoryQuery) (string, []any, error) {
	args := noticeArgs(q)
	if q.After == "" {
		return noticeColumns + noticePage, append(args, q.Limit, q.Offset), nil
	}
	seq, err := seqOf(q.After)
	return noticeColumns + noticeBehind + noticePage, append(args, seq, seq, q.AfterNotice, q.Limit, 0), err
}

func noticeArgs(q store.HistoryQuery) []any {
	return []any{q.Network, q.Owner, listed(q.Collections)}
}

// notice reads a row of a page of notices, whose text is SQLite's memory.
func (s *stmt) notice() store.Change {
	c := s.change()
	c.Notice, c.Notices = int(s.ColumnInt64(10)), s.ColumnRawText(11)
	return c
}

// Changes implements store.Store.
func (s *Store) Changes(ctx context.Context, after string, limit int, collections ...string) ([]store.Change, string, error) {
	position := int64(0)
	if after != "" {
		var err error
		if position, err = seqOf(after); err != nil {
			return nil, "", err
		}
	}
	where, args := " FROM changes WHERE seq>?", []any{position}
	if len(collections) > 0 {
		where, args = where+" AND +collection IN (SELECT value FROM json_each(?))", append(args, listed(collections))
	}
	var changes []store.Change
	err := s.Read(ctx, func(snapshot store.Snapshot) error {
		v := snapshot.(*view)
		changes = nil
		if after != "" {
			if err := v.reaches(ctx, position); err != nil {
				return err
			}
		}
		size := 0
		err := v.query(ctx, "SELECT "+changeColumns+contentColumns+where+" ORDER BY seq LIMIT ?", append(args, limit), func(s *stmt) error {
			c := kept(s.content())
			changes = append(changes, c)
			if size += c.Size(); size >= store.MaxChangesBytes {
				return errFull
			}
			return nil
		})
		if err != nil && !errors.Is(err, errFull) {
			return err
		}
		if len(changes) > 0 {
			after = changes[len(changes)-1].Position
		}
		if err == nil && len(changes) < limit && (len(collections) > 0 || len(changes) == 0) {
			end, err := v.end(ctx, "0")
			if last, _ := seqOf(end); err == nil && last < position {
				return &store.Error{Code: store.CodeBadPosition, Text: "the store does not have the position yet"}
			}
			if after != "" || end != "0" {
				after = end // the next call need not skip the same changes again
			}
			return err
		}
		return nil
	})
	return changes, after, err
}

// errFull ends a query when enough has been read.
var errFull = errors.New("sqlite: enough has been read")

// End implements store.Store.
func (s *Store) End(ctx context.Context) (position string, err error) {
	err = s.Read(ctx, func(snapshot store.Snapshot) error {
		position, err = snapshot.(*view).end(ctx, "0")
		return err
	})
	return position, err
}

// end returns the position of the last change, or otherwise when there is none.
func (v *view) end(ctx context.Context, otherwise string) (string, error) {
	err := v.query(ctx, "SELECT seq FROM changes ORDER BY seq DESC LIMIT 1", nil, func(s *stmt) error {
		otherwise = strconv.FormatInt(s.ColumnInt64(0), 10)
		return nil
	})
	return otherwise, err
}
