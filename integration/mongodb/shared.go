package mongodb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// maxDatabases is the number of databases that a mongod holds in its life. Each has
// hundreds of files; with thousands of them, a mongod spends most of its time looking
// through the open ones, and dropping a database takes longer than starting another
// mongod.
const maxDatabases = 6

// sharedServer is a server behind URI.
type sharedServer struct {
	uri string
	// client drops databases of a server that is kept.
	client *mongo.Client
	// guardian ends a container with the process.
	guardian *guardian
	// stop ends a mongod and removes what it wrote; nil for a server that is kept.
	stop func() error
	// databases is the number of databases so far, users the number of tests that still
	// use one.
	databases, users int
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
	return s.find()
}

// join returns a server that has room for another database.
func (s *servers) join() (*sharedServer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.find(); err != nil {
		return nil, err
	}
	s.current.databases++
	s.current.users++
	return s.current, nil
}

// find starts another server unless the current one has room.
func (s *servers) find() error {
	before := s.current
	switch {
	case before == nil && s.err == nil:
		s.current, s.err = startShared()
	case before != nil && before.stop != nil && before.databases >= maxDatabases:
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

// leave removes the database of a test that has ended.
func (s *servers) leave(server *sharedServer, database string) error {
	if server.stop == nil {
		ctx, cancel := context.WithTimeout(context.Background(), startLimit)
		defer cancel()
		return server.client.Database(database).Drop(ctx)
	}
	s.mu.Lock()
	server.users--
	last := server.users == 0 && server != s.current
	s.mu.Unlock()
	if last {
		return server.stop()
	}
	return nil
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
	return &sharedServer{uri: own.uri(nil, ""), stop: own.stop}, nil
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
