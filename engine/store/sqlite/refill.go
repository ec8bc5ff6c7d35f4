package sqlite

import (
	"context"
	"errors"
	"fmt"

	"marquee/engine/store"
)

// Scan implements store.Snapshot.
func (v *view) Scan(ctx context.Context, collection string, after store.Key, limit int, yield func(*store.Record) error) error {
	var record store.Record
	sql := "SELECT " + recordColumns + " FROM " + table(collection) + " WHERE (network,id)>(?,?) ORDER BY network,id LIMIT ?"
	return v.query(ctx, sql, []any{after.Network, after.ID, limit}, func(s *stmt) error {
		s.record(&record)
		return yield(&record)
	})
}

// Forget implements store.Store.
func (s *Store) Forget(ctx context.Context, collection string, terms, properties []string) error {
	err := s.writer.submit(ctx, func(t *transaction) error {
		t.touched[collection] = true
		var err error
		for _, key := range terms {
			err = errors.Join(err, t.conn.run("DELETE FROM "+termTable(collection)+" WHERE key=?", key))
		}
		for _, property := range properties {
			err = errors.Join(err, t.conn.run("DELETE FROM claims WHERE collection=? AND property=?", collection, property))
		}
		return err
	})
	return translate(ctx, err)
}

// Index implements store.Tx.
func (t *transaction) Index(ctx context.Context, collection string, entries []store.Entry) error {
	if err := t.guard(ctx); err != nil {
		return err
	}
	t.touched[collection] = true
	addTerm := fmt.Sprintf(addTermSQL, termTable(collection))
	find := "SELECT seq FROM " + table(collection) + " WHERE network=? AND id=?"
	for _, entry := range entries {
		record, err := t.conn.number(find, entry.Network, entry.ID)
		if err == nil && record == 0 {
			err = errVersion
		}
		for _, term := range entry.Terms {
			err = errors.Join(err, t.conn.run(addTerm, entry.Network, term.Key, term.Value, record))
		}
		for _, claim := range entry.Claims {
			err = errors.Join(err, t.claim(claim, entry.ID))
		}
		if err != nil {
			return t.ended(err)
		}
	}
	return nil
}
