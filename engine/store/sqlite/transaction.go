package sqlite

import (
	"context"
	"errors"
	"fmt"

	"marquee/engine/store"
)

// transaction is a store.Tx of the writer.
type transaction struct {
	view
	// touched are the collections that are written.
	touched map[string]bool
	// shared says that it is in a savepoint, written how many records it has
	// written.
	shared  bool
	written int
}

const (
	insertSQL  = `INSERT INTO %s (network,id,version,state,create_time,update_time,create_user,update_user,warnings,doc) VALUES (?,?,?,?,?,?,?,?,?,?)`
	addTermSQL = `INSERT INTO %s (network,key,value,record) VALUES (?,?,?,?) ON CONFLICT DO NOTHING`
	updateSQL  = `UPDATE %s SET version=?,state=?,update_time=?,update_user=?,warnings=?,doc=? WHERE network=? AND id=? AND version=? RETURNING seq`
)

var (
	errVersion = &store.Error{Code: store.CodeConflict, Text: "a record is not at its expected version"}
	errTaken   = &store.Error{Code: store.CodeConflict, Text: "a unique value is taken by another record"}
)

// errLarge ends a transaction that is to be run again by itself.
var errLarge error = &store.Error{Code: store.CodeConflict, Text: "a large transaction does not share a commit"}

// grow notes that so many records are about to be written.
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
	t.touched[collection] = true
	for i := range writes {
		for _, claim := range writes[i].DropClaims {
			err := t.conn.run("DELETE FROM claims WHERE collection=? AND network=? AND property=? AND value=? AND id=?",
				claim.Collection, claim.Network, claim.Property, claim.Value, writes[i].ID)
			if err != nil {
				return t.ended(err)
			}
		}
	}
	insert, update := fmt.Sprintf(insertSQL, table(collection)), fmt.Sprintf(updateSQL, table(collection))
	addTerm := fmt.Sprintf(addTermSQL, termTable(collection))
	dropTerm := "DELETE FROM " + termTable(collection) + " WHERE network=? AND key=? AND value=? AND record=?"
	for i := range writes {
		write := &writes[i]
		record, err := t.put(insert, update, write)
		if err != nil {
			return t.ended(err)
		}
		for _, term := range write.DropTerms {
			err = errors.Join(err, t.conn.run(dropTerm, write.Network, term.Key, term.Value, record))
		}
		for _, term := range write.AddTerms {
			err = errors.Join(err, t.conn.run(addTerm, write.Network, term.Key, term.Value, record))
		}
		for _, claim := range write.AddClaims {
			err = errors.Join(err, t.claim(claim, write.ID))
		}
		if err != nil {
			return t.ended(err)
		}
	}
	return nil
}

// put writes one record and returns its row.
func (t *transaction) put(insert, update string, w *store.Write) (row int64, err error) {
	var warnings []byte
	if len(w.Warnings) > 0 {
		warnings = w.Warnings
	}
	created, updated := w.CreateTime.UnixMilli(), w.UpdateTime.UnixMilli()
	if w.Expected == 0 {
		err := t.conn.run(insert, w.Network, w.ID, w.Version, w.State, created, updated, w.CreateUser, w.UpdateUser, warnings, w.Document)
		return t.conn.db.LastInsertRowID(), err
	}
	err = errVersion
	found := t.conn.rows(update, []any{w.Version, w.State, updated, w.UpdateUser, warnings, w.Document, w.Network, w.ID, w.Expected},
		func(s *stmt) error {
			row, err = s.ColumnInt64(0), nil
			return nil
		})
	if found != nil {
		return 0, found
	}
	return row, err
}

// claim makes a record the owner of a value, which it may be already.
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

// Append implements store.Tx.
func (t *transaction) Append(ctx context.Context, changes []store.Change) error {
	if err := t.guard(ctx); err != nil {
		return err
	}
	for i := range changes {
		c := &changes[i]
		var owner, notices any
		if c.Owner != "" {
			owner, notices = c.Owner, c.Notices
		}
		err := t.conn.run("INSERT INTO changes (time,network,collection,id,version,user,fields,owner,notices) VALUES (?,?,?,?,?,?,?,?,?)",
			c.Time.UnixMilli(), c.Network, c.Collection, c.ID, c.Version, c.User, c.Fields, owner, notices)
		if err != nil {
			return t.ended(err)
		}
	}
	return nil
}
