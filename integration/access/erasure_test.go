package access

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"marquee/engine"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/transfer"
	"marquee/integration/process"
	"marquee/integration/service"
)

// persons is a folder with one type that has personal values wherever it can: they are
// searched, indexed, unique, sorted by, secret, nested and warned of.
func persons() fs.FS {
	const personal = `{"type": "string", "x-personal": true}`
	return service.TypeWith("persons", `, "search": ["name", "parts.text"], "sort": ["name"], "index": ["name", "parts.text"], "unique": ["name", ["number", "city"]], "label": "name"`,
		`"name": `+personal+`, "number": `+personal+`, "city": {"type": "string"}, "key": {"type": "string", "x-secret": true, "x-personal": true},
		"n": {"type": "integer"}, "parts": {"type": "array", "items": {"type": "object", "properties": {"text": `+personal+`, "n": {"type": "integer"}}}},
		"map": {"type": "object", "additionalProperties": `+personal+`}, "whole": {"type": "object", "x-personal": true}`)
}

// forgetting is a service with persons, of whom each value contains "geheim".
type forgetting struct {
	*service.Service
	t     *testing.T
	token string
}

func newForgetting(t *testing.T, s *service.Service) *forgetting {
	t.Helper()
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	return &forgetting{s, t, token}
}

// fill gives a person values, in several versions.
func (f *forgetting) fill(id string, versions int) {
	f.t.Helper()
	for i := range versions {
		f.Must(f.token, http.MethodPut, "/api/v1/persons/"+id+"?context=main", fmt.Sprintf(`{"objectState": "ACTIVE", "name": "geheim %[1]s %[2]d", "number": "no geheim%[2]d %[1]s", "city": "x",
			"key": "key geheim%[2]d", "n": %[2]d, "parts": [{"text": "part geheim%[2]d", "n": 1}], "map": {"m": "map geheim%[2]d"}, "whole": {"in": ["geheim%[2]d"]}}`, id, i))
	}
}

// Must expects one of the statuses of a write that succeeds.
func (f *forgetting) Must(token, method, path, body string) {
	f.t.Helper()
	if a := f.Ask(token, method, path, body, nil); a.Status != http.StatusOK && a.Status != http.StatusCreated {
		f.t.Fatalf("%s %s: %d %s", method, path, a.Status, a.Body)
	}
}

// erase erases an object, and demands that nothing is left to the background.
func (f *forgetting) erase(path string) {
	f.t.Helper()
	if a := f.Ask(f.token, http.MethodPost, path+"/erase?context=main", "", nil); a.Status != http.StatusOK || !strings.Contains(string(a.Body), `"complete":true`) {
		f.t.Fatalf("the erasure of %s: %d %s", path, a.Status, a.Body)
	}
}

// rests demands that the store holds the word, or that it does not.
func (f *forgetting) rests(holds bool) {
	f.t.Helper()
	content := bytes.ToLower(service.AtRest(f.t, f.URI))
	if at := bytes.Index(content, []byte("geheim")); at >= 0 != holds {
		f.t.Errorf("the store holds %q", content[max(0, at-200):min(len(content), max(0, at)+200)])
	}
}

// TestErasedAtRest looks past the service at the bytes that the store keeps: after an
// erasure, no value is there, while those of others are.
func TestErasedAtRest(t *testing.T) { service.EachStore(t, testErasedAtRest) }

func testErasedAtRest(t *testing.T, fresh service.NewStore) {
	f := newForgetting(t, service.New(t, fresh, persons()))
	f.fill("p", 5)
	f.Must(f.token, http.MethodPost, "/api/v1/persons?context=main", `{"id": "q", "name": "somebody else", "n": 3}`)
	for _, name := range []string{"geheim-kari", "geheim-ola"} {
		f.Must(f.token, http.MethodPost, "/api/v1/users", fmt.Sprintf(`{"id": "u", "username": %q, "name": "geheim", "displayName": "geheim", "externalReference": "geheim", "password": "a password to test with",
			"userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "administrator"}]}]}}`, name))
		if _, err := f.SignIn(name); err != nil {
			t.Fatal(err)
		}
		if _, err := f.SignIn(strings.ToUpper(name) + "x"); err == nil {
			t.Fatal("a name that nobody has signs in")
		}
	}
	f.Must(f.token, http.MethodPost, "/api/v1/users", `{"id": "v", "username": "kept", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "administrator"}]}]}}`)
	f.rests(true)
	f.erase("/api/v1/persons/p")
	f.erase("/api/v1/users/u")
	f.rests(false)
	content := service.AtRest(t, f.URI)
	for _, kept := range []string{"somebody else", "kept"} {
		if !bytes.Contains(content, []byte(kept)) {
			t.Errorf("%s is gone", kept)
		}
	}
	f.Stop()
	f.rests(false)
	f.Start()
}

