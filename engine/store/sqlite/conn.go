package sqlite

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"marquee/engine/store"
)

// maxStatements is the number of prepared statements that a connection keeps.
const maxStatements = 300

// busyTimeout is the maximum time that a statement waits for a lock of the
// file.
const busyTimeout = 10 * time.Second

// maxLog is the size to which the write-ahead log is truncated when it is reused. The
// commit that brings it to maxLogPages, which are of 4 KiB and fit into maxLog, copies
// its pages into the file: with SQLite's own limit of 1,000, a page that many writes
// change is copied too often.
const (
	maxLog      = 16 << 20
	maxLogPages = 4000
)

// conn is a connection with its prepared statements. One goroutine at a time
// uses it.
type conn struct {
	db         *sqlite3.Conn
	path       string
	statements map[string]*stmt
	// keyNumbers has numbers of keys of terms, also those that its transaction has
	// added.
	keyNumbers map[keyName]int64
	// ahead is what the transaction has read for several calls.
	ahead ahead
	// limited is whether the size of the cache of a reader is set.
	limited bool
	// wrote becomes true when a statement that writes is prepared for execution.
	wrote bool
}

// rolledBack drops what was read or added since the transaction, or a part of it, began.
func (c *conn) rolledBack() {
	clear(c.keyNumbers)
	c.ahead.forgetAll()
}

// openWriter opens the connection that writes to the file of a store.
func openWriter(options Options) (*conn, error) {
	return openConn(options, fmt.Sprintf("PRAGMA synchronous=FULL; PRAGMA journal_size_limit=%d; PRAGMA cache_size=-%d", maxLog, writerCacheKB))
}

// openReader opens a connection that only reads.
func openReader(options Options) (*conn, error) { return openConn(options, "PRAGMA query_only=ON") }

