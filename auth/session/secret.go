package session

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"time"

	"marquee/engine"
	"marquee/engine/store"
)

const secretCollection = "auth_secrets"

// secret is what refresh tokens are derived with.
type secret []byte

// successor returns the refresh token that replaces one. It can be derived again as
// often as necessary, but only with the secret: the store has only hashes of tokens, and
// a stolen token does not reveal those that follow it.
func (s secret) successor(token string) string {
	mac := hmac.New(sha256.New, s)
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
func openSecret(ctx context.Context, s store.Store, sealer engine.Sealer, now time.Time) (secret, error) {
	fresh := make(secret, sha256.Size)
	rand.Read(fresh)
	if sealer == nil {
		return fresh, nil
	}
	place, found := secretCollection+"\x00"+secretID, fresh
	err := s.Write(ctx, func(tx store.Tx) error {
		var stored secretDocument
		was, err := store.ReadOne(ctx, tx, secretCollection, store.Key{ID: secretID}, &stored)
		if err != nil {
			return err
		}
		if stored.Secret != "" {
			opened, err := sealer.Open(stored.Secret, place)
			if err != nil {
				return fmt.Errorf("the secret of refresh tokens cannot be read: %w", err)
			}
			found = secret(opened)
			return nil
		}
		if stored.Secret, err = sealer.Seal(string(fresh), place); err != nil {
			return err
		}
		found = fresh
		return store.PutInternal(ctx, tx, secretCollection, was, "ACTIVE", stored, now)
	})
	return found, err
}
