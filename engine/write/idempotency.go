package write

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/expiry"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/store"
	"marquee/engine/written"
)

// IdempotencyKeys is the collection of the idempotency keys of writes, each written in the
// transaction of its write, and of the secret that their records are made with. The
// records have neither keys nor callers nor values in plain text.
var IdempotencyKeys = store.Collection{Name: "engine_idempotency"}

// idempotencyTime is how long keys are kept.
const idempotencyTime = 24 * time.Hour

// Idempotency identifies a request, so that its repetition writes nothing
// (draft-ietf-httpapi-idempotency-key-header).
type Idempotency struct {
	// Key is chosen by the client. Each caller has keys of its own (access.Caller.Account).
	Key string
	// Request is what the client has sent, besides what the batch has of it: a request that
	// differs is refused.
	Request []byte
}

// Repeated is what the first of several equal calls with an idempotency key has written.
type Repeated struct {
	// Created reports whether the first object was created.
	Created bool
	Objects []written.Key
}

// idempotencyRecord is a record of IdempotencyKeys.
type idempotencyRecord struct {
	// Request is a digest of the request.
	Request []byte `json:"request"`
	Created bool   `json:"created,omitempty"`
	// IDs are the generated ids; the request has the others.
	IDs []string `json:"ids,omitempty"`
}

// idempotency is the key of a Writing.
type idempotency struct {
	caller string // the beginning of the ids of all records of the caller
	key    store.Key
	digest []byte
	// room reports whether another key of the caller can be kept.
	room bool
}

// secretKey is the key of the record with the secret, whose state distinguishes it.
var secretKey = store.Key{ID: "secret"}

// OpenIdempotency reads the secret with which digests are made, and creates it if the store
// has none. It must return before a batch with an idempotency key is written.
func (e *Writer) OpenIdempotency(ctx context.Context) error {
	var stored struct {
		Secret string `json:"secret"`
	}
	place := catalog.SecretPlace(IdempotencyKeys.Name, "", secretKey.ID, document.Pointer{}.At("secret"))
	return e.Store.Write(ctx, func(tx store.Tx) error {
		stored.Secret = ""
		was, err := store.ReadOne(ctx, tx, IdempotencyKeys.Name, secretKey, &stored)
		if err != nil {
			return err
		}
		if was.Revision == 0 {
			plain := rand.Text()
			e.idempotencySecret = []byte(plain)
			if stored.Secret, err = e.Sealer.Seal(plain, place); errors.Is(err, catalog.ErrNoKey) {
				stored.Secret = plain
			} else if err != nil {
				return err
			}
			return store.PutInternal(ctx, tx, IdempotencyKeys.Name, was, "INACTIVE", stored, e.Now())
		}
		stored.Secret, err = e.RevealAt(IdempotencyKeys.Name, stored.Secret, place)
		e.idempotencySecret = []byte(stored.Secret)
		return err
	})
}

// Authenticate returns a digest of values that only servers of the store can make or compare,
// as it depends on the secret. The first value says what the digest is for.
func (e *Writer) Authenticate(values ...any) []byte {
	h := hmac.New(sha256.New, e.idempotencySecret)
	for _, value := range values {
		fmt.Fprintf(h, "%q\n", value)
	}
	return h.Sum(nil)
}

// KeyUnsupported is the error of a request that cannot have an idempotency key.
func KeyUnsupported() error {
	return message.HeaderInvalid.Error(message.Params{"header": "Idempotency-Key", "expected": "absent, as the request sends a file or a password, shows a secret once, or writes no objects"})
}

// identifyRequest finds out what identifies the request of a batch with an idempotency key.
func (w *Writing) identifyRequest(ctx context.Context) (err error) {
	account := w.caller.Account()
	name := func(of []byte) string { return base64.RawURLEncoding.EncodeToString(of[:16]) }
	i := idempotency{caller: name(w.e.Authenticate("caller", account)) + "/"}
	i.key.ID = i.caller + name(w.e.Authenticate("key", account, w.batch.Idempotency.Key))
	values := []any{"request", i.key.ID, w.batch.Network, w.batch.FieldValidation, w.batch.Listed, w.batch.Idempotency.Request}
	for _, c := range w.result.Changes {
		for name := range c.Patch {
			if member := c.Type.Shape.Properties[name]; member != nil && member.WriteOnly { // which a digest could help to guess
				return KeyUnsupported()
			}
		}
		values = append(values, c.Type.Name, c.op.ID)
	}
	i.digest = w.e.Authenticate(values...)
	i.room, err = w.e.keysKept.room(ctx, w.e, i.caller)
	w.idempotency = &i
	return err
}

// repeats reports whether a call with the idempotency key has been made, whose result is
// then that of this one.
func (w *Writing) repeats(ctx context.Context) (bool, error) {
	w.result.Repeated = nil
	i := w.idempotency
	if i == nil {
		return false, nil
	}
	var kept idempotencyRecord
	record, err := store.ReadOne(ctx, w.tx, IdempotencyKeys.Name, i.key, &kept)
	switch {
	case err != nil:
		return false, err
	case record.Revision == 0 && !i.room:
		e := message.IdempotencyKeysTooMany.Error(message.Params{"limit": maxIdempotencyKeys})
		e.RetryAfter = recountTime
		return false, e
	case record.Revision == 0:
		return false, nil
	case !hmac.Equal(kept.Request, i.digest):
		return false, message.IdempotencyKeyReused.Error(message.Params{"field": ""})
	}
	repeated := &Repeated{Created: kept.Created, Objects: make([]written.Key, len(w.prepared))}
	for n, c := range w.prepared {
		id := c.ID
		if c.generated {
			if len(kept.IDs) == 0 {
				return false, message.IdempotencyKeyReused.Error(message.Params{"field": ""})
			}
			id, kept.IDs = kept.IDs[0], kept.IDs[1:]
		}
		repeated.Objects[n] = written.Key{Collection: c.Type.Name, Network: c.Network, ID: id}
	}
	w.result.Repeated = repeated
	return true, nil
}

// keepKey stores the idempotency key with the result of the call.
func (w *Writing) keepKey(ctx context.Context) error {
	i := w.idempotency
	if i == nil {
		return nil
	}
	if w.result.Stored().Once() {
		return KeyUnsupported()
	}
	kept := idempotencyRecord{Request: i.digest, Created: w.result.Created()}
	for _, c := range w.prepared {
		if c.generated {
			kept.IDs = append(kept.IDs, c.ID)
		}
	}
	return store.PutInternal(ctx, w.tx, IdempotencyKeys.Name, store.Record{Key: i.key}, "ACTIVE", kept, w.e.Now())
}

// DropIdempotencyKeys drops the keys that have expired, in small transactions. Of many, it
// leaves some to the next call.
func (e *Writer) DropIdempotencyKeys(ctx context.Context) error {
	kept := query.Compare{Field: query.Field{System: query.State}, Op: query.Equal, Value: "ACTIVE"}
	return expiry.Drop(ctx, e.Store, IdempotencyKeys.Name, kept, func(r *store.Record) (bool, error) {
		return e.Now().Sub(r.CreateTime) > idempotencyTime, nil
	})
}
