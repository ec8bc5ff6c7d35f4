// Package sqlite is the store that needs no server: it keeps records in one
// SQLite file. One writer commits concurrent transactions together (group commit,
// writer.go), while a pool of readers reads snapshots. It imports store, turn, document,
// histogram and query. Begin with Store; a query passes through compile.go, plan.go, page.go and
// view.go.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/gofrs/flock"
	"github.com/ncruces/go-sqlite3"

	"marquee/engine/store"
	"marquee/engine/turn"
)

// Options configures a store.
type Options struct {
	// Path is the database file. Its folder is created when it is missing.
	Path string
	// MustExist makes Open fail when there is no store, instead of creating
	// one.
	MustExist bool
	// Loading opens a store for Load: one that is empty or not complete.
	Loading bool
	// Readers is the number of concurrent reads; 0 chooses one for the machine.
	Readers int
	// BeforeCommit, if set, is called before each commit. Tests and benchmarks
	// use it for a delay.
	BeforeCommit func()
	// Log, if set, receives messages for operators.
	Log *slog.Logger
	// NoUpgradeCopy leaves out the copy that is made beside the file before its format
	// is upgraded. Copied, if set, is called with the copy and with the command that goes
	// back to it.
	NoUpgradeCopy bool
	Copied        func(copy, back string)
	// vfs is the name of the file system of SQLite that a test uses, "" for that of the
	// operating system.
	vfs string
	// immutable opens a file that nobody writes, without a log and without locks.
	immutable bool
}

// Store is a store.Store on an SQLite file.
type Store struct {
	options Options
	lock    *flock.Flock
	writer  *writer
	readers readers
	// reading has a place for each reader. Walking limits extensive reads to three
	// quarters of the readers, so that the read of a single object does not wait for
	// long lists, and those of one caller to half of the readers.
	reading, walking *turn.Places
	walks            walks
	all              []*conn
	commits          commits
	tallies          store.Tallies
	measured         measured
	counts           counts
	file             os.FileInfo           // the database file when it was opened
	damaged          atomic.Pointer[error] // the first sign of damage
	// failing is an error of the last write because of which all writes may fail.
	failing atomic.Pointer[error]
	// uncopied reports that the log must stay as it is until the next start.
	uncopied atomic.Bool
	// stale reports that the log has, or may have, data that Wipe was to remove.
	stale atomic.Bool
	// format is the version of the file, and incomplete whether Load has not completed it.
	format     int64
	incomplete bool
	// wiping is held while the log is written by another connection than the writer's,
	// and while it is truncated.
	wiping sync.Mutex
	// backing is held while a backup is running.
	backing      sync.Mutex
	rare, walked int // defaultRare and defaultWalked, less in a test
	// made is what was made to open the store; dropped has Close remove it.
	made    made
	dropped bool

	ensure sync.Mutex
	closed sync.Once
}

const (
	// applicationID identifies the file as Marquee's (PRAGMA application_id).
	applicationID = 0x4d415251
	writerCacheKB = 16 << 10
	readerCacheKB = 4 << 10
)

// Open opens a store, and creates or migrates it. Codes: CodeNotUsable,
// CodeNoStore.
func Open(ctx context.Context, options Options) (*Store, error) {
	if options.Readers == 0 {
		options.Readers = max(4, 2*runtime.NumCPU())
	}
	s := newStore(options)
	if err := s.open(ctx); err != nil {
		s.dropped = true
		s.Close()
		if ctx.Err() != nil {
			return nil, &store.Error{Code: store.CodeDeadline, Text: "the store was not opened", Cause: context.Cause(ctx)}
		}
		return nil, err
	}
	return s, nil
}

func newStore(options Options) *Store {
	s := &Store{options: options, rare: defaultRare, walked: defaultWalked,
		commits: commits{touched: map[string]uint64{}}, measured: newMeasured()}
	s.readers.given.L = &s.readers.mu
	s.walks.running = map[*context.CancelCauseFunc]bool{}
	s.reading, s.walking = places(options.Readers)
	return s
}