// TestErasureWhileWriting erases objects that are written all the time, by writes that take
// the rest of the object from the store: no value comes back.
func TestErasureWhileWriting(t *testing.T) { service.EachStore(t, testErasureWhileWriting) }

func testErasureWhileWriting(t *testing.T, fresh service.NewStore) {
	f := newForgetting(t, service.New(t, fresh, persons()))
	f.writeAndErase([]*service.Service{f.Service})
}

// TestServersErase erases on one server what another one writes.
func TestServersErase(t *testing.T) {
	t.Parallel()
	servers, token := service.NewServers(t, 2, persons())
	f := &forgetting{servers[0], t, token}
	f.writeAndErase(servers)
}

func (f *forgetting) writeAndErase(servers []*service.Service) {
	const persons = 4
	for i := range persons {
		f.fill(fmt.Sprint("p", i), 3)
	}
	var done atomic.Bool
	var writers sync.WaitGroup
	for w, s := range servers {
		for i := range persons {
			writers.Go(func() {
				path := fmt.Sprintf("/api/v1/persons/p%d?context=main", i)
				for n := 0; !done.Load(); n++ {
					body := fmt.Sprintf(`{"n": %d, "map": {"m%d": null}}`, n, w)
					if a := s.Ask(f.token, http.MethodPatch, path, body, nil); a.Status != http.StatusOK && a.Status != http.StatusConflict {
						f.t.Errorf("%d %s", a.Status, a.Body)
						return
					}
					s.Ask(f.token, http.MethodGet, "/api/v1/persons?context=main&includeHidden=true", "", nil)
				}
			})
		}
	}
	for i := range persons {
		f.erase(fmt.Sprint("/api/v1/persons/p", i))
	}
	for i := range persons { // again, beside the writers
		f.erase(fmt.Sprint("/api/v1/persons/p", i))
	}
	done.Store(true)
	writers.Wait()
	f.erase("/api/v1/persons/p0")
	f.rests(false)
}

// breaking is a store that ends a context at one of the transactions.
type breaking struct {
	store.Store
	left atomic.Int64
	end  context.CancelFunc
}

func (b *breaking) Write(ctx context.Context, fn func(store.Tx) error) error {
	if b.left.Add(-1) == 0 {
		b.end()
	}
	return b.Store.Write(ctx, fn)
}

// TestErasureBrokenOff ends an erasure at each of its transactions. What was left is done by
// the same request again, or by the service itself after a start or from time to time.
func TestErasureBrokenOff(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testErasureBrokenOff)
}

func testErasureBrokenOff(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	f := newForgetting(t, service.New(t, fresh, persons()))
	f.StopSearch() // which reads the engine's store
	early := 0
	for step, done := 1, false; !done; step++ {
		id := fmt.Sprint("p", step)
		f.fill(id, 120) // more than a step through the history
		own := f.Engine.Store
		kind, _ := f.Engine.Registry().Type("persons")
		ctx, cancel := context.WithCancel(t.Context())
		b := &breaking{Store: own, end: cancel}
		b.left.Store(int64(step))
		f.Engine.Store = b
		erased, err := f.Engine.Erase(ctx, &engine.Caller{System: true}, engine.Removal{Type: kind, Network: "main", ID: id})
		f.Engine.Store = own
		cancel()
		if done = b.left.Load() > 0; done {
			if err != nil || erased.Left != nil {
				t.Fatal(err, erased)
			}
			break
		}
		if err == nil && erased.Left == nil {
			continue // it was the last transaction, which had an effect
		}
		early++
		switch {
		case err != nil, step%3 == 0: // nothing was erased, or the request is sent again
			f.erase("/api/v1/persons/" + id)
		case step%3 == 1:
			f.Stop()
			f.Start()
			f.StopSearch()
			fallthrough
		default:
			if err := f.Pass(); err != nil {
				t.Fatal(err)
			}
		}
		f.rests(false)
	}
	t.Log("broken off:", early)
	if early < 3 {
		t.Error("hardly anything was broken off")
	}
	f.rests(false)
}

