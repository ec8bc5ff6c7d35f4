package process

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"marquee/integration/service"
)

// Awaits does something, and waits for a line of the log.
func (f Folder) Awaits(says string, do func() error) {
	f.TB.Helper()
	from := f.Stderr.Mark()
	if err := do(); err != nil {
		f.TB.Fatal(err)
	}
	f.Stderr.Await(f.TB, from, service.Says(says))
}

// Serves checks that exactly these of the types a, b and c are served.
func (f Folder) Serves(types string) {
	f.TB.Helper()
	for _, name := range []string{"a", "b", "c"} {
		status := http.StatusNotFound
		if strings.Contains(types, name) {
			status = http.StatusOK
		}
		f.Ask(status, http.MethodGet, "/api/v1/type"+name+"?context=main", "")
	}
}

// FolderOf makes a folder with one type.
func FolderOf(tb testing.TB, path, name string) string {
	tb.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		tb.Fatal(err)
	}
	File(tb, filepath.Join(path, "type"+name+".json"), Schema("type"+name))
	return path
}

// File writes a file that only its owner reads, and returns its path.
func File(tb testing.TB, path, content string) string {
	tb.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}
