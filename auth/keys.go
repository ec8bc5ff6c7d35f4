package auth

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"marquee/engine"
	"marquee/engine/query"
	"marquee/engine/store"
)

// keyRing has the keys of access tokens: the newest signs, all verify. The store has
// them with their private parts encrypted.
type keyRing struct {
	signer string
	keys   map[string]ed25519.PrivateKey
}

type keyDocument struct {
	Private string `json:"private"`
}

// openKeys reads the keys, and creates the first one. Without a sealer, keys are
// not stored, and end with the process.
func openKeys(ctx context.Context, s store.Store, sealer engine.Sealer, now time.Time) (*keyRing, error) {
	if sealer == nil {
		ring := &keyRing{keys: map[string]ed25519.PrivateKey{}}
		ring.generate()
		return ring, nil
	}
	ring := &keyRing{}
	err := s.Write(ctx, func(tx store.Tx) error {
		ring.signer, ring.keys = "", map[string]ed25519.PrivateKey{}
		order := query.Order{Field: query.Field{System: query.CreateTime, Kind: query.Time}}
		err := tx.Find(ctx, query.Query{Collection: keyCollection, Order: order, Limit: 1000}, func(r *store.Record) error {
			return ring.read(sealer, r)
		})
		if err != nil || ring.signer != "" {
			return err
		}
		write, err := ring.make(sealer, now)
		if err != nil {
			return err
		}
		return tx.Put(ctx, keyCollection, []store.Write{write})
	})
	return ring, err
}

// firstKey is claimed by the first key, so that only one of several servers that
// start on an empty store creates it.
var firstKey = store.Claim{Collection: keyCollection, Property: "first", Value: "true"}

// Sealed reports whether a store has encrypted keys.
func Sealed(ctx context.Context, s store.Store) (bool, error) {
	var n int64
	err := s.Read(ctx, func(r store.Snapshot) (err error) {
		n, err = r.Count(ctx, query.Query{Collection: keyCollection})
		return err
	})
	return n > 0, err
}

func (k *keyRing) read(sealer engine.Sealer, r *store.Record) error {
	var stored keyDocument
	if err := json.Unmarshal(r.Document, &stored); err != nil {
		return err
	}
	seed, err := sealer.Open(stored.Private, keyCollection+"\x00"+r.ID)
	if err != nil {
		return fmt.Errorf("the key that signs tokens cannot be read: %w", err)
	}
	k.keys[r.ID], k.signer = ed25519.NewKeyFromSeed([]byte(seed)), r.ID
	return nil
}

func (k *keyRing) make(sealer engine.Sealer, now time.Time) (store.Write, error) {
	seed := k.generate()
	sealed, err := sealer.Seal(string(seed), keyCollection+"\x00"+k.signer)
	if err != nil {
		return store.Write{}, err
	}
	document, err := json.Marshal(keyDocument{sealed})
	write := store.InternalWrite(store.Record{Key: store.Key{ID: k.signer}}, "ACTIVE", document, now)
	write.AddClaims = []store.Claim{firstKey}
	return write, err
}

// generate makes a new key, which signs from now on, and returns its seed.
func (k *keyRing) generate() []byte {
	seed := make([]byte, ed25519.SeedSize)
	rand.Read(seed)
	k.signer = store.NewID()
	k.keys[k.signer] = ed25519.NewKeyFromSeed(seed)
	return seed
}

func (k *keyRing) signing() (string, ed25519.PrivateKey) {
	return k.signer, k.keys[k.signer]
}

func (k *keyRing) public(id string) (ed25519.PublicKey, bool) {
	key, ok := k.keys[id]
	if !ok {
		return nil, false
	}
	return key.Public().(ed25519.PublicKey), true
}

// jwk is a public key in the format of RFC 8037.
type jwk struct {
	KeyType   string `json:"kty"`
	Curve     string `json:"crv"`
	X         string `json:"x"`
	KeyID     string `json:"kid"`
	Use       string `json:"use"`
	Algorithm string `json:"alg"`
}

// set returns the JSON Web Key Set (RFC 7517).
func (k *keyRing) set() []jwk {
	set := []jwk{}
	for id, key := range k.keys {
		x := base64.RawURLEncoding.EncodeToString(key.Public().(ed25519.PublicKey))
		set = append(set, jwk{KeyType: "OKP", Curve: "Ed25519", X: x, KeyID: id, Use: "sig", Algorithm: "EdDSA"})
	}
	return set
}
