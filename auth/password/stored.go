package password

import (
	"context"
	"encoding/json"
	"time"

	"marquee/engine/store"
)

// Collection has the hashes of passwords by the ids of their users. They are apart from the
// users, so that no request can read them. The revision of a record is raised by a new
// password, which invalidates the tokens of the user.
const Collection = "auth_credentials"

// Collections returns the collections that the store must have for this package.
func Collections() []store.Collection {
	return []store.Collection{{Name: Collection}, {Name: attemptCollection}, {Name: addressCollection}}
}

// storedHash is a record of Collection.
type storedHash struct {
	Hash string `json:"hash"`
}

// Stored returns the hash of a user's password and its revision, "" and 0 without one.
func Stored(ctx context.Context, r store.Snapshot, user string) (hash string, revision int64, err error) {
	var stored storedHash
	record, err := store.ReadOne(ctx, r, Collection, store.Key{ID: user}, &stored)
	return stored.Hash, record.Revision, err
}

// Put stores the hash of a new password of a user.
func Put(ctx context.Context, tx store.Tx, user, hash string, now time.Time) error {
	was, err := store.ReadOne(ctx, tx, Collection, store.Key{ID: user}, nil)
	if err != nil {
		return err
	}
	return store.PutInternal(ctx, tx, Collection, was, "ACTIVE", storedHash{hash}, now)
}

// Raise replaces a hash that is Outdated by one with the parameters of Hash. The revision
// stays, so that sessions go on. If it fails, the next sign-in tries again.
func Raise(ctx context.Context, s store.Store, from, user, password, outdated string) {
	hash, err := Hash(ctx, from, password)
	if err != nil {
		return
	}
	content, err := json.Marshal(storedHash{hash})
	if err != nil {
		return
	}
	_ = s.Write(ctx, func(tx store.Tx) error {
		var present storedHash
		record, err := store.ReadOne(ctx, tx, Collection, store.Key{ID: user}, &present)
		if err != nil || present.Hash != outdated { // replaced meanwhile
			return err
		}
		record.Document, record.Warnings = content, nil
		return tx.Rewrite(ctx, Collection, []store.Record{record})
	})
}
