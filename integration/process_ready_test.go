package integration

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/integration/mongodb"
)

// awaitReady asks /readyz until it answers with a status; what it found before
// is given again for a second.
func (p *proc) awaitReady(status int) string {
	p.tb.Helper()
	for end := time.Now().Add(procPatience); ; <-time.After(50 * time.Millisecond) {
		a, err := p.send(http.MethodGet, "/readyz", nil, nil)
		if err != nil {
			p.tb.Fatal(err)
		}
		if a.status == status {
			return string(a.body)
		}
		if time.Now().After(end) {
			p.tb.Fatalf("/readyz goes on answering %d instead of %d: %s", a.status, status, a.body)
		}
	}
}

// TestReadyWithDamage: a store that was found damaged takes no more requests,
// and the answer says which. It is not served again before its file is sound.
func TestReadyWithDamage(t *testing.T) {
	t.Parallel()
	store := newSQLite(t)
	procServe(t, store, "--demo").stop() // which leaves everything in the file
	p := procServe(t, store)
	p.signIn("admin", procPassword)
	p.awaitReady(http.StatusOK)
	file, err := os.OpenFile(sqliteFile(store), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	sound, err := os.ReadFile(sqliteFile(store))
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteAt(bytes.Repeat([]byte{0xee}, int(info.Size())-4096), 4096)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	said := string(p.ask(http.StatusServiceUnavailable, http.MethodGet, "/api/v1/notes?context=main&q=anything", "").body)
	procWants(t, said, "error.store.damaged")
	said = p.awaitReady(http.StatusServiceUnavailable)
	procWants(t, said, "error.store.damaged")
	procShuns(t, said, filepath.Dir(sqliteFile(store)))
	said = string(p.ask(http.StatusServiceUnavailable, http.MethodPost, "/api/v1/notes/a?context=main", `{"text": "A"}`).body)
	procWants(t, said, "error.store.damaged")
	p.kill()
	procServeFails(t, store, "restore it from a backup")
	procFile(t, sqliteFile(store), string(sound))
	p = procServe(t, store)
	p.signIn("admin", procPassword)
	p.ask(http.StatusCreated, http.MethodPost, "/api/v1/notes/a?context=main", `{"text": "A"}`)
	p.stop()
}

// TestReadyWithoutItsFile: writes to a file that was deleted would be lost.
func TestReadyWithoutItsFile(t *testing.T) {
	t.Parallel()
	store := newSQLite(t)
	p := procServe(t, store)
	p.awaitReady(http.StatusOK)
	moved := sqliteFile(store) + ".moved"
	if err := os.Rename(sqliteFile(store), moved); err != nil {
		t.Fatal(err)
	}
	procWants(t, p.awaitReady(http.StatusServiceUnavailable), "error.store.unavailable")
	if err := os.Rename(moved, sqliteFile(store)); err != nil {
		t.Fatal(err)
	}
	p.awaitReady(http.StatusOK)
	p.stop()
}

// TestReadyNotes: schemas that were refused are something to look at, and no
// reason to send requests elsewhere; nobody learns the folder's path.
func TestReadyNotes(t *testing.T) {
	t.Parallel()
	dir := procFolderOf(t, filepath.Join(t.TempDir(), "schemas"), "a")
	f := procFolder{procServe(t, newSQLite(t), "--schemas", dir), dir}
	f.drop("broken.json", `{"type": 7}`, procRefusedSet)
	said := f.awaitReady(http.StatusOK)
	procWants(t, said, `"status":"ready"`, "schemas/broken.json", "refused, the previous ones remain")
	procShuns(t, said, filepath.Dir(dir))
	if !strings.Contains(f.stderr.String(), dir) {
		t.Error("the log does not say where the folder is")
	}
	f.stop()
}

// TestReadyWithoutWrites: a database that answers and refuses all writes is not ready,
// until it accepts them again, also if nobody writes.
func TestReadyWithoutWrites(t *testing.T) {
	t.Parallel()
	needStore(t, "mongodb")
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
	p := procServe(t, set.URIAs(url.UserPassword("writer", "writer"), "marquee"))
	p.signIn("admin", procPassword)
	p.awaitReady(http.StatusOK)
	user("updateUser", "read")
	refused := p.ask(http.StatusServiceUnavailable, http.MethodPost, "/api/v1/notes/a?context=main", `{"text": "A"}`)
	procWants(t, string(refused.body), "error.store.unavailable")
	procWants(t, p.awaitReady(http.StatusServiceUnavailable), "error.store.unavailable")
	p.ask(http.StatusOK, http.MethodGet, "/api/v1/notes?context=main", "")
	user("updateUser", "readWrite")
	p.awaitReady(http.StatusOK)
	p.ask(http.StatusCreated, http.MethodPost, "/api/v1/notes/a?context=main", `{"text": "A"}`)
	p.stop()
}
