package catalog

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"marquee/engine/store"
)

// ReferenceLocks is the collection of the records that a transaction locks which adds
// references to objects that can be removed. A removal would not see the new reference,
// nor the other transaction the removal.
//
// Each object belongs to one of 256 groups of 64 records. A reference locks one record of
// the group, which is another one for each transaction, so that those that refer to the
// same object rarely meet; a removal locks all of them.
var ReferenceLocks = store.Collection{Name: "engine_reference_locks"}

const lanes = 64

// group returns the group of an object.
func (r Referred) group() byte {
	return sha256.Sum256([]byte(r.Collection + "\n" + r.Network + "\n" + r.ID))[0]
}

func laneKey(group byte, lane int) store.Key {
	return store.Key{ID: fmt.Sprintf("%02x-%02d", group, lane)}
}

// LockReferences makes a transaction that adds references conflict with the removals of
// their targets.
func (c *Catalog) LockReferences(ctx context.Context, tx store.Tx, gained []Referred) error {
	if c.Store.Serial() || len(gained) == 0 {
		return nil
	}
	lane := int(c.lane.Add(1) % lanes)
	keys := map[store.Key]bool{}
	for _, r := range gained {
		keys[laneKey(r.group(), lane)] = true
	}
	return c.lockLanes(ctx, tx, slices.SortedFunc(maps.Keys(keys), byID))
}

// LockRemoval makes the removal of an object conflict with transactions that add
// references to it.
func (c *Catalog) LockRemoval(ctx context.Context, tx store.Tx, removed Referred) error {
	if c.Store.Serial() {
		return nil
	}
	keys := make([]store.Key, lanes)
	for i := range keys {
		keys[i] = laneKey(removed.group(), i)
	}
	return c.lockLanes(ctx, tx, keys)
}

func byID(a, b store.Key) int { return strings.Compare(a.ID, b.ID) }

// lockLanes locks records, and creates those that are missing. They are never dropped, so
// that the server remembers which exist.
func (c *Catalog) lockLanes(ctx context.Context, tx store.Tx, keys []store.Key) error {
	known := func(key store.Key) bool { _, is := c.knownLanes.Load(key); return is }
	unknown := slices.DeleteFunc(slices.Clone(keys), known)
	if len(unknown) > 0 {
		there, err := tx.Versions(ctx, ReferenceLocks.Name, unknown)
		if err != nil {
			return err
		}
		var missing []store.Write
		for _, key := range unknown {
			if _, exists := there[key]; exists {
				c.knownLanes.Store(key, nil)
			} else {
				missing = append(missing, store.InternalWrite(store.Record{Key: key}, "ACTIVE", []byte("{}"), c.Now()))
			}
		}
		if len(missing) > 0 {
			if err := tx.Put(ctx, ReferenceLocks.Name, missing); err != nil {
				return err
			}
		}
	}
	if keys = slices.DeleteFunc(slices.Clone(keys), func(key store.Key) bool { return !known(key) }); len(keys) == 0 {
		return nil
	}
	return tx.Lock(ctx, ReferenceLocks.Name, keys)
}
