package store

import (
	"context"
	"encoding/json"
	"time"
)

// ReadOne reads a record, and its document into a value unless that is nil. The record is
// returned without the document; its revision is 0 if there is none.
func ReadOne(ctx context.Context, s Snapshot, collection string, key Key, into any) (Record, error) {
	found := Record{Key: key}
	err := s.Get(ctx, collection, []Key{key}, func(r *Record) error {
		found = *r
		found.Key, found.Document, found.Warnings = key, nil, nil
		if into == nil {
			return nil
		}
		return json.Unmarshal(r.Document, into)
	})
	return found, err
}

// PutInternal stores a value in a record that the service keeps for itself, over the
// record that ReadOne has returned.
func PutInternal(ctx context.Context, tx Tx, collection string, was Record, state string, value any, now time.Time) error {
	content, err := json.Marshal(value) // #nosec G117 -- whoever stores a secret has encrypted it
	if err != nil {
		return err
	}
	return tx.Put(ctx, collection, []Write{InternalWrite(was, state, content, now)})
}

// Drop removes records that have no claims and no terms, at any revision. Those that do not
// exist are ignored.
func Drop(ctx context.Context, tx Tx, collection string, keys []Key) error {
	writes := make([]Write, len(keys))
	for i, key := range keys {
		writes[i].Key = key
	}
	return tx.Remove(ctx, collection, writes)
}

// InternalWrite returns the write of a record that the service keeps for itself. Was
// is the stored record or, for a new one, a record with the key alone.
func InternalWrite(was Record, state string, document []byte, now time.Time) Write {
	now = now.UTC().Truncate(time.Millisecond)
	record := Record{Key: was.Key, State: state, CreateTime: was.CreateTime, UpdateTime: now, Document: document}
	if was.Revision == 0 {
		record.CreateTime = now
	}
	return Write{Record: record, Expected: was.Revision, Was: was.State}
}
