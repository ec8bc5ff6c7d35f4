package mongodb

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// maxCollections is the number of collections that a mongod holds in its life. Each has
// several files; with thousands of them, a mongod spends most of its time looking
// through the open ones, and dropping a database takes longer than starting another
// mongod.
const maxCollections = 6 * usualCollections

// usualCollections is the number of collections that a database is expected to get. From
// twice as many on, an emptied database is not used again: tests with other schemas leave theirs.
const usualCollections = 60

// sharedServer is a server behind URI.
type sharedServer struct {
	uri string
	// client drops databases of a server that is kept, and counts the collections of others.
	client *mongo.Client
	// guardian ends a container with the process.
	guardian *guardian
	// stop ends a mongod and removes what it wrote; nil for a server that is kept.
	stop func() error
	// collections is the number of collections so far, users the number of tests that still
	// use a database or may ask for one again.
	collections, users int
	// free are the emptied databases that tests may use again.
	free []string
}

// servers are the shared servers of the binary.
type servers struct {
	mu      sync.Mutex
	current *sharedServer
	// err is why there is no server.
	err error
}

var all servers

// need returns an error if there is no server.
func (s *servers) need() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(false)
}

// join returns a server, and the name of a database on it: a new one, or one that has been
// emptied if that will do.
func (s *servers) join(again bool) (server *sharedServer, database string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.find(again); err != nil {
		return nil, "", err
	}
	server = s.current
	server.users++
	if last := len(server.free) - 1; again && last >= 0 {
		database, server.free = server.free[last], server.free[:last]
		return server, database, nil
	}
	server.collections += usualCollections
	return server, "marquee_test_" + strings.ToLower(rand.Text()), nil
}

// hold keeps the current server, with its emptied databases, until it is left.
func (s *servers) hold() (*sharedServer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.find(true); err != nil {
		return nil, err
	}
	s.current.users++
	return s.current, nil
}

// find starts another server unless the current one has room for a database, or an emptied
// one if that will do.
func (s *servers) find(again bool) error {
	before := s.current
	switch {
	case before == nil && s.err == nil:
		s.current, s.err = startShared()
	case before != nil && before.stop != nil && before.collections >= maxCollections && !(again && len(before.free) > 0):
		next, err := startShared()
		if err != nil {
			return nil // too many databases are slow, and better than none
		}
		s.current = next
		if before.users == 0 {
			_ = before.stop() // its guardian ends it with the process otherwise
		}
	}
	return s.err
}

// leave ends the use of a server by a test, and removes its database unless that is "", or
// one that other tests may use again.
func (s *servers) leave(server *sharedServer, database string, again bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	var collections []string
	var err error
	counted := server.stop != nil && database != "" && !again
	if counted {
		collections, err = server.client.Database(database).ListCollectionNames(ctx, bson.D{})
	}
	s.mu.Lock()
	server.users--
	if counted && err == nil {
		server.collections += len(collections) - usualCollections
	}
	if again {
		server.free = append(server.free, database)
	}
	last := server.users == 0
	var unused []string
	switch {
	case server.stop != nil:
		last = last && server != s.current
	case last:
		unused, server.free = server.free, nil
	}
	s.mu.Unlock()
	if server.stop != nil {
		if last {
			err = errors.Join(err, server.stop())
		}
		return err
	}
	if database != "" && !again {
		unused = append(unused, database)
	}
	for _, name := range unused {
		err = errors.Join(err, server.client.Database(name).Drop(ctx))
	}
	return err
}

// empty lets a function empty a database, and reports whether that one is worth using again.
func (server *sharedServer) empty(database string, empty func(context.Context, *mongo.Database) error) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	client, err := mongo.Connect(options.Client().ApplyURI(server.uri))
	if err != nil {
		return false, err
	}
	defer client.Disconnect(ctx)
	db := client.Database(database)
	if err := empty(ctx, db); err != nil {
		return false, err
	}
	names, err := db.ListCollectionNames(ctx, bson.D{})
	return err == nil && len(names) > 0 && len(names) < 2*usualCollections, err
}

func startShared() (*sharedServer, error) {
	if uri := os.Getenv("MARQUEE_TEST_MONGODB_URI"); uri != "" {
		return (&sharedServer{uri: uri}).connect()
	}
	binary, err := Binary()
	if errors.Is(err, errNone) {
		server, err := startContainer()
		if err != nil {
			return nil, err
		}
		return server.connect()
	}
	if err != nil {
		return nil, err
	}
	own, err := startSet(binary, settings{members: 1})
	if err != nil {
		return nil, err
	}
	return &sharedServer{uri: own.uri(nil, ""), client: own.client, stop: own.stop}, nil
}

// connect returns the server with its client.
func (server *sharedServer) connect() (*sharedServer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	var err error
	server.client, err = mongo.Connect(options.Client().ApplyURI(server.uri))
	if err != nil {
		return nil, err
	}
	if err := server.client.Ping(ctx, nil); err != nil {
		return nil, fmt.Errorf("the MongoDB for tests does not answer: %w", err)
	}
	return server, nil
}
