package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"marquee/integration/mongodb"
)

// A database is one of MongoDB that tests use one after another.
type database struct {
	uri     string
	release func() error
}

// databases are those that tests have emptied. To make one, with all collections and
// indexes, takes longer than what most tests do with it.
type databases struct {
	mu   sync.Mutex
	free []database
}

func (d *databases) take() (database, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.free) == 0 {
		return database{}, false
	}
	last := len(d.free) - 1
	taken := d.free[last]
	d.free = d.free[:last]
	return taken, true
}

func (d *databases) add(free database) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.free = append(d.free, free)
}

// Release removes the databases that no test uses.
func (d *databases) Release() (err error) {
	for {
		last, ok := d.take()
		if !ok {
			return err
		}
		err = errors.Join(err, last.release())
	}
}

// Shared are databases with the collections and indexes of the advertising service, and
// no others, for all tests of the process. Who runs the tests releases them at the end.
var Shared databases

// Reusing gives databases that are emptied after use and used again: by all tests of the
// process if they have the collections and indexes of the advertising service, and
// otherwise by the tests of an owner, as long as it runs.
func Reusing(owner testing.TB) NewStore {
	own := &databases{}
	owner.Cleanup(func() {
		if err := own.Release(); err != nil {
			owner.Errorf("remove the test's databases: %v", err)
		}
	})
	return func(tb testing.TB) string {
		tb.Helper()
		mongodb.Need(tb)
		d, ok := own.take()
		if !ok {
			d, ok = Shared.take()
		}
		if !ok {
			d.uri, d.release = mongodb.Acquire(tb)
		}
		tb.Cleanup(func() {
			isStandard, err := emptyDatabase(d.uri)
			switch {
			case err != nil:
				tb.Error(err)
			case isStandard:
				Shared.add(d)
			default:
				own.add(d)
			}
		})
		return d.uri
	}
}

// standard is the shape of databases of the advertising service, or "".
var standard struct {
	sync.Mutex
	shape string
}

// noteStandard keeps the shape of a database that the advertising service has just been
// started on, for the first time.
func noteStandard(uri string) error {
	if !strings.HasPrefix(uri, "mongodb") {
		return nil
	}
	standard.Lock()
	defer standard.Unlock()
	if standard.shape != "" {
		return nil
	}
	ctx := context.Background()
	db, err := ConnectDatabase(uri)
	if err != nil {
		return err
	}
	defer db.Client().Disconnect(ctx)
	names, err := db.ListCollectionNames(ctx, bson.D{})
	if err == nil {
		standard.shape, err = shape(ctx, db, names)
	}
	return err
}

// shape describes the collections and indexes of a database.
func shape(ctx context.Context, db *driver.Database, names []string) (string, error) {
	var all []string
	for _, name := range names {
		indexes, err := db.Collection(name).Indexes().List(ctx)
		if err != nil {
			return "", err
		}
		for indexes.Next(ctx) {
			all = append(all, fmt.Sprint(name, indexes.Current))
		}
		if err := indexes.Err(); err != nil {
			return "", err
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n"), nil
}

// emptyDatabase leaves nothing in a database but its collections and what says that they
// are a store's, and reports whether these are the collections and indexes of the
// advertising service.
func emptyDatabase(uri string) (isStandard bool, err error) {
	ctx := context.Background()
	db, err := ConnectDatabase(uri)
	if err != nil {
		return false, err
	}
	defer db.Client().Disconnect(ctx)
	names, err := db.ListCollectionNames(ctx, bson.D{})
	if err != nil {
		return false, err
	}
	for _, name := range names {
		if name != "marquee.store" {
			_, wrong := db.Collection(name).DeleteMany(ctx, bson.D{})
			err = errors.Join(err, wrong)
		}
	}
	standard.Lock()
	wanted := standard.shape
	standard.Unlock()
	if err != nil || wanted == "" {
		return false, err
	}
	has, err := shape(ctx, db, names)
	return has == wanted, err
}
