package program

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/integration/mongodb"
	"marquee/integration/process"
	"marquee/integration/service"
)

// TestReadyWithDamage: a store that was found damaged takes no more requests,
// and the answer says which. It is not served again before its file is sound.
func TestReadyWithDamage(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	store := service.NewSQLite(t)
	process.Serve(t, store, "--demo").Stop() // which leaves everything in the file
	copied := filepath.Join(t.TempDir(), "copy.db")
	process.Run(t, nil, "backup", copied, "--store", store)
	p, private := privately(t, store)
	p.SignIn("admin", process.Password)
	p.AwaitReady(http.StatusOK)
	file, err := os.OpenFile(service.SQLiteFile(store), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteAt(bytes.Repeat([]byte{0xee}, int(info.Size())-4096), 4096)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	said := string(p.Ask(http.StatusServiceUnavailable, http.MethodGet, "/api/v1/notes?context=main&q=anything", "").Body)
	process.Wants(t, said, "error.store.damaged")
	said = p.AwaitReady(http.StatusServiceUnavailable)
	process.Wants(t, said, "error.store.damaged")
	process.Shuns(t, said, filepath.Dir(service.SQLiteFile(store)))
	said = string(p.Ask(http.StatusServiceUnavailable, http.MethodPost, "/api/v1/notes/a?context=main", `{"text": "A"}`).Body)
	process.Wants(t, said, "error.store.damaged")
	handbook(t, "Damaged file").shows(p, private)
	p.Kill()
	procServeFails(t, store, "restore it from a backup")
	process.Run(t, nil, "restore", copied, "--force", "--store", store)
	p = process.Serve(t, store)
	p.SignIn("admin", process.Password)
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/notes/a?context=main", `{"text": "A"}`)
	p.Stop()
}

// TestReadyWithoutItsFile: the service reports that its file was moved or deleted. A backup has
// what is written to a file that was deleted, and no start puts an empty store in its place.
func TestReadyWithoutItsFile(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	store := service.NewSQLite(t)
	p, private := privately(t, store)
	p.SignIn("admin", process.Password)
	moved := service.SQLiteFile(store) + ".moved"
	if err := os.Rename(service.SQLiteFile(store), moved); err != nil {
		t.Fatal(err)
	}
	handbook(t, "Deleted file").shows(p, private)
	if err := os.Rename(moved, service.SQLiteFile(store)); err != nil {
		t.Fatal(err)
	}
	p.AwaitReady(http.StatusOK)
	if err := os.Remove(service.SQLiteFile(store)); err != nil {
		t.Fatal(err)
	}
	p.AwaitReady(http.StatusServiceUnavailable)
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/tiers/late?context=main", `{"name": "Late"}`)
	rescued := filepath.Join(t.TempDir(), "rescued.db")
	process.Run(t, nil, "backup", rescued, "--store", store)
	p.Kill()
	procServeFails(t, store, "the file is missing, but its write-ahead log is there")
	process.Run(t, nil, "restore", rescued, "--store", store)
	p = process.Serve(t, store)
	p.SignIn("admin", process.Password)
	p.Ask(http.StatusOK, http.MethodGet, "/api/v1/tiers/late?context=main", "")
	p.Stop()
}

// TestReadyNotes: schemas that were refused are something to look at, and no
// reason to send requests elsewhere; nobody learns the path of the
// folder, nor of types and properties.
func TestReadyNotes(t *testing.T) {
	t.Parallel()
	dir := process.FolderOf(t, filepath.Join(t.TempDir(), "schemas"), "a")
	p, private := privately(t, service.NewSQLite(t), "--schemas", dir)
	f := process.Folder{Process: p, Dir: dir}
	f.Drop("broken.json", `{"type": 7}`, process.RefusedSet)
	said := f.AwaitReady(http.StatusOK)
	process.Wants(t, said, `"status":"ready"`, "refused since 20", "the previous ones remain: the log has the details")
	process.Shuns(t, said, filepath.Dir(dir), "broken")
	if !strings.Contains(f.Stderr.String(), dir) {
		t.Error("the log does not say where the folder is")
	}
	handbook(t, "Refused schemas").shows(p, private)
	f.Change(process.Loaded, func() error { return os.Remove(filepath.Join(dir, "broken.json")) })
	process.Shuns(t, f.AwaitReady(http.StatusOK), "notes")
	for _, result := range []string{"refused", "served"} {
		awaitMetric(p, private, fmt.Sprintf("marquee_schema_reloads_total{result=%q} > 0", result))
	}
	f.Stop()
}

// TestReadyWithoutWrites: a database that answers and refuses all writes is not ready,
// until it accepts them again, also if nobody writes.
func TestReadyWithoutWrites(t *testing.T) {
	t.Parallel()
	service.NeedStore(t, "mongodb")
	set := mongodb.NewReplicaSet(t, 1, mongodb.WithAuth())
	user := func(command, role string, more ...bson.E) {
		t.Helper()
		roles := bson.A{bson.D{{Key: "role", Value: role}, {Key: "db", Value: "marquee"}}}
		all := append(bson.D{{Key: command, Value: "writer"}, {Key: "roles", Value: roles}}, more...)
		if err := set.Client().Database("admin").RunCommand(t.Context(), all).Err(); err != nil {
			t.Fatal(err)
		}
	}
	user("createUser", "readWrite", bson.E{Key: "pwd", Value: "writer"})
	p := process.Serve(t, set.URIAs(url.UserPassword("writer", "writer"), "marquee"))
	p.SignIn("admin", process.Password)
	p.AwaitReady(http.StatusOK)
	user("updateUser", "read")
	refused := p.Ask(http.StatusServiceUnavailable, http.MethodPost, "/api/v1/notes/a?context=main", `{"text": "A"}`)
	process.Wants(t, string(refused.Body), "error.store.unavailable")
	process.Wants(t, p.AwaitReady(http.StatusServiceUnavailable), "error.store.unavailable")
	p.Ask(http.StatusOK, http.MethodGet, "/api/v1/notes?context=main", "")
	user("updateUser", "readWrite")
	p.AwaitReady(http.StatusOK)
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/notes/a?context=main", `{"text": "A"}`)
	p.Stop()
}
