// Package terminal is what commands print for people, and ask them: tables, the progress of an
// import, and passwords. What could control the terminal is replaced.
package terminal

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
)

// Table prints columns of text.
type Table struct{ w *tabwriter.Writer }

// NewTable returns a table on standard output with titles.
func NewTable(titles ...string) *Table {
	t := &Table{tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)}
	t.Row(titles...)
	return t
}

// Row adds a row. What could control a terminal is replaced.
func (t *Table) Row(cells ...string) {
	for i, cell := range cells {
		cells[i] = Printable(cell)
	}
	fmt.Fprintln(t.w, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
}

// End prints what is left of the table.
func (t *Table) End() error { return t.w.Flush() }

// PrintJSON prints a value as a line of JSON.
func PrintJSON(value any) error {
	text, err := json.Marshal(value)
	if err == nil {
		err = PrintLine(text)
	}
	return err
}

// PrintLine prints a JSON text as a line.
func PrintLine(text json.RawMessage) error {
	_, err := fmt.Println(string(text))
	return err
}
