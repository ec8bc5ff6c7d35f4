// Package replicaset initiates replica sets of new MongoDB servers, with their users. It
// imports nothing of the project. Begin with Init.
package replicaset

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"
)

// Options configures Init.
type Options struct {
	// URI is the connection string that servers will be given: its hosts become the
	// members of the set, its option replicaSet the name, and its user, if
	// AdminPassword is set, a user that can read and write its database.
	URI string
	// Member is the HOST:PORT that receives the commands. A MongoDB server without
	// users accepts them from its own machine only, so that the default is 127.0.0.1
	// with the port of the URI's first host.
	Member string
	// AdminPassword, if set, is that of a new user admin with the role root.
	AdminPassword string
	// Waiting, if set, is called with the name of something to wait for; the
	// function that it returns is called when the wait is over.
	Waiting func(name string) (answered func())
}

// Set describes a replica set that can be used.
type Set struct {
	Name    string
	Members []string
	// Existed reports whether the set was usable before, so that nothing was
	// changed.
	Existed bool
}

// Errors of connection strings. They do not repeat the string, any part of
// which may belong to a password.
var (
	ErrURI        = errors.New("not a MongoDB connection string, or letters in its user or password are not percent-encoded")
	ErrNoSet      = errors.New("the connection string does not name the replica set")
	ErrNoDatabase = errors.New("the connection string does not name a database")
)

// SilentError is the member that did not answer.
type SilentError string

func (e SilentError) Error() string { return string(e) + " does not answer" }

// The codes of MongoDB's errors that Init expects.
const (
	codeBadValue             = 2
	codeUnauthorized         = 13 // users exist, so a sign-in is needed
	codeAuthenticationFailed = 18
	codeAlreadyInitiated     = 23 // by another process
	codeNodeNotFound         = 74 // a member does not answer yet
	codeNoReplication        = 76 // started without --replSet
	codeNotPrimary           = 10107
	codeUserExists           = 51003
)

// initSelection is how long one attempt looks for a server.
const initSelection = 5 * time.Second

// Init initiates a replica set of new servers and creates its users, as far as that
// has not been done. It waits for the members and for the election of a primary until
// the context ends; the error is then that of the last attempt.
func Init(ctx context.Context, o Options) (Set, error) {
	s, err := newSetup(o)
	if err != nil {
		return Set{}, err
	}
	defer disconnect(s.member)
	waiting := o.Waiting
	if waiting == nil {
		waiting = func(string) func() { return func() {} }
	}
	answered := waiting(s.address + " (--member)")
	current, err := s.currentName(ctx)
	answered()
	if err != nil {
		return Set{}, SilentError(s.address)
	}
	result := Set{Name: *s.options.ReplicaSet, Members: s.options.Hosts}
	defer waiting("the replica set " + result.Name)()
	switch current {
	case result.Name:
		if s.usable(ctx) == nil {
			result.Existed = true
			return result, nil
		}
	case "":
		if err := s.initiate(ctx, o.AdminPassword != ""); err != nil {
			return result, fmt.Errorf("the replica set %s cannot be initiated: %w", result.Name, err)
		}
	default:
		return result, fmt.Errorf("%s belongs to the replica set %s, not %s", s.address, current, result.Name)
	}
	if o.AdminPassword != "" {
		if err := s.createUsers(ctx, o.AdminPassword); err != nil {
			return result, fmt.Errorf("the users cannot be created: %w", s.cause(err))
		}
	}
	if err := repeat(ctx, func() error { return s.usable(ctx) }); err != nil {
		return result, fmt.Errorf("the replica set %s cannot be used: %w", result.Name, s.cause(err))
	}
	return result, nil
}

// setup initiates a replica set.
type setup struct {
	uri      string
	options  *options.ClientOptions
	database string
	// member is connected to the member at address alone.
	member  *mongo.Client
	address string
}

