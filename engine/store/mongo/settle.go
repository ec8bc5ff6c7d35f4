package mongo

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"marquee/engine/store"
)

// Settle implements store.Store. The servers tell which transactions are open;
// MongoDB itself ends each after a while. Where they may not tell, that while
// is waited for. What has ended may not be with the majority yet, and is not
// read then: a commit of one's own, which comes behind it, waits for that.
func (s *Store) Settle(ctx context.Context) error {
	var first map[openTransaction]bool
	begun := time.Now()
	answered := begun
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

// openTransaction names a transaction of a session, which is BSON.
type openTransaction struct {
	session string
	number  int64
}

// listings is how often the servers are asked at once: a transaction that goes
// on while a server lists first what works and then what is idle may be in
// neither list.
const listings = 3

// openTransactions names those of all clients with this database user. Those of
// other databases are among them: the servers do not tell them apart.
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

// wait waits, and returns false when the context ends before.
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
