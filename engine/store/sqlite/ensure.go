package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"marquee/engine/store"
)

// EnsureCollections implements store.Store. Writes wait while an index is
// built, but run between two of them.
func (s *Store) EnsureCollections(ctx context.Context, collections []store.Collection) error {
	s.ensure.Lock()
	defer s.ensure.Unlock()
	missing := map[string]string{}
	err := s.writer.submit(ctx, func(t *transaction) error {
		have, err := t.conn.definitions()
		if err != nil {
			return err
		}
		for _, c := range collections {
			made := have[table(c.Name)]
			if err := t.conn.ensure(c, have, func(sql string) error {
				if !made { // there are no records yet
					return t.conn.exec(sql)
				}
				missing[sql] = c.Name
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	})
	for _, sql := range slices.Sorted(maps.Keys(missing)) {
		if err == nil {
			store.Step(ctx, "creating an index of "+missing[sql])
			err = s.createIndex(ctx, missing[sql], sql)
		}
	}
	return s.observe(ctx, err)
}

// slowIndex is the time from which the building of an index is logged if writes wait for it.
const slowIndex = 100 * time.Millisecond

func (s *Store) createIndex(ctx context.Context, collection, sql string) error {
	return s.writer.submit(ctx, func(t *transaction) error {
		began := time.Now()
		err := t.conn.exec(sql)
		if took := time.Since(began); took >= slowIndex && s.options.Log != nil && s.writer.queue.len() > 0 {
			s.options.Log.Info("writes waited while an index was created", slog.String("type", collection), slog.Duration("took", took))
		}
		return err
	})
}

// table and termTable are the tables of a collection. The name of a collection
// needs no quoting.
func table(collection string) string { return "r_" + collection }

func termTable(collection string) string { return "t_" + collection }

// definitions returns the names of all tables and indexes.
func (c *conn) definitions() (map[string]bool, error) {
	have := map[string]bool{}
	err := c.rows("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'", nil, func(s *stmt) error {
		have[s.ColumnText(0)] = true
		return nil
	})
	return have, err
}

// ensure creates the tables of a collection, drops indexes that are no longer
// listed, and calls create with the statement of each missing index.
func (c *conn) ensure(collection store.Collection, have map[string]bool, create func(sql string) error) error {
	name := table(collection.Name)
	if !have[name] {
		err := c.exec(fmt.Sprintf(`CREATE TABLE %[1]s (
	seq INTEGER PRIMARY KEY, network TEXT NOT NULL, id TEXT NOT NULL, revision INTEGER, version INTEGER NOT NULL, state TEXT NOT NULL,
	create_time INTEGER NOT NULL, update_time INTEGER NOT NULL, create_user TEXT NOT NULL, update_user TEXT NOT NULL,
	warnings TEXT, doc TEXT NOT NULL);
CREATE UNIQUE INDEX k_%[3]s ON %[1]s (network, id);
CREATE TABLE %[2]s (key INTEGER NOT NULL, value TEXT NOT NULL, record INTEGER NOT NULL,
	PRIMARY KEY (key, value, record)) WITHOUT ROWID;`, name, termTable(collection.Name), collection.Name))
		if err != nil {
			return err
		}
	}
	if !have[orderedTable(collection.Name)] {
		if err := c.ensureOrdered(collection.Name); err != nil {
			return err
		}
	}
	prefix, wanted := "x_"+collection.Name+"_", map[string]content{}
	for _, content := range contents(collection) {
		digest := sha256.Sum256([]byte(content.columns + content.where))
		wanted[prefix+hex.EncodeToString(digest[:8])] = content
	}
	for index := range have {
		if _, ok := wanted[index]; !ok && strings.HasPrefix(index, prefix) && len(index) == len(prefix)+16 {
			if err := c.exec("DROP INDEX " + index); err != nil {
				return err
			}
		}
	}
	for index, content := range wanted {
		if !have[index] {
			if err := create(fmt.Sprintf("CREATE INDEX %s ON %s (%s)%s", index, name, content.columns, content.where)); err != nil {
				return err
			}
		}
	}
	return nil
}

// content is what an index holds: the columns, and the condition on records.
type content struct{ columns, where string }

// contents returns the content of each index: the values compared, the order, the id
// that breaks ties, and the state, which nearly every query compares. A record without
// one of the values is never found by comparing it, and most records lack most
// references, so they are left out.
func contents(collection store.Collection) []content {
	all := []content{{columns: "network,create_time,id,state"}, {columns: "network,update_time,id,state"}}
	for _, index := range collection.Indexes {
		columns, where := "network", " WHERE "
		for i, field := range index.Equal {
			if i > 0 {
				where += " AND "
			}
			columns, where = columns+","+expression(field), where+expression(field)+" IS NOT NULL"
		}
		if len(index.Equal) == 0 {
			where = ""
		}
		all = append(all, content{columns + "," + expression(index.Order) + ",id,state", where})
	}
	return all
}