// full is a store on a disk that has no room for another copy of its file.
type full struct {
	store.Store
	has *atomic.Bool
}

func (f full) Wipe(ctx context.Context) (int64, error) {
	if !f.has.Load() {
		return 0, &store.Error{Code: store.CodeFull, Text: "the disk is full"}
	}
	return f.Store.Wipe(ctx)
}

// TestErasureOnFullDisk: the values are gone from the API at once, and what needs room
// follows when there is some.
func TestErasureOnFullDisk(t *testing.T) { service.EachStore(t, testErasureOnFullDisk) }

func testErasureOnFullDisk(t *testing.T, fresh service.NewStore) {
	var room atomic.Bool
	s := &service.Service{TB: t, URI: fresh(t), Schemas: []fs.FS{persons()}, Wrap: func(inner store.Store) store.Store { return full{inner, &room} }}
	f := newForgetting(t, service.StartNew(s))
	f.fill("p", 2)
	a := f.Ask(f.token, http.MethodPost, "/api/v1/persons/p/erase?context=main", "", nil)
	if a.Status != http.StatusAccepted || !strings.Contains(string(a.Body), `"complete":false`) {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	for _, path := range []string{"/api/v1/persons/p?context=main", "/api/v1/audit?context=main"} {
		if a := f.Ask(f.token, http.MethodGet, path, "", nil); a.Status != http.StatusOK || strings.Contains(string(a.Body), "geheim") {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	if err := f.Pass(); err == nil {
		t.Error("the service did not try again")
	}
	room.Store(true)
	if err := f.Pass(); err != nil {
		t.Fatal(err)
	}
	f.rests(false)
	if a := f.Ask(f.token, http.MethodPost, "/api/v1/persons/p/erase?context=main", "", nil); a.Status != http.StatusOK {
		t.Errorf("again: %d %s", a.Status, a.Body)
	}
}

// large is a store that is said to have a large file, and counts how often it is rewritten.
type large struct {
	store.Store
	rewritten *atomic.Int64
}

func (l large) Wipe(ctx context.Context) (int64, error) {
	l.rewritten.Add(1)
	_, err := l.Store.Wipe(ctx)
	return 96 << 20, err
}

// TestErasuresShareTheRewriting: while a large file was rewritten a moment ago, erasures are
// answered without another time, and the service rewrites it once for all of them.
func TestErasuresShareTheRewriting(t *testing.T) {
	process.SkipCoveredBy(t, "TestErasedAtRest")
	t.Parallel()
	var rewritten atomic.Int64
	s := &service.Service{TB: t, URI: service.NewSQLite(t), Schemas: []fs.FS{persons()}, Wrap: func(inner store.Store) store.Store { return large{inner, &rewritten} }}
	f := newForgetting(t, service.StartNew(s))
	const persons = 8
	for i := range persons {
		f.fill(fmt.Sprint("p", i), 1)
	}
	f.erase("/api/v1/persons/p0")
	for i := 1; i < persons; i++ {
		for range 2 { // the second time, the rest is still to follow
			a := f.Ask(f.token, http.MethodPost, fmt.Sprintf("/api/v1/persons/p%d/erase?context=main", i), "", nil)
			if a.Status != http.StatusAccepted || !strings.Contains(string(a.Body), `"complete":false`) {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
		}
	}
	if err := f.Pass(); err != nil { // waits
		t.Fatal(err)
	}
	if n := rewritten.Load(); n != 2 {
		t.Errorf("the file was rewritten %d times", n)
	}
	f.rests(false)
	for i := range persons {
		f.erase(fmt.Sprint("/api/v1/persons/p", i))
	}
}

// between is a store that does something before the second write.
type between struct {
	store.Store
	writes atomic.Int64
	do     func()
}

func (b *between) Write(ctx context.Context, fn func(store.Tx) error) error {
	if b.writes.Add(1) == 2 {
		b.do()
	}
	return b.Store.Write(ctx, fn)
}

// beside is a store whose first page of a read is followed by something else.
type beside struct {
	store.Store
	done atomic.Bool
	do   func()
}

type besideSnapshot struct {
	store.Snapshot
	*beside
}

func (b *beside) Read(ctx context.Context, fn func(store.Snapshot) error) error {
	return b.Store.Read(ctx, func(s store.Snapshot) error { return fn(besideSnapshot{s, b}) })
}

func (s besideSnapshot) Scan(ctx context.Context, collection string, after store.Key, limit int, yield func(*store.Record) error) error {
	err := s.Snapshot.Scan(ctx, collection, after, limit, yield)
	if !s.done.Swap(true) {
		s.do()
	}
	return err
}

// TestErasureBesideExport erases objects that are being exported: the export has them as they
// were, and the store nothing of them after it.
func TestErasureBesideExport(t *testing.T) { service.EachStore(t, testErasureBesideExport) }

func testErasureBesideExport(t *testing.T, fresh service.NewStore) {
	f := newForgetting(t, service.New(t, fresh, persons()))
	erased := []string{"p0000", "p1000"} // on the first page, and on the second one
	objects := make([]string, 1001)
	for i := range objects {
		objects[i] = fmt.Sprintf(`{"id": "p%04d", "name": "somebody %[1]d"}`, i)
	}
	for page := range slices.Chunk(objects, 100) {
		f.Must(f.token, http.MethodPost, "/api/v1/persons?context=main", "["+strings.Join(page, ", ")+"]")
	}
	for _, id := range erased {
		f.fill(id, 1)
	}
	f.StopSearch() // which reads the engine's store
	file, err := os.Create(filepath.Join(t.TempDir(), "export"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	own := f.Engine.Store
	kind, _ := f.Engine.Registry().Type("persons")
	f.Engine.Store = &beside{Store: own, do: func() {
		for _, id := range erased {
			a := f.Ask(f.token, http.MethodPost, "/api/v1/persons/"+id+"/erase?context=main", "", nil)
			if a.Status != http.StatusOK && a.Status != http.StatusAccepted {
				t.Errorf("%d %s", a.Status, a.Body)
			}
			if a := f.Ask(f.token, http.MethodGet, "/api/v1/persons/"+id+"?context=main", "", nil); a.Status != http.StatusOK || strings.Contains(string(a.Body), "geheim") {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		}
	}}
	exported, err := transfer.Export{Engine: f.Engine, Types: []*schema.Type{kind}, Context: "main"}.Write(t.Context(), file)
	f.Engine.Store = own
	if err != nil || exported.Objects != int64(len(objects)) {
		t.Fatal(exported, err)
	}
	content, err := os.ReadFile(file.Name())
	for _, id := range erased {
		if !strings.Contains(string(content), `"name":"geheim `+id) {
			t.Errorf("the export does not have the name of %s: %v", id, err)
		}
		f.erase("/api/v1/persons/" + id)
	}
	f.rests(false)
}

// TestErasureBesideCreation erases an object that was removed, and is created again after it
// was found missing.
func TestErasureBesideCreation(t *testing.T) { service.EachStore(t, testErasureBesideCreation) }

func testErasureBesideCreation(t *testing.T, fresh service.NewStore) {
	f := newForgetting(t, service.New(t, fresh, service.TypeWith("persons", `, "methods": ["GET", "HEAD", "POST", "PUT", "DELETE"]`, `"name": {"type": "string", "x-personal": true}`)))
	f.Must(f.token, http.MethodPut, "/api/v1/persons/p?context=main", `{"name": "geheim"}`)
	if a := f.Ask(f.token, http.MethodDelete, "/api/v1/persons/p?context=main", "", nil); a.Status != http.StatusNoContent {
		t.Fatal(a.Status)
	}
	f.StopSearch() // which reads the engine's store
	own := f.Engine.Store
	kind, _ := f.Engine.Registry().Type("persons")
	f.Engine.Store = &between{Store: own, do: func() { f.Must(f.token, http.MethodPut, "/api/v1/persons/p?context=main", `{"name": "geheim again"}`) }}
	erased, err := f.Engine.Erase(t.Context(), &engine.Caller{System: true}, engine.Removal{Type: kind, Network: "main", ID: "p"})
	f.Engine.Store = own
	if err != nil || len(erased.Properties) != 1 || erased.Left != nil {
		t.Fatal(erased, err)
	}
	f.rests(false)
}