func (s *Store) open(ctx context.Context) error {
	path := s.options.Path
	if s.options.MustExist && missing(path) && missing(restoredPath(path)) {
		return noStore(path)
	}
	if err := s.acquire(); err != nil {
		return err
	}
	if err := takeRestored(path); err != nil {
		return notUsable(path, "the restored file cannot be put in its place; check that the folder is writable", err)
	}
	if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) { // a new file would be an empty store, and the log deleted
			return notUsable(path, "the file is missing, but its write-ahead log is there; put the file back, or restore a backup", err)
		}
		s.stale.Store(true) // as a process that was killed may have noted
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) // #nosec G304 -- the operator chooses the file
	if s.made.file = err == nil; errors.Is(err, fs.ErrExist) {
		file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // #nosec G304 -- through a link, it is created as well
	}
	if err != nil {
		return notUsable(path, "it cannot be opened for writing; check that the file and its folder are writable", err)
	}
	s.file, err = file.Stat()
	if err := errors.Join(err, file.Close()); err != nil {
		return openError(path, err)
	}
	c, err := openWriter(s.options)
	if err != nil {
		return openError(path, err)
	}
	s.all = append(s.all, c)
	if err := s.prepare(ctx, c); err != nil {
		return openError(path, err)
	}
	for range s.options.Readers {
		reader, err := openReader(s.options)
		if err != nil {
			return openError(path, err)
		}
		s.all = append(s.all, reader)
		s.readers.give(reader)
	}
	s.writer = startWriter(s, c)
	if s.options.Loading && !s.incomplete {
		if empty, err := store.IsEmpty(ctx, s); err != nil || !empty {
			return notUsable(path, store.NotEmpty, err)
		}
	}
	return nil
}

// prepare checks the file and upgrades it, which can take minutes.
func (s *Store) prepare(ctx context.Context, c *conn) error {
	c.setContext(ctx)
	defer c.setContext(context.Background())
	// The savepoint of a large transaction does not fit into memory.
	if err := c.exec("PRAGMA temp_store=FILE"); err != nil {
		return err
	}
	if err := s.checkDamaged(c); err != nil {
		return err
	}
	return s.migrate(ctx, c)
}

// places returns the places for reads and for extensive ones.
func places(readers int) (reading, walking *turn.Places) {
	most := max(1, readers*3/4)
	spare := most - max(1, readers/2)
	return turn.NewPlaces(turn.Limits{Total: int64(readers)}), turn.NewPlaces(turn.Limits{Total: int64(most), Spare: int64(spare)})
}

// missing reports whether there is no store at a path. An empty file is a new
// store.
func missing(path string) bool {
	info, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0
}

// ErrInUse is the cause of the error for a store that another process has open.
var ErrInUse = errors.New("the lock is held")

// acquire locks the store against other processes, because counts and revisions
// are kept in memory. The folder of the store is made if it does not exist.
func (s *Store) acquire() error {
	path := s.options.Path
	if err := s.made.folder(filepath.Dir(path)); err != nil {
		return notUsable(path, "its folder cannot be created; choose another place or change its permissions", err)
	}
	if file, err := filepath.EvalSymlinks(path); err == nil { // a store has one lock, whatever its name
		path = file
	}
	s.lock = flock.New(path+".lock", flock.SetPermissions(0o600))
	_, err := os.Lstat(s.lock.Path())
	s.made.lock = errors.Is(err, fs.ErrNotExist)
	held, err := s.lock.TryLock()
	for err == nil && held && !named(s.lock) { // made.remove has removed it meanwhile
		if err = s.lock.Unlock(); err == nil {
			held, err = s.lock.TryLock()
		}
	}
	if err != nil {
		s.lock = nil
		return notUsable(s.options.Path, "it cannot be locked; check that its folder is writable", err)
	}
	if !held {
		s.lock = nil
		return notUsable(s.options.Path, "another process has it open; stop that one first", ErrInUse)
	}
	return nil
}

