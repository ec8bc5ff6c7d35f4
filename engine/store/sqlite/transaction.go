package sqlite

import (
	"cmp"
	"context"
	"fmt"

	"marquee/engine/store"
)

// transaction is a store.Tx on the writer's connection.
type transaction struct {
	view
	*commit
	// announced are the records that the call will probably read, until they are read.
	announced []store.Lookup
	// shared marks a transaction in a savepoint; written is the number of
	// records it has written.
	shared  bool
	written int
}

const (
	insertSQL = `INSERT INTO %s (network,id,revision,version,state,create_time,update_time,create_user,update_user,warnings,doc) VALUES (?,?,?,?,?,?,?,?,?,?,?)`
	updateSQL = `UPDATE %s SET revision=?,version=?,state=?,update_time=?,update_user=?,warnings=?,doc=? WHERE seq=?`
	// rowsSQL finds the rows of records. It is a statement of its own because
	// an UPDATE with RETURNING first copies every page that it changes.
	rowsSQL = `SELECT id,seq,coalesce(revision,version),create_time,state FROM %s WHERE network=? AND `
)

var (
	errVersion = &store.Error{Code: store.CodeConflict, Text: "a record is not at its expected revision"}
	errTaken   = &store.Error{Code: store.CodeConflict, Text: "a unique value is taken by another record"}
)

// errLarge ends a transaction that must run again alone.
var errLarge error = &store.Error{Code: store.CodeConflict, Text: "a large transaction does not share a commit"}

// grow records that the transaction will write more records.
func (t *transaction) grow(n int) error {
	if t.written += n; t.shared && t.written > maxShared {
		t.broken = errLarge
	}
	return t.broken
}

// Put implements store.Tx.
func (t *transaction) Put(ctx context.Context, collection string, writes []store.Write) error {
	if err := t.guard(ctx); err != nil {
		return err
	}
	if err := t.grow(len(writes)); err != nil {
		return err
	}
	t.touch(collection)
	if err := t.disclaim(writes); err != nil {
		return t.ended(err)
	}
	rows, err := t.rowsOf(collection, writes)
	if err != nil {
		return t.ended(err)
	}
	insert, update := fmt.Sprintf(insertSQL, table(collection)), fmt.Sprintf(updateSQL, table(collection))
	var terms termChanges
	for i := range writes {
		if err := t.guard(ctx); err != nil {
			return err
		}
		write := &writes[i]
		if rows[write.Key].written { // its terms change twice
			if err := terms.write(t.conn, collection); err != nil {
				return t.ended(err)
			}
		}
		before := rows[write.Key]
		if err := t.put(insert, update, write, rows); err != nil {
			return t.ended(err)
		}
		after := rows[write.Key]
		t.record, t.least = place{collection, write.Key}, after.revision
		switch at := (store.Place{Collection: collection, Network: write.Network}); {
		case write.Expected == 0:
			t.tallies.Add(at, after.state, 1)
		case before.state != after.state:
			t.tallies.Move(at, before.state, after.state)
			if err := t.conn.restate(collection, after.seq, after.state); err != nil {
				return t.ended(err)
			}
		}
		if err := terms.note(t.conn, write.Network, write.ID, after, write.AddTerms, write.DropTerms); err != nil {
			return t.ended(err)
		}
		for _, claim := range write.AddClaims {
			if err := t.claim(claim, write.ID); err != nil {
				return t.ended(err)
			}
		}
	}
	return t.ended(terms.write(t.conn, collection))
}

