package auth

import (
	"context"
	"slices"
	"time"

	"marquee/auth/apitoken"
	"marquee/auth/seal"
	"marquee/auth/session"
	"marquee/auth/signing"
	"marquee/engine/store"
)

// EndAccess makes all access, refresh and API tokens of a store invalid that nobody serves.
// The objects of API tokens remain, without their secrets.
func EndAccess(ctx context.Context, s store.Store, sealer *seal.Sealer) error {
	keys, err := signing.Open(ctx, signing.Config{Store: s, Sealer: sealer, Now: time.Now})
	if err != nil {
		return err
	}
	if err := keys.Replace(ctx); err != nil {
		return err
	}
	for _, collection := range slices.Concat(session.Collections(), apitoken.Collections()) {
		if err := dropAll(ctx, s, collection.Name); err != nil {
			return err
		}
	}
	return nil
}

// dropAll drops the records of a collection.
func dropAll(ctx context.Context, s store.Store, collection string) error {
	const perTransaction = 500
	for n := perTransaction; n == perTransaction; {
		err := s.Write(ctx, func(tx store.Tx) error {
			var keys []store.Key
			err := tx.Scan(ctx, collection, store.Key{}, perTransaction, func(r *store.Record) error {
				keys = append(keys, r.Key)
				return nil
			})
			if n = len(keys); err != nil || n == 0 {
				return err
			}
			return store.Drop(ctx, tx, collection, keys)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
