package sqlite

import (
	"context"
	"errors"
	"fmt"

	"marquee/engine/store"
)

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
