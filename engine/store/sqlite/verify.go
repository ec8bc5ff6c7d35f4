package sqlite

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"marquee/engine/store"
)

// Verify reports damage of the file itself: unreadable pages, and indexes that
// disagree with their tables. It reads the whole file.
func (s *Store) Verify(ctx context.Context, yield func(fault string) error) error {
	return s.Read(ctx, func(snapshot store.Snapshot) error {
		v, known := snapshot.(*view), map[string]bool{"": true}
		return v.query(ctx, "PRAGMA integrity_check(100)", nil, func(row *stmt) error {
			for line := range strings.Lines(row.ColumnText(0)) {
				fault := faultOf(line)
				if known[fault] {
					continue
				}
				known[fault] = true
				if err := yield(fault); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// What the check of SQLite finds in an index, in a table, and on a page.
var (
	faultyIndex = regexp.MustCompile(`\bindex (\S+)$`)
	faultyTable = regexp.MustCompile(`\b(?:value in|constraint failed in|order for) ([^.\s]+)`)
	faultyPage  = regexp.MustCompile(`\b[Pp]age (\d+)`)
)

// faultOf says what a line of a check of SQLite means, "" for one that reports nothing.
func faultOf(line string) string {
	line = strings.TrimSpace(line)
	if line == "ok" || strings.HasPrefix(line, "***") { // a heading
		return ""
	}
	if index := faultyIndex.FindStringSubmatch(line); index != nil {
		return "the index " + index[1] + " does not agree with its table"
	}
	if table := faultyTable.FindStringSubmatch(line); table != nil {
		return "the table " + table[1] + " has a row that it must not have"
	}
	if page := faultyPage.FindAllStringSubmatch(line, -1); page != nil {
		return fmt.Sprintf("page %s of the file is damaged", page[len(page)-1][1])
	}
	return "the structure of the file is damaged"
}
