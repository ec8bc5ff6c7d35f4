// Package expiry drops records of a store that have expired. It imports query and store.
package expiry

import (
	"context"

	"marquee/engine/query"
	"marquee/engine/store"
)

const (
	// first is the number of records that Drop looks at if none has expired.
	first = 20
	// perRound is the number of records that one transaction drops.
	perRound = 500
	// rounds is the number of transactions of a Drop.
	rounds = 100
)

// Drop drops the oldest records of a collection while they have expired, of those that
// match a condition, which may be nil. Of many, it leaves some to the next call.
func Drop(ctx context.Context, s store.Store, collection string, where query.Expr, expired func(*store.Record) (bool, error)) error {
	q := query.Query{Collection: collection, Where: where,
		Order: query.Order{Field: query.Field{System: query.CreateTime, Kind: query.Time}}}
	q.Limit = first
	for range rounds {
		var keys []store.Key
		keep := func(r *store.Record) error {
			drop, err := expired(r)
			if drop {
				keys = append(keys, r.Key)
			}
			return err
		}
		err := s.Read(ctx, func(r store.Snapshot) error {
			keys = nil
			return r.Find(ctx, q, keep)
		})
		if err != nil || len(keys) == 0 {
			return err
		}
		found := keys
		err = s.Write(ctx, func(tx store.Tx) error {
			keys = nil // one may have been replaced since it was found
			if err := tx.Get(ctx, collection, found, keep); err != nil {
				return err
			}
			return store.Drop(ctx, tx, collection, keys)
		})
		if err != nil || len(found) < q.Limit {
			return err
		}
		q.Limit = perRound
	}
	return nil
}
