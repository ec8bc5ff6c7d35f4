// Package sqlite keeps records in one SQLite file: the store that needs no
// server. One writer commits concurrent transactions together, a pool of
// readers reads snapshots beside it.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/gofrs/flock"

	"marquee/engine/store"
)

// Options are the settings of a store.
type Options struct {
	// Path is the database file; its folder is made when it is missing.
	Path string
	// Readers is how many reads run at once; 0 is a number fit for the machine.
	Readers int
	// BeforeCommit, when it is set, is called before each commit: tests and
	// benchmarks delay it.
	BeforeCommit func()
}

// Store is a store.Store on an SQLite file.
type Store struct {
	options Options
	lock    *flock.Flock
	writer  *writer
	readers chan *conn
	all     []*conn
	revs    revisions
	counts  counts
	few     int // as defaultFew, which a test makes smaller

	ensure  sync.Mutex
	closed  sync.Once
	closing chan struct{}
}

const (
	// applicationID marks the file as Marquee's (PRAGMA application_id).
	applicationID = 0x4d415251
	writerCacheKB = 16 << 10
	readerCacheKB = 4 << 10
)

// Open opens the store, and makes or migrates it. Codes: CodeNotUsable.
func Open(ctx context.Context, options Options) (*Store, error) {
	if options.Readers == 0 {
		options.Readers = max(4, 2*runtime.NumCPU())
	}
	s := &Store{options: options, few: defaultFew, readers: make(chan *conn, options.Readers), closing: make(chan struct{})}
	if err := s.open(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Store) open() error {
	path := s.options.Path
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return notUsable(path, "its folder cannot be made; choose another place or change its permissions", err)
	}
	if err := s.acquire(); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return notUsable(path, "it cannot be opened for writing; check that the file and its folder are writable", err)
	}
	file.Close()
	c, err := openConn(path, writerCacheKB)
	if err != nil {
		return openError(path, err)
	}
	s.all = append(s.all, c)
	// What a large transaction has changed is kept for its savepoint, in a
	// temporary file: in memory there is no place for it.
	if err := c.exec("PRAGMA temp_store=FILE"); err != nil {
		return openError(path, err)
	}
	if err := c.migrate(path); err != nil {
		return openError(path, err)
	}
	for range s.options.Readers {
		reader, err := openConn(path, readerCacheKB)
		if err != nil {
			return openError(path, err)
		}
		if err := reader.exec("PRAGMA query_only=ON"); err != nil {
			return openError(path, err)
		}
		s.all = append(s.all, reader)
		s.readers <- reader
	}
	s.writer = startWriter(s, c)
	return nil
}

// acquire keeps other processes out: counts and revisions are kept in memory.
func (s *Store) acquire() error {
	s.lock = flock.New(s.options.Path+".lock", flock.SetPermissions(0o600))
	held, err := s.lock.TryLock()
	if err != nil {
		s.lock = nil
		return notUsable(s.options.Path, "it cannot be locked; check that its folder is writable", err)
	}
	if !held {
		s.lock = nil
		return notUsable(s.options.Path, "another process has it open; stop that one first", nil)
	}
	return nil
}

func notUsable(path, cure string, cause error) error {
	return &store.Error{Code: store.CodeNotUsable, Text: "the store " + path + " cannot be used: " + cure, Cause: cause}
}

func openError(path string, err error) error {
	var known *store.Error
	if errors.As(err, &known) && known.Code == store.CodeNotUsable {
		return err
	}
	switch primary(err) {
	case codeNotADatabase:
		return notUsable(path, "it is no SQLite database of a version that is known here; restore it from a backup, or choose another path", err)
	case codeCorrupt:
		return notUsable(path, "it is corrupt; restore it from a backup", err)
	case codeReadOnly, codeCantOpen, codePermission:
		return notUsable(path, "it cannot be written; check that the file and its folder are writable", err)
	case codeFull, codeIO:
		return notUsable(path, "the disk is full or fails; make room, or check the disk", err)
	}
	return notUsable(path, "it cannot be opened", err)
}