func newSetup(o Options) (*setup, error) {
	uri := options.Client().ApplyURI(o.URI)
	if err := uri.Validate(); err != nil {
		return nil, ErrURI
	}
	if uri.ReplicaSet == nil || *uri.ReplicaSet == "" {
		return nil, ErrNoSet
	}
	_, path, _ := strings.Cut(o.URI[strings.Index(o.URI, "://")+3:], "/")
	path, _, _ = strings.Cut(path, "?")
	database, err := url.PathUnescape(path)
	if err != nil || database == "" {
		return nil, ErrNoDatabase
	}
	address := o.Member
	if address == "" {
		_, port, found := strings.Cut(uri.Hosts[0], ":")
		if !found {
			port = "27017"
		}
		address = net.JoinHostPort("127.0.0.1", port)
	}
	s := &setup{uri: o.URI, options: uri, database: database, address: address}
	s.member, err = s.connect(address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return s, nil
}

// connect connects to one server alone, without signing in.
func (s *setup) connect(address string) (*mongo.Client, error) {
	direct := options.Client().SetHosts([]string{address}).SetDirect(true).SetServerSelectionTimeout(initSelection)
	if s.options.TLSConfig != nil {
		direct.SetTLSConfig(s.options.TLSConfig)
	}
	return mongo.Connect(direct)
}

func disconnect(client *mongo.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), initSelection)
	defer cancel()
	_ = client.Disconnect(ctx) // nothing is in progress
}

// currentName returns the name of the set that the member belongs to, as soon as
// it answers; "" means none.
func (s *setup) currentName(ctx context.Context) (name string, err error) {
	err = repeat(ctx, func() error {
		said, err := hello(ctx, s.member)
		name = said.SetName
		return err
	})
	return name, err
}

type greeting struct {
	SetName         string
	TopologyVersion struct {
		ProcessID bson.ObjectID `bson:"processId"`
	}
}

func hello(ctx context.Context, client *mongo.Client) (said greeting, err error) {
	err = client.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&said)
	return said, err
}

// isMember reports whether the server at the host is the member.
func (s *setup) isMember(ctx context.Context, host string) bool {
	client, err := s.connect(host)
	if err != nil {
		return false
	}
	defer disconnect(client)
	own, err := hello(ctx, s.member)
	if err != nil {
		return false
	}
	said, err := hello(ctx, client)
	return err == nil && said.TopologyVersion == own.TopologyVersion
}

// initiate makes the hosts of the connection string the members of the set, as
// soon as they answer the member. If the member is preferred, it becomes the primary, which
// alone can create users, until createUsers has done so.
func (s *setup) initiate(ctx context.Context, preferMember bool) error {
	err := repeat(ctx, func() error {
		members, prefer := bson.A{}, preferMember
		for i, host := range s.options.Hosts {
			priority := 1
			if prefer && s.isMember(ctx, host) {
				priority, prefer = 2, false
			}
			members = append(members, bson.D{{Key: "_id", Value: i}, {Key: "host", Value: host}, {Key: "priority", Value: priority}})
		}
		config := bson.D{{Key: "_id", Value: *s.options.ReplicaSet}, {Key: "members", Value: members}}
		err := s.member.Database("admin").RunCommand(ctx, bson.D{{Key: "replSetInitiate", Value: config}}).Err()
		if hasCode(err, codeNodeNotFound) {
			return err
		}
		return permanent(err)
	})
	switch {
	case hasCode(err, codeAlreadyInitiated, codeUnauthorized):
		return nil // usable decides
	case hasCode(err, codeNoReplication):
		return fmt.Errorf("%w: start its members with --replSet %s", err, *s.options.ReplicaSet)
	}
	return err
}

