package integration

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"

	"marquee/integration/mongodb"
	"marquee/schemas"
	"marquee/schemas/base"
)

// databases holds the databases of MongoDB that tests have used and emptied. To create
// one, with all collections and indexes, takes longer than most tests do, and its files
// remain for minutes after it is dropped.
var databases struct {
	mu   sync.Mutex
	free []database
}

type database struct {
	uri  string
	drop func() error
}

// newMongoDB returns the URI of an empty database, which an earlier test may have used.
func newMongoDB(tb testing.TB) (uri string) {
	tb.Helper()
	mongodb.Need(tb)
	databases.mu.Lock()
	defer databases.mu.Unlock()
	var used database
	if n := len(databases.free); n > 0 {
		used, databases.free = databases.free[n-1], databases.free[:n-1]
	} else {
		used.uri, used.drop = mongodb.Database(tb)
		used.uri = withAppName(used.uri)
	}
	tb.Cleanup(func() {
		usual, err := emptyDatabase(used.uri)
		if err == nil && usual {
			databases.mu.Lock()
			defer databases.mu.Unlock()
			databases.free = append(databases.free, used)
			return
		}
		if err := errors.Join(err, used.drop()); err != nil {
			tb.Error(err)
		}
	})
	return used.uri
}

// dropDatabases drops the databases that no test uses any more.
func dropDatabases() (err error) {
	for _, unused := range databases.free {
		err = errors.Join(err, unused.drop())
	}
	return err
}

// emptyDatabase leaves nothing in a database but the collections of types, their indexes,
// and the document that marks the database as a store. It reports whether all types come
// with the program, as collections of others would be in the way of the next test.
func emptyDatabase(uri string) (usual bool, err error) {
	if err := endTransactions(uri); err != nil {
		return false, err
	}
	ctx := context.Background()
	db, err := connectDatabase(uri)
	if err != nil {
		return false, err
	}
	defer db.Client().Disconnect(ctx)
	names, err := db.ListCollectionNames(ctx, bson.D{{Key: "name", Value: bson.D{{Key: "$ne", Value: "marquee.store"}}}})
	usual = true
	for _, name := range names {
		usual = usual && (internal.MatchString(name) || slices.Contains(usualTypes(), name))
		var wrong error
		if strings.HasPrefix(name, "marquee.") {
			wrong = db.Collection(name).Drop(ctx)
		} else {
			_, wrong = db.Collection(name).DeleteMany(ctx, bson.D{})
		}
		err = errors.Join(err, wrong)
	}
	return usual, err
}

// internal matches the collections of a store, and those of services.
var internal = regexp.MustCompile(`^(marquee\.|(asset|auth|engine|imported|lineitem|review)_)`)

// usualTypes are the names of the types that come with the program.
var usualTypes = sync.OnceValue(func() (names []string) {
	for _, folder := range []fs.FS{schemas.FS, base.FS} {
		files, err := fs.Glob(folder, "*.json")
		if err != nil {
			panic(err)
		}
		for _, file := range files {
			names = append(names, strings.TrimSuffix(file, ".json"))
		}
	}
	return names
})

// withAppName gives the connections of a database a name of their own, so that
// endTransactions finds them.
func withAppName(uri string) string {
	separator := "?"
	if strings.Contains(uri, "?") {
		separator = "&"
	}
	return uri + separator + appName + strings.ToLower(rand.Text())
}

const appName = "appName=test-"

// endTransactions ends the transactions that killed processes have left in a database.
// MongoDB would do so a minute later; until then nobody else could write the same
// records, and a commit that is under way could still add some.
func endTransactions(uri string) error {
	_, name, found := strings.Cut(uri, appName)
	if !found {
		return nil
	}
	db, err := connectDatabase(strings.Replace(uri, appName+name, "appName=end", 1))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), procPatience)
	defer cancel()
	defer db.Client().Disconnect(ctx)
	admin := db.Client().Database("admin")
	for {
		cursor, err := admin.Aggregate(ctx, bson.A{
			bson.D{{Key: "$currentOp", Value: bson.D{{Key: "allUsers", Value: true}, {Key: "idleSessions", Value: true}}}},
			bson.D{{Key: "$match", Value: bson.D{{Key: "appName", Value: "test-" + name}, {Key: "transaction", Value: bson.D{{Key: "$exists", Value: true}}}}}}})
		if err != nil {
			return err
		}
		var open []struct{ LSID struct{ ID bson.Binary } }
		if err := cursor.All(ctx, &open); err != nil || len(open) == 0 {
			return err
		}
		sessions := bson.A{}
		for _, session := range open {
			sessions = append(sessions, bson.D{{Key: "id", Value: session.LSID.ID}})
		}
		if err := admin.RunCommand(ctx, bson.D{{Key: "killSessions", Value: sessions}}).Err(); err != nil {
			return err
		}
	}
}

func connectDatabase(uri string) (*driver.Database, error) {
	parsed, err := connstring.Parse(uri)
	if err != nil {
		return nil, err
	}
	client, err := driver.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		return nil, err
	}
	return client.Database(parsed.Database), nil
}
