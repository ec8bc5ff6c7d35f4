package mongo

import (
	"context"
	"fmt"
	"math"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"marquee/engine/store"
	"marquee/engine/store/mongo/record"
)

// Now implements store.Store. A second lasts as long as the clock of the primary is behind the
// time of the cluster: the ordinals tell its times apart.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	var at bson.Timestamp
	err := s.inTerm(ctx, func(ctx context.Context) (err error) {
		at, err = s.clusterTime(ctx)
		return err
	})
	return time.Unix(int64(at.T), int64(at.I)), err
}

// clusterTime returns the current time of the cluster.
func (s *Store) clusterTime(ctx context.Context) (bson.Timestamp, error) {
	session, now, err := s.present(ctx)
	if err == nil {
		session.EndSession(ctx)
	}
	return now.at, err
}

// present is a time of the cluster.
type present struct {
	at bson.Timestamp
	// removed is the id of the last change that had been removed, "" if there was none.
	removed string
	// rewritten is the id of the last change that may have been rewritten.
	rewritten string
}

// present starts a session whose reads see everything committed so far.
func (s *Store) present(ctx context.Context) (*mongo.Session, present, error) {
	session, err := s.client.StartSession(options.Session().SetCausalConsistency(true))
	if err != nil {
		return nil, present{}, err
	}
	read := bson.D{{Key: "find", Value: storeCollection}, {Key: "filter", Value: bson.D{{Key: record.FieldID, Value: removedID}}},
		{Key: "limit", Value: 1}, {Key: "singleBatch", Value: true}, {Key: "readConcern", Value: bson.D{{Key: "level", Value: "local"}}}}
	var answer bson.Raw
	var at *bson.Timestamp
	// A replica set reports no time in the first moments after it was initiated.
	for begun, n := time.Now(), 0; err == nil && at == nil; n++ {
		answer, err = s.db.RunCommand(mongo.NewSessionContext(ctx, session), read).Raw()
		if at = session.OperationTime(); err == nil && at == nil && (time.Since(begun) > maxLost || !pause(ctx, n, lost)) {
			err = &store.Error{Code: store.CodeUnavailable, Text: "MongoDB does not report the time of its replica set yet: check that the set was initiated and has a primary"}
		}
	}
	if err != nil {
		session.EndSession(ctx)
		return nil, present{}, err
	}
	now := present{at: *at}
	now.removed, _ = answer.Lookup("cursor", "firstBatch", "0", "last").StringValueOK()
	var known bool
	if now.rewritten, known = answer.Lookup("cursor", "firstBatch", "0", fieldRewritten).StringValueOK(); !known {
		now.rewritten = hexTime(bson.Timestamp{T: math.MaxUint32, I: math.MaxUint32})
	}
	return session, now, nil
}

// confirmed returns the cluster's time, after a majority has confirmed that the
// server is the primary: one that was cut off would not know of later commits.
func (s *Store) confirmed(ctx context.Context, session *mongo.Session) (bson.Timestamp, error) {
	read := bson.D{{Key: "find", Value: storeCollection}, {Key: "filter", Value: bson.D{{Key: record.FieldID, Value: metaID}}},
		{Key: "limit", Value: 1}, {Key: "singleBatch", Value: true},
		{Key: "readConcern", Value: bson.D{{Key: "level", Value: "linearizable"}}}, {Key: "maxTimeMS", Value: store.Freshness.Milliseconds()}}
	if err := s.db.RunCommand(ctx, read).Err(); err != nil {
		return bson.Timestamp{}, err
	}
	at := session.OperationTime()
	if at == nil {
		return bson.Timestamp{}, &store.Error{Code: store.CodeUnavailable, Text: "MongoDB does not report the time of its replica set"}
	}
	return *at, nil
}

func hexTime(at bson.Timestamp) string { return fmt.Sprintf("%08x%08x", at.T, at.I) }

// ordinalOf returns a time of the cluster as the number of a commit.
func ordinalOf(at bson.Timestamp) uint64 { return uint64(at.T)<<32 | uint64(at.I) }

func later(a, b bson.Timestamp) bson.Timestamp {
	if a.After(b) {
		return a
	}
	return b
}

// horizonSeconds is longer than MongoDB lets a transaction last: up to one and a half
// times transactionLifetimeLimitSeconds, which is at most 100.
const horizonSeconds = 155