// migrations are the steps from each version of the store's own tables to the
// next; the version is PRAGMA user_version.
var migrations = []string{`
CREATE TABLE changes (
	seq INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, network TEXT NOT NULL,
	collection TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, user TEXT NOT NULL, fields TEXT NOT NULL);
CREATE INDEX changes_object ON changes (network, collection, id);
CREATE INDEX changes_network ON changes (network);
CREATE TABLE claims (
	collection TEXT NOT NULL, network TEXT NOT NULL, property TEXT NOT NULL, value TEXT NOT NULL, id TEXT NOT NULL,
	PRIMARY KEY (collection, network, property, value)) WITHOUT ROWID;`, `
CREATE TABLE blobs (
	network TEXT NOT NULL, id TEXT NOT NULL, size INTEGER NOT NULL, time INTEGER NOT NULL,
	PRIMARY KEY (network, id)) WITHOUT ROWID;
CREATE TABLE blob_pieces (
	network TEXT NOT NULL, id TEXT NOT NULL, n INTEGER NOT NULL, data BLOB NOT NULL,
	PRIMARY KEY (network, id, n));`, `
ALTER TABLE changes ADD COLUMN owner TEXT;
ALTER TABLE changes ADD COLUMN notices TEXT;
CREATE INDEX changes_owner ON changes (network, owner) WHERE owner IS NOT NULL;`,
}

// migrate brings the tables to the version of this program.
func (c *conn) migrate(path string) error {
	id, err := c.pragma("application_id")
	if err != nil {
		return err
	}
	version, err := c.pragma("user_version")
	if err != nil {
		return err
	}
	tables, err := c.number("SELECT count(*) FROM sqlite_master")
	if err != nil {
		return err
	}
	switch {
	case id == 0 && version == 0 && tables == 0:
	case id != applicationID:
		return notUsable(path, "it is an SQLite database of another program; choose another path", nil)
	case int(version) > len(migrations):
		return notUsable(path, fmt.Sprintf("it was written by a newer Marquee (version %d of the store, this one knows %d); use that program, or restore a backup", version, len(migrations)), nil)
	}
	// Only now, as it changes the file, which may have been another program's.
	if err := c.exec("PRAGMA journal_mode=WAL"); err != nil {
		return err
	}
	if _, err := c.number("SELECT count(*) FROM sqlite_master"); err != nil { // a read makes the files
		return err
	}
	if err := restrict(path); err != nil {
		return notUsable(path, "its files cannot be kept from other users; check that they are this program's own", err)
	}
	for ; int(version) < len(migrations); version++ {
		script := fmt.Sprintf("BEGIN IMMEDIATE;%s PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT;", migrations[version], applicationID, version+1)
		if err := c.exec(script); err != nil {
			return errors.Join(err, c.exec("ROLLBACK"))
		}
	}
	return nil
}

// restrict keeps other users from the files beside the database, which hold
// documents too. SQLite makes them as open as the umask lets it, with nothing
// in them yet.
func restrict(path string) error {
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Chmod(path+suffix, 0o600); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Check reads from the store.
func (s *Store) Check(ctx context.Context) error {
	return s.Read(ctx, func(snapshot store.Snapshot) error {
		_, err := snapshot.(*view).conn.number("SELECT count(*) FROM (SELECT 1 FROM changes LIMIT 1)")
		return err
	})
}

// Close ends the writer after the transactions that it has accepted, and
// closes the file.
func (s *Store) Close() error {
	var err error
	s.closed.Do(func() {
		close(s.closing)
		if s.writer != nil {
			s.writer.stop()
			for range s.options.Readers {
				<-s.readers
			}
		}
		for i := len(s.all) - 1; i >= 0; i-- {
			err = errors.Join(err, s.all[i].close())
		}
		if s.lock != nil {
			err = errors.Join(err, s.lock.Unlock())
		}
	})
	return err
}

// Commits is how many commits the store has made since it was opened.
func (s *Store) Commits() int64 { return s.writer.commits.Load() }
