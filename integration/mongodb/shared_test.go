package mongodb

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// A mongod has room for some databases. Then another one is started, and the first one
// ends with the last test that uses it.
func TestServersAreReplaced(t *testing.T) {
	if _, err := Binary(); os.Getenv("MARQUEE_TEST_MONGODB_URI") != "" || errors.Is(err, errNone) {
		Need(t)
		t.Skip("the tests do not start their MongoDB: run 'make mongod', without MARQUEE_TEST_MONGODB_URI")
	}
	var s servers
	join := func() *sharedServer {
		server, _, err := s.join(false)
		if err != nil {
			t.Fatal(err)
		}
		return server
	}
	leave := func(server *sharedServer) {
		if err := s.leave(server, "unused", false); err != nil {
			t.Error(err)
		}
	}
	first := join()
	for range maxCollections/usualCollections - 1 {
		if join() != first {
			t.Fatal("a server with room for a database is replaced")
		}
	}
	second := join()
	if second == first {
		t.Fatalf("a server holds more than %d collections", maxCollections)
	}
	for range maxCollections / usualCollections {
		if !answers(t, first) {
			t.Error("a server has ended before the tests that use it")
		}
		leave(first)
	}
	if answers(t, first) {
		t.Error("a server without tests goes on")
	}
	leave(second)
	if !answers(t, second) {
		t.Error("a server with room for a database has ended")
	}
	if err := second.stop(); err != nil {
		t.Error(err)
	}
}

// An emptied database is used again by those who ask for that, and is no room for others.
func TestEmptiedDatabasesAreUsedAgain(t *testing.T) {
	Need(t)
	s := servers{current: &sharedServer{stop: func() error { return nil }, free: []string{"emptied"}, collections: usualCollections}}
	if _, database, err := s.join(false); err != nil || database == "emptied" {
		t.Errorf("%q instead of a new database: %v", database, err)
	}
	first, database, err := s.join(true)
	if err != nil || database != "emptied" {
		t.Errorf("%q instead of the emptied database: %v", database, err)
	}
	if _, database, err = s.join(true); err != nil || database == "emptied" {
		t.Errorf("one database for two tests, or none: %q, %v", database, err)
	}
	if err := s.leave(first, "emptied", true); err != nil || len(first.free) != 1 {
		t.Errorf("the database is not kept: %v, %v", first.free, err)
	}
}

// A test leaves the next one nothing.
func TestDatabasesAreEmptied(t *testing.T) {
	Need(t)
	fresh := Reusing(t, func(ctx context.Context, db *mongo.Database) error {
		_, err := db.Collection("things").DeleteMany(ctx, map[string]any{})
		return err
	})
	for range 2 {
		t.Run("", func(t *testing.T) {
			uri := fresh(t)
			server, err := (&sharedServer{uri: uri}).connect()
			if err != nil {
				t.Fatal(err)
			}
			defer leave(server.client)
			database, _, _ := strings.Cut(uri[strings.LastIndex(uri, "/")+1:], "?")
			things := server.client.Database(database).Collection("things")
			if _, err := things.UpdateOne(t.Context(), map[string]int{"_id": 1}, map[string]any{"$inc": map[string]int{"n": 1}}, options.UpdateOne().SetUpsert(true)); err != nil {
				t.Fatal(err)
			}
			var thing struct{ N int }
			if err := things.FindOne(t.Context(), map[string]int{"_id": 1}).Decode(&thing); err != nil || thing.N != 1 {
				t.Errorf("another test has left %v, %v", thing, err)
			}
		})
	}
}

// A server that is kept must not fill up with the databases of tests.
func TestDatabaseOfKeptServerIsDropped(t *testing.T) {
	Need(t)
	uri := URI(t)
	server, err := (&sharedServer{uri: uri}).connect()
	if err != nil {
		t.Fatal(err)
	}
	defer leave(server.client)
	s := servers{current: server}
	if joined, _, err := s.join(false); err != nil || joined != server {
		t.Fatalf("%v instead of the server: %v", joined, err)
	}
	database := uri[strings.LastIndex(uri, "/")+1:]
	database, _, _ = strings.Cut(database, "?")
	exists := func() bool {
		names, err := server.client.ListDatabaseNames(t.Context(), map[string]string{"name": database})
		if err != nil {
			t.Fatal(err)
		}
		return len(names) > 0
	}
	if _, err := server.client.Database(database).Collection("things").InsertOne(t.Context(), map[string]int{"_id": 1}); err != nil || !exists() {
		t.Fatalf("the database was not made: %v", err)
	}
	if err := s.leave(server, database, false); err != nil || exists() {
		t.Errorf("the database outlives its test: %v", err)
	}
	joined, database, err := s.join(true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.client.Database(database).Collection("things").InsertOne(t.Context(), map[string]int{"_id": 1}); err != nil || !exists() {
		t.Fatalf("the database was not made: %v", err)
	}
	if err := s.leave(joined, database, true); err != nil || exists() {
		t.Errorf("a database to use again outlives all tests that may do so: %v", err)
	}
}

// answers reports whether a server does.
func answers(t *testing.T, server *sharedServer) bool {
	client, err := mongo.Connect(options.Client().ApplyURI(server.uri).SetServerSelectionTimeout(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer leave(client)
	return client.Ping(t.Context(), nil) == nil
}
