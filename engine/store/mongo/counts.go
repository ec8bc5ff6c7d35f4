package mongo

import (
	"context"
	"crypto/sha256"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"marquee/engine/query"
	"marquee/engine/store"
	"marquee/engine/store/mongo/plan"
	"marquee/engine/store/mongo/record"
)

// Counting reads a whole index, so counts are kept. The numbers of records by state,
// and of changes by collection, are tallied: each marker has the differences that its
// transaction makes (markers.go). This needs a time from which snapshots see a
// transaction, which the markers on a sharded cluster do not have.
//
// Another count is valid for a later snapshot if no transaction that wrote to the
// collection was committed between the two. That is so when the later snapshot sees no
// more commit markers (transaction.mark) than the earlier one, from a time before which
// all transactions had ended. The server keeps markers for longer than counts are cached.

const (
	// maxCounts is the number of counts kept, maxMarkers the maximum number of
	// markers that one is compared by, and countSeconds how long one is kept:
	// changes made by hand leave no marker.
	maxCounts    = 4096
	maxMarkers   = 2000
	countSeconds = 600
)

// counts caches the results of Count.
type counts struct {
	mu   sync.Mutex
	kept map[[sha256.Size]byte]counted
}

type counted struct {
	n int64
	// at is the time of the snapshot, markers the number of markers that it saw.
	at      bson.Timestamp
	markers int64
}

func (c *counts) get(key [sha256.Size]byte) (counted, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept, ok := c.kept[key]
	return kept, ok
}

func (c *counts) put(key [sha256.Size]byte, kept counted) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil || len(c.kept) >= maxCounts {
		c.kept = map[[sha256.Size]byte]counted{}
	}
	c.kept[key] = kept
}

// Count implements store.Snapshot.
func (v *view) Count(ctx context.Context, q query.Query) (int64, error) {
	if holds, byState := query.StateFilter(q.Where); byState && v.tallied() {
		all := plan.Compile(query.Query{Collection: q.Collection, Network: q.Network})
		hint, err := v.chooseIndex(ctx, all, true)
		if err != nil {
			return 0, err
		}
		return v.sumTally(ctx, store.Place{Collection: q.Collection, Network: q.Network}, holds, func() (map[string]int64, error) {
			return v.tally(ctx, q.Collection, all.Filter(), record.FieldState, hint)
		})
	}
	c := plan.Compile(q)
	hint, err := v.chooseIndex(ctx, c, true)
	if err != nil {
		return 0, err
	}
	filter := c.Filter()
	count := func() (int64, error) { return v.count(ctx, q.Collection, filter, 0, hint) }
	if v.session.TransactionRunning() || hint == plan.IndexID {
		return count()
	}
	return v.keptCount(ctx, q, filter, count)
}

// tallied reports whether tallies can be used in the view.
func (v *view) tallied() bool { return !v.session.TransactionRunning() && !v.s.sharded }

// sumTally returns a sum of a tally in the snapshot of the view.
func (v *view) sumTally(ctx context.Context, place store.Place, holds func(string) bool, count func() (map[string]int64, error)) (int64, error) {
	if v.session.SnapshotTime().IsZero() { // it is taken with the first read
		err := v.rows(ctx, storeCollection, bson.D{{Key: record.FieldID, Value: metaID}}, func(bson.Raw) error { return nil }, options.Find())
		if err != nil {
			return 0, err
		}
	}
	at := v.session.SnapshotTime()
	if !v.s.tallies.Has(place) {
		v.s.recent.mu.Lock()
		v.s.ask()
		v.s.recent.mu.Unlock()
	} else if !v.s.reached(ctx, at) {
		if err := v.guard(ctx); err != nil {
			return 0, err
		}
	}
	return v.s.tallies.Sum(place, ordinalOf(at), holds, count)
}

// tally counts the documents of a filter by the value of a field.
func (v *view) tally(ctx context.Context, collection string, filter bson.D, field, hint string) (map[string]int64, error) {
	labels := map[string]int64{}
	err := v.aggregate(ctx, collection, bson.A{bson.D{{Key: "$match", Value: filter}},
		bson.D{{Key: "$group", Value: bson.D{{Key: record.FieldID, Value: "$" + field}, {Key: "n", Value: bson.D{{Key: "$sum", Value: 1}}}}}}}, hint, mostRecords,
		func(raw bson.Raw) error {
			label, _ := raw.Lookup(record.FieldID).StringValueOK()
			labels[label], _ = raw.Lookup("n").AsInt64OK()
			return nil
		})
	return labels, err
}

// keptCount returns a cached count, or counts and caches the result.
func (v *view) keptCount(ctx context.Context, q query.Query, filter bson.D, count func() (int64, error)) (int64, error) {
	raw, err := bson.Marshal(bson.D{{Key: "collection", Value: q.Collection}, {Key: "filter", Value: filter}})
	if err != nil {
		return 0, v.ended(ctx, err)
	}
	key := sha256.Sum256(raw)
	if kept, ok := v.s.counts.get(key); ok {
		markers, err := v.markers(ctx, q, kept.at)
		if err != nil {
			return 0, err
		}
		if at := v.session.SnapshotTime(); !at.Before(kept.at) && at.T-kept.at.T < countSeconds && markers == kept.markers {
			return kept.n, nil
		}
	}
	n, err := count()
	if err != nil {
		return 0, err
	}
	at := v.session.SnapshotTime()
	markers, err := v.markers(ctx, q, at)
	if err == nil && markers <= maxMarkers {
		v.s.counts.put(key, counted{n, at, markers})
	}
	return n, err
}

// markers returns the number of markers of commits that wrote to the collection
// of a query and may have come after a time, or more than maxMarkers when there
// are many.
func (v *view) markers(ctx context.Context, q query.Query, after bson.Timestamp) (int64, error) {
	since := bson.Timestamp{T: after.T - horizonSeconds, I: after.I}
	filter := bson.D{{Key: record.KeyNetwork, Value: q.Network}, {Key: "collections", Value: q.Collection}, {Key: record.KeyID, Value: bson.D{{Key: "$gt", Value: hexTime(since)}}}}
	return v.count(ctx, commitsCollection, filter, maxMarkers+1, plan.OwnIndex+"collections")
}
