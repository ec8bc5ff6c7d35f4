package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
)

// initReplicaSetCommand is marquee init-replica-set. It does what is otherwise
// typed into a mongosh, which a deployment that starts by itself has nobody
// for. Running it again changes nothing.
type initReplicaSetCommand struct {
	Store         string        `required:"" help:"The URI that servers will be given: its hosts become the members of the set, its replicaSet the name." placeholder:"mongodb://HOST,…/DATABASE?replicaSet=NAME"`
	Member        string        `default:"127.0.0.1:27017" help:"The member that is told. A server without users lets itself be administered from its own machine only." placeholder:"HOST:PORT"`
	AdminPassword string        `help:"Make the user admin with this password, and the user of the URI, who may read and write its database." placeholder:"PASSWORD"`
	Wait          time.Duration `default:"2m" help:"How long to wait for the members."`
}

// Codes of MongoDB's errors.
const (
	mongoUnauthorized         = 13 // users exist, so that one must sign in
	mongoAuthenticationFailed = 18
	mongoAlreadyInitiated     = 23    // by another run
	mongoNodeNotFound         = 74    // a member does not answer yet
	mongoNoReplication        = 76    // started without --replSet
	mongoNotPrimary           = 10107 // or the election is not over
	mongoUserAlreadyExists    = 51003 // and keeps his password
)

// selection is how long one attempt looks for a server.
const selection = 5 * time.Second

// replicaSet is the set to be made, as its URI describes it.
type replicaSet struct {
	uri      string
	options  *options.ClientOptions
	database string
	member   *mongo.Client
}

func (c *initReplicaSetCommand) Run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, c.Wait)
	defer cancel()
	r, err := newReplicaSet(c.Store, c.Member)
	if err != nil {
		return err
	}
	defer r.close()
	set, err := r.setName(ctx)
	if err != nil {
		return fmt.Errorf("%s does not answer: %w", c.Member, err)
	}
	name := *r.options.ReplicaSet
	switch {
	case set == name:
		if r.usable(ctx) == nil {
			fmt.Printf("The replica set %s is there.\n", name)
			return nil
		}
	case set != "":
		return fmt.Errorf("%s is of the replica set %s, not %s", c.Member, set, name)
	default:
		if err := r.initiate(ctx); err != nil {
			return fmt.Errorf("the replica set %s cannot be initiated: %w", name, err)
		}
	}
	if c.AdminPassword != "" {
		if err := r.makeUsers(ctx, c.AdminPassword); err != nil {
			return fmt.Errorf("the users cannot be made: %w", err)
		}
	}
	if err := retry(ctx, func() error { return r.usable(ctx) }); err != nil {
		return fmt.Errorf("the replica set %s cannot be used: %w", name, err)
	}
	fmt.Printf("The replica set %s of %s is ready.\n", name, strings.Join(r.options.Hosts, ", "))
	return nil
}

// newReplicaSet reads a URI. What is wrong in one is not repeated, as it may
// be a part of a password.
func newReplicaSet(uri, member string) (*replicaSet, error) {
	o := options.Client().ApplyURI(uri)
	if err := o.Validate(); err != nil {
		return nil, errors.New("--store is not a MongoDB URI; in its user and password, all but letters and digits is to be percent-encoded")
	}
	if o.ReplicaSet == nil || *o.ReplicaSet == "" {
		return nil, errors.New("the URI of --store does not say what the set is called: add replicaSet=NAME")
	}
	_, path, _ := strings.Cut(uri[strings.Index(uri, "://")+3:], "/")
	path, _, _ = strings.Cut(path, "?")
	database, err := url.PathUnescape(path)
	if err != nil || database == "" {
		return nil, errors.New("the URI of --store names no database: write mongodb://HOST,…/DATABASE")
	}
	direct := options.Client().SetHosts([]string{member}).SetDirect(true).SetServerSelectionTimeout(selection)
	if o.TLSConfig != nil {
		direct.SetTLSConfig(o.TLSConfig)
	}
	client, err := mongo.Connect(direct)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", member, err)
	}
	return &replicaSet{uri: uri, options: o, database: database, member: client}, nil
}