// named reports whether the file of a lock still has its name.
func named(lock *flock.Flock) bool {
	own, err := lock.Stat()
	there, wrong := os.Stat(lock.Path())
	return err == nil && wrong == nil && os.SameFile(own, there)
}

func notUsable(path, cure string, cause error) error {
	return &store.Error{Code: store.CodeNotUsable, Text: "the store " + path + " cannot be used: " + cure, Cause: cause}
}

func noStore(path string) error {
	return &store.Error{Code: store.CodeNoStore, Text: "there is no store at " + path}
}

func openError(path string, err error) error {
	var known *store.Error
	if errors.As(err, &known) && (known.Code == store.CodeNotUsable || known.Code == store.CodeNoStore) {
		return err
	}
	switch primary(err) {
	case codeNotADatabase:
		return notUsable(path, "it is not an SQLite database of a supported version; restore it from a backup, or choose another path", err)
	case codeCorrupt:
		return notUsable(path, "it is corrupt; restore it from a backup", err)
	case codeReadOnly, codeCantOpen, codePermission:
		return notUsable(path, "it cannot be written; check that the file and its folder are writable", err)
	case codeFull, codeIO:
		return notUsable(path, "the disk is full or failing; free space, or check the disk", err)
	}
	return notUsable(path, "it cannot be opened", err)
}

// migration upgrades the store's own tables by one version.
type migration struct {
	script string
	// each is a script for every collection, with %[1]s for its name.
	each string
}

// migrations lists all upgrades; PRAGMA user_version is the number of those
// done. The indexes of the history hold feed_only, which is NULL in all of
// their rows, so that a count reads nothing else.
var migrations = []migration{{script: `
CREATE TABLE changes (
	seq INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, network TEXT NOT NULL,
	collection TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, user TEXT NOT NULL, fields TEXT NOT NULL);
CREATE INDEX changes_object ON changes (network, collection, id);
CREATE INDEX changes_network ON changes (network);
CREATE TABLE claims (
	collection TEXT NOT NULL, network TEXT NOT NULL, property TEXT NOT NULL, value TEXT NOT NULL, id TEXT NOT NULL,
	PRIMARY KEY (collection, network, property, value)) WITHOUT ROWID;`}, {script: `
CREATE TABLE blobs (
	network TEXT NOT NULL, id TEXT NOT NULL, size INTEGER NOT NULL, time INTEGER NOT NULL,
	PRIMARY KEY (network, id)) WITHOUT ROWID;
CREATE TABLE blob_pieces (
	network TEXT NOT NULL, id TEXT NOT NULL, n INTEGER NOT NULL, data BLOB NOT NULL,
	PRIMARY KEY (network, id, n));`}, {script: `
ALTER TABLE changes ADD COLUMN owner TEXT;
ALTER TABLE changes ADD COLUMN notices TEXT;
CREATE INDEX changes_owner ON changes (network, owner) WHERE owner IS NOT NULL;`}, {script: `
ALTER TABLE changes ADD COLUMN revision INTEGER;
ALTER TABLE changes ADD COLUMN cause TEXT;
ALTER TABLE changes ADD COLUMN feed_only INTEGER;
DROP INDEX changes_object;
DROP INDEX changes_network;
CREATE INDEX changes_object ON changes (network, collection, id, feed_only) WHERE feed_only IS NULL;
CREATE INDEX changes_network ON changes (network, feed_only) WHERE feed_only IS NULL;`,
	each: `
ALTER TABLE r_%[1]s ADD COLUMN revision INTEGER;`}, {script: `
CREATE TABLE term_keys (number INTEGER PRIMARY KEY, key TEXT NOT NULL, network TEXT NOT NULL, UNIQUE (key, network));`,
	each: numberedTerms},
}

// scriptOf returns the statements of a migration for this store.
func (c *conn) scriptOf(m migration) (string, error) {
	script := m.script
	if m.each == "" {
		return script, nil
	}
	err := c.rows("SELECT substr(name,3) FROM sqlite_master WHERE type='table' AND name GLOB 'r_*'", nil, func(s *stmt) error {
		script += fmt.Sprintf(m.each, s.ColumnText(0))
		return nil
	})
	return script, err
}

