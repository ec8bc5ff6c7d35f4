package catalog

import (
	"errors"
	"strings"

	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Sealer encrypts secrets at rest. A secret is bound to the place of its property and
// cannot be decrypted for another.
type Sealer interface {
	Seal(plain, place string) (string, error)
	// Open returns ErrNotSealed for a text that was certainly not encrypted for the
	// place, such as a plain value that looks like a ciphertext.
	Open(sealed, place string) (string, error)
	// Holds reports whether a JSON text may contain an encrypted value.
	Holds(text []byte) bool
}

// RotatingSealer is a Sealer whose key can be replaced, while the keys before it still
// decrypt.
type RotatingSealer interface {
	Sealer
	// Outdated reports whether a text may contain a value that was encrypted with
	// another key than the one that encrypts.
	Outdated(text []byte) bool
}

// ErrNotSealed reports that a text is not an encrypted one.
var ErrNotSealed = errors.New("a stored secret is not encrypted for the place where it was found")

// ErrNoKey reports that nothing can be encrypted, as there is no Sealer.
var ErrNoKey = errors.New("there is no key to encrypt secrets with: set Options.Sealer")

// noSealer is the Sealer of a catalog that was given none.
type noSealer struct{}

func (noSealer) Seal(string, string) (string, error) { return "", ErrNoKey }
func (noSealer) Open(string, string) (string, error) { return "", ErrNotSealed }
func (noSealer) Holds([]byte) bool                   { return false }

// Reveal decrypts a secret of an object. While the values of a property that has
// become a secret are being encrypted, a plain value is returned as it is.
func (c *Catalog) Reveal(t *schema.Type, text string, key store.Key, at document.Pointer) (string, error) {
	return c.RevealAt(t.Name, text, SecretPlace(t.Name, key.Network, key.ID, at))
}

// RevealAt decrypts a secret at a place returned by SecretPlace.
func (c *Catalog) RevealAt(name, text, place string) (string, error) {
	plain, err := c.Sealer.Open(text, place)
	if err == nil {
		return plain, nil
	}
	if c.Mixed(name) || errors.Is(err, ErrNotSealed) {
		return text, nil
	}
	return "", err
}

// SecretPlace returns the place that a secret of an object is bound to.
func SecretPlace(collection, network, id string, at document.Pointer) string {
	return strings.Join([]string{collection, network, id, at.String()}, "\x00")
}

// SetMixed records whether some secrets of a type are stored in plain text.
func (c *Catalog) SetMixed(name string, mixed bool) {
	if mixed {
		c.mixed.Store(name, true)
	} else {
		c.mixed.Delete(name)
	}
}

// Mixed reports whether some secrets of a type may be stored in plain text.
func (c *Catalog) Mixed(name string) bool {
	_, mixed := c.mixed.Load(name)
	return mixed
}
