package service

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
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
	return &MongoCamera{db}, err
}

// MongoCamera takes pictures of a database of MongoDB.
type MongoCamera struct{ DB *mongo.Database }

// Close ends the connection.
func (c *MongoCamera) Close() error { return c.DB.Client().Disconnect(context.Background()) }

// Picture asks the server for a digest of each collection but marquee.servers, in which
// servers show that they are there while a transaction takes long. It waits until no
// transaction is open.
func (c *MongoCamera) Picture() (Picture, error) {
	var answer struct{ Collections map[string]string }
	err := c.DB.RunCommand(context.Background(), bson.D{{Key: "dbHash", Value: 1}}).Decode(&answer)
	delete(answer.Collections, "marquee.servers")
	return sha256.Sum256(fmt.Append(nil, answer.Collections)), err
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
