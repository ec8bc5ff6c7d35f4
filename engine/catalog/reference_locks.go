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
	return c.lockRecords(ctx, tx, ReferenceLocks.Name, slices.SortedFunc(maps.Keys(keys), byID))
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
	return c.lockRecords(ctx, tx, ReferenceLocks.Name, keys)
}

func byID(a, b store.Key) int { return strings.Compare(a.ID, b.ID) }

// lockRecords locks records of a collection, and creates those that the snapshot of the
// transaction lacks: locking these would do nothing, though another transaction may have created
// them since.
func (c *Catalog) lockRecords(ctx context.Context, tx store.Tx, collection string, keys []store.Key) error {
	there, err := tx.Versions(ctx, collection, keys)
	if err != nil {
		return err
	}
	var missing []store.Write
	for _, key := range keys {
		if _, exists := there[key]; !exists {
			missing = append(missing, store.InternalWrite(store.Record{Key: key}, "ACTIVE", []byte("{}"), c.Now()))
		}
	}
	if len(missing) > 0 {
		if err := tx.Put(ctx, collection, missing); err != nil {
			return err
		}
	}
	keys = slices.DeleteFunc(keys, func(key store.Key) bool { _, exists := there[key]; return !exists })
	if len(keys) == 0 {
		return nil
	}
	return tx.Lock(ctx, collection, keys)
}
