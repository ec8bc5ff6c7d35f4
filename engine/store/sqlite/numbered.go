package sqlite

// numberedTerms is the migration that replaces the network and the key in each row of
// the tables of terms by a number. The tables of ordered terms are younger than the others.
const numberedTerms = `
CREATE TABLE IF NOT EXISTS o_%[1]s (o_network TEXT NOT NULL, o_key TEXT NOT NULL, o_value TEXT NOT NULL,
	o_time INTEGER NOT NULL, o_id TEXT NOT NULL, o_state TEXT NOT NULL, o_record INTEGER NOT NULL,
	PRIMARY KEY (o_network, o_key, o_value, o_time, o_id)) WITHOUT ROWID;
INSERT OR IGNORE INTO term_keys (key, network) SELECT DISTINCT key, network FROM t_%[1]s UNION SELECT o_key, o_network FROM o_%[1]s;
ALTER TABLE t_%[1]s RENAME TO former_t;
CREATE TABLE t_%[1]s (key INTEGER NOT NULL, value TEXT NOT NULL, record INTEGER NOT NULL, PRIMARY KEY (key, value, record)) WITHOUT ROWID;
INSERT INTO t_%[1]s SELECT number, value, record FROM term_keys CROSS JOIN former_t USING (key, network) ORDER BY number, value, record;
DROP TABLE former_t;
DROP INDEX IF EXISTS or_%[1]s;
ALTER TABLE o_%[1]s RENAME TO former_o;
CREATE TABLE o_%[1]s (o_key INTEGER NOT NULL, o_value TEXT NOT NULL, o_time INTEGER NOT NULL, o_id TEXT NOT NULL,
	o_state TEXT NOT NULL, o_record INTEGER NOT NULL, PRIMARY KEY (o_key, o_value, o_time, o_id)) WITHOUT ROWID;
INSERT INTO o_%[1]s SELECT number, o_value, o_time, o_id, o_state, o_record FROM term_keys CROSS JOIN former_o
	ON o_key=key AND o_network=network ORDER BY 1, 2, 3, 4;
DROP TABLE former_o;
CREATE INDEX or_%[1]s ON o_%[1]s (o_record, o_key, o_value);`
