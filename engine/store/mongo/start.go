package mongo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"marquee/engine/store"
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
	if err == nil {
		upgraded := store.BeginUpgrade(ctx, s.log, version, storeVersion)
		if err = s.ensureOwn(ctx); err == nil {
			upgraded()
		}
	}
	if err == nil {
		err = s.checkWrite(ctx)
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

var metaID = record.ID(store.Key{ID: "store"})

// version returns the version of the store, 0 when the database has none, and
// refuses a newer one.
func (s *Store) version(ctx context.Context) (int64, error) {
	var found meta
	primary := options.Collection().SetReadPreference(readpref.Primary())
	err := s.db.Collection(storeCollection, primary).FindOne(ctx, bson.D{{Key: record.FieldID, Value: metaID}}).Decode(&found)
	switch {
	case errors.Is(err, mongo.ErrNoDocuments):
		return 0, nil
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
	_, err = s.db.Collection(storeCollection).InsertOne(ctx, bson.D{{Key: record.FieldID, Value: metaID}, {Key: record.FieldVersion, Value: int64(storeVersion)}, {Key: "created", Value: now}})
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

// checkWrite commits a transaction, which needs every permission that the
// service will need.
func (s *Store) checkWrite(ctx context.Context) error {
	return s.Write(ctx, func(tx store.Tx) error {
		t := tx.(*transaction)
		t.touch("", storeCollection)
		return t.begin(ctx)
	})
}

// clusterTime returns the current time of the cluster.
func (s *Store) clusterTime(ctx context.Context) (bson.Timestamp, error) {
	session, at, err := s.present(ctx)
	if err == nil {
		session.EndSession(ctx)
	}
	return at, err
}

// present starts a session whose reads see everything committed so far, and
// returns the cluster's time.
func (s *Store) present(ctx context.Context) (*mongo.Session, bson.Timestamp, error) {
	session, err := s.client.StartSession(options.Session().SetCausalConsistency(true))
	if err != nil {
		return nil, bson.Timestamp{}, err
	}
	var at *bson.Timestamp
	// A replica set reports no time in the first moments after it was initiated.
	for begun, n := time.Now(), 0; err == nil && at == nil; n++ {
		err = s.db.RunCommand(mongo.NewSessionContext(ctx, session), bson.D{{Key: "ping", Value: 1}}).Err()
		if at = session.OperationTime(); err == nil && at == nil && (time.Since(begun) > maxLost || !pause(ctx, n, lost)) {
			err = &store.Error{Code: store.CodeUnavailable, Text: "MongoDB does not report the time of its replica set yet: check that the set was initiated and has a primary"}
		}
	}
	if err != nil {
		session.EndSession(ctx)
		return nil, bson.Timestamp{}, err
	}
	return session, *at, nil
}