// version returns the version of a store's own tables, 0 for a new file. It refuses what this
// program cannot read.
func (s *Store) version(c *conn) (version int64, err error) {
	path := s.options.Path
	id, err := c.pragma("application_id")
	if err != nil {
		return 0, err
	}
	if version, err = c.pragma("user_version"); err != nil {
		return 0, err
	}
	tables, err := c.number("SELECT count(*) FROM sqlite_master")
	if err != nil {
		return 0, err
	}
	switch {
	case id == 0 && version == 0 && tables == 0:
		if s.options.MustExist { // its creation was interrupted
			return 0, noStore(path)
		}
	case id != applicationID:
		return 0, notUsable(path, "it is an SQLite database of another program; choose another path", nil)
	case version == loadingVersion && s.options.Loading:
		s.incomplete = true
		return int64(len(migrations)), nil
	case version >= store.LoadingVersion:
		return 0, notUsable(path, store.Incomplete, nil)
	case int(version) > len(migrations):
		return 0, notUsable(path, fmt.Sprintf("it was written by a newer Marquee (version %d of the store, this one supports %d); use that program, or restore a backup", version, len(migrations)), nil)
	}
	return version, nil
}

// migrate upgrades the tables to the version of this program.
func (s *Store) migrate(ctx context.Context, c *conn) error {
	path := s.options.Path
	version, err := s.version(c)
	if err != nil {
		return err
	}
	// This changes the file, so it must follow the check that the file is
	// Marquee's.
	if err := c.exec("PRAGMA journal_mode=WAL"); err != nil {
		return err
	}
	if _, err := c.number("SELECT count(*) FROM sqlite_master"); err != nil { // a read makes the files
		return err
	}
	if err := restrict(path); err != nil {
		return notUsable(path, "the permissions of its files cannot be restricted; check that this program owns them", err)
	}
	if version > 0 && int(version) < len(migrations) {
		if err := s.keepCopy(ctx, c, version); err != nil {
			return err
		}
	}
	upgraded := store.BeginUpgrade(ctx, s.options.Log, version, int64(len(migrations)))
	s.incomplete = s.incomplete || version == 0 && s.options.Loading
	for next := version; int(version) < len(migrations); version = next {
		if next++; version == 0 { // a process that is killed leaves all tables of a new store, or none
			next = int64(len(migrations))
		}
		all := ""
		for _, m := range migrations[version:next] {
			script, err := c.scriptOf(m)
			if err != nil {
				return err
			}
			all += script
		}
		number := next
		if s.incomplete && int(next) == len(migrations) {
			number = loadingVersion
		}
		all = fmt.Sprintf("BEGIN IMMEDIATE;%s PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT;", all, applicationID, number)
		if err := c.exec(all); err != nil {
			return errors.Join(err, c.exec("ROLLBACK"))
		}
	}
	upgraded()
	s.format = version
	return nil
}

// restrict keeps other users from the files beside the database, which also
// hold documents. SQLite creates them empty, with the permissions of the umask.
func restrict(path string) error {
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Chmod(path+suffix, 0o600); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Close waits for accepted transactions, and closes the file.
func (s *Store) Close() error {
	var err error
	s.closed.Do(func() {
		s.reading.Close()
		s.walking.Close()
		if s.writer != nil {
			s.writer.stop()
			s.readers.await(len(s.all) - 1)
		}
		for i := len(s.all) - 1; i >= 0; i-- {
			if s.uncopied.Load() { // SQLite copies the log when the last connection is closed
				_, wrong := s.all[i].db.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true)
				err = errors.Join(err, wrong)
			}
			err = errors.Join(err, s.all[i].close())
		}
		if s.lock != nil {
			if s.dropped {
				s.made.remove(s)
			}
			err = errors.Join(err, s.lock.Unlock())
		}
		if s.dropped {
			s.made.removeFolders()
		}
	})
	return err
}

// Commits returns the number of commits since the store was opened.
func (s *Store) Commits() int64 { return s.writer.commits.Load() }
