package sqlite

import (
	"context"
	"errors"
	"slices"

	"marquee/engine/store"
)

// ahead has the records that the calls of a group have announced (store.Effort.Reads), by
// their collection, so that each is read once for all of them: many calls have the same
// user, network and type. What a call writes is read again, and so is everything after a
// rollback.
type ahead struct {
	records map[string]map[store.Key]readAhead
	bytes   int
}

// readAhead is a record, nil if there is none, and its row.
type readAhead struct {
	record *store.Record
	row    row
}

// aheadBytes limits the memory of what is read ahead. aheadEntry is what an entry takes
// besides the document, at least.
const (
	aheadBytes = 4 << 20
	aheadEntry = 500
)

var errAheadFull = errors.New("sqlite: there is no room for more records that are read ahead")

// of returns what was read of a collection, to which more can be added.
func (a *ahead) of(collection string) map[store.Key]readAhead {
	if a.records == nil {
		a.records = map[string]map[store.Key]readAhead{}
	}
	if a.records[collection] == nil {
		a.records[collection] = map[store.Key]readAhead{}
	}
	return a.records[collection]
}

// forget drops what was read of a collection.
func (a *ahead) forget(collection string) { delete(a.records, collection) }

// forgetAll drops everything.
func (a *ahead) forgetAll() {
	clear(a.records)
	a.bytes = 0
}

// touch notes that the transaction writes to a collection.
func (t *transaction) touch(collection string) {
	t.touched[collection] = true
	t.conn.ahead.forget(collection)
}

// readAhead reads what the call has announced, as far as it is not known and there is room.
// What there is no room for is read when it is asked for.
func (t *transaction) readAhead(ctx context.Context) error {
	a, announced := &t.conn.ahead, t.announced
	t.announced = nil
	for _, lookup := range announced {
		known := a.of(lookup.Collection)
		keys := slices.DeleteFunc(slices.Clone(lookup.Keys), func(key store.Key) bool { _, is := known[key]; return is })
		if a.bytes += len(keys) * aheadEntry; a.bytes > aheadBytes {
			return nil
		}
		err := t.records(ctx, lookup.Collection, keys, func(r *store.Record, at row) error {
			if a.bytes += len(r.Document) + len(r.Warnings); a.bytes > aheadBytes {
				return errAheadFull
			}
			known[r.Key] = readAhead{r.Clone(), at}
			return nil
		})
		if err == errAheadFull {
			return nil
		}
		if err != nil {
			return err
		}
		for _, key := range keys {
			if _, exists := known[key]; !exists {
				known[key] = readAhead{}
			}
		}
	}
	return nil
}

// ReadAhead implements store.Ahead.
func (t *transaction) ReadAhead(yield func(collection string, r *store.Record) error) error {
	for _, lookup := range store.EffortOf(t.ctx).Reads {
		for _, key := range lookup.Keys {
			if r := t.conn.ahead.records[lookup.Collection][key].record; r != nil {
				lent := *r
				if err := yield(lookup.Collection, &lent); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Get implements store.Snapshot.
func (t *transaction) Get(ctx context.Context, collection string, keys []store.Key, yield func(*store.Record) error) error {
	if err := t.guard(ctx); err != nil {
		return err
	}
	if err := t.readAhead(ctx); err != nil {
		return err
	}
	known := t.conn.ahead.records[collection]
	if len(known) == 0 {
		return t.view.Get(ctx, collection, keys, yield)
	}
	others := make([]store.Key, 0, len(keys))
	for _, key := range keys {
		read, is := known[key]
		switch {
		case !is:
			others = append(others, key)
		case read.record != nil:
			t.note(collection, key, read.row)
			lent := *read.record
			if err := yield(&lent); err != nil {
				return err
			}
		}
	}
	return t.view.Get(ctx, collection, others, yield)
}
