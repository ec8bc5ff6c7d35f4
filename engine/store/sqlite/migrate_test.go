package sqlite

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"marquee/engine/query"
	"marquee/engine/store"
)

// firstThings creates the tables of a collection as of version 1, with a record
// at its fifth version and its history.
const firstThings = `
CREATE TABLE r_things (
	seq INTEGER PRIMARY KEY, network TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, state TEXT NOT NULL,
	create_time INTEGER NOT NULL, update_time INTEGER NOT NULL, create_user TEXT NOT NULL, update_user TEXT NOT NULL,
	warnings TEXT, doc TEXT NOT NULL);
CREATE UNIQUE INDEX k_things ON r_things (network, id);
CREATE TABLE t_things (network TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, record INTEGER NOT NULL,
	PRIMARY KEY (network, key, value, record)) WITHOUT ROWID;
INSERT INTO r_things (network,id,version,state,create_time,update_time,create_user,update_user,warnings,doc)
	VALUES ('n','old',5,'ACTIVE',1,2,'u','u',NULL,'{"n":1}');
INSERT INTO changes (time,network,collection,id,version,user,fields) VALUES (1,'n','things','old',5,'','[]');
INSERT INTO claims (collection,network,property,value,id) VALUES ('things','n','p','v','old');`

// TestMigrateFirst checks that a store of version 1 is upgraded with all its
// data. The revision of its records is their version.
func TestMigrateFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "marquee.db")
	c, err := openWriter(Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.exec(fmt.Sprintf("PRAGMA journal_mode=WAL; BEGIN; %s %s PRAGMA application_id=%d; PRAGMA user_version=1; COMMIT",
		migrations[0].script, firstThings, applicationID)); err != nil {
		t.Fatal(err)
	}
	if err := c.close(); err != nil {
		t.Fatal(err)
	}

	key := store.Key{Network: "n", ID: "old"}
	claim := store.Claim{Collection: "things", Network: "n", Property: "p", Value: "v"}
	var said strings.Builder
	log := slog.New(slog.NewTextHandler(&said, nil))
	for revision := int64(5); revision < 8; revision++ { // the second time, there is nothing to do
		s := openTest(t, Options{Path: path, Log: log})
		ensureThings(t, s)
		var record store.Record
		if err := s.Read(t.Context(), func(snapshot store.Snapshot) error {
			owners, err := snapshot.Claims(t.Context(), []store.Claim{claim})
			if owners[claim] != "old" {
				t.Errorf("owners %v", owners)
			}
			if version, err := snapshot.(*view).conn.pragma("user_version"); err != nil || int(version) != len(migrations) {
				t.Errorf("version %d, %v", version, err)
			}
			n, failed := snapshot.HistoryCount(t.Context(), store.HistoryQuery{Network: "n", Collection: "things", ID: "old"})
			if n != 1 || failed != nil {
				t.Errorf("%d changes in the history, %v", n, failed)
			}
			if err != nil {
				return err
			}
			return snapshot.Get(t.Context(), "things", []store.Key{key}, func(r *store.Record) error {
				record = *r
				record.Document, record.Warnings = []byte(string(r.Document)), nil
				return nil
			})
		}); err != nil {
			t.Fatal(err)
		}
		if record.Revision != revision || record.Version != 5 {
			t.Errorf("the record is at revision %d of version %d, want %d of 5", record.Revision, record.Version, revision)
		}
		changes, _, err := s.Changes(t.Context(), "", 10)
		if err != nil || len(changes) != int(revision)-4 || changes[len(changes)-1].Revision != revision || changes[len(changes)-1].Version != 5 {
			t.Errorf("changes %+v, %v", changes, err)
		}
		if err := s.Write(t.Context(), func(tx store.Tx) error {
			if err := tx.Put(t.Context(), "things", []store.Write{{Record: record, Expected: revision}}); err != nil {
				return err
			}
			return tx.Append(t.Context(), []store.Change{{Time: record.UpdateTime, Network: "n", Collection: "things", ID: "old",
				Revision: revision + 1, Version: 5, FeedOnly: true, Fields: []byte("[]")}})
		}); err != nil {
			t.Fatal(err)
		}
		if err := s.Write(t.Context(), func(tx store.Tx) error { return putBlob(t, tx, aBlob, 1<<20) }); err != nil {
			t.Fatal(err)
		}
		if n := blobSize(t, s, aBlob); n != 1<<20 {
			t.Errorf("%d bytes of a blob", n)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	upgrade := fmt.Sprintf("from 1 to %d", len(migrations))
	for _, line := range []string{"upgrading the store " + upgrade, "store upgraded " + upgrade} {
		if n := strings.Count(said.String(), line); n != 1 {
			t.Errorf("%q is logged %d times:\n%s", line, n, &said)
		}
	}
}

// fourthThings creates the tables of a collection as of version 4, with two records, their
// terms and ordered terms.
const fourthThings = `
CREATE TABLE r_things (
	seq INTEGER PRIMARY KEY, network TEXT NOT NULL, id TEXT NOT NULL, revision INTEGER, version INTEGER NOT NULL, state TEXT NOT NULL,
	create_time INTEGER NOT NULL, update_time INTEGER NOT NULL, create_user TEXT NOT NULL, update_user TEXT NOT NULL,
	warnings TEXT, doc TEXT NOT NULL);
CREATE UNIQUE INDEX k_things ON r_things (network, id);
CREATE TABLE t_things (network TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, record INTEGER NOT NULL,
	PRIMARY KEY (network, key, value, record)) WITHOUT ROWID;
CREATE TABLE o_things (o_network TEXT NOT NULL, o_key TEXT NOT NULL, o_value TEXT NOT NULL,
	o_time INTEGER NOT NULL, o_id TEXT NOT NULL, o_state TEXT NOT NULL, o_record INTEGER NOT NULL,
	PRIMARY KEY (o_network, o_key, o_value, o_time, o_id)) WITHOUT ROWID;
CREATE INDEX or_things ON o_things (o_record, o_key, o_value);
INSERT INTO r_things (seq,network,id,revision,version,state,create_time,update_time,create_user,update_user,doc)
	VALUES (1,'n','a',1,1,'ACTIVE',1,1,'u','u','{}'), (2,'m','a',1,1,'ACTIVE',2,2,'u','u','{}'), (3,'n','b',1,1,'ACTIVE',3,3,'u','u','{}');
INSERT INTO t_things VALUES ('n','tags','x',1), ('n','tags','y',1), ('m','tags','x',2), ('n','q','x',3);
INSERT INTO o_things VALUES ('n','o..team','t',1,'a','ACTIVE',1), ('m','o..team','t',2,'a','ACTIVE',2), ('n','o..team','u',3,'b','ACTIVE',3);`

// TestMigrateTerms checks that records of a store of version 4 are found by their terms,
// and that these can be changed.
func TestMigrateTerms(t *testing.T) {
	path := filepath.Join(t.TempDir(), "marquee.db")
	c, err := openWriter(Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	script := migrations[0].script + migrations[1].script + migrations[2].script + migrations[3].script
	if err := c.exec(fmt.Sprintf("BEGIN; %s %s PRAGMA application_id=%d; PRAGMA user_version=4; COMMIT", script, fourthThings, applicationID)); err != nil {
		t.Fatal(err)
	}
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
	s := openTest(t, Options{Path: path})
	ensureThings(t, s)
	owned := query.Field{Path: []query.Step{{Name: "team", Array: true}}, Term: query.OrderedKey + "team"}
	finds := func(network string, where query.Expr, want ...string) {
		t.Helper()
		var ids []string
		if err := s.Read(t.Context(), func(snapshot store.Snapshot) error {
			return snapshot.Find(t.Context(), query.Query{Collection: "things", Network: network, Where: where, Order: query.Order{Field: createTime}, Limit: 9},
				func(r *store.Record) error { ids = append(ids, strings.Clone(r.ID)); return nil })
		}); err != nil || !slices.Equal(ids, want) {
			t.Errorf("%s %v finds %q, want %q: %v", network, where, ids, want, err)
		}
	}
	finds("n", is(tags, "x"), "a")
	finds("m", is(tags, "x"), "a")
	finds("n", query.Term{Key: "q", Value: "x"}, "b")
	finds("n", is(owned, "t"), "a")
	finds("n", query.In{Field: owned, Values: []any{"t", "u"}}, "a", "b")
	moved := store.Write{Record: store.Record{Key: store.Key{Network: "n", ID: "a"}, State: "INACTIVE", Document: []byte("{}")}, Expected: 1,
		DropTerms: []store.Term{{Key: "tags", Value: "x"}, {Key: query.OrderedKey + "team", Value: "t"}},
		AddTerms:  []store.Term{{Key: "tags", Value: "z"}, {Key: query.OrderedKey + "team", Value: "u"}}}
	if err := s.Write(t.Context(), func(tx store.Tx) error { return tx.Put(t.Context(), "things", []store.Write{moved}) }); err != nil {
		t.Fatal(err)
	}
	finds("n", is(tags, "x"))
	finds("n", is(tags, "z"), "a")
	finds("n", is(owned, "t"))
	finds("m", is(owned, "t"), "a")
	if err := s.Forget(t.Context(), "things", []string{"tags", query.OrderedKey + "team"}, nil); err != nil {
		t.Fatal(err)
	}
	finds("m", is(tags, "x"))
	finds("n", is(owned, "u"))
	finds("n", query.Term{Key: "q", Value: "x"}, "b")
}
