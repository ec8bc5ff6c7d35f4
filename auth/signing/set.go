package signing

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

	"marquee/engine/catalog"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/store"
)

// Access tokens are signed with Ed25519 keys, which are stored with their private parts
// encrypted. There is always a next key, which is published before it signs anything.
// A rotation decides when the next key begins to sign, and makes another next key. The
// key before remains valid until the last token that it signed has expired.

// CacheAge is the time for which clients may cache the key set.
const CacheAge = 5 * time.Minute

// ClockSkew is by how much the clocks of the servers of a store may differ.
const ClockSkew = time.Minute

const (
	// publishedAhead is the time between the publication of a key and its first signature.
	publishedAhead = 2 * CacheAge
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
	for len(set) > 1 && !set[1].from.IsZero() && set[1].from.Add(access+2*ClockSkew).Before(now) {
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
	firstKey = store.Claim{Collection: collection, Property: "first", Value: "true"}
	nextKey  = store.Claim{Collection: collection, Property: "next", Value: "true"}
)

// readKeys reads the keys of a store. The records are those of the keys, by id.
func readKeys(ctx context.Context, s store.Snapshot, sealer catalog.Sealer) (set keySet, records map[string]store.Record, err error) {
	records = map[string]store.Record{}
	order := query.Order{Field: query.Field{System: query.CreateTime, Kind: query.Time}}
	err = s.Find(ctx, query.Query{Collection: collection, Order: order, Limit: 1000}, func(r *store.Record) error {
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

func readKey(sealer catalog.Sealer, r *store.Record) (*signingKey, error) {
	var stored keyDocument
	if err := json.Unmarshal(r.Document, &stored); err != nil {
		return nil, err
	}
	seed, err := sealer.Open(stored.Private, collection+"\x00"+r.ID)
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

// firstKeys returns a new key that signs at once, and the next one.
func firstKeys(now time.Time) keySet {
	set := keySet{generateKey(now), generateKey(now)}
	set[0].from = now
	return set
}

// rotate returns the set after a rotation.
func (set keySet) rotate(now time.Time) (keySet, error) {
	if len(set) >= maxKeys {
		return nil, message.SigningKeysTooMany.Error(nil)
	}
	rotated := append(keySet{}, set...)
	if next := set.next(); next != nil {
		begins := *next
		begins.from = now
		if ready := next.created.Add(publishedAhead); ready.After(now) {
			begins.from = ready
		}
		if last := set.last().from; !begins.from.After(last) {
			begins.from = last.Add(time.Millisecond)
		}
		rotated[len(rotated)-1] = &begins
	}
	return append(rotated, generateKey(now)), nil
}

// write returns the write of a key over its record, which is empty for a new one.
func (key *signingKey) write(sealer catalog.Sealer, was store.Record, now time.Time) (store.Write, error) {
	sealed, err := sealer.Seal(string(key.private.Seed()), collection+"\x00"+key.id)
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

// JWK is a public key in the format of RFC 8037.
type JWK struct {
	KeyType   string `json:"kty"`
	Curve     string `json:"crv"`
	X         string `json:"x"`
	KeyID     string `json:"kid"`
	Use       string `json:"use"`
	Algorithm string `json:"alg"`
}

// Key describes a key that signs access tokens.
type Key struct {
	ID         string    `json:"id"`
	CreateTime time.Time `json:"createTime"`
	// SignsFrom is when the key begins to sign; nil if no rotation has decided it.
	SignsFrom *time.Time `json:"signsFrom,omitempty"`
	// State is RETIRING for a key that signs no more but whose tokens are valid,
	// SIGNING for the one that signs, and NEXT for those that will sign.
	State string `json:"state"`
}

// describe returns the keys in the order in which they sign.
func (set keySet) describe(now time.Time) []Key {
	signer, state := set.signer(now), "RETIRING"
	keys := []Key{}
	for _, key := range set {
		described := Key{ID: key.id, CreateTime: key.created.UTC(), State: state}
		if key == signer {
			described.State, state = "SIGNING", "NEXT"
		}
		if !key.from.IsZero() {
			from := key.from.UTC().Truncate(time.Millisecond)
			described.SignsFrom = &from
		}
		keys = append(keys, described)
	}
	return keys
}

// jwks returns the keys as those of a JSON Web Key Set (RFC 7517).
func (set keySet) jwks() []JWK {
	keys := []JWK{}
	for _, key := range set {
		x := base64.RawURLEncoding.EncodeToString(key.public)
		keys = append(keys, JWK{KeyType: "OKP", Curve: "Ed25519", X: x, KeyID: key.id, Use: "sig", Algorithm: "EdDSA"})
	}
	return keys
}