func (r *replicaSet) close() { disconnect(r.member) }

func disconnect(client *mongo.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), selection)
	defer cancel()
	_ = client.Disconnect(ctx) // nothing is under way
}

// setName asks the member of which set it is, as soon as it answers.
func (r *replicaSet) setName(ctx context.Context) (string, error) {
	var answer struct{ SetName string }
	err := retry(ctx, func() error {
		return r.member.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&answer)
	})
	return answer.SetName, err
}

// initiate tells the member of the others, as soon as they answer it.
func (r *replicaSet) initiate(ctx context.Context) error {
	members := bson.A{}
	for i, host := range r.options.Hosts {
		members = append(members, bson.D{{Key: "_id", Value: i}, {Key: "host", Value: host}})
	}
	config := bson.D{{Key: "_id", Value: *r.options.ReplicaSet}, {Key: "members", Value: members}}
	err := retry(ctx, func() error {
		err := r.member.Database("admin").RunCommand(ctx, bson.D{{Key: "replSetInitiate", Value: config}}).Err()
		if hasCode(err, mongoNodeNotFound) {
			return err
		}
		return forGood(err)
	})
	if hasCode(err, mongoAlreadyInitiated) || hasCode(err, mongoUnauthorized) {
		return nil // what follows tells whether it can be used
	}
	if hasCode(err, mongoNoReplication) {
		return fmt.Errorf("%w: start its members with --replSet %s", err, *r.options.ReplicaSet)
	}
	return err
}

// makeUsers makes an administrator, and as him the user of the URI. The first
// needs no sign-in: as long as there are no users, the server allows that from
// its own machine.
func (r *replicaSet) makeUsers(ctx context.Context, adminPassword string) error {
	err := retry(ctx, func() error {
		err := createUser(ctx, r.member.Database("admin"), "admin", adminPassword, "root", "admin")
		if hasCode(err, mongoNotPrimary) { // yet: the others have to copy what the member knows before one of them can be
			return err
		}
		return forGood(err)
	})
	if err != nil && !hasCode(err, mongoUnauthorized) {
		return err
	}
	own := r.options.Auth
	if own == nil || own.Password == "" { // a certificate's user is not made by a password
		return nil
	}
	admin, err := mongo.Connect(options.Client().ApplyURI(r.uri).SetServerSelectionTimeout(selection).
		SetAuth(options.Credential{AuthSource: "admin", Username: "admin", Password: adminPassword}))
	if err != nil {
		return err
	}
	defer disconnect(admin)
	return createUser(ctx, admin.Database(own.AuthSource), own.Username, own.Password, "readWrite", r.database)
}

// createUser makes a user with a role, unless he is there.
func createUser(ctx context.Context, where *mongo.Database, name, password, role, database string) error {
	err := where.RunCommand(ctx, bson.D{{Key: "createUser", Value: name}, {Key: "pwd", Value: password},
		{Key: "roles", Value: bson.A{bson.D{{Key: "role", Value: role}, {Key: "db", Value: database}}}},
		{Key: "writeConcern", Value: bson.D{{Key: "w", Value: "majority"}}}}).Err()
	if hasCode(err, mongoUserAlreadyExists) {
		return nil
	}
	return err
}

// usable reports whether a server with the URI would find a primary and could
// sign in.
func (r *replicaSet) usable(ctx context.Context) error {
	client, err := mongo.Connect(options.Client().ApplyURI(r.uri).SetServerSelectionTimeout(selection))
	if err != nil {
		return err
	}
	defer disconnect(client)
	err = client.Ping(ctx, readpref.Primary())
	if hasCode(err, mongoAuthenticationFailed) {
		return forGood(err)
	}
	return err
}

func hasCode(err error, code int) bool {
	var server mongo.ServerError
	return errors.As(err, &server) && server.HasErrorCode(code)
}

// final is an error that trying again does not cure.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

func forGood(err error) error {
	if err == nil {
		return nil
	}
	return final{err}
}

// retry calls f until it succeeds, fails for good, or the context ends; then
// the error is the last one of f.
func retry(ctx context.Context, f func() error) error {
	for {
		err := f()
		var last final
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
