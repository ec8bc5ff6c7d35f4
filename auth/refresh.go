package auth

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"marquee/auth/signing"
	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/store"
)

// replayed is the error of a refresh token that was used before. Its session has been
// ended: either the client or a thief has an older token than it should (RFC 9700,
// section 4.14.2). Unwrap returns message.InvalidGrant.
type replayed struct {
	error
	user string
}

func (r replayed) Unwrap() error { return r.error }

// Refresh is the refresh_token grant: the token is used up and replaced. Within
// Lifetimes.Reuse after that, it is replaced by the same token again, on any server and
// after any crash; later, it ends its session. With a network, the user must have a
// role in it; a token that is refused for lack of one is not used up.
func (s *Service) Refresh(ctx context.Context, token, network string) (*Tokens, error) {
	used, grant, err := s.findRefresh(ctx, token)
	if err != nil {
		return nil, err
	}
	if used == nil {
		return nil, message.InvalidGrant.Error(nil)
	}
	if s.late(used) {
		return nil, s.replay(ctx, grant)
	}
	if grant.Session == "" { // of a version without sessions
		grant.Session = store.NewID()
	}
	err = s.store.Read(store.Latest(ctx), func(r store.Snapshot) error { return checkMember(ctx, r, grant, network) })
	if err != nil {
		return nil, store.Translate(err)
	}
	successor := s.successor(token)
	late := false
	err = s.store.Write(ctx, func(tx store.Tx) error {
		late, err = s.rotate(ctx, tx, used.Key, successor, &grant)
		return err
	})
	switch {
	case err != nil:
		return nil, store.Translate(err)
	case late:
		return nil, s.replay(ctx, grant)
	}
	return s.issue(ctx, grant, successor)
}

// rotate uses up a refresh token and stores its successor, unless another request has
// done so already; late reports whether that was too long ago.
func (s *Service) rotate(ctx context.Context, tx store.Tx, key store.Key, successor string, grant *refreshDocument) (late bool, err error) {
	used, stored, err := readRefresh(ctx, tx, key.ID)
	if err != nil {
		return false, err
	}
	if used == nil {
		return false, message.InvalidGrant.Error(nil)
	}
	if stored.Session != "" {
		grant.Session = stored.Session
	}
	found, err := readSession(ctx, tx, grant.User, grant.Session)
	if err != nil {
		return false, err
	}
	if found.ended || found.epoch != grant.Epoch {
		return false, message.InvalidGrant.Error(nil)
	}
	if used.State == "ACTIVE" {
		stored.Session = grant.Session
		*grant = stored
		if err := grant.refreshed(s.now().UTC().Truncate(time.Millisecond)); err != nil {
			return false, err
		}
		stored.Next = hashToken(successor)
		content, err := json.Marshal(stored)
		if err != nil {
			return false, err
		}
		if err := tx.Put(ctx, refreshCollection, []store.Write{store.InternalWrite(*used, "INACTIVE", content, s.now())}); err != nil {
			return false, err
		}
		return false, s.putRefresh(ctx, tx, successor, *grant)
	}
	if s.late(used) {
		return true, nil
	}
	next, _, err := readRefresh(ctx, tx, hashToken(successor))
	if err == nil && next == nil { // made with another secret, by a process without a sealer
		err = message.InvalidGrant.Error(nil)
	}
	return false, err
}

// late reports whether a refresh token was used up too long ago to be sent again. The
// clock of the server that has used it up may be ahead.
func (s *Service) late(r *store.Record) bool {
	return r.State != "ACTIVE" && s.now().Sub(r.UpdateTime) >= s.config.Lifetimes.Reuse
}

// replay ends the session of a refresh token that was sent again too late.
func (s *Service) replay(ctx context.Context, grant refreshDocument) error {
	if grant.Session != "" {
		if err := s.endSession(ctx, grant.Session); err != nil {
			return store.Translate(err)
		}
	}
	return replayed{message.InvalidGrant.Error(nil), grant.User}
}

