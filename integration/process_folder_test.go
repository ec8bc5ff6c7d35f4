package integration

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// procFolderGone is what the log says when there is no folder of schemas.
const procFolderGone = "the folder of schemas does not exist; the last set is served"

// awaits does something, and waits for a line of the log.
func (f procFolder) awaits(says string, do func() error) {
	f.tb.Helper()
	from := f.stderr.mark()
	if err := do(); err != nil {
		f.tb.Fatal(err)
	}
	f.stderr.await(f.tb, from, procSays(says))
}

// serves checks that exactly these of the types a, b and c are served.
func (f procFolder) serves(types string) {
	f.tb.Helper()
	for _, name := range []string{"a", "b", "c"} {
		status := http.StatusNotFound
		if strings.Contains(types, name) {
			status = http.StatusOK
		}
		f.ask(status, http.MethodGet, "/api/v1/type"+name+"?context=main", "")
	}
}

// procFolderOf makes a folder with one type.
func procFolderOf(tb testing.TB, path, name string) string {
	tb.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		tb.Fatal(err)
	}
	procFile(tb, filepath.Join(path, "type"+name+".json"), procSchema("type"+name))
	return path
}

// steps runs functions until one fails.
func steps(do ...func() error) func() error {
	return func() error {
		for _, step := range do {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	}
}

func rename(from, to string) func() error { return func() error { return os.Rename(from, to) } }

// relink makes a symbolic link in one step, whether or not it is there.
func relink(target, link string) func() error {
	return steps(func() error { return os.Symlink(target, link+"~") }, rename(link+"~", link))
}

// TestIrregularFiles: what is no regular file is named, and does not hold up
// the check of a folder, the start of the service, or a reload.
func TestIrregularFiles(t *testing.T) {
	t.Parallel()
	dir, short := t.TempDir(), t.TempDir()
	pipe := filepath.Join(dir, "pipe.json")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	wanted := []string{dir + "/pipe.json: the file cannot be read: it is a named pipe, and only regular files are read (remove it"}
	procWants(t, procFails(t, nil, "schema", "lint", dir), wanted...)
	procWants(t, procFails(t, nil, "serve", "--addr", "127.0.0.1:0", "--store", newSQLite(t), "--schemas", dir), wanted...)
	if err := os.Remove(pipe); err != nil {
		t.Fatal(err)
	}
	procFolderOf(t, dir, "a")
	f := procFolder{procServe(t, newSQLite(t), "--schemas", dir), dir}
	f.signIn("admin", procPassword)
	for kind, add := range map[string]func(path string) error{
		"a named pipe": func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a folder":     func(path string) error { return os.Mkdir(path, 0o755) },
		"a socket": func(path string) error { // whose path would be too long
			listener, err := net.Listen("unix", filepath.Join(short, "s"))
			if err != nil {
				return err
			}
			listener.(*net.UnixListener).SetUnlinkOnClose(false)
			return steps(listener.Close, rename(filepath.Join(short, "s"), path))()
		},
	} {
		path := filepath.Join(dir, "odd.json")
		entry := f.change(procRefusedSet, func() error { return add(path) })
		procWants(t, fmt.Sprint(entry["reason"]), "odd.json", "it is "+kind)
		procWants(t, string(f.ask(http.StatusOK, http.MethodGet, "/readyz", "").body), "odd.json", kind)
		f.serves("a")
		f.change(procLoaded, func() error { return os.Remove(path) })
	}
}

// TestFolderExchanged: a folder that is renamed, replaced, deleted and made
// again is followed, and so is one that a symbolic link leads to.
func TestFolderExchanged(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	at := func(name string) string { return filepath.Join(top, "deploy", name) }
	dir := procFolderOf(t, at("schemas"), "a")
	f := procFolder{procServe(t, newSQLite(t), "--schemas", dir), dir}
	f.signIn("admin", procPassword)
	f.serves("a")
	gone := func(last string, do func() error) {
		t.Helper()
		f.awaits(procFolderGone, do)
		f.serves(last)
		procWants(t, string(f.ask(http.StatusOK, http.MethodGet, "/readyz", "").body), `"status":"ready"`, "does not exist; the last set is served")
	}
	back := func(do func() error) {
		t.Helper()
		f.change(procLoaded, do)
		procShuns(t, string(f.ask(http.StatusOK, http.MethodGet, "/readyz", "").body), "notes")
	}

	gone("a", rename(dir, at("away")))
	back(rename(at("away"), dir))
	gone("a", func() error { return os.RemoveAll(dir) })
	back(func() error { procFolderOf(t, at("next"), "b"); return os.Rename(at("next"), dir) })
	f.serves("b")
	f.drop("typea.json", procSchema("typea"), procLoaded)
	f.serves("ab")

	// Another folder takes its place, and is watched in turn.
	procFolderOf(t, at("other"), "c")
	f.change(procLoaded, steps(rename(dir, at("old")), rename(at("other"), dir)))
	f.serves("c")
	f.drop("typea.json", procSchema("typea"), procLoaded)
	f.serves("ac")
	f.change(procLoaded, func() error { return os.Mkdir(filepath.Join(dir, "common"), 0o755) })
	f.drop("common/size.json", procCommon(1), procLoaded)

	// What it is in may go, too.
	gone("ac", rename(at(""), filepath.Join(top, "gone")))
	back(rename(filepath.Join(top, "gone"), at("")))
	f.serves("ac")
	f.drop("typeb.json", procSchema("typeb"), procLoaded)
	f.serves("abc")
}

// TestFolderBehindLinks: symbolic links to the folder, and those with which
// Kubernetes exchanges the files of a volume, are followed when they change.
func TestFolderBehindLinks(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	at := func(name string) string { return filepath.Join(top, name) }
	one, two := procFolderOf(t, at("releases/1"), "a"), procFolderOf(t, at("releases/2"), "b")
	if err := steps(relink(filepath.Join("releases", "1"), at("current")), relink("current", at("schemas")))(); err != nil {
		t.Fatal(err)
	}
	f := procFolder{procServe(t, newSQLite(t), "--schemas", at("schemas")), one}
	f.signIn("admin", procPassword)
	f.serves("a")
	f.change(procLoaded, relink(two, at("current")))
	f.serves("b")
	f.dir = two
	f.drop("typea.json", procSchema("typea"), procLoaded)
	f.serves("ab")
	f.awaits(procFolderGone, func() error { return os.Remove(at("current")) })
	f.serves("ab")

	// A volume: each file is a link over ..data, which is exchanged.
	volume := at("volume")
	procFolderOf(t, filepath.Join(volume, "..1"), "c")
	procFolderOf(t, filepath.Join(volume, "..2"), "c")
	procFile(t, filepath.Join(volume, "..2", "typec.json"), procSchema("typec", `, "size": {"type": "integer"}`))
	if err := steps(relink("..1", filepath.Join(volume, "..data")), relink("..data/typec.json", filepath.Join(volume, "typec.json")))(); err != nil {
		t.Fatal(err)
	}
	f.change(procLoaded, relink(volume, at("current")))
	f.serves("c")
	f.ask(http.StatusUnprocessableEntity, http.MethodPost, "/api/v1/typec/x?context=main&fieldValidation=Strict", `{"name": "X", "size": 1}`)
	f.change(procLoaded, relink("..2", filepath.Join(volume, "..data")))
	f.ask(http.StatusCreated, http.MethodPost, "/api/v1/typec/x?context=main&fieldValidation=Strict", `{"name": "X", "size": 1}`)
}

// TestFolderIsAFile: what takes the place of the folder of schemas and is none
// is named, and the last set is served.
func TestFolderIsAFile(t *testing.T) {
	t.Parallel()
	dir := procFolderOf(t, filepath.Join(t.TempDir(), "schemas"), "a")
	f := procFolder{procServe(t, newSQLite(t), "--schemas", dir), dir}
	f.signIn("admin", procPassword)
	entry := f.change(procRefusedSet, steps(rename(dir, dir+"~"), func() error { return os.WriteFile(dir, nil, 0o600) }))
	procWants(t, fmt.Sprint(entry["reason"]), dir+" is not a folder")
	f.serves("a")
}
