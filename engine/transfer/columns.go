package transfer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
)

// maxColumns bounds the header of a CSV file.
const maxColumns = 1000

// columns turn the records of a CSV file into objects.
type columns []column

// column is a column of a CSV file.
type column struct {
	// path names the property, nil for a column that is left out.
	path  []string
	shape *document.Shape
}

// newColumns reads a header. Mapped are the paths of columns whose names are not paths, ""
// for a column that is left out.
func newColumns(header []string, mapped map[string]string, t *schema.Type) (columns, error) {
	if len(header) == 1 && strings.ContainsAny(header[0], ";\t") {
		return nil, fmt.Errorf("the header has one column, %s: separate columns with commas", strconv.Quote(header[0]))
	}
	if len(header) > maxColumns {
		return nil, fmt.Errorf("the header has %d columns, and at most %d are supported", len(header), maxColumns)
	}
	all, names := make(columns, len(header)), map[string]int{}
	for i, name := range header {
		name = strings.TrimSpace(name)
		at := fmt.Sprintf("column %d of the header, %s", i+1, strconv.Quote(name))
		if other, twice := names[name]; twice {
			return nil, fmt.Errorf("%s, has the name of column %d: give each column a name of its own", at, other+1)
		}
		names[name] = i
		path, ok := mapped[name]
		if !ok {
			path = name
		}
		if ok && path == "" {
			continue
		}
		var err error
		if all[i], err = newColumn(path, t); err != nil {
			return nil, fmt.Errorf("%s, %w", at, err)
		}
	}
	for name := range mapped {
		if _, there := names[name]; !there {
			return nil, fmt.Errorf("--columns names the column %s, which the header does not have", strconv.Quote(name))
		}
	}
	return all, all.check(header)
}

// check refuses columns that would write the same value.
func (c columns) check(header []string) error {
	order := make([]int, 0, len(c))
	for i := range c {
		if c[i].path != nil {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return slices.Compare(c[a].path, c[b].path) })
	for i := 1; i < len(order); i++ {
		outer, inner := c[order[i-1]].path, c[order[i]].path
		if len(outer) <= len(inner) && slices.Equal(outer, inner[:len(outer)]) {
			return fmt.Errorf("the columns %s and %s are both for the property %s", strconv.Quote(header[order[i-1]]), strconv.Quote(header[order[i]]), strings.Join(outer, "."))
		}
	}
	return nil
}

// newColumn finds the schema of a path. Unknown properties are left to the engine.
func newColumn(path string, t *schema.Type) (column, error) {
	c := column{path: strings.Split(t.StoredPath(path), "."), shape: t.Shape}
	for i, name := range c.path {
		if name == "" {
			return c, fmt.Errorf("is not the path of a property, such as name or address.city: rename it, map it with --columns NAME=PATH, or leave it out with --columns NAME=")
		}
		if c.shape.Is("array") {
			return c, fmt.Errorf("is a property of the items of %s, which CSV cannot hold: import lines of JSON", strings.Join(c.path[:i], "."))
		}
		if c.shape = c.shape.Member(name); c.shape == nil {
			c.shape = document.AnyShape
		}
	}
	item := c.shape
	if item.Is("array") && item.Element != nil {
		item = item.Element
	}
	switch {
	case item.Ref != nil || !item.Is("object") || item.Is("string"):
		return c, nil
	case item != c.shape:
		return c, fmt.Errorf("has objects as items, which CSV cannot hold: import lines of JSON")
	}
	return c, fmt.Errorf("is an object: have a column for each of its properties, such as %s.NAME", path)
}

// object returns the object of a record. An empty value is an absent one.
func (c columns) object(record []string, number int64) (map[string]any, *message.Message) {
	if len(record) != len(c) {
		m := message.CSVFields.With(message.Params{"line": number, "count": len(record), "expected": len(c)})
		return nil, &m
	}
	object := map[string]any{}
	for i, text := range record {
		if text == "" || c[i].path == nil {
			continue
		}
		value := valueOf(c[i].shape, text)
		if value == nil {
			continue
		}
		at, last := object, len(c[i].path)-1
		for _, name := range c[i].path[:last] {
			inner, ok := at[name].(map[string]any)
			if !ok {
				inner = map[string]any{}
				at[name] = inner
			}
			at = inner
		}
		at[c[i].path[last]] = value
	}
	return object, nil
}

// valueOf reads a value as its schema allows it, and otherwise as a text, which the schema
// refuses. It is nil for an array without items.
func valueOf(s *document.Shape, text string) any {
	switch {
	case s.Ref != nil || len(s.Types) == 0 || s.Is("string"):
		return text
	case s.Is("array"):
		element := s.Element
		if element == nil {
			element = document.AnyShape
		}
		var items []any
		for item := range strings.SplitSeq(text, ";") {
			if item = strings.TrimSpace(item); item != "" {
				items = append(items, valueOf(element, item))
			}
		}
		if items == nil {
			return nil
		}
		return items
	}
	word := strings.TrimSpace(text)
	if s.Is("boolean") && (strings.EqualFold(word, "true") || strings.EqualFold(word, "false")) {
		return strings.EqualFold(word, "true")
	}
	if (s.Is("number") || s.Is("integer")) && strings.Trim(word, "0123456789+-.eE") == "" {
		if n, err := strconv.ParseInt(word, 10, 64); err == nil {
			return n
		}
		if f, err := strconv.ParseFloat(word, 64); err == nil {
			return document.Number(f)
		}
	}
	return text
}
