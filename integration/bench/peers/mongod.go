package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"marquee/integration/mongodb"
)

// database is a replica set of one member, on the disk and with the settings that
// MongoDB has by default, unlike that of the tests.
type database struct {
	process *process
	client  *mongo.Client
	address string
	version string
}

func startDatabase(ctx context.Context, folder string) (*database, error) {
	binary, err := mongodb.Binary()
	if err != nil {
		return nil, err
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	data := filepath.Join(folder, "mongod")
	if err := os.Mkdir(data, 0o700); err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	d := &database{address: address}
	d.process, err = startProcess(folder, nil, binary, "--dbpath", data, "--port", port, "--bind_ip", "127.0.0.1", "--nounixsocket",
		"--replSet", "rs0", "--wiredTigerCacheSizeGB", "2", "--quiet", "--logpath", filepath.Join(folder, "mongod.log"))
	if err != nil {
		return nil, err
	}
	if err := d.initiate(ctx); err != nil {
		d.process.stop()
		return nil, fmt.Errorf("mongod: %w\n%s", err, d.process.complaint())
	}
	return d, nil
}

// initiate makes the server the primary of a replica set.
func (d *database) initiate(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	direct, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + d.address + "/?directConnection=true").SetServerSelectionTimeout(startLimit))
	if err != nil {
		return err
	}
	defer func() { _ = direct.Disconnect(ctx) }()
	set := bson.D{{Key: "_id", Value: "rs0"}, {Key: "members", Value: bson.A{bson.D{{Key: "_id", Value: 0}, {Key: "host", Value: d.address}}}}}
	if err := direct.Database("admin").RunCommand(ctx, bson.D{{Key: "replSetInitiate", Value: set}}).Err(); err != nil {
		return err
	}
	if d.client, err = mongo.Connect(options.Client().ApplyURI(d.uri("admin")).SetServerSelectionTimeout(startLimit)); err != nil {
		return err
	}
	var build struct{ Version string }
	if err := d.client.Database("admin").RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&build); err != nil {
		return err
	}
	d.version = build.Version
	return d.client.Ping(ctx, nil)
}

func (d *database) uri(name string) string {
	return "mongodb://" + d.address + "/" + name + "?replicaSet=rs0"
}

func (d *database) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	err := d.client.Disconnect(ctx)
	d.process.stop()
	return err
}

var errNoDatabase = errors.New("there is no mongod: run `make mongod`")

// insert creates documents without the service, where its own way would take too long.
func (d *database) insert(ctx context.Context, name, collection string, documents []string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var all []any
	for _, text := range documents {
		var document bson.D
		if err := bson.UnmarshalExtJSON([]byte(text), false, &document); err != nil {
			return err
		}
		all = append(all, document)
	}
	_, err := d.client.Database(name).Collection(collection).InsertMany(ctx, all)
	return err
}
