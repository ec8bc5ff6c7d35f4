package service

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ncruces/go-sqlite3"

	"marquee"
	"marquee/auth/seal"
	"marquee/engine/store/sqlite"
	"marquee/resources"
)

// prepareFile puts a file with the empty tables of the advertising service where an
// embedded store does not exist yet: to make some hundreds of tables and indexes takes
// longer than what many tests do with them.
func prepareFile(uri string) error {
	path, ok := strings.CutPrefix(strings.TrimPrefix(uri, again), "sqlite:")
	if !ok {
		return nil
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	content, err := prepared()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

// prepared is a file with the tables and indexes that the advertising service makes, and
// otherwise like one that has just been made.
var prepared = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "marquee-prepared-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	served, fresh := filepath.Join(dir, "served.db"), filepath.Join(dir, "fresh.db")
	if err := serveOnce(served, filepath.Join(dir, "key")); err != nil {
		return nil, err
	}
	s, err := sqlite.Open(context.Background(), sqlite.Options{Path: fresh})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	db, err := sqlite3.Open("file:" + fresh)
	if err != nil {
		return nil, err
	}
	err = errors.Join(db.Exec("ATTACH '"+served+"' AS served"), copyTables(db), db.Exec("DETACH served"), db.Close())
	if err != nil {
		return nil, err
	}
	return os.ReadFile(fresh)
})

// serveOnce starts the advertising service on a new file, and ends it.
func serveOnce(path, key string) error {
	ctx := context.Background()
	types, err := advertising()
	if err != nil {
		return err
	}
	s, err := sqlite.Open(ctx, sqlite.Options{Path: path})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := seal.CreateKeyFile(key); err != nil {
		return err
	}
	keys, err := seal.ReadKeyFiles(key)
	if err != nil {
		return err
	}
	sealer, err := seal.New(keys...)
	if err != nil {
		return err
	}
	_, err = marquee.Open(ctx, marquee.Options{Log: slog.New(slog.DiscardHandler), Application: resources.New().Application(), Types: types, Store: s, Sealer: sealer})
	return err
}

// copyTables makes the tables and indexes of the attached file that are missing, without
// their rows.
func copyTables(db *sqlite3.Conn) (err error) {
	s, _, err := db.Prepare("SELECT sql FROM served.sqlite_master WHERE sql IS NOT NULL AND name NOT IN (SELECT name FROM main.sqlite_master) ORDER BY type DESC")
	if err != nil {
		return err
	}
	var statements []string
	for s.Step() {
		statements = append(statements, s.ColumnText(0))
	}
	if err := errors.Join(s.Err(), s.Close()); err != nil {
		return err
	}
	for _, statement := range statements {
		err = errors.Join(err, db.Exec(statement))
	}
	return err
}
