package sqlite

import (
	"cmp"
	"slices"
	"strings"

	"marquee/engine/store"
)

// termChanges collects rows to add to a table of terms and to drop from it.
// They are written in the order of the table, so that rows of many records
// share pages.
type termChanges struct{ add, drop []termRow }

type termRow struct {
	network, key, value string
	record              int64
}

func (c *termChanges) note(network string, record int64, add, drop []store.Term) {
	for _, term := range add {
		c.add = append(c.add, termRow{network, term.Key, term.Value, record})
	}
	for _, term := range drop {
		c.drop = append(c.drop, termRow{network, term.Key, term.Value, record})
	}
}

// termsAtOnce is the number of rows that a statement adds.
const termsAtOnce = 64

// write drops and adds the rows, and clears them. Adding a term that a record
// has is no error.
func (c *termChanges) write(conn *conn, table string) error {
	defer func() { c.add, c.drop = c.add[:0], c.drop[:0] }()
	drop := "DELETE FROM " + table + " WHERE network=? AND key=? AND value=? AND record=?"
	for _, r := range sortTerms(c.drop) {
		if err := conn.run(drop, r.network, r.key, r.value, r.record); err != nil {
			return err
		}
	}
	insert := "INSERT OR IGNORE INTO " + table + " (network,key,value,record) VALUES (?,?,?,?)"
	many := insert + strings.Repeat(",(?,?,?,?)", termsAtOnce-1)
	add, args := sortTerms(c.add), make([]any, 0, 4*termsAtOnce)
	for ; len(add) >= termsAtOnce; add = add[termsAtOnce:] {
		args = args[:0]
		for _, r := range add[:termsAtOnce] {
			args = append(args, r.network, r.key, r.value, r.record)
		}
		if err := conn.run(many, args...); err != nil {
			return err
		}
	}
	for _, r := range add {
		if err := conn.run(insert, r.network, r.key, r.value, r.record); err != nil {
			return err
		}
	}
	return nil
}

func sortTerms(rows []termRow) []termRow {
	slices.SortFunc(rows, func(a, b termRow) int {
		return cmp.Or(cmp.Compare(a.network, b.network), cmp.Compare(a.key, b.key), cmp.Compare(a.value, b.value), cmp.Compare(a.record, b.record))
	})
	return rows
}
