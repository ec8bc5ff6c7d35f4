package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"marquee/engine/store"
)

// EnsureCollections implements store.Store.
func (s *Store) EnsureCollections(ctx context.Context, collections []store.Collection) error {
	s.ensure.Lock()
	defer s.ensure.Unlock()
	err := s.writer.submit(ctx, func(t *transaction) error {
		have, err := t.conn.definitions()
		if err != nil {
			return err
		}
		for _, c := range collections {
			if err := t.conn.ensure(c, have); err != nil {
				return err
			}
		}
		return nil
	})
	return translate(ctx, err)
}

// definitions are the names of all tables and indexes.
func (c *conn) definitions() (map[string]bool, error) {
	have := map[string]bool{}
	err := c.rows("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'", nil, func(s *stmt) error {
		have[s.ColumnText(0)] = true
		return nil
	})
	return have, err
}

func (c *conn) ensure(collection store.Collection, have map[string]bool) error {
	name := table(collection.Name)
	if !have[name] {
		err := c.exec(fmt.Sprintf(`CREATE TABLE %[1]s (
	seq INTEGER PRIMARY KEY, network TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, state TEXT NOT NULL,
	create_time INTEGER NOT NULL, update_time INTEGER NOT NULL, create_user TEXT NOT NULL, update_user TEXT NOT NULL,
	warnings TEXT, doc TEXT NOT NULL);
CREATE UNIQUE INDEX k_%[3]s ON %[1]s (network, id);
CREATE TABLE %[2]s (network TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, record INTEGER NOT NULL,
	PRIMARY KEY (network, key, value, record)) WITHOUT ROWID;`, name, termTable(collection.Name), collection.Name))
		if err != nil {
			return err
		}
	}
	prefix, wanted := "x_"+collection.Name+"_", map[string]string{}
	for _, columns := range indexColumns(collection) {
		digest := sha256.Sum256([]byte(columns))
		wanted[prefix+hex.EncodeToString(digest[:8])] = columns
	}
	for index := range have {
		if _, ok := wanted[index]; !ok && strings.HasPrefix(index, prefix) && len(index) == len(prefix)+16 {
			if err := c.exec("DROP INDEX " + index); err != nil {
				return err
			}
		}
	}
	for index, columns := range wanted {
		if !have[index] {
			if err := c.exec(fmt.Sprintf("CREATE INDEX %s ON %s (%s)", index, name, columns)); err != nil {
				return err
			}
		}
	}
	return nil
}

// indexColumns are the columns of each index: those that a query fixes, the
// order, the id that breaks ties, and the state, which nearly every query asks
// for.
func indexColumns(collection store.Collection) []string {
	all := []string{"network,create_time,id,state", "network,update_time,id,state"}
	for _, index := range collection.Indexes {
		columns := "network"
		for _, field := range index.Equal {
			columns += "," + expression(field)
		}
		all = append(all, columns+","+expression(index.Order)+",id,state")
	}
	return all
}
