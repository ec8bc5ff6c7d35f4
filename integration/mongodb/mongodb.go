// Package mongodb provides a real MongoDB to tests. It uses the first that exists: the
// one that MARQUEE_TEST_MONGODB_URI names; a mongod (MARQUEE_TEST_MONGOD, the one that
// `make mongod` downloaded, or one on the PATH) that the tests start; a container. It
// imports nothing of the project. Begin with URI and NewReplicaSet.
//
// If there is none, the test is skipped, or fails if MARQUEE_REQUIRE names mongodb. A
// server that was started ends with the test binary, however that ends, and leaves
// nothing behind.
package mongodb

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
)

// startLimit is the time within which a server must be ready. It is generous: tests
// of many packages may start theirs at the same time.
const startLimit = 2 * time.Minute

// errNone is the beginning of messages that say how to provide a server.
var errNone = errors.New("no MongoDB")

// Need skips a test where there is no MongoDB, or fails it when the word mongodb
// is in MARQUEE_REQUIRE. A test that passes the TB of another one to URI calls
// it first, because only the running test can be skipped.
func Need(tb testing.TB) {
	tb.Helper()
	check(tb, all.need())
}

// URI is the connection string of a replica set that tests of the binary share. It
// names a database that is the caller's alone. It must not be used after the test, when
// the database is dropped, or its server ends as soon as no other test uses it.
func URI(tb testing.TB) string {
	tb.Helper()
	server, database, err := all.join(false)
	check(tb, err)
	tb.Cleanup(func() {
		if err := all.leave(server, database, false); err != nil {
			tb.Errorf("remove the test's database: %v", err)
		}
	})
	return withDatabase(server.uri, database)
}

// Reusing is like URI, for tests that leave nothing running: their databases are emptied
// after use, and given to other tests of the binary, because making one with all collections
// and indexes takes longer than what most tests do with it.
// A server that is not the binary's own has no such database when no owner runs any more.
func Reusing(owner testing.TB, empty func(context.Context, *mongo.Database) error) func(testing.TB) string {
	hold := sync.OnceValue(func() error {
		server, err := all.hold()
		if err == nil {
			owner.Cleanup(func() {
				if err := all.leave(server, "", false); err != nil {
					owner.Errorf("remove unused databases: %v", err)
				}
			})
		}
		return err
	})
	return func(tb testing.TB) string {
		tb.Helper()
		check(tb, hold())
		server, database, err := all.join(true)
		check(tb, err)
		tb.Cleanup(func() {
			again, err := server.empty(database, empty)
			if err = errors.Join(err, all.leave(server, database, again)); err != nil {
				tb.Errorf("empty the test's database: %v", err)
			}
		})
		return withDatabase(server.uri, database)
	}
}

// check ends a test that cannot have its server.
func check(tb testing.TB, err error) {
	tb.Helper()
	switch {
	case err == nil:
	case errors.Is(err, errNone) && !required("mongodb"):
		tb.Skip(err)
	default:
		tb.Fatal(err)
	}
}

// required is whether a suite must not be skipped here.
func required(suite string) bool {
	return slices.Contains(strings.Split(os.Getenv("MARQUEE_REQUIRE"), ","), suite)
}
