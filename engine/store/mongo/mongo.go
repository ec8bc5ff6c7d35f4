// Package mongo is the store for production: it keeps records in a MongoDB
// database, on a replica set or a sharded cluster. Small transactions that wait at the same
// time are committed together (group commit, group.go). It imports store, turn, query, and the
// packages plan and record below it. Begin with Store; a write passes through write.go and
// transaction.go, a query through view.go and package plan.
package mongo

import (
	"context"
	"errors"
	"log/slog"
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
	"marquee/engine/store/mongo/plan"
)

// Options configures a store.
type Options struct {
	// URI is a MongoDB connection string that names a database. Its options
	// apply except the read and write concerns, which are majority.
	URI string
	// MustExist makes Open fail when there is no store, instead of creating
	// one.
	MustExist bool
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
	log     *slog.Logger
	// readsPrimary is false if the connection string lets reads go to secondaries.
	readsPrimary bool
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

// Open connects to the deployment, checks that it is usable, and creates or
// migrates the store's own collections. Codes: CodeNotUsable, CodeUnavailable,
// CodeNoStore.
func Open(ctx context.Context, o Options) (*Store, error) {
	database, opts, err := parse(o.URI)
	if err != nil {
		return nil, err
	}
	leader := newLeader(*opts.HeartbeatInterval)
	s := &Store{admission: newAdmission(), leader: leader, presence: newPresence(database), log: o.Log}
	s.known.Store(&map[string][]plan.Index{})
	opts.SetMonitor(o.Monitor).SetServerMonitor(leader.monitor()).SetDriverInfo(&options.DriverInfo{Name: "marquee", Version: s.presence.name})
	if s.client, err = mongo.Connect(opts); err != nil {
		return nil, notUsable("its connection string cannot be used", scrub(err))
	}
	s.readsPrimary = opts.ReadPreference == nil || opts.ReadPreference.Mode() == readpref.PrimaryMode
	s.groups.s = s
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.db = s.client.Database(database)
	if err := s.start(ctx, o); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// URIError is the cause of the error of Open for a connection string that cannot be
// used, wherever it leads.
type URIError string

// Error implements error.
func (e URIError) Error() string { return string(e) }

func wrongURI(text string) error {
	return &store.Error{Code: store.CodeNotUsable, Text: "the MongoDB store cannot be used", Cause: URIError(text)}
}

// parse parses a connection string. It drops the driver's errors that may
// repeat the password.
func parse(uri string) (database string, opts *options.ClientOptions, err error) {
	known, err := connstring.ParseAndValidate(uri)
	var lookup *net.DNSError
	if errors.As(err, &lookup) {
		return "", nil, &store.Error{Code: store.CodeUnavailable, Cause: lookup, Text: "the servers of MongoDB cannot be looked up: check the name behind mongodb+srv://, and the DNS"}
	}
	if err != nil {
		return "", nil, wrongURI("its connection string cannot be read: write mongodb://HOST1,HOST2,HOST3/DATABASE?replicaSet=NAME, with special characters of the user and the password percent-encoded")
	}
	if known.Database == "" {
		return "", nil, wrongURI("its connection string names no database: add it after the hosts, as in mongodb://HOST/DATABASE")
	}
	opts = options.Client().ApplyURI(uri).SetReadConcern(readconcern.Majority()).SetWriteConcern(writeconcern.Majority()).
		SetRetryReads(false).SetRetryWrites(true) // Read retries with a pause, the driver without one; a fence is a write that can be retried
	if err := opts.Validate(); err != nil {
		cause := ": " + err.Error()
		if known.Password != "" && strings.Contains(cause, known.Password) {
			cause = ""
		}
		return "", nil, wrongURI("an option of its connection string cannot be used: check the files and names that it refers to" + cause)
	}
	if known.AppName == "" {
		opts.SetAppName("marquee")
	}
	if opts.HeartbeatInterval == nil {
		opts.SetHeartbeatInterval(heartbeat)
	}
	return known.Database, opts, nil
}

func notUsable(cure string, cause error) error {
	return &store.Error{Code: store.CodeNotUsable, Text: "the MongoDB store cannot be used: " + cure, Cause: cause}
}

// Revision implements store.Store. Other processes write to the database, so it
// takes a read to know.
func (s *Store) Revision(...string) (string, bool) { return "", false }

// Check implements store.Store. It succeeds when a primary answers. After a write that
// failed, it writes, too, because only that shows whether all writes fail: a primary
// answers while no majority follows it, and to a user who may only read.
func (s *Store) Check(ctx context.Context) error {
	err := s.client.Ping(ctx, readpref.Primary())
	failure := s.failing.Load()
	if err == nil && failure != nil {
		if _, err = s.beat(ctx, writeconcern.Majority()); err == nil {
			s.failing.CompareAndSwap(failure, nil)
		}
	}
	_, err = translate(ctx, err)
	return err
}

// noteFailure remembers an error because of which all writes may fail.
func (s *Store) noteFailure(err error) {
	switch code, _ := store.CodeOf(err); code {
	case store.CodeUnavailable, store.CodeFull, store.CodeUncertain:
		s.failing.Store(&err)
	}
}

// Close implements store.Store.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	s.recent.stop()
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

var errClosed = &store.Error{Code: store.CodeUnavailable, Text: "the store is closed"}