// disclaim drops the claims that writes give up.
func (t *transaction) disclaim(writes []store.Write) error {
	for i := range writes {
		for _, claim := range writes[i].DropClaims {
			err := t.conn.run("DELETE FROM claims WHERE collection=? AND network=? AND property=? AND value=? AND id=?",
				claim.Collection, claim.Network, claim.Property, claim.Value, writes[i].ID)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Remove implements store.Tx.
func (t *transaction) Remove(ctx context.Context, collection string, writes []store.Write) error {
	if err := t.guard(ctx); err != nil {
		return err
	}
	if err := t.grow(len(writes)); err != nil {
		return err
	}
	t.touch(collection)
	t.dropped = true
	err := t.disclaim(writes)
	if err != nil {
		return t.ended(err)
	}
	rows, err := t.rowsOf(collection, writes)
	if err != nil {
		return t.ended(err)
	}
	var terms termChanges
	for i := range writes {
		w := &writes[i]
		if w.Expected == 0 {
			if err := t.drop(collection, w.Key); err != nil {
				return t.ended(err)
			}
			continue
		}
		found := rows[w.Key]
		if found.revision != w.Expected || found.revision == 0 {
			return t.ended(errVersion)
		}
		if err := terms.note(t.conn, w.Network, w.ID, found, nil, w.DropTerms); err != nil {
			return t.ended(err)
		}
		if err := t.conn.run("DELETE FROM "+table(collection)+" WHERE seq=?", found.seq); err != nil {
			return t.ended(err)
		}
		t.tallies.Add(store.Place{Collection: collection, Network: w.Network}, found.state, -1)
	}
	return t.ended(terms.write(t.conn, collection))
}

// drop removes a record without terms if it exists.
func (t *transaction) drop(collection string, key store.Key) error {
	return t.conn.rows("DELETE FROM "+table(collection)+" WHERE network=? AND id=? RETURNING state", []any{key.Network, key.ID}, func(s *stmt) error {
		t.tallies.Add(store.Place{Collection: collection, Network: key.Network}, s.ColumnText(0), -1)
		return nil
	})
}

// maxRows is the number of records whose rows a transaction remembers after
// reading them.
const maxRows = 50

// place identifies a record.
type place struct {
	collection string
	key        store.Key
}

// row is the place of a stored record, its revision, what ordered terms repeat of
// it, and whether the current call has written it.
type row struct {
	seq, revision, created int64
	state                  string
	written                bool
}

// rowsOf finds the records that exist, with one query per network for those that
// the transaction has not read before.
func (t *transaction) rowsOf(collection string, writes []store.Write) (map[store.Key]row, error) {
	there, rows := map[string][]string{}, map[store.Key]row{}
	for i := range writes {
		at := place{collection, writes[i].Key}
		if read, ok := t.rows[at]; ok {
			delete(t.rows, at) // its revision is about to change
			rows[at.key] = read
		} else if writes[i].Expected > 0 {
			there[at.key.Network] = append(there[at.key.Network], at.key.ID)
		}
	}
	for network, ids := range there {
		condition, list := idCondition(ids)
		err := t.conn.rows(fmt.Sprintf(rowsSQL, table(collection))+condition, []any{network, list}, func(s *stmt) error {
			rows[store.Key{Network: network, ID: s.ColumnText(0)}] = row{seq: s.ColumnInt64(1), revision: s.ColumnInt64(2),
				created: s.ColumnInt64(3), state: s.ColumnText(4)}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// put writes one record and notes its row.
func (t *transaction) put(insert, update string, w *store.Write, rows map[store.Key]row) error {
	var warnings []byte
	if len(w.Warnings) > 0 {
		warnings = w.Warnings
	}
	created, updated := w.CreateTime.UnixMilli(), w.UpdateTime.UnixMilli()
	revision := w.Next()
	version := cmp.Or(w.Version, revision)
	if w.Expected == 0 {
		err := t.conn.run(insert, w.Network, w.ID, revision, version, w.State, created, updated, w.CreateUser, w.UpdateUser, warnings, w.Document)
		rows[w.Key] = row{t.conn.db.LastInsertRowID(), revision, created, w.State, true}
		return err
	}
	found := rows[w.Key]
	if found.revision != w.Expected {
		return errVersion
	}
	rows[w.Key] = row{found.seq, revision, found.created, w.State, true}
	return t.conn.run(update, revision, version, w.State, updated, w.UpdateUser, warnings, w.Document, found.seq)
}

// claim makes a record the owner of a value. It may own it already.
func (t *transaction) claim(claim store.Claim, id string) error {
	err := errTaken
	failed := t.conn.rows(`INSERT INTO claims (collection,network,property,value,id) VALUES (?,?,?,?,?)
ON CONFLICT DO UPDATE SET id=excluded.id WHERE id=excluded.id RETURNING 1`,
		[]any{claim.Collection, claim.Network, claim.Property, claim.Value, id}, func(*stmt) error {
			err = nil
			return nil
		})
	if failed != nil || err == nil {
		return failed
	}
	return err
}

// Lock implements store.Tx. Writes run one at a time.
func (t *transaction) Lock(ctx context.Context, _ string, _ []store.Key) error { return t.guard(ctx) }

// Append implements store.Tx.
func (t *transaction) Append(ctx context.Context, changes []store.Change) error {
	if err := t.guard(ctx); err != nil {
		return err
	}
	for i := range changes {
		if err := t.guard(ctx); err != nil {
			return err
		}
		c := &changes[i]
		var owner, notices, cause, feedOnly any
		if c.Owner != "" {
			owner, notices = c.Owner, c.Notices
		}
		if len(c.Cause) > 0 {
			cause = c.Cause
		}
		if c.FeedOnly {
			feedOnly = true
		}
		err := t.conn.run("INSERT INTO changes (time,network,collection,id,revision,version,user,fields,owner,notices,cause,feed_only) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
			c.Time.UnixMilli(), c.Network, c.Collection, c.ID, cmp.Or(c.Revision, c.Version), c.Version, c.User, c.Fields, owner, notices, cause, feedOnly)
		if err != nil {
			return t.ended(err)
		}
		if !c.FeedOnly {
			t.tallies.Add(store.Place{Collection: historyTally, Network: c.Network}, c.Collection, 1)
		}
	}
	if len(changes) > 0 {
		t.change = t.conn.db.LastInsertRowID()
	}
	return nil
}
