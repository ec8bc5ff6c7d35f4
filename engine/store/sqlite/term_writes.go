package sqlite

import (
	"cmp"
	"slices"
	"strings"

	"marquee/engine/query"
	"marquee/engine/store"
)

// termChanges collects rows to add to a table of terms and to drop from it.
// They are written in the order of the table, so that rows of many records
// share pages.
type termChanges struct {
	add, drop []termRow
	ordered   orderedChanges
}

type termRow struct {
	key    int64
	value  string
	record int64
}

// termKey is the number of a key of terms in a network, of which the tables of terms
// have a row for each word of each record.
const termKey = "(SELECT number FROM term_keys WHERE key=? AND network=?)"

// keyName names a key of terms in a network.
type keyName struct{ network, key string }

// maxKeyNumbers is the number of keys that a connection remembers.
const maxKeyNumbers = 10000

// keyNumber returns the number of a key, which gets one if it has none.
func (c *conn) keyNumber(name keyName) (number int64, err error) {
	if number = c.keyNumbers[name]; number != 0 {
		return number, nil
	}
	err = c.rows("SELECT number FROM term_keys WHERE key=? AND network=?", []any{name.key, name.network}, func(s *stmt) error {
		number = s.ColumnInt64(0)
		return nil
	})
	if err == nil && number == 0 {
		err = c.run("INSERT INTO term_keys (key,network) VALUES (?,?)", name.key, name.network)
		number = c.db.LastInsertRowID()
	}
	if err != nil {
		return 0, err
	}
	if len(c.keyNumbers) >= maxKeyNumbers {
		clear(c.keyNumbers)
	}
	c.keyNumbers[name] = number
	return number, nil
}

// note adds the changes of a record. Of the row, it uses what ordered terms repeat.
func (c *termChanges) note(conn *conn, network, id string, r row, add, drop []store.Term) error {
	for _, side := range []struct {
		terms   []store.Term
		plain   *[]termRow
		ordered *[]orderedRow
	}{{add, &c.add, &c.ordered.add}, {drop, &c.drop, &c.ordered.drop}} {
		for _, term := range side.terms {
			key, err := conn.keyNumber(keyName{network, term.Key})
			if err != nil {
				return err
			}
			changed := termRow{key, term.Value, r.seq}
			if strings.HasPrefix(term.Key, query.OrderedKey) {
				*side.ordered = append(*side.ordered, orderedRow{changed, r.created, id, r.state})
			} else {
				*side.plain = append(*side.plain, changed)
			}
		}
	}
	return nil
}

// termsAtOnce is the number of rows that a statement adds.
const termsAtOnce = 64

// write drops and adds the rows, and clears them. Adding a term that a record
// has is no error.
func (c *termChanges) write(conn *conn, collection string) error {
	defer func() { c.add, c.drop = c.add[:0], c.drop[:0] }()
	if err := c.ordered.write(conn, collection); err != nil {
		return err
	}
	if len(c.add)+len(c.drop) == 0 {
		return nil
	}
	table := termTable(collection)
	drop := "DELETE FROM " + table + " WHERE key=? AND value=? AND record=?"
	for _, r := range sortTerms(c.drop) {
		if err := conn.run(drop, r.key, r.value, r.record); err != nil {
			return err
		}
	}
	insert := "INSERT OR IGNORE INTO " + table + " (key,value,record) VALUES (?,?,?)"
	add := sortTerms(c.add)
	if len(add) >= termsAtOnce {
		many, args := insert+strings.Repeat(",(?,?,?)", termsAtOnce-1), make([]any, 0, 3*termsAtOnce)
		for ; len(add) >= termsAtOnce; add = add[termsAtOnce:] {
			args = args[:0]
			for _, r := range add[:termsAtOnce] {
				args = append(args, r.key, r.value, r.record)
			}
			if err := conn.run(many, args...); err != nil {
				return err
			}
		}
	}
	for _, r := range add {
		if err := conn.run(insert, r.key, r.value, r.record); err != nil {
			return err
		}
	}
	return nil
}

func sortTerms(rows []termRow) []termRow {
	slices.SortFunc(rows, func(a, b termRow) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.value, b.value), cmp.Compare(a.record, b.record))
	})
	return rows
}
