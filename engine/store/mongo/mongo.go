// Package mongo keeps records in a MongoDB database on a replica set or a
// sharded cluster: the store of production.
package mongo

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/event"

	"marquee/engine/store"
)

// Options are the settings of a store.
type Options struct {
	// URI is a MongoDB connection string that names a database.
	URI string
	// Monitor, when it is set, sees the commands that are sent.
	Monitor *event.CommandMonitor
}

// Store is a store.Store on a MongoDB database.
type Store struct{ store.Store }

// Open connects to the deployment, checks that it can be used, and makes or
// migrates what the store needs in the database. Codes: CodeNotUsable,
// CodeUnavailable.
func Open(ctx context.Context, options Options) (*Store, error) {
	return nil, errors.New("not yet")
}
