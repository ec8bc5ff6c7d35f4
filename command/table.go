package command

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
)

// table prints columns of text.
type table struct{ w *tabwriter.Writer }

func newTable(titles ...string) *table {
	t := &table{tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)}
	t.row(titles...)
	return t
}

// row adds a row. What could control a terminal is replaced.
func (t *table) row(cells ...string) {
	for i, cell := range cells {
		cells[i] = printable(cell)
	}
	fmt.Fprintln(t.w, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
}

func (t *table) end() error { return t.w.Flush() }

// printJSON prints a value as a line of JSON.
func printJSON(value any) error {
	text, err := json.Marshal(value)
	if err == nil {
		err = printLine(text)
	}
	return err
}

func printLine(text json.RawMessage) error {
	_, err := fmt.Println(string(text))
	return err
}
