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
// the group, which is another one for each call, so that those that refer to the
// same object rarely meet; a removal locks all of them.
var ReferenceLocks = store.Collection{Name: "engine_reference_locks"}

const lanes = 64

// group returns the group of an object.
func (r Referred) group() byte {
	return sha256.Sum256([]byte(r.Collection + "\n" + r.Network + "\n" + r.ID))[0]
}

// Lane returns the number of a record of each group, which is another one for each call.
func (c *Catalog) Lane() int { return int(c.lane.Add(1) % lanes) }

// LaneKey returns the key of a record of ReferenceLocks: that of a lane in the group of an object.
func (r Referred) LaneKey(lane int) store.Key {
	return store.Key{ID: fmt.Sprintf("%02x-%02d", r.group(), lane)}
}

// LockReferences makes a transaction that adds references conflict with the removals of
// their targets. It reads and locks the records of a lane, which can be announced to the store.
func (c *Catalog) LockReferences(ctx context.Context, tx store.Tx, lane int, gained []Referred) error {
	if c.Store.Serial() || len(gained) == 0 {
		return nil
	}
	keys := map[store.Key]bool{}
	for _, r := range gained {
		keys[r.LaneKey(lane)] = true
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
		keys[i] = removed.LaneKey(i)
	}
	return c.lockRecords(ctx, tx, ReferenceLocks.Name, keys)
}

func byID(a, b store.Key) int { return strings.Compare(a.ID, b.ID) }

// lockRecords locks records of a collection, and creates those that the snapshot of the
// transaction lacks: locking these would do nothing, though another transaction may have created
// them since.
func (c *Catalog) lockRecords(ctx context.Context, tx store.Tx, collection string, keys []store.Key) error {
	there := map[store.Key]bool{}
	err := tx.Get(ctx, collection, keys, func(r *store.Record) error {
		there[r.Key] = true
		return nil
	})
	if err != nil {
		return err
	}
	var missing []store.Write
	for _, key := range keys {
		if !there[key] {
			missing = append(missing, store.InternalWrite(store.Record{Key: key}, "ACTIVE", []byte("{}"), c.Now()))
		}
	}
	if len(missing) > 0 {
		if err := tx.Put(ctx, collection, missing); err != nil {
			return err
		}
	}
	keys = slices.DeleteFunc(keys, func(key store.Key) bool { return !there[key] })
	if len(keys) == 0 {
		return nil
	}
	return tx.Lock(ctx, collection, keys)
}
