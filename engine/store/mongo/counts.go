package mongo

import (
	"context"
	"crypto/sha256"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"marquee/engine/query"
)

// Counting walks an index, so that what was counted is kept. It holds for a
// later snapshot when no transaction was committed between the two that wrote
// to the collection: when the later one sees as many traces of commits (mark)
// behind a time before which all had ended that the earlier one does not see.
// The server deletes none of those traces while a count is kept.

const (
	// maxCounts is how many counts are kept, maxTraces how many traces one may
	// be compared by, countSeconds for how long one is kept: who changes a
	// database by hand leaves no trace.
	maxCounts    = 4096
	maxTraces    = 2000
	countSeconds = 600
)

// counts keeps the answers of Count.
type counts struct {
	mu   sync.Mutex
	kept map[[sha256.Size]byte]counted
}

type counted struct {
	n int64
	// at is the time of the snapshot, traces is how many it saw.
	at     bson.Timestamp
	traces int64
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

// keptCount answers a count from memory, or counts and keeps the answer.
func (v *view) keptCount(ctx context.Context, q query.Query, count func() (int64, error)) (int64, error) {
	raw, err := bson.Marshal(bson.D{{Key: "collection", Value: q.Collection}, {Key: "filter", Value: filter(q)}})
	if err != nil {
		return 0, v.ended(ctx, err)
	}
	key := sha256.Sum256(raw)
	if kept, ok := v.s.counts.get(key); ok {
		traces, err := v.traces(ctx, q, kept.at)
		if err != nil {
			return 0, err
		}
		if at := v.session.SnapshotTime(); !at.Before(kept.at) && at.T-kept.at.T < countSeconds && traces == kept.traces {
			return kept.n, nil
		}
	}
	n, err := count()
	if err != nil {
		return 0, err
	}
	at := v.session.SnapshotTime()
	traces, err := v.traces(ctx, q, at)
	if err == nil && traces <= maxTraces {
		v.s.counts.put(key, counted{n, at, traces})
	}
	return n, err
}

// traces is how many commits there are that wrote to the collection of a query
// and may have come after a time: more than maxTraces when there are many.
func (v *view) traces(ctx context.Context, q query.Query, after bson.Timestamp) (int64, error) {
	since := bson.Timestamp{T: after.T - horizonSeconds, I: after.I}
	filter := bson.D{{Key: keyNetwork, Value: q.Network}, {Key: "collections", Value: q.Collection}, {Key: keyID, Value: bson.D{{Key: "$gt", Value: hexTime(since)}}}}
	pipeline := bson.A{bson.D{{Key: "$match", Value: filter}}, bson.D{{Key: "$limit", Value: maxTraces + 1}}, bson.D{{Key: "$count", Value: "n"}}}
	return v.aggregate(ctx, commitsCollection, pipeline, options.Aggregate().SetHint(ownIndex+"collections"))
}
