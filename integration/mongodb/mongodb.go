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
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// startLimit is how long a server may take to be ready. It is generous: tests
// of many packages may start theirs at the same time.
const startLimit = 2 * time.Minute

// errNone is the beginning of messages that say how to provide a server.
var errNone = errors.New("no MongoDB")

// Need skips a test where there is no MongoDB, or fails it when the word mongodb
// is in MARQUEE_REQUIRE. A test that passes the TB of another one to URI calls
// it first, because only the running test can be skipped.
func Need(tb testing.TB) {
	tb.Helper()
	_, err := shared()
	check(tb, err)
}

// URI is the connection string of a replica set that all tests of the binary
// share. It names a database that is the caller's alone and is dropped when the
// test has ended.
func URI(tb testing.TB) string {
	tb.Helper()
	server, err := shared()
	check(tb, err)
	database := "marquee_test_" + strings.ToLower(rand.Text())
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), startLimit)
		defer cancel()
		if err := server.client.Database(database).Drop(ctx); err != nil {
			tb.Errorf("drop the test's database: %v", err)
		}
	})
	return withDatabase(server.uri, database)
}

// sharedServer is the server behind URI. Its guardian, if it has one, is never
// released, and so holds on until the process ends.
type sharedServer struct {
	uri      string
	client   *mongo.Client
	guardian *guardian
}

var shared = sync.OnceValues(func() (*sharedServer, error) {
	server, err := startShared()
	if err != nil {
		return nil, err
	}
	server.client, err = mongo.Connect(options.Client().ApplyURI(server.uri))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	if err := server.client.Ping(ctx, nil); err != nil {
		return nil, fmt.Errorf("the MongoDB for tests does not answer: %w", err)
	}
	return server, nil
})

func startShared() (*sharedServer, error) {
	if uri := os.Getenv("MARQUEE_TEST_MONGODB_URI"); uri != "" {
		return &sharedServer{uri: uri}, nil
	}
	binary, err := Binary()
	if errors.Is(err, errNone) {
		return startContainer()
	}
	if err != nil {
		return nil, err
	}
	own, err := startSet(binary, settings{members: 1})
	if err != nil {
		return nil, err
	}
	return &sharedServer{uri: own.uri(nil, ""), guardian: own.guardian}, nil
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
