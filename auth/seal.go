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
	"os"
	"path/filepath"
	"strings"

	"marquee/engine/catalog"
)

// KeyBytes is the length of the key that encrypts secrets.
const KeyBytes = 32

// Sealer implements engine.Sealer with AES-256-GCM.
type Sealer struct {
	aead cipher.AEAD
	id   string
}

// NewSealer returns a Sealer with a key of KeyBytes bytes.
func NewSealer(key []byte) (*Sealer, error) {
	if len(key) != KeyBytes {
		return nil, fmt.Errorf("the secret key has %d bytes instead of %d", len(key), KeyBytes)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	digest := sha256.Sum256(append([]byte("marquee key id\x00"), key...))
	return &Sealer{aead: aead, id: hex.EncodeToString(digest[:4])}, err
}

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
	text, err := os.ReadFile(path)
	if err == nil {
		key, err := ParseKey(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return key, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	key := make([]byte, KeyBytes)
	rand.Read(key)
	if err := writeKey(path, key); errors.Is(err, os.ErrExist) { // another process has created it
		return KeyFile(path)
	} else if err != nil {
		return nil, err
	}
	return key, nil
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
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

const sealVersion = "v1"

// Holds implements engine.Sealer.
func (s *Sealer) Holds(text []byte) bool {
	return bytes.Contains(text, []byte(sealVersion+"."+s.id+"."))
}

// Seal encrypts a secret for a place in the store.
func (s *Sealer) Seal(plain, place string) (string, error) {
	nonce := make([]byte, s.aead.NonceSize())
	rand.Read(nonce)
	sealed := s.aead.Seal(nonce, nonce, []byte(plain), []byte(place))
	return sealVersion + "." + s.id + "." + base64.RawURLEncoding.EncodeToString(sealed), nil
}

// Open decrypts the result of Seal for the same place. The error is
// catalog.ErrNotSealed unless the text may have been sealed with another key.
func (s *Sealer) Open(sealed, place string) (string, error) {
	parts := strings.Split(sealed, ".")
	if len(parts) != 3 || parts[0] != sealVersion {
		return "", catalog.ErrNotSealed
	}
	data, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(data) < s.aead.NonceSize()+s.aead.Overhead() {
		return "", catalog.ErrNotSealed
	}
	if parts[1] != s.id {
		if id, err := hex.DecodeString(parts[1]); err != nil || hex.EncodeToString(id) != parts[1] || len(parts[1]) != len(s.id) {
			return "", catalog.ErrNotSealed
		}
		return "", errors.New("a stored secret was encrypted with another key: configure the secret key that this store was made with")
	}
	plain, err := s.aead.Open(nil, data[:s.aead.NonceSize()], data[s.aead.NonceSize():], []byte(place))
	if err != nil {
		return "", catalog.ErrNotSealed
	}
	return string(plain), nil
}
