package integration

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"marquee/engine/store"
	"marquee/engine/store/sqlite"
)

// newStore gives the URI of a store that does not exist yet, as --store takes
// it. What is stored there is gone when the test ends.
type newStore func(tb testing.TB) string

func newSQLite(tb testing.TB) string {
	tb.Helper()
	return "sqlite:" + filepath.Join(tb.TempDir(), "data", "marquee.db")
}

// eachStore runs a test on every kind of store: what the service promises, it
// promises on all of them.
func eachStore(t *testing.T, test func(t *testing.T, fresh newStore)) {
	t.Helper()
	t.Parallel()
	for name, fresh := range map[string]newStore{"sqlite": newSQLite} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, fresh)
		})
	}
}

// sqliteFile is the file that the URI of an embedded store names.
func sqliteFile(uri string) string { return strings.TrimPrefix(uri, "sqlite:") }

// openStore opens a store as the program does.
func openStore(ctx context.Context, uri string) (store.Store, error) {
	return sqlite.Open(ctx, sqlite.Options{Path: sqliteFile(uri)})
}
