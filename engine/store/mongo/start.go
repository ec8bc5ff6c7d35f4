package mongo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"marquee/engine/store"
)

const (
	// storeVersion is the version of the store's own collections.
	storeVersion = 1
	// minimum is the oldest server that will do: 5.0, of 2021, is the first
	// with snapshot reads outside transactions.
	minimum = 5
)

// start checks the deployment and makes the store's own collections.
func (s *Store) start(ctx context.Context) error {
	if err := s.checkServer(ctx); err != nil {
		return startError(ctx, err)
	}
	version, err := s.version(ctx)
	if err == nil && version == 0 {
		err = s.checkEmpty(ctx)
	}
	if err == nil {
		err = s.ensureOwn(ctx)
	}
	if err == nil {
		err = s.checkWrite(ctx)
	}
	return startError(ctx, err)
}

// startError says what to do about an error that keeps the store from being
// opened.
func startError(ctx context.Context, err error) error {
	var known *store.Error
	var selection topology.ServerSelectionError
	switch {
	case err == nil, errors.As(err, &known) && known.Code == store.CodeNotUsable:
		return err
	case hasCode(err, 18), strings.Contains(err.Error(), "auth error"), strings.Contains(err.Error(), "AuthenticationFailed"):
		return notUsable("it does not accept the user and password, or the certificate, of the connection string: check them, and the option authSource", scrubAuth(err))
	case hasCode(err, codesForbidden...):
		return notUsable("the database user may not use the database: grant it the role readWrite on it, or name a user in the connection string", scrub(err))
	case errors.As(err, &selection) && strings.Contains(err.Error(), "tls: "), errors.As(err, &selection) && strings.Contains(err.Error(), "x509: "):
		return notUsable("the TLS settings of the connection string do not fit the server's: check tls, tlsCAFile and tlsCertificateKeyFile", scrub(err))
	case errors.As(err, &selection):
		return &store.Error{Code: store.CodeUnavailable, Cause: scrub(err),
			Text: "no server of MongoDB can be reached: check the hosts of the connection string, its options replicaSet and tls, and that a primary is elected"}
	}
	_, err = translate(ctx, err)
	return err
}

// scrubAuth keeps a mechanism's words, which may name the user, out of logs.
func scrubAuth(error) error { return errors.New("authentication failed") }

// checkServer refuses servers on which transactions cannot be had.
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
		return notUsable("the server is standalone, and has no transactions: start it with --replSet rs0, and call rs.initiate() once in mongosh, or marquee init-replica-set", nil)
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

// meta describes the store; there is one in the database.
type meta struct {
	Version int64
	Created bson.Timestamp
}

var metaID = idOf(store.Key{ID: "store"})

// version reads the version of the store, 0 when the database has none, and
// refuses a newer one.
func (s *Store) version(ctx context.Context) (int64, error) {
	var found meta
	primary := options.Collection().SetReadPreference(readpref.Primary())
	err := s.db.Collection(storeCollection, primary).FindOne(ctx, bson.D{{Key: fieldID, Value: metaID}}).Decode(&found)
	switch {
	case errors.Is(err, mongo.ErrNoDocuments):
		return 0, nil
	case err == nil && found.Version > storeVersion:
		err = notUsable(fmt.Sprintf("the database %s was written by a newer Marquee (version %d of the store, this one knows %d): use that program, or restore a backup", s.db.Name(), found.Version, storeVersion), nil)
	}
	s.created = found.Created
	return found.Version, err
}

// checkEmpty refuses a database that is another program's.
func (s *Store) checkEmpty(ctx context.Context) error {
	names, err := s.db.ListCollectionNames(ctx, bson.D{})
	if err != nil {
		return err
	}
	if version, err := s.version(ctx); err != nil || version > 0 {
		return err // another server has made the store meanwhile
	}
	if slices.ContainsFunc(names, func(name string) bool {
		return !strings.HasPrefix(name, "marquee.") && !strings.HasPrefix(name, "system.")
	}) {
		return notUsable(fmt.Sprintf("the database %s holds collections of another program: name another database", s.db.Name()), nil)
	}
	return nil
}

// ensureOwn makes the store's own collections, and notes its version when that
// is done. Several servers may do this at once.
func (s *Store) ensureOwn(ctx context.Context) error {
	if err := s.ensureSystem(ctx); err != nil {
		return err
	}
	now, err := s.clusterTime(ctx)
	if err != nil {
		return err
	}
	_, err = s.db.Collection(storeCollection).InsertOne(ctx, bson.D{{Key: fieldID, Value: metaID}, {Key: fieldVersion, Value: int64(storeVersion)}, {Key: "created", Value: now}})
	if err != nil && !hasCode(err, codeDuplicate) {
		return err
	}
	_, err = s.version(ctx)
	return err
}

// checkWrite commits a transaction, which needs all that the service will.
func (s *Store) checkWrite(ctx context.Context) error {
	return s.Write(ctx, func(tx store.Tx) error {
		t := tx.(*transaction)
		t.touch("", storeCollection)
		return t.begin(ctx)
	})
}

// clusterTime is the cluster's time at present.
func (s *Store) clusterTime(ctx context.Context) (bson.Timestamp, error) {
	session, at, err := s.present(ctx)
	if err == nil {
		session.EndSession(ctx)
	}
	return at, err
}

// present begins a session whose reads see all that has been committed, and
// tells the cluster's time.
func (s *Store) present(ctx context.Context) (*mongo.Session, bson.Timestamp, error) {
	session, err := s.client.StartSession(options.Session().SetCausalConsistency(true))
	if err != nil {
		return nil, bson.Timestamp{}, err
	}
	err = s.db.RunCommand(mongo.NewSessionContext(ctx, session), bson.D{{Key: "ping", Value: 1}}).Err()
	at := session.OperationTime()
	if err == nil && at == nil {
		err = errors.New("the server does not tell the cluster's time")
	}
	if err != nil {
		session.EndSession(ctx)
		return nil, bson.Timestamp{}, err
	}
	return session, *at, nil
}
