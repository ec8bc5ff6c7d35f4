// Package mongo keeps records in a MongoDB database on a replica set or a
// sharded cluster: the store of production.
package mongo

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"

	"marquee/engine/store"
)

// Options are the settings of a store.
type Options struct {
	// URI is a MongoDB connection string that names a database. Its options
	// are the driver's, but for the read and write concerns, which are
	// majority.
	URI string
	// Monitor, when it is set, sees the commands that are sent.
	Monitor *event.CommandMonitor
}

// Store is a store.Store on a MongoDB database.
type Store struct {
	client *mongo.Client
	db     *mongo.Database
	// sharded says that the deployment is a sharded cluster.
	sharded bool
	// created is the cluster's time when the store was made.
	created bson.Timestamp

	ensure sync.Mutex
	closed atomic.Bool
	counts counts
	// known are the indexes of each collection, replaced as a whole.
	known atomic.Pointer[map[string][]index]
}

// The store's own collections. Those of types have no dot in their names.
const (
	storeCollection   = "marquee.store"
	changesCollection = "marquee.changes"
	claimsCollection  = "marquee.claims"
	commitsCollection = "marquee.commits"
	blobsCollection   = "marquee.blobs"
	piecesCollection  = "marquee.blob_pieces"
)

// Open connects to the deployment, checks that it can be used, and makes or
// migrates what the store needs in the database. Codes: CodeNotUsable,
// CodeUnavailable.
func Open(ctx context.Context, o Options) (*Store, error) {
	database, opts, err := parse(o.URI)
	if err != nil {
		return nil, err
	}
	opts.SetMonitor(o.Monitor)
	client, err := mongo.Connect(opts)
	if err != nil {
		return nil, notUsable("its connection string cannot be used", scrub(err))
	}
	s := &Store{client: client}
	s.db = client.Database(database)
	if err := s.start(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// parse reads a connection string. The driver's words about one that is wrong
// may repeat the password, so that they are not passed on.
func parse(uri string) (database string, opts *options.ClientOptions, err error) {
	known, err := connstring.ParseAndValidate(uri)
	var lookup *net.DNSError
	if errors.As(err, &lookup) {
		return "", nil, &store.Error{Code: store.CodeUnavailable, Cause: lookup, Text: "the servers of MongoDB cannot be looked up: check the name behind mongodb+srv://, and the DNS"}
	}
	if err != nil {
		return "", nil, notUsable("its connection string cannot be read: write mongodb://HOST1,HOST2,HOST3/DATABASE?replicaSet=NAME, with special characters of the user and the password percent-encoded", nil)
	}
	if known.Database == "" {
		return "", nil, notUsable("its connection string names no database: write it behind the hosts, as in mongodb://HOST/DATABASE", nil)
	}
	opts = options.Client().ApplyURI(uri).SetReadConcern(readconcern.Majority()).SetWriteConcern(writeconcern.Majority()).
		SetRetryReads(false).SetRetryWrites(true) // the driver repeats reads without a pause, and Read does with one; a fence is a write that can be repeated
	if err := opts.Validate(); err != nil {
		if known.Password != "" && strings.Contains(err.Error(), known.Password) {
			err = nil
		}
		return "", nil, notUsable("an option of its connection string cannot be used: check the files and names that it refers to", err)
	}
	if known.AppName == "" {
		opts.SetAppName("marquee")
	}
	return known.Database, opts, nil
}

func notUsable(cure string, cause error) error {
	return &store.Error{Code: store.CodeNotUsable, Text: "the MongoDB store cannot be used: " + cure, Cause: cause}
}

// Revision implements store.Store. Other processes write to the database too,
// so that nothing can be told without asking it.
func (s *Store) Revision(...string) (string, bool) { return "", false }

// Check implements store.Store: a primary answers.
func (s *Store) Check(ctx context.Context) error {
	_, err := translate(ctx, s.client.Ping(ctx, readpref.Primary()))
	return err
}

// Close implements store.Store.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), settling)
	defer cancel()
	_, err := translate(ctx, s.client.Disconnect(ctx))
	return err
}

// open fails when the store is closed, or the context has ended.
func (s *Store) open(ctx context.Context) error {
	switch {
	case s.closed.Load():
		return errClosed
	case ctx.Err() != nil:
		return deadline(ctx)
	}
	return nil
}

var errClosed = &store.Error{Code: store.CodeUnavailable, Text: "the store is closed"}
