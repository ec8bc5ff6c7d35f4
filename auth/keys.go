package auth

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"marquee/engine"
	"marquee/engine/query"
	"marquee/engine/store"
)

// Access tokens are signed with Ed25519 keys, which are stored with their private parts
// encrypted. There is always a next key, which is published before it signs anything.
// A rotation decides when the next key begins to sign, and makes another next key. The
// key before remains valid until the last token that it signed has expired.

const (
	// publishedAhead is how long a key is published before it signs: twice as long as
	// clients may cache the key set.
	publishedAhead = 2 * keySetAge
	// maxKeys limits the keys of a store, and with them the size of the key set.
	maxKeys = 50
)

// signingKey is a key of a set.
type signingKey struct {
	id      string
	private ed25519.PrivateKey
	public  ed25519.PublicKey
	// from is when the key begins to sign; zero for the next key.
	from    time.Time
	created time.Time
}

type keyDocument struct {
	Private string     `json:"private"`
	From    *time.Time `json:"from,omitempty"`
}

// keySet is the set of keys at one time, which does not change: those that sign or have
// signed, in this order, and then the next one.
type keySet []*signingKey

// signer returns the key that signs.
func (set keySet) signer(now time.Time) *signingKey {
	signer := set[0]
	for _, key := range set {
		if !key.from.IsZero() && !key.from.After(now) {
			signer = key
		}
	}
	return signer
}

// valid returns the keys whose tokens are accepted: a key is retired when another has
// signed for the lifetime of a token.
func (set keySet) valid(now time.Time, access time.Duration) keySet {
	for len(set) > 1 && !set[1].from.IsZero() && set[1].from.Add(access+2*clockSkew).Before(now) {
		set = set[1:]
	}
	return set
}

func (set keySet) find(id string) *signingKey {
	for _, key := range set {
		if key.id == id {
			return key
		}
	}
	return nil
}

// next returns the key that does not sign yet, or nil.
func (set keySet) next() *signingKey {
	if last := set[len(set)-1]; last.from.IsZero() {
		return last
	}
	return nil
}

// last returns the key that signs last of those whose time is known.
func (set keySet) last() *signingKey {
	if set.next() != nil {
		return set[len(set)-2]
	}
	return set[len(set)-1]
}

// The claims of the first key and of the next key. They ensure that only one of several
// servers creates each.
var (
	firstKey = store.Claim{Collection: keyCollection, Property: "first", Value: "true"}
	nextKey  = store.Claim{Collection: keyCollection, Property: "next", Value: "true"}
)

// Sealed reports whether a store has encrypted keys.
func Sealed(ctx context.Context, s store.Store) (bool, error) {
	var n int64
	err := s.Read(ctx, func(r store.Snapshot) (err error) {
		n, err = r.Count(ctx, query.Query{Collection: keyCollection})
		return err
	})
	return n > 0, err
}

// readKeys reads the keys of a store. The records are those of the keys, by id.
func readKeys(ctx context.Context, s store.Snapshot, sealer engine.Sealer) (set keySet, records map[string]store.Record, err error) {
	records = map[string]store.Record{}
	order := query.Order{Field: query.Field{System: query.CreateTime, Kind: query.Time}}
	err = s.Find(ctx, query.Query{Collection: keyCollection, Order: order, Limit: 1000}, func(r *store.Record) error {
		key, err := readKey(sealer, r)
		if err != nil {
			return err
		}
		record := *r
		record.Document = slices.Clone(r.Document)
		set, records[r.ID] = append(set, key), record
		return nil
	})
	set.sort()
	return set, records, err
}

func (set keySet) sort() {
	slices.SortStableFunc(set, func(a, b *signingKey) int {
		switch {
		case a.from.IsZero() != b.from.IsZero():
			if a.from.IsZero() {
				return 1
			}
			return -1
		case !a.from.Equal(b.from):
			return a.from.Compare(b.from)
		}
		return strings.Compare(a.id, b.id)
	})
}

func readKey(sealer engine.Sealer, r *store.Record) (*signingKey, error) {
	var stored keyDocument
	if err := json.Unmarshal(r.Document, &stored); err != nil {
		return nil, err
	}
	seed, err := sealer.Open(stored.Private, keyCollection+"\x00"+r.ID)
	if err != nil {
		return nil, fmt.Errorf("the key that signs tokens cannot be read: %w", err)
	}
	if len(seed) != ed25519.SeedSize {
		return nil, errors.New("the key that signs tokens has another length")
	}
	key := newKey(r.ID, []byte(seed))
	key.created = r.CreateTime
	switch {
	case stored.From != nil:
		key.from = *stored.From
	case r.State == "ACTIVE": // of a version without rotation
		key.from = r.CreateTime
	}
	return key, nil
}

func newKey(id string, seed []byte) *signingKey {
	private := ed25519.NewKeyFromSeed(seed)
	return &signingKey{id: id, private: private, public: private.Public().(ed25519.PublicKey)}
}

// generateKey returns a new key.
func generateKey(now time.Time) *signingKey {
	seed := make([]byte, ed25519.SeedSize)
	rand.Read(seed)
	key := newKey(store.NewID(), seed)
	key.created = now
	return key
}

// write returns the write of a key over its record, which is empty for a new one.
func (key *signingKey) write(sealer engine.Sealer, was store.Record, now time.Time) (store.Write, error) {
	sealed, err := sealer.Seal(string(key.private.Seed()), keyCollection+"\x00"+key.id)
	if err != nil {
		return store.Write{}, err
	}
	stored, state := keyDocument{Private: sealed}, "INACTIVE"
	if !key.from.IsZero() {
		from := key.from.UTC()
		stored.From, state = &from, "ACTIVE"
	}
	document, err := json.Marshal(stored)
	was.Key = store.Key{ID: key.id}
	return store.InternalWrite(was, state, document, now), err
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

// jwks returns the keys as a JSON Web Key Set (RFC 7517).
func (set keySet) jwks() []jwk {
	keys := []jwk{}
	for _, key := range set {
		x := base64.RawURLEncoding.EncodeToString(key.public)
		keys = append(keys, jwk{KeyType: "OKP", Curve: "Ed25519", X: x, KeyID: key.id, Use: "sig", Algorithm: "EdDSA"})
	}
	return keys
}
