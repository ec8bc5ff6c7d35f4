// Package seal encrypts secrets with AES-256-GCM, each for its place in the store, and
// keeps the keys in files. It implements engine.Sealer and imports catalog. Begin with
// Sealer.
package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"

	"marquee/engine/catalog"
)

// KeyBytes is the length of the key that encrypts secrets.
const KeyBytes = 32

// Sealer implements engine.Sealer. One key encrypts, and any number
// of keys decrypt, so that the key can be rotated while secrets are read and written.
// It is safe for concurrent use.
type Sealer struct{ keys atomic.Pointer[keySet] }

// keySet is the keys of a Sealer: the one that encrypts, and all by their ids.
type keySet struct {
	writes *key
	all    map[string]*key
}

type key struct {
	id   string
	aead cipher.AEAD
}

func newKey(secret []byte) (*key, error) {
	if len(secret) != KeyBytes {
		return nil, fmt.Errorf("the secret key has %d bytes instead of %d", len(secret), KeyBytes)
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	return &key{keyID(secret), aead}, err
}

// keyID identifies a key, and does not reveal it.
func keyID(secret []byte) string {
	digest := sha256.Sum256(append([]byte("marquee key id\x00"), secret...))
	return hex.EncodeToString(digest[:keyIDBytes])
}

// New returns a Sealer with keys of KeyBytes bytes: the first one encrypts, and
// all of them decrypt.
func New(keys ...[]byte) (*Sealer, error) {
	s := &Sealer{}
	return s, s.Use(keys...)
}

// Use replaces the key that encrypts by the first of these, and adds them to the keys
// that decrypt.
func (s *Sealer) Use(keys ...[]byte) error {
	next := &keySet{all: map[string]*key{}}
	if before := s.keys.Load(); before != nil {
		maps.Copy(next.all, before.all)
	}
	for _, secret := range keys {
		key, err := newKey(secret)
		if err != nil {
			return err
		}
		if next.writes == nil {
			next.writes = key
		}
		next.all[key.id] = key
	}
	if next.writes == nil {
		return errors.New("there is no secret key")
	}
	s.keys.Store(next)
	return nil
}

// KeyID identifies the key that encrypts, and does not reveal it.
func (s *Sealer) KeyID() string { return s.keys.Load().writes.id }

// Rotates reports whether the sealer has keys that only decrypt.
func (s *Sealer) Rotates() bool { return len(s.keys.Load().all) > 1 }

const (
	version = "v1"
	// keyIDBytes is the length of the id of a key; nonceBytes and tagBytes are those of
	// AES-GCM.
	keyIDBytes, nonceBytes, tagBytes = 4, 12, 16
)

// Holds implements engine.Sealer.
func (s *Sealer) Holds(text []byte) bool { return s.keys.Load().sealed(text, "") }

// Outdated implements engine.RotatingSealer.
func (s *Sealer) Outdated(text []byte) bool {
	keys := s.keys.Load()
	return keys.sealed(text, keys.writes.id)
}

// sealed reports whether a text has a value that was encrypted with a key other than the
// one with an id.
func (k *keySet) sealed(text []byte, except string) bool {
	for id := range k.all {
		if id != except && bytes.Contains(text, []byte(version+"."+id+".")) {
			return true
		}
	}
	return false
}

// Seal encrypts a secret for a place in the store.
func (s *Sealer) Seal(plain, place string) (string, error) {
	key := s.keys.Load().writes
	nonce := make([]byte, key.aead.NonceSize())
	rand.Read(nonce)
	sealed := key.aead.Seal(nonce, nonce, []byte(plain), []byte(place))
	return version + "." + key.id + "." + base64.RawURLEncoding.EncodeToString(sealed), nil
}

// Open decrypts the result of Seal for the same place. The error is
// catalog.ErrNotSealed unless the text may have been sealed with another key.
func (s *Sealer) Open(sealed, place string) (string, error) {
	parts := strings.Split(sealed, ".")
	if len(parts) != 3 || parts[0] != version {
		return "", catalog.ErrNotSealed
	}
	data, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(data) < nonceBytes+tagBytes {
		return "", catalog.ErrNotSealed
	}
	key := s.keys.Load().all[parts[1]]
	if key == nil {
		if id, err := hex.DecodeString(parts[1]); err != nil || hex.EncodeToString(id) != parts[1] || len(id) != keyIDBytes {
			return "", catalog.ErrNotSealed
		}
		return "", errors.New("a stored secret was encrypted with another key: configure the secret key that this store was made with")
	}
	plain, err := key.aead.Open(nil, data[:nonceBytes], data[nonceBytes:], []byte(place))
	if err != nil {
		return "", catalog.ErrNotSealed
	}
	return string(plain), nil
}
