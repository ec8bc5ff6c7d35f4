package command

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
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

// list prints the objects of a list, each as a line of JSON or as a row of a table.
func list[T any](ctx context.Context, o *operator, path string, parameters url.Values, asJSON bool, titles []string, row func(T) []string) error {
	if asJSON {
		return o.each(ctx, path, parameters, printLine)
	}
	table := newTable(titles...)
	err := o.each(ctx, path, parameters, decoded(func(object T) error {
		table.row(row(object)...)
		return nil
	}))
	if err != nil {
		return err
	}
	return table.end()
}

// decoded returns a function that decodes an object of a list and passes it to visit.
func decoded[T any](visit func(T) error) func(json.RawMessage) error {
	return func(text json.RawMessage) error {
		var object T
		if err := json.Unmarshal(text, &object); err != nil {
			return err
		}
		return visit(object)
	}
}

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