// successor returns the refresh token that replaces one. It can be derived again as
// often as necessary, but only with the secret: the store has only hashes of tokens, and
// a stolen token does not reveal those that follow it.
func (s *Service) successor(token string) string {
	mac := hmac.New(sha256.New, s.secret)
	mac.Write([]byte("refresh token\x00"))
	mac.Write([]byte(token))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

type secretDocument struct {
	Secret string `json:"secret"`
}

const secretID = "refresh"

// openSecret reads the secret that refresh tokens are derived with, and creates it if
// there is none. Without a sealer, it is not stored, and ends with the process.
func openSecret(ctx context.Context, s store.Store, sealer engine.Sealer, service *Service) error {
	service.secret = make([]byte, sha256.Size)
	rand.Read(service.secret)
	if sealer == nil {
		return nil
	}
	key, place, fresh := store.Key{ID: secretID}, secretCollection+"\x00"+secretID, string(service.secret)
	return s.Write(ctx, func(tx store.Tx) error {
		var stored secretDocument
		err := tx.Get(ctx, secretCollection, []store.Key{key}, func(r *store.Record) error {
			return json.Unmarshal(r.Document, &stored)
		})
		if err != nil {
			return err
		}
		if stored.Secret != "" {
			secret, err := sealer.Open(stored.Secret, place)
			if err != nil {
				return fmt.Errorf("the secret of refresh tokens cannot be read: %w", err)
			}
			service.secret = []byte(secret)
			return nil
		}
		if stored.Secret, err = sealer.Seal(fresh, place); err != nil {
			return err
		}
		content, err := json.Marshal(stored) // #nosec G117 -- the secret is sealed
		if err != nil {
			return err
		}
		service.secret = []byte(fresh)
		return tx.Put(ctx, secretCollection, []store.Write{store.InternalWrite(store.Record{Key: key}, "ACTIVE", content, service.now())})
	})
}

const (
	// sweepFirst is the number of records that a sweep looks at if none has expired.
	sweepFirst = 20
	// sweepRound is the number of records that one transaction drops.
	sweepRound = 500
	// sweepRounds is the number of transactions of a sweep.
	sweepRounds = 100
)

// Sweep drops the records of refresh tokens and ended sessions that have expired.
// Of many, it leaves some to the next call.
func (s *Service) Sweep(ctx context.Context) error {
	refresh := func(r *store.Record) (bool, error) {
		var grant refreshDocument
		err := json.Unmarshal(r.Document, &grant)
		return s.now().After(grant.Expires.Add(signing.ClockSkew)), err
	}
	ended := func(r *store.Record) (bool, error) {
		return s.now().After(r.CreateTime.Add(s.config.Lifetimes.Refresh + s.config.Lifetimes.Access + signing.ClockSkew)), nil
	}
	forgotten := func(r *store.Record) (bool, error) {
		return s.now().After(r.CreateTime.Add(s.config.Lifetimes.Access + signing.ClockSkew)), nil
	}
	in := func(state string) query.Expr {
		return query.Compare{Field: query.Field{System: query.State}, Op: query.Equal, Value: state}
	}
	secrets := func(r *store.Record) (bool, error) {
		var secret secretOfToken
		err := json.Unmarshal(r.Document, &secret)
		return s.now().After(secret.Expires.Add(signing.ClockSkew)), err
	}
	return errors.Join(s.sweep(ctx, refreshCollection, nil, refresh), s.sweep(ctx, tokenCollection, nil, secrets),
		s.sweep(ctx, sessionCollection, in("INACTIVE"), ended),
		s.sweep(ctx, sessionCollection, in(stateForgotten), forgotten))
}

// sweep drops the oldest records of a collection while they have expired.
func (s *Service) sweep(ctx context.Context, collection string, where query.Expr, expired func(*store.Record) (bool, error)) error {
	q := query.Query{Collection: collection, Where: where,
		Order: query.Order{Field: query.Field{System: query.CreateTime, Kind: query.Time}}}
	q.Limit = sweepFirst
	for range sweepRounds {
		var keys []store.Key
		err := s.store.Read(ctx, func(r store.Snapshot) error {
			keys = nil
			return r.Find(ctx, q, func(r *store.Record) error {
				drop, err := expired(r)
				if drop {
					keys = append(keys, r.Key)
				}
				return err
			})
		})
		if err != nil || len(keys) == 0 {
			return err
		}
		err = s.store.Write(ctx, func(tx store.Tx) error { return tx.Drop(ctx, collection, keys) })
		if err != nil || len(keys) < q.Limit {
			return err
		}
		q.Limit = sweepRound
	}
	return nil
}
