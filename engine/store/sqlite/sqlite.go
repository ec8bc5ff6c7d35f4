// Package sqlite is the store that needs no server: it keeps records in one
// SQLite file. One writer commits concurrent transactions together (group commit,
// writer.go), while a pool of readers reads snapshots. It imports store, turn, document,
// histogram and query. Begin with Store; a query passes through compile.go, plan.go, page.go and
// view.go.
package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
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
