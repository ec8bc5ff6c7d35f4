package program

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// folderGone is what the log says when there is no folder of schemas.
const folderGone = "the folder of schemas does not exist; the last set is served"

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
	process.SkipLong(t)
	t.Parallel()
	dir, short := t.TempDir(), t.TempDir()
	pipe := filepath.Join(dir, "pipe.json")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	wanted := []string{dir + "/pipe.json: the file cannot be read: it is a named pipe, and only regular files are read (remove it"}
	process.Wants(t, process.Fails(t, nil, "schema", "lint", dir), wanted...)
	process.Wants(t, process.Fails(t, nil, "serve", "--addr", "127.0.0.1:0", "--store", service.NewSQLite(t), "--schemas", dir), wanted...)
	if err := os.Remove(pipe); err != nil {
		t.Fatal(err)
	}
	process.FolderOf(t, dir, "a")
	f := process.Folder{Process: process.Serve(t, service.NewSQLite(t), "--schemas", dir), Dir: dir}
	f.SignIn("admin", process.Password)
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
		entry := f.Change(process.RefusedSet, func() error { return add(path) })
		process.Wants(t, fmt.Sprint(entry["reason"]), "odd.json", "it is "+kind)
		process.Wants(t, string(f.Ask(http.StatusOK, http.MethodGet, "/readyz", "").Body), "refused since")
		f.Serves("a")
		f.Change(process.Loaded, func() error { return os.Remove(path) })
	}
}

// TestFolderExchanged: a folder that is renamed, replaced, deleted and made
// again is followed, and so is one that a symbolic link leads to.
func TestFolderExchanged(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	top := t.TempDir()
	at := func(name string) string { return filepath.Join(top, "deploy", name) }
	dir := process.FolderOf(t, at("schemas"), "a")
	f := process.Folder{Process: process.Serve(t, service.NewSQLite(t), "--schemas", dir), Dir: dir}
	f.SignIn("admin", process.Password)
	f.Serves("a")
	gone := func(last string, do func() error) {
		t.Helper()
		f.Awaits(folderGone, do)
		f.Serves(last)
		process.Wants(t, string(f.Ask(http.StatusOK, http.MethodGet, "/readyz", "").Body), `"status":"ready"`, "does not exist; the last set is served")
	}
	back := func(do func() error) {
		t.Helper()
		f.Change(process.Loaded, do)
		process.Shuns(t, string(f.Ask(http.StatusOK, http.MethodGet, "/readyz", "").Body), "notes")
	}

	gone("a", rename(dir, at("away")))
	back(rename(at("away"), dir))
	gone("a", func() error { return os.RemoveAll(dir) })
	back(func() error { process.FolderOf(t, at("next"), "b"); return os.Rename(at("next"), dir) })
	f.Serves("b")
	f.Drop("typea.json", process.Schema("typea"), process.Loaded)
	f.Serves("ab")

	// Another folder takes its place, and is watched in turn.
	process.FolderOf(t, at("other"), "c")
	f.Change(process.Loaded, steps(rename(dir, at("old")), rename(at("other"), dir)))
	f.Serves("c")
	f.Drop("typea.json", process.Schema("typea"), process.Loaded)
	f.Serves("ac")
	f.Change(process.Loaded, func() error { return os.Mkdir(filepath.Join(dir, "common"), 0o755) })
	f.Drop("common/size.json", process.Common(1), process.Loaded)

	// What it is in may go, too.
	gone("ac", rename(at(""), filepath.Join(top, "gone")))
	back(rename(filepath.Join(top, "gone"), at("")))
	f.Serves("ac")
	f.Drop("typeb.json", process.Schema("typeb"), process.Loaded)
	f.Serves("abc")
}

// TestFolderBehindLinks: symbolic links to the folder, and those with which
// Kubernetes exchanges the files of a volume, are followed when they change.
func TestFolderBehindLinks(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	at := func(name string) string { return filepath.Join(top, name) }
	one, two := process.FolderOf(t, at("releases/1"), "a"), process.FolderOf(t, at("releases/2"), "b")
	if err := steps(relink(filepath.Join("releases", "1"), at("current")), relink("current", at("schemas")))(); err != nil {
		t.Fatal(err)
	}
	f := process.Folder{Process: process.Serve(t, service.NewSQLite(t), "--schemas", at("schemas")), Dir: one}
	f.SignIn("admin", process.Password)
	f.Serves("a")
	f.Change(process.Loaded, relink(two, at("current")))
	f.Serves("b")
	f.Dir = two
	f.Drop("typea.json", process.Schema("typea"), process.Loaded)
	f.Serves("ab")
	f.Awaits(folderGone, func() error { return os.Remove(at("current")) })
	f.Serves("ab")

	// A volume: each file is a link over ..data, which is exchanged.
	volume := at("volume")
	process.FolderOf(t, filepath.Join(volume, "..1"), "c")
	process.FolderOf(t, filepath.Join(volume, "..2"), "c")
	process.File(t, filepath.Join(volume, "..2", "typec.json"), process.Schema("typec", `, "size": {"type": "integer"}`))
	if err := steps(relink("..1", filepath.Join(volume, "..data")), relink("..data/typec.json", filepath.Join(volume, "typec.json")))(); err != nil {
		t.Fatal(err)
	}
	f.Change(process.Loaded, relink(volume, at("current")))
	f.Serves("c")
	f.Ask(http.StatusUnprocessableEntity, http.MethodPost, "/api/v1/typec/x?context=main&fieldValidation=Strict", `{"name": "X", "size": 1}`)
	f.Change(process.Loaded, relink("..2", filepath.Join(volume, "..data")))
	f.Ask(http.StatusCreated, http.MethodPost, "/api/v1/typec/x?context=main&fieldValidation=Strict", `{"name": "X", "size": 1}`)
}

// TestFolderIsAFile: what takes the place of the folder of schemas and is none
// is named, and the last set is served.
func TestFolderIsAFile(t *testing.T) {
	t.Parallel()
	dir := process.FolderOf(t, filepath.Join(t.TempDir(), "schemas"), "a")
	f := process.Folder{Process: process.Serve(t, service.NewSQLite(t), "--schemas", dir), Dir: dir}
	f.SignIn("admin", process.Password)
	entry := f.Change(process.RefusedSet, steps(rename(dir, dir+"~"), func() error { return os.WriteFile(dir, nil, 0o600) }))
	process.Wants(t, fmt.Sprint(entry["reason"]), dir+" is not a folder")
	f.Serves("a")
}