// openConn opens a connection with more settings than all have.
func openConn(options Options, more string) (*conn, error) {
	path, name, flags := options.Path, options.Path, sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE
	if options.vfs != "" || options.immutable {
		query := url.Values{}
		if options.vfs != "" {
			query.Set("vfs", options.vfs)
		}
		if options.immutable {
			query.Set("immutable", "1")
			flags = sqlite3.OPEN_READONLY
		}
		name, flags = (&url.URL{Scheme: "file", Opaque: url.PathEscape(path), RawQuery: query.Encode()}).String(), flags|sqlite3.OPEN_URI
	}
	db, err := sqlite3.OpenFlags(name, flags)
	if err != nil {
		return nil, err
	}
	c := &conn{db: db, path: path, statements: map[string]*stmt{}, keyNumbers: map[keyName]int64{}}
	settings := fmt.Sprintf(`PRAGMA busy_timeout=%d; PRAGMA foreign_keys=OFF; PRAGMA trusted_schema=OFF; PRAGMA wal_autocheckpoint=0;
PRAGMA temp_store=MEMORY; `, busyTimeout.Milliseconds())
	if err := db.Exec(settings + more); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	db.RollbackHook(c.rolledBack)
	// Without the query planner stability guarantee, SQLite prepares a
	// statement again for each new value of a LIMIT.
	if _, err := db.Config(sqlite3.DBCONFIG_ENABLE_QPSG, true); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	err = db.CreateFunction("contains_folded", 2, sqlite3.DETERMINISTIC|sqlite3.INNOCUOUS, containsFolded)
	if err == nil {
		err = db.CreateFunction("has_word", 3, sqlite3.DETERMINISTIC|sqlite3.INNOCUOUS, hasWord)
	}
	if err == nil {
		err = db.CreateFunction("among", 2, sqlite3.INNOCUOUS, among)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return c, nil
}

// containsFolded reports whether the first text contains the second, which is
// in lower case, ignoring the case of the first.
func containsFolded(ctx sqlite3.Context, arg ...sqlite3.Value) {
	if arg[0].Type() != sqlite3.TEXT {
		ctx.ResultBool(false)
		return
	}
	ctx.ResultBool(strings.Contains(strings.ToLower(arg[0].Text()), arg[1].Text()))
}

func (c *conn) exec(script string) error {
	c.wrote = true // perhaps
	return c.db.Exec(script)
}

func (c *conn) pragma(name string) (int64, error) { return c.number("PRAGMA " + name) }

// number returns the number that a statement yields.
func (c *conn) number(sql string, args ...any) (int64, error) {
	s, err := c.prepare(sql, args...)
	if err != nil {
		return 0, err
	}
	defer s.reset()
	if !s.Step() {
		return 0, c.fault(s.Err())
	}
	return s.ColumnInt64(0), nil
}

// stmt is a prepared statement whose parameters are bound.
type stmt struct {
	*sqlite3.Stmt
	writes bool
	// lent reports whether a set of records is bound to it.
	lent bool
}

// prepare returns the prepared statement of a text with its parameters bound.
// It must be reset after use.
func (c *conn) prepare(sql string, args ...any) (*stmt, error) {
	s, ok := c.statements[sql]
	if !ok {
		prepared, _, err := c.db.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT)
		if err != nil {
			return nil, err
		}
		s = &stmt{Stmt: prepared, writes: !prepared.ReadOnly()}
		c.statements[sql] = s
	}
	c.wrote = c.wrote || s.writes
	for i, arg := range args {
		if err := s.bind(i+1, arg); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *stmt) bind(i int, arg any) error {
	switch v := arg.(type) {
	case nil:
		return s.BindNull(i)
	case string:
		return s.BindText(i, v)
	case []byte:
		if v == nil {
			return s.BindNull(i)
		}
		return s.BindRawText(i, v)
	case int64:
		return s.BindInt64(i, v)
	case int:
		return s.BindInt64(i, int64(v))
	case bool:
		return s.BindBool(i, v)
	case float64:
		return s.BindFloat(i, v)
	case *recordSet:
		s.lent = true
		return s.BindPointer(i, v)
	}
	return &store.Error{Code: store.CodeInternal, Text: fmt.Sprintf("SQLite has no parameters of type %T", arg)}
}

func (s *stmt) reset() {
	_ = s.Reset() // repeats the error of Step
	if s.lent {
		_ = s.ClearBindings() // which does not fail
		s.lent = false
	}
}

// run executes a statement that yields no rows.
func (c *conn) run(sql string, args ...any) error {
	s, err := c.prepare(sql, args...)
	if err != nil {
		return err
	}
	defer s.reset()
	for s.Step() {
	}
	return c.fault(s.Err())
}

// rows executes a statement and calls row for each row.
func (c *conn) rows(sql string, args []any, row func(*stmt) error) error {
	s, err := c.prepare(sql, args...)
	if err != nil {
		return err
	}
	defer s.reset()
	for s.Step() {
		if err := row(s); err != nil {
			return err
		}
	}
	return c.fault(s.Err())
}

// tidy closes the statements when there are too many. None may be in use.
func (c *conn) tidy() {
	if len(c.statements) <= maxStatements {
		return
	}
	for _, s := range c.statements {
		_ = s.Close()
	}
	clear(c.statements)
}

// emptyLog truncates the log. If a reader needs it for longer than wait, during which nothing
// is written, the error is sqlite3.BUSY, and the first write after that reader overwrites it.
func (c *conn) emptyLog(wait time.Duration) error {
	err := c.db.BusyTimeout(wait)
	if err == nil {
		_, _, err = c.db.WALCheckpoint("main", sqlite3.CHECKPOINT_TRUNCATE)
	}
	return errors.Join(err, c.db.BusyTimeout(busyTimeout))
}

// setContext interrupts statements when the context ends.
func (c *conn) setContext(ctx context.Context) { c.db.SetInterrupt(ctx) }

func (c *conn) close() error {
	for _, s := range c.statements {
		_ = s.Close()
	}
	return c.db.Close()
}
