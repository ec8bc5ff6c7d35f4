package mongo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"marquee/engine/store"
	"marquee/engine/store/mongo/plan"
	"marquee/engine/store/mongo/record"
)

const (
	// storeVersion is the version of the store's own collections. Version 2 has
	// revisions.
	storeVersion = 2
	// minimum is the oldest supported server: 5.0 is the first with snapshot
	// reads outside transactions.
	minimum = 5
)

// start checks the deployment and creates the store's own collections, unless
// the store must exist.
func (s *Store) start(ctx context.Context, o Options) error {
	if err := s.checkServer(ctx); err != nil {
		return startError(ctx, err)
	}
	if o.Answered != nil {
		o.Answered()
	}
	version, err := s.version(ctx)
	if err == nil && version == 0 {
		if err = s.checkEmpty(ctx); err == nil && o.MustExist {
			return &store.Error{Code: store.CodeNoStore, Text: "there is no store in the database " + s.db.Name()}
		}
	}
	if err == nil && o.ReadOnly {
		if version != storeVersion {
			return notUsable("an earlier version wrote it: open it once with a user who can write", nil)
		}
		return nil
	}
	if err == nil && version > 0 && o.Loading && !s.incomplete {
		var empty bool
		if empty, err = store.IsEmpty(ctx, s); err == nil && !empty {
			return notUsable(store.NotEmpty, nil)
		}
		if err == nil {
			err = s.markIncomplete(ctx)
		}
	}
	if err == nil {
		upgraded := store.BeginUpgrade(ctx, s.log, version, storeVersion)
		if err = s.ensureOwn(ctx); err == nil {
			upgraded()
		}
	}
	if err == nil {
		err = s.commitNothing(ctx)
	}
	if err == nil {
		s.checkCache(ctx, s.log)
	}
	return startError(ctx, err)
}

// startError adds the remedy to an error that prevents opening the store.
func startError(ctx context.Context, err error) error {
	var known *store.Error
	var selection topology.ServerSelectionError
	switch {
	case err == nil, errors.As(err, &known) && known.Code == store.CodeNotUsable:
		return err
	case hasCode(err, 18), strings.Contains(err.Error(), "auth error"), strings.Contains(err.Error(), "AuthenticationFailed"):
		return notUsable("it rejects the user and password, or the certificate, of the connection string: check them, and the option authSource", scrubAuth(err))
	case hasCode(err, codesForbidden...):
		return notUsable("the database user may not use the database: grant it the role readWrite on it, or name a user in the connection string", scrub(err))
	case errors.As(err, &selection) && strings.Contains(err.Error(), "tls: "), errors.As(err, &selection) && strings.Contains(err.Error(), "x509: "):
		return notUsable("the TLS settings of the connection string do not match the server's: check tls, tlsCAFile and tlsCertificateKeyFile", scrub(err))
	case errors.As(err, &selection):
		return &store.Error{Code: store.CodeUnavailable, Cause: scrub(err),
			Text: "no server of MongoDB can be reached: check the hosts of the connection string, its options replicaSet and tls, and that a primary is elected"}
	}
	_, err = translate(ctx, err)
	return err
}

// scrubAuth replaces the error of an authentication mechanism, which may name
// the user.
func scrubAuth(error) error { return errors.New("authentication failed") }

// checkServer refuses servers without transactions.
func (s *Store) checkServer(ctx context.Context) error {
	admin := s.client.Database("admin")
	var hello struct {
		SetName string `bson:"setName"`
		Msg     string
	}
	if err := admin.RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello); err != nil {
		return err
	}
	s.sharded = hello.Msg == "isdbgrid"
	if hello.SetName == "" && !s.sharded {
		return notUsable("the server is standalone and has no transactions: start it with --replSet rs0, and call rs.initiate() once in mongosh, or marquee init-replica-set", nil)
	}
	var build struct {
		Version      string
		VersionArray []int `bson:"versionArray"`
	}
	if err := admin.RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&build); err != nil {
		return err
	}
	if len(build.VersionArray) == 0 || build.VersionArray[0] < minimum {
		return notUsable(fmt.Sprintf("the server is MongoDB %s: use %d.0 or a later one", build.Version, minimum), nil)
	}
	return nil
}

// meta describes the store. A database has one.
type meta struct {
	Version int64
	Created bson.Timestamp
}