// createUsers creates an administrator and, signed in as that, the user of the
// connection string. The administrator needs no sign-in: MongoDB allows the first
// user to be created from its own machine.
func (s *setup) createUsers(ctx context.Context, adminPassword string) error {
	err := repeat(ctx, func() error {
		err := createUser(ctx, s.member.Database("admin"), "admin", adminPassword, role("root", "admin"))
		if hasCode(err, codeNotPrimary) { // a primary is elected when the others have copied the configuration
			return err
		}
		return permanent(err)
	})
	if err != nil && !hasCode(err, codeUnauthorized) {
		return err
	}
	admin, err := mongo.Connect(options.Client().ApplyURI(s.uri).SetServerSelectionTimeout(initSelection).
		SetAuth(options.Credential{AuthSource: "admin", Username: "admin", Password: adminPassword}))
	if err != nil {
		return err
	}
	defer disconnect(admin)
	return repeat(ctx, func() error {
		err := preferNone(ctx, admin.Database("admin"))                            // before the set is usable, lest a run that is interrupted leaves it out
		if own := s.options.Auth; err == nil && own != nil && own.Password != "" { // users with certificates have no password
			// The second role lets the store check whether the members' caches are large enough.
			err = createUser(ctx, admin.Database(own.AuthSource), own.Username, own.Password, role("readWrite", s.database), role("clusterMonitor", "admin"))
		}
		if hasCode(err, codeBadValue, codeUnauthorized, codeAuthenticationFailed) {
			return permanent(err)
		}
		return err
	})
}

// preferNone gives all members the same priority if initiate has preferred one.
func preferNone(ctx context.Context, admin *mongo.Database) error {
	type member struct {
		Priority float64
		Others   bson.M `bson:",inline"`
	}
	var reply struct {
		Config struct {
			Version int
			Members []member
			Others  bson.M `bson:",inline"`
		}
	}
	if err := admin.RunCommand(ctx, bson.D{{Key: "replSetGetConfig", Value: 1}}).Decode(&reply); err != nil {
		return err
	}
	members := reply.Config.Members
	preferred := slices.IndexFunc(members, func(m member) bool { return m.Priority == 2 })
	if preferred < 0 {
		return nil
	}
	members[preferred].Priority = 1
	if slices.ContainsFunc(members, func(m member) bool { return m.Priority != 1 }) {
		return nil // an operator has chosen these
	}
	reply.Config.Version++
	return admin.RunCommand(ctx, bson.D{{Key: "replSetReconfig", Value: reply.Config}}).Err()
}

func role(name, database string) bson.D {
	return bson.D{{Key: "role", Value: name}, {Key: "db", Value: database}}
}

// createUser creates a user unless it exists.
func createUser(ctx context.Context, db *mongo.Database, name, password string, roles ...bson.D) error {
	err := db.RunCommand(ctx, bson.D{{Key: "createUser", Value: name}, {Key: "pwd", Value: password}, {Key: "roles", Value: roles},
		{Key: "writeConcern", Value: bson.D{{Key: "w", Value: "majority"}}}}).Err()
	if hasCode(err, codeUserExists) {
		return nil
	}
	return err
}

// usable checks that a server with the connection string would find a primary and
// could sign in.
func (s *setup) usable(ctx context.Context) error {
	client, err := mongo.Connect(options.Client().ApplyURI(s.uri).SetServerSelectionTimeout(initSelection))
	if err != nil {
		return err
	}
	defer disconnect(client)
	err = client.Ping(ctx, readpref.Primary())
	if hasCode(err, codeAuthenticationFailed) {
		return permanent(err)
	}
	return err
}

// cause is an error of the driver in words of this program, if they are known.
func (s *setup) cause(err error) error {
	var selection topology.ServerSelectionError
	switch {
	case hasCode(err, codeAuthenticationFailed):
		return errors.New("a password is not accepted: that of the admin, or that of the connection string")
	case errors.As(err, &selection), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no primary can be reached at %s: check that each member runs with --replSet %s and is reached by the others, and from here, under this name",
			strings.Join(s.options.Hosts, ", "), *s.options.ReplicaSet)
	}
	return err
}

func hasCode(err error, codes ...int) bool {
	var server mongo.ServerError
	return errors.As(err, &server) && slices.ContainsFunc(codes, server.HasErrorCode)
}

// permanentError is an error that another attempt would not cure.
type permanentError struct{ error }

func (e permanentError) Unwrap() error { return e.error }

func permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanentError{err}
}

// repeat calls f until it succeeds, fails permanently, or the context ends, and
// returns the last error of f.
func repeat(ctx context.Context, f func() error) error {
	for {
		err := f()
		var last permanentError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &last):
			return last.error
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(500 * time.Millisecond):
		}
	}
}
