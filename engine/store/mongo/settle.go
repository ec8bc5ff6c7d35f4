package mongo

import (
	"context"
	"log/slog"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"marquee/engine/store"
)

// settleLogAfter is the time after which Settle logs that it waits.
const settleLogAfter = 2 * time.Second

// Settle implements store.Store. It asks the servers which transactions are
// open; MongoDB ends each after a minute. Without the permission to ask, Settle
// waits for that long. Ended transactions may not be on a majority yet, and are
// then not readable; a commit of the store's own, which comes after them, waits
// for that.
func (s *Store) Settle(ctx context.Context) error {
	var first map[openTransaction]bool
	begun := time.Now()
	answered, logged := begun, false
	for n := 0; first == nil || len(first) > 0; n++ {
		if err := s.open(ctx); err != nil {
			return err
		}
		open, err := s.openTransactions(ctx)
		if err == nil {
			answered = time.Now()
		}
		switch again, translated := translate(ctx, err); {
		case err == nil && first == nil:
			first = open
		case err == nil:
			for id := range first {
				if !open[id] {
					delete(first, id)
				}
			}
		case hasCode(err, 13, 8000):
			if !wait(ctx, horizonSeconds*time.Second-time.Since(begun)) {
				return deadline(ctx)
			}
			first = map[openTransaction]bool{}
		case again == final, time.Since(answered) > maxLost:
			return translated
		}
		if !logged && time.Since(begun) > settleLogAfter {
			logged = true
			s.log.Info("waiting for open transactions; MongoDB ends each after a minute, including those of killed servers", slog.Int("open", len(first)))
		}
		if len(first) > 0 && !pause(ctx, n, conflict) || first == nil && !pause(ctx, n, lost) {
			return deadline(ctx)
		}
	}
	return s.Write(ctx, func(tx store.Tx) error {
		t := tx.(*transaction)
		t.touch("", storeCollection)
		return t.begin(ctx)
	})
}

// openTransaction identifies a transaction of a session, which is BSON.
type openTransaction struct {
	session string
	number  int64
}

// listings is the number of listings that are combined. A server lists active
// transactions before idle ones, so it misses one that becomes active in between:
// in about 1 of 40 listings if the transaction sends one command after another.
const listings = 6

// openTransactions returns the transactions of all clients with this database
// user. They include those on other databases, which the servers do not
// distinguish.
func (s *Store) openTransactions(ctx context.Context) (map[openTransaction]bool, error) {
	open := map[openTransaction]bool{}
	for range listings {
		if err := s.listTransactions(ctx, open); err != nil {
			return nil, err
		}
	}
	return open, nil
}

func (s *Store) listTransactions(ctx context.Context, open map[openTransaction]bool) error {
	admin := s.client.Database("admin", options.Database().SetReadPreference(readpref.Primary()).SetReadConcern(readconcern.Local()))
	cursor, err := admin.Aggregate(ctx, mongo.Pipeline{
		{{Key: "$currentOp", Value: bson.D{{Key: "allUsers", Value: false}, {Key: "idleSessions", Value: true}}}},
		{{Key: "$match", Value: bson.D{{Key: "transaction.parameters.txnNumber", Value: bson.D{{Key: "$exists", Value: true}}}}}},
		{{Key: "$project", Value: bson.D{{Key: "session", Value: "$lsid"}, {Key: "number", Value: "$transaction.parameters.txnNumber"}}}},
	})
	if err != nil {
		return err
	}
	var found []struct {
		Session bson.Raw
		Number  int64
	}
	if err := cursor.All(ctx, &found); err != nil {
		return err
	}
	for _, one := range found {
		open[openTransaction{string(one.Session), one.Number}] = true
	}
	return nil
}

// wait returns false when the context ends first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Serial implements store.Store.
func (s *Store) Serial() bool { return false }
