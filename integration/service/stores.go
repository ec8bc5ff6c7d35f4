package service

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"

	"marquee/engine/store"
	"marquee/engine/store/mongo"
	"marquee/engine/store/sqlite"
	"marquee/engine/store/storetest"
	"marquee/integration/mongodb"
)

// NewStore gives the URI of a store that does not exist yet, as --store takes
// it. What is stored there is gone when the test ends.
type NewStore func(tb testing.TB) string

// long has the names of tests that call NoteLong.
var long sync.Map

// NoteLong notes that a test takes long, so that it is not run on each store.
func NoteLong(tb testing.TB) { long.Store(tb.Name(), true) }

// IsLong reports whether NoteLong was called for a test, or for the one that it is a part of.
func IsLong(tb testing.TB) bool {
	root, _, _ := strings.Cut(tb.Name(), "/")
	_, is := long.Load(root)
	return is
}

// NewSQLite returns the URI of a new embedded store.
func NewSQLite(tb testing.TB) string {
	tb.Helper()
	if !IsLong(tb) {
		NeedStore(tb, "sqlite")
	}
	return "sqlite:" + filepath.Join(tb.TempDir(), "data", "marquee.db")
}

// NeedStore skips a test where MARQUEE_STORES leaves out a kind of store.
func NeedStore(tb testing.TB, name string) {
	tb.Helper()
	if only := os.Getenv("MARQUEE_STORES"); only != "" && !slices.Contains(strings.Split(only, ","), name) {
		tb.Skipf("MARQUEE_STORES leaves out %s", name)
	}
}

// Reusing gives databases that other tests of the binary have used, emptied.
func Reusing(owner testing.TB) NewStore { return mongodb.Reusing(owner, emptyDatabase) }

// emptyDatabase leaves nothing in a database but its collections and what says that they are
// a store's, which is as if it had just been created: the feed of the next store has nothing
// of this one. A collection with many documents is dropped, which takes less time.
func emptyDatabase(ctx context.Context, db *driver.Database) error {
	const many = 2000
	names, err := db.ListCollectionNames(ctx, bson.D{{Key: "name", Value: bson.D{{Key: "$ne", Value: "marquee.store"}}}})
	if err != nil {
		return err
	}
	for _, name := range names {
		n, err := db.Collection(name).EstimatedDocumentCount(ctx)
		switch {
		case err != nil:
		case n > many:
			err = db.Collection(name).Drop(ctx)
		default:
			_, err = db.Collection(name).DeleteMany(ctx, bson.D{})
		}
		if err != nil {
			return err
		}
	}
	_, err = db.Collection("marquee.store").UpdateMany(ctx, bson.D{}, driver.Pipeline{{{Key: "$set", Value: bson.D{{Key: "created", Value: "$$CLUSTER_TIME"}}}}})
	return err
}

// ConnectDatabase connects to the database that a URI names.
func ConnectDatabase(uri string) (*driver.Database, error) {
	parsed, err := connstring.Parse(uri)
	if err != nil {
		return nil, err
	}
	client, err := driver.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		return nil, err
	}
	return client.Database(parsed.Database), nil
}

// EachStore runs a test on every kind of store: what the service promises, it
// promises on all of them.
func EachStore(t *testing.T, test func(t *testing.T, fresh NewStore)) {
	t.Helper()
	onEach(t, test, Reusing)
}

// EachNoStore is EachStore for tests of what is done where there has been no store.
func EachNoStore(t *testing.T, test func(t *testing.T, fresh NewStore)) {
	t.Helper()
	onEach(t, test, func(testing.TB) NewStore { return mongodb.URI })
}

func onEach(t *testing.T, test func(t *testing.T, fresh NewStore), databases func(owner testing.TB) NewStore) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		NeedStore(t, "sqlite")
		test(t, NewSQLite)
	})
	t.Run("mongodb", func(t *testing.T) {
		t.Parallel()
		NeedStore(t, "mongodb")
		mongodb.Need(t)
		test(t, databases(t))
	})
}

// again begins the URI of a store that runs every function twice, as a store
// does that met a conflict.
const again = "again+"

// NewAgain returns the URI of a new embedded store that runs each transaction and each read
// twice.
func NewAgain(tb testing.TB) string { return again + NewSQLite(tb) }

// SQLiteFile is the file that the URI of an embedded store names.
func SQLiteFile(uri string) string { return strings.TrimPrefix(uri, "sqlite:") }

// OpenStore opens a store as the program does. What it asks of a database must
// do on a sharded cluster, too.
func OpenStore(tb testing.TB, uri string) (store.Store, error) {
	ctx := context.Background()
	if uri, ok := strings.CutPrefix(uri, again); ok {
		s, err := OpenStore(tb, uri)
		return storetest.Again(s), err
	}
	if path, ok := strings.CutPrefix(uri, "sqlite:"); ok {
		return sqlite.Open(ctx, sqlite.Options{Path: path})
	}
	return mongo.Open(ctx, mongo.Options{URI: uri, Monitor: mongodb.ShardKeys(tb)})
}

// EachStoreTwice is EachStore, and the embedded store that runs each function
// twice.
func EachStoreTwice(t *testing.T, test func(t *testing.T, fresh NewStore)) {
	t.Helper()
	EachStore(t, test)
	t.Run("again", func(t *testing.T) {
		t.Parallel()
		if testing.Short() {
			t.Skip("the cases have run on it: run without -short")
		}
		test(t, NewAgain)
	})
}
