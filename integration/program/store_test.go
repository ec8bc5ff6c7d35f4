package program

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"marquee/integration/process"
	"marquee/integration/service"
)

// This file is about the files of the embedded store; what is alike with a
// database is in process_database_test.go.

// procServeFails starts the service on a store that it must refuse.
func procServeFails(t *testing.T, store string, wanted ...string) string {
	t.Helper()
	out := process.Fails(t, nil, "serve", "--addr", "127.0.0.1:0", "--store", store)
	process.Wants(t, out, wanted...)
	process.Shuns(t, out, "goroutine", "listening", "The password is")
	return out
}

// TestStoreIsOfOneProcess: a second process is refused, and the first one
// does not notice.
func TestStoreIsOfOneProcess(t *testing.T) {
	t.Parallel()
	store := service.NewSQLite(t)
	p := process.Serve(t, store)
	p.SignIn("admin", process.Password)
	procServeFails(t, store, service.SQLiteFile(store), "another process has it open", "stop that one first")
	process.Wants(t, process.Fails(t, nil, "init", "--store", store), "another process")
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/notes/a?context=main", `{"text": "A"}`)
	p.Kill() // a lock does not outlive its process
	q := process.Serve(t, store)
	q.Token = p.Token
	q.Ask(http.StatusOK, http.MethodGet, "/api/v1/notes/a?context=main", "")
	q.Stop()
}

// TestStoreFilesArePrivate: nobody else on the machine can read them.
func TestStoreFilesArePrivate(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "new", "folder")
	p := process.Serve(t, "sqlite:"+filepath.Join(folder, "marquee.db"))
	for name, mode := range map[string]fs.FileMode{"": 0o700 | fs.ModeDir, "marquee.db": 0o600, "marquee.db-wal": 0o600,
		"marquee.db-shm": 0o600, "marquee.key": 0o600, "marquee.db.lock": 0o600} {
		info, err := os.Stat(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != mode {
			t.Errorf("%s has the mode %v instead of %v", info.Name(), info.Mode(), mode)
		}
	}
	p.Stop()
	left, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(left) != 3 { // the database, its lock and the key
		t.Errorf("what is left is %v %v", left, err)
	}
}

// TestStoreOfSomethingElse: a file that is no store of this program is refused
// and left as it is.
func TestStoreOfSomethingElse(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	dir := t.TempDir()
	random := make([]byte, 100_000)
	rand.Read(random)
	path := func(name string) string { return filepath.Join(dir, name) }
	sql := func(path, script string) {
		db, err := sqlite3.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Exec(script), db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	process.File(t, path("garbage.db"), string(random))
	process.File(t, path("header.db"), "SQLite format 3\x00"+string(random))
	process.File(t, path("text.db"), strings.Repeat("This is a letter.\n", 500))
	sql(path("other.db"), "CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)")
	sql(path("marked.db"), "PRAGMA application_id=42; CREATE TABLE theirs (a)")
	newer := path("newer.db")
	process.Serve(t, "sqlite:"+newer).Stop()
	sql(newer, "PRAGMA user_version=999")
	if err := os.Remove(path("marquee.key")); err != nil {
		t.Fatal(err)
	}
	for name, says := range map[string]string{
		"garbage.db": "not an SQLite database", "header.db": "cannot be used", "text.db": "not an SQLite database",
		"other.db": "another program", "marked.db": "another program", "newer.db": "newer Marquee (version 999",
	} {
		before, err := os.ReadFile(path(name))
		if err != nil {
			t.Fatal(err)
		}
		procServeFails(t, "sqlite:"+path(name), path(name), says)
		after, err := os.ReadFile(path(name))
		if err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s was changed: %v", name, err)
		}
	}
	if _, err := os.Stat(path("marquee.key")); !os.IsNotExist(err) {
		t.Errorf("a key was made for a store that is none: %v", err)
	}
	// A folder, and a path that leads through a file.
	procServeFails(t, "sqlite:"+dir, dir, "cannot be opened")
	procServeFails(t, "sqlite:"+filepath.Join(path("text.db"), "x.db"), "its folder cannot be created")
	// An empty file is a new store.
	p := process.Serve(t, "sqlite:"+process.File(t, path("empty.db"), ""))
	p.SignIn("admin", process.Password)
	p.Stop()
}

// TestStoreIsTruncated: a store that has lost its end is refused, or serves
// no answer that is wrong: the start names the cure.
func TestStoreIsTruncated(t *testing.T) {
	t.Parallel()
	store := service.NewSQLite(t)
	process.Serve(t, store, "--demo").Stop()
	info, err := os.Stat(service.SQLiteFile(store))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(service.SQLiteFile(store), info.Size()/2); err != nil {
		t.Fatal(err)
	}
	procServeFails(t, store, "restore it from a backup")
}

// TestStoreIsReadOnly: a folder or a file that cannot be written is named.
func TestStoreIsReadOnly(t *testing.T) {
	t.Parallel()
	program := process.Binary(t)
	dir, err := os.MkdirTemp("", "marquee-read-only-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	readable := filepath.Join(dir, "file")
	if err := errors.Join(os.Mkdir(readable, 0o777), os.Chmod(readable, 0o777), os.Chmod(dir, 0o555),
		os.WriteFile(filepath.Join(readable, "marquee.db"), nil, 0o444)); err != nil {
		t.Fatal(err)
	}
	for store, says := range map[string]string{
		filepath.Join(dir, "marquee.db"):        "folder is writable",
		filepath.Join(dir, "new", "marquee.db"): "its folder cannot be created",
		filepath.Join(readable, "marquee.db"):   "writable",
	} {
		cmd := exec.Command(program, "serve", "--addr", "127.0.0.1:0", "--store", "sqlite:"+store)
		cmd.Dir, cmd.Env = "/", []string{"HOME=/"}
		if os.Geteuid() == 0 { // whom no mode keeps out
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		out := process.Refused(t, cmd)
		process.Wants(t, out, store, says)
		process.Shuns(t, out, "goroutine", "listening", "The password is")
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
}

// TestStoreNeedsItsKey: with another key, the start ends and names the cure;
// with the right one, all is there again.
func TestStoreNeedsItsKey(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	store := service.NewSQLite(t)
	key := filepath.Join(filepath.Dir(service.SQLiteFile(store)), "marquee.key")
	p := process.Serve(t, store)
	p.SignIn("admin", process.Password)
	connection := `{"name": "C", "contextService": "X", "username": "u", "apiKey": "the secret of the connection"}`
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/contextserviceconnections/c?context=main", connection)
	p.Stop()
	right, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	const cure = "configure the secret key that this store was made with"
	process.File(t, key, "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\n")
	procServeFails(t, store, "the key of "+key+" cannot be used", "encrypted with another key", cure)
	process.File(t, key, "")
	procServeFails(t, store, key, "base64 of 32")
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	procServeFails(t, store, key, "restore it")
	if _, err := os.Stat(key); !os.IsNotExist(err) {
		t.Error("a start without the key made another one")
	}
	process.File(t, key, string(right))
	q := process.Serve(t, store)
	q.Token = p.Token
	a := q.Ask(http.StatusOK, http.MethodGet, "/api/v1/contextserviceconnections/c?context=main", "")
	process.Wants(t, string(a.Body), "the secret of the connection")
	q.Stop()
	for _, file := range []string{service.SQLiteFile(store), service.SQLiteFile(store) + "-wal"} {
		content, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		process.Shuns(t, string(content), "the secret of the connection", process.Password)
	}
}
