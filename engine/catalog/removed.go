package catalog

import (
	"context"
	"encoding/json"
	"strings"

	"marquee/engine/store"
)

// Removed is the collection of what is kept of removed objects. A record is dropped when
// an object with the same id is created.
var Removed = store.Collection{Name: "engine_removed"}

// Tombstone is what is kept of a removed object: the revision and the version of its
// removal, which an object with the same id continues, its owners, which decide who sees
// its history and can create it again, and its creator, who has the notices about it.
type Tombstone struct {
	Owners  []string `json:"owners,omitempty"`
	Creator string   `json:"creator,omitempty"`
	// Erased reports whether the personal values of the history have been erased.
	Erased   bool  `json:"erased,omitempty"`
	Revision int64 `json:"revision"`
	Version  int64 `json:"version"`
}

// RemovedKey is the key of the tombstone of an object.
func RemovedKey(collection string, key store.Key) store.Key {
	return store.Key{Network: key.Network, ID: collection + "/" + key.ID}
}

// EachRemoved yields the ids of the objects of a type that have been removed from a
// network, with their tombstones.
func EachRemoved(ctx context.Context, s store.Snapshot, of store.Place, yield func(id string, t *Tombstone) error) error {
	prefix := of.Collection + "/"
	for after := (store.Key{Network: of.Network, ID: prefix}); ; {
		n, others := 0, false
		err := s.Scan(ctx, Removed.Name, after, store.FindPage, func(r *store.Record) error {
			n++
			after = store.Key{Network: strings.Clone(r.Network), ID: strings.Clone(r.ID)}
			id, is := strings.CutPrefix(after.ID, prefix)
			if others = others || !is || after.Network != of.Network; others {
				return nil
			}
			t := &Tombstone{}
			if err := json.Unmarshal(r.Document, t); err != nil {
				return err
			}
			return yield(id, t)
		})
		if err != nil || others || n < store.FindPage {
			return err
		}
	}
}

// ReadRemoved returns the tombstones of those objects of a type that have been removed.
func ReadRemoved(ctx context.Context, s store.Snapshot, collection string, keys []store.Key) (map[store.Key]*Tombstone, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	asked := make([]store.Key, len(keys))
	for i, key := range keys {
		asked[i] = RemovedKey(collection, key)
	}
	found := map[store.Key]*Tombstone{}
	err := s.Get(ctx, Removed.Name, asked, func(r *store.Record) error {
		t := &Tombstone{}
		id := strings.TrimPrefix(r.ID, collection+"/")
		found[store.Key{Network: strings.Clone(r.Network), ID: strings.Clone(id)}] = t
		return json.Unmarshal(r.Document, t)
	})
	return found, err
}
