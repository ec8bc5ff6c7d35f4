package sqlite

import (
	"context"
	"errors"
	"maps"
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

// forget drops what was read of a collection.
func (a *ahead) forget(collection string) { delete(a.records, collection) }

// forgetAll drops everything.
func (a *ahead) forgetAll() {
	clear(a.records)
	a.bytes = 0
}

// add notes what was read of some keys.
func (a *ahead) add(collection string, keys []store.Key, found map[store.Key]readAhead) {
	if a.records == nil {
		a.records = map[string]map[store.Key]readAhead{}
	}
	if a.records[collection] == nil {
		a.records[collection] = map[store.Key]readAhead{}
	}
	for _, key := range keys {
		read := found[key]
		if a.bytes += aheadEntry; read.record != nil {
			a.bytes += len(read.record.Document) + len(read.record.Warnings)
		}
		a.records[collection][key] = read
	}
}

// touch notes that the transaction writes to a collection.
func (t *transaction) touch(collection string) {
	t.touched[collection] = true
	t.conn.ahead.forget(collection)
}

// readAhead reads what the call has announced, as far as it is not known and there is room.
func (t *transaction) readAhead(ctx context.Context) error {
	a, announced := &t.conn.ahead, t.announced
	t.announced = nil
	for _, lookup := range announced {
		known := a.records[lookup.Collection]
		keys := slices.DeleteFunc(slices.Clone(lookup.Keys), func(key store.Key) bool { _, is := known[key]; return is })
		if len(keys) == 0 || a.bytes > aheadBytes {
			continue
		}
		found, bytes := make(map[store.Key]readAhead, len(keys)), a.bytes
		err := t.records(ctx, lookup.Collection, keys, func(r *store.Record, at row) error {
			if bytes += aheadEntry + len(r.Document) + len(r.Warnings); bytes > aheadBytes {
				return errAheadFull
			}
			found[r.Key] = readAhead{r.Clone(), at}
			return nil
		})
		if err == errAheadFull { // the others are read when they are asked for
			keys = slices.Collect(maps.Keys(found))
		} else if err != nil {
			return err
		}
		a.add(lookup.Collection, keys, found)
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
	known, others := t.conn.ahead.records[collection], keys
	if len(known) > 0 {
		others = make([]store.Key, 0, len(keys))
		for _, key := range keys {
			read, is := known[key]
			if !is {
				others = append(others, key)
			} else if read.record != nil {
				t.note(collection, key, read.row)
				lent := *read.record
				if err := yield(&lent); err != nil {
					return err
				}
			}
		}
	}
	return t.view.Get(ctx, collection, others, yield)
}
