package service

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// camera looks at the store past the service: a refused request must leave
// every table, index entry and line of history as it was, also where no
// answer would show it.
type camera interface {
	// picture is a digest of all that is stored.
	Picture() (Picture, error)
	Close() error
}

// Picture is a digest of all that a store holds.
type Picture [sha256.Size]byte

func newCamera(uri string) (camera, error) {
	if path, ok := strings.CutPrefix(strings.TrimPrefix(uri, again), "sqlite:"); ok {
		db, err := sqlite3.OpenFlags("file:"+path, sqlite3.OPEN_READONLY|sqlite3.OPEN_URI)
		return &sqliteCamera{db: db}, err
	}
	db, err := ConnectDatabase(uri)
	return &MongoCamera{DB: db}, err
}

// MongoCamera takes pictures of a database of a replica set.
type MongoCamera struct {
	DB   *mongo.Database
	last Picture
	log  *mongo.Cursor
}

// Close ends the connection.
func (c *MongoCamera) Close() error { return c.DB.Client().Disconnect(context.Background()) }

// Picture asks the server for a digest of each collection but marquee.servers, in which
// servers show that they are there while a transaction takes long. It waits until no
// transaction is open. If the log of operations has nothing of the database since the
// previous picture, that one is returned, because a digest of some seventy collections takes
// much longer.
func (c *MongoCamera) Picture() (Picture, error) {
	ctx := context.Background()
	// A digest of one collection, too, waits for the open transactions of the database.
	err := c.DB.RunCommand(ctx, bson.D{{Key: "dbHash", Value: 1}, {Key: "collections", Value: bson.A{"marquee.store"}}}).Err()
	if err != nil {
		return Picture{}, err
	}
	changed, err := c.changed(ctx)
	if err != nil || !changed {
		return c.last, err
	}
	var answer struct{ Collections map[string]string }
	if err := c.DB.RunCommand(ctx, bson.D{{Key: "dbHash", Value: 1}}).Decode(&answer); err != nil {
		return Picture{}, err
	}
	delete(answer.Collections, "marquee.servers")
	c.last = sha256.Sum256(fmt.Append(nil, answer.Collections))
	return c.last, nil
}

// changed reports whether the database may have changed since the previous call. The cursor
// is tailable because other cursors first wait until all earlier operations are visible.
func (c *MongoCamera) changed(ctx context.Context) (bool, error) {
	if c.log != nil {
		changed := c.log.TryNext(ctx)
		for changed && c.log.TryNext(ctx) {
		}
		if c.log.ID() != 0 || c.log.Err() != nil {
			return changed, c.log.Err()
		}
	}
	log := c.DB.Client().Database("local").Collection("oplog.rs")
	var last struct{ TS bson.Timestamp }
	err := log.FindOne(ctx, bson.D{}, options.FindOne().SetSort(bson.D{{Key: "$natural", Value: -1}}).SetProjection(bson.D{{Key: "ts", Value: 1}})).Decode(&last)
	if err != nil {
		return true, err
	}
	own := bson.Regex{Pattern: "^" + regexp.QuoteMeta(c.DB.Name()+".")}
	servers := c.DB.Name() + ".marquee.servers"
	c.log, err = log.Find(ctx, bson.D{{Key: "ts", Value: bson.D{{Key: "$gte", Value: last.TS}}}, {Key: "$or", Value: bson.A{
		bson.D{{Key: "ns", Value: bson.D{{Key: "$regex", Value: own}, {Key: "$ne", Value: servers}}}},
		bson.D{{Key: "o.applyOps.ns", Value: own}}, // a transaction
	}}}, options.Find().SetCursorType(options.Tailable).SetProjection(bson.D{{Key: "ts", Value: 1}}))
	if err == nil {
		c.log.TryNext(ctx) // the first batch, which is older than the picture: the driver asks for no other one until it has been taken, even if it is empty
		err = c.log.Err()
	}
	return true, err
}

type sqliteCamera struct {
	db      *sqlite3.Conn
	version int64
	last    Picture
}

func (c *sqliteCamera) Close() error { return c.db.Close() }

func (c *sqliteCamera) Picture() (Picture, error) {
	version := int64(0)
	if err := c.rows("PRAGMA data_version", func(s *sqlite3.Stmt) { version = s.ColumnInt64(0) }); err != nil {
		return c.last, err
	}
	if version == c.version {
		return c.last, nil // nobody has committed anything since
	}
	if err := c.db.Exec("BEGIN"); err != nil {
		return c.last, err
	}
	var tables []string
	err := c.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name", func(s *sqlite3.Stmt) {
		tables = append(tables, s.ColumnText(0))
	})
	digest := sha256.New()
	for _, table := range tables {
		var lines []string
		err = errors.Join(err, c.rows(`SELECT * FROM "`+table+`"`, func(s *sqlite3.Stmt) { lines = append(lines, line(s)) }))
		slices.Sort(lines)
		digest.Write([]byte(table + "\x00" + strings.Join(lines, "\x00")))
	}
	err = errors.Join(err, c.db.Exec("COMMIT"))
	c.version, c.last = version, Picture(digest.Sum(nil))
	return c.last, err
}

func line(s *sqlite3.Stmt) string {
	var b []byte
	for i := range s.ColumnCount() {
		text := s.ColumnRawText(i)
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(append(b, byte(s.ColumnType(i))), text...)
	}
	return string(b)
}

func (c *sqliteCamera) rows(sql string, each func(*sqlite3.Stmt)) error {
	s, _, err := c.db.Prepare(sql)
	if err != nil {
		return err
	}
	for s.Step() {
		each(s)
	}
	return errors.Join(s.Err(), s.Close())
}
