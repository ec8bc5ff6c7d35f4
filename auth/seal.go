package auth

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
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"marquee/engine/catalog"
)

// KeyBytes is the length of the key that encrypts secrets.
const KeyBytes = 32

// Sealer implements engine.Sealer with AES-256-GCM. One key encrypts, and any number
// of keys decrypt, so that the key can be rotated while secrets are read and written.
// It is safe for concurrent use.
type Sealer struct{ keys atomic.Pointer[sealingKeys] }

// sealingKeys are the keys of a Sealer: the one that encrypts, and all by their ids.
type sealingKeys struct {
	writes *sealingKey
	all    map[string]*sealingKey
}

type sealingKey struct {
	id   string
	aead cipher.AEAD
}

func newSealingKey(key []byte) (*sealingKey, error) {
	if len(key) != KeyBytes {
		return nil, fmt.Errorf("the secret key has %d bytes instead of %d", len(key), KeyBytes)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	digest := sha256.Sum256(append([]byte("marquee key id\x00"), key...))
	return &sealingKey{hex.EncodeToString(digest[:keyIDBytes]), aead}, err
}

// NewSealer returns a Sealer with keys of KeyBytes bytes: the first one encrypts, and
// all of them decrypt.
func NewSealer(keys ...[]byte) (*Sealer, error) {
	s := &Sealer{}
	return s, s.Use(keys...)
}

// Use replaces the key that encrypts by the first of these, and adds them to the keys
// that decrypt.
func (s *Sealer) Use(keys ...[]byte) error {
	next := &sealingKeys{all: map[string]*sealingKey{}}
	if before := s.keys.Load(); before != nil {
		maps.Copy(next.all, before.all)
	}
	for _, key := range keys {
		one, err := newSealingKey(key)
		if err != nil {
			return err
		}
		if next.writes == nil {
			next.writes = one
		}
		next.all[one.id] = one
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

// ParseKey decodes a key from base64.
func ParseKey(text string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(key) != KeyBytes {
		return nil, fmt.Errorf("the secret key must be base64 of %d random bytes (openssl rand -base64 32)", KeyBytes)
	}
	return key, nil
}

// KeyFile reads a key from a file, or creates the file, with mode 0600, if it does not
// exist.
func KeyFile(path string) ([]byte, error) {
	key, err := readSecretKey(path)
	if !errors.Is(err, os.ErrNotExist) {
		return key, err
	}
	key = newSecretKey()
	if err := writeKey(path, key); errors.Is(err, os.ErrExist) { // another process has created it
		return KeyFile(path)
	} else if err != nil {
		return nil, err
	}
	return key, nil
}

func readSecretKey(path string) ([]byte, error) {
	text, err := os.ReadFile(path) // #nosec G304 -- the operator chooses the file
	if err != nil {
		return nil, err
	}
	key, err := ParseKey(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

func newSecretKey() []byte {
	key := make([]byte, KeyBytes)
	rand.Read(key)
	return key
}

// writeKey creates a key file atomically: a partial key would keep the service from
// starting.
func writeKey(path string, key []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".marquee.key.*") // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.WriteString(base64.StdEncoding.EncodeToString(key) + "\n")
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Link(file.Name(), path); err != nil {
		return err
	}
	return syncFolder(path)
}

const (
	sealVersion = "v1"
	// keyIDBytes is the length of the id of a key; nonceBytes and tagBytes are those of
	// AES-GCM.
	keyIDBytes, nonceBytes, tagBytes = 4, 12, 16
)

// Holds implements engine.Sealer.
func (s *Sealer) Holds(text []byte) bool {
	for id := range s.keys.Load().all {
		if bytes.Contains(text, []byte(sealVersion+"."+id+".")) {
			return true
		}
	}
	return false
}

// Outdated implements engine.RotatingSealer.
func (s *Sealer) Outdated(text []byte) bool {
	keys := s.keys.Load()
	for id := range keys.all {
		if id != keys.writes.id && bytes.Contains(text, []byte(sealVersion+"."+id+".")) {
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
	return sealVersion + "." + key.id + "." + base64.RawURLEncoding.EncodeToString(sealed), nil
}

// Open decrypts the result of Seal for the same place. The error is
// catalog.ErrNotSealed unless the text may have been sealed with another key.
func (s *Sealer) Open(sealed, place string) (string, error) {
	parts := strings.Split(sealed, ".")
	if len(parts) != 3 || parts[0] != sealVersion {
		return "", catalog.ErrNotSealed
	}
	key := s.keys.Load().all[parts[1]]
	if key == nil {
		if id, err := hex.DecodeString(parts[1]); err != nil || hex.EncodeToString(id) != parts[1] || len(id) != keyIDBytes {
			return "", catalog.ErrNotSealed
		}
		if data, err := base64.RawURLEncoding.DecodeString(parts[2]); err != nil || len(data) < nonceBytes+tagBytes {
			return "", catalog.ErrNotSealed
		}
		return "", errors.New("a stored secret was encrypted with another key: configure the secret key that this store was made with")
	}
	data, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(data) < nonceBytes+tagBytes {
		return "", catalog.ErrNotSealed
	}
	plain, err := key.aead.Open(nil, data[:nonceBytes], data[nonceBytes:], []byte(place))
	if err != nil {
		return "", catalog.ErrNotSealed
	}
	return string(plain), nil
}
