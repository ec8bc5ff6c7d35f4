// Package mongo is the store for production: it keeps records in a MongoDB
// database, on a replica set or a sharded cluster. Small transactions that wait at the same
// time are committed together (group commit, group.go). It imports store, turn, query, histogram, and the
// packages plan and record below it. Begin with Store, which start.go opens; a write passes
// through write.go, commit.go and put.go, a query through read.go, package plan and view.go.
package mongo

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"marquee/engine/store"
	"marquee/engine/store/mongo/plan"
	"marquee/engine/store/mongo/record"
)

// Options configures a store.
type Options struct {
	// URI is a MongoDB connection string that names a database. Its options
	// apply except the read and write concerns, which are majority.
	URI string
	// MustExist makes Open fail when there is no store, instead of creating
	// one.
	MustExist bool
	// Loading opens a store for Load: one that is empty or not complete.
	Loading bool
	// ReadOnly opens a store for reads, with a user who cannot write, and leaves it as it is.
	ReadOnly bool
	// Answered, if set, is called by Open when the deployment has answered for
	// the first time.
	Answered func()
	// Log receives messages for operators; nil discards them.
	Log *slog.Logger
	// Monitor, if set, sees the commands that are sent.
	Monitor *event.CommandMonitor
}

// Store is a store.Store on a MongoDB database.
type Store struct {
	client *mongo.Client
	db     *mongo.Database
	// sharded reports whether the deployment is a sharded cluster.
	sharded bool
	// created is the cluster's time when the store was created.
	created bson.Timestamp

	// loading reports whether the store was opened for Load, and incomplete whether Load had
	// not completed it.
	loading, incomplete bool

	ensure sync.Mutex
	closed atomic.Bool
	// failing is an error of a write because of which all writes may fail.
	failing atomic.Pointer[error]
	counts  counts
	// tallies follow the markers.
	tallies store.Tallies
	// admission limits how much is written at once.
	admission *admission
	leader    *leader
	presence  presence
	// left is the number of failed transactions that are still being ended.
	left    atomic.Int64
	answers answers
	recent  recent
	groups  groups
	streams feedStreams
	log     *slog.Logger
	// readsPrimary is false if the connection string lets reads go to secondaries.
	readsPrimary bool
	measured     *measured
	// note is a message about the deployment for operators.
	note string
	// known holds the indexes of each collection for which they are known; it is replaced
	// as a whole.
	known atomic.Pointer[map[string][]plan.Index]
}

// The store's own collections. Names of other collections have no dot.
const (
	storeCollection   = "marquee.store"
	changesCollection = "marquee.changes"
	claimsCollection  = "marquee.claims"
	commitsCollection = "marquee.commits"
	serversCollection = "marquee.servers"
	blobsCollection   = "marquee.blobs"
	piecesCollection  = "marquee.blob_pieces"
)

// Close implements store.Store.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	s.recent.stop()
	s.streams.stop()
	ctx, cancel := context.WithTimeout(context.Background(), settling)
	defer cancel()
	_, err := translate(ctx, s.client.Disconnect(ctx))
	return err
}

// open returns an error when the store is closed or the context has ended.
func (s *Store) open(ctx context.Context) error {
	switch {
	case s.closed.Load():
		return errClosed
	case ctx.Err() != nil:
		return deadline(ctx)
	}
	return nil
}

// shardKey is the shard key of all collections except the claims, whose shard
// key is _id.
var shardKey = bson.D{{Key: record.KeyNetwork, Value: 1}, {Key: record.KeyID, Value: 1}}

var metaID = record.ID(store.Key{ID: "store"})