// version returns the version of the store, 0 when the database has none, and
// refuses a newer one.
func (s *Store) version(ctx context.Context) (int64, error) {
	var found meta
	primary := options.Collection().SetReadPreference(readpref.Primary())
	err := s.db.Collection(storeCollection, primary).FindOne(ctx, bson.D{{Key: record.FieldID, Value: metaID}}).Decode(&found)
	switch {
	case errors.Is(err, mongo.ErrNoDocuments):
		return 0, nil
	case err == nil && found.Version == loadingVersion && s.loading:
		s.incomplete, found.Version = true, storeVersion
	case err == nil && found.Version >= store.LoadingVersion:
		err = notUsable(store.Incomplete, nil)
	case err == nil && found.Version > storeVersion:
		err = notUsable(fmt.Sprintf("the database %s was written by a newer Marquee (version %d of the store, this one supports %d): use that program, or restore a backup", s.db.Name(), found.Version, storeVersion), nil)
	}
	s.created = found.Created
	return found.Version, err
}

// checkEmpty refuses a database of another program.
func (s *Store) checkEmpty(ctx context.Context) error {
	names, err := s.db.ListCollectionNames(ctx, bson.D{})
	if err != nil {
		return err
	}
	if version, err := s.version(ctx); err != nil || version > 0 {
		return err // another server has created the store meanwhile
	}
	if slices.ContainsFunc(names, func(name string) bool {
		return !strings.HasPrefix(name, "marquee.") && !strings.HasPrefix(name, "system.")
	}) {
		return notUsable(fmt.Sprintf("the database %s holds collections of another program: name another database", s.db.Name()), nil)
	}
	return nil
}

// ensureOwn creates the store's own collections, and then stores its version.
// Several servers may do this at once.
func (s *Store) ensureOwn(ctx context.Context) error {
	if err := s.ensureSystem(ctx); err != nil {
		return err
	}
	now, err := s.clusterTime(ctx)
	if err != nil {
		return err
	}
	version := int64(storeVersion)
	if s.loading {
		version = loadingVersion
	}
	if s.created.IsZero() {
		_, err = s.db.Collection(storeCollection).InsertOne(ctx, bson.D{{Key: record.FieldID, Value: removedID}, {Key: fieldRewritten, Value: ""}})
		if err != nil && !hasCode(err, codeDuplicate) {
			return err
		}
	}
	_, err = s.db.Collection(storeCollection).InsertOne(ctx, bson.D{{Key: record.FieldID, Value: metaID}, {Key: record.FieldVersion, Value: version}, {Key: "created", Value: now}})
	if hasCode(err, codeDuplicate) {
		_, err = s.db.Collection(storeCollection).UpdateOne(ctx, bson.D{{Key: record.FieldID, Value: metaID}, {Key: record.FieldVersion, Value: bson.D{{Key: "$lt", Value: int64(storeVersion)}}}},
			bson.D{{Key: "$set", Value: bson.D{{Key: record.FieldVersion, Value: int64(storeVersion)}}}})
	}
	if err != nil {
		return err
	}
	_, err = s.version(ctx)
	return err
}

// markIncomplete marks an empty store that exists, as ensureOwn marks a new one.
func (s *Store) markIncomplete(ctx context.Context) error {
	_, err := s.db.Collection(storeCollection).UpdateOne(ctx, bson.D{{Key: record.FieldID, Value: metaID}},
		bson.D{{Key: "$set", Value: bson.D{{Key: record.FieldVersion, Value: int64(loadingVersion)}}}})
	return err
}

// commitNothing commits a transaction that leaves only its marker. It needs every
// permission that the service will need.
func (s *Store) commitNothing(ctx context.Context) error {
	return s.Write(ctx, func(tx store.Tx) error {
		t := tx.(*transaction)
		t.touch("", storeCollection)
		return t.begin(ctx)
	})
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

// Open connects to the deployment, checks that it is usable, and creates or
// migrates the store's own collections. Codes: CodeNotUsable, CodeUnavailable,
// CodeNoStore.
func Open(ctx context.Context, o Options) (*Store, error) {
	database, opts, err := parse(o.URI)
	if err != nil {
		return nil, err
	}
	leader := newLeader(*opts.HeartbeatInterval)
	s := &Store{admission: newAdmission(), leader: leader, presence: newPresence(database), log: o.Log, measured: newMeasured(), loading: o.Loading}
	s.known.Store(&map[string][]plan.Index{})
	opts.SetMonitor(o.Monitor).SetServerMonitor(leader.monitor(s.measured.heard)).SetPoolMonitor(s.measured.pool()).SetDriverInfo(&options.DriverInfo{Name: "marquee", Version: s.presence.name})
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
