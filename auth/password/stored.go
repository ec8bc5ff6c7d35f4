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
	err = r.Get(ctx, Collection, []store.Key{{ID: user}}, func(r *store.Record) error {
		revision = r.Revision
		return json.Unmarshal(r.Document, &stored)
	})
	return stored.Hash, revision, err
}

// Put stores the hash of a new password of a user.
func Put(ctx context.Context, tx store.Tx, user, hash string, now time.Time) error {
	content, err := json.Marshal(storedHash{hash})
	if err != nil {
		return err
	}
	was := store.Record{Key: store.Key{ID: user}}
	err = tx.Get(ctx, Collection, []store.Key{was.Key}, func(r *store.Record) error {
		was = *r
		return nil
	})
	if err != nil {
		return err
	}
	return tx.Put(ctx, Collection, []store.Write{store.InternalWrite(was, "ACTIVE", content, now)})
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
		var record store.Record
		var present storedHash
		err := tx.Get(ctx, Collection, []store.Key{{ID: user}}, func(r *store.Record) error {
			record = *r
			return json.Unmarshal(r.Document, &present)
		})
		if err != nil || present.Hash != outdated { // replaced meanwhile
			return err
		}
		record.Document, record.Warnings = content, nil
		return tx.Rewrite(ctx, Collection, []store.Record{record})
	})
}
