package integration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"marquee/engine"
	"marquee/engine/catalog"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/store/storetest"
	"marquee/engine/transfer"
)

// TestExportRoundTrip: an export that is imported into an empty store and exported
// again is the same, byte for byte.
func TestExportRoundTrip(t *testing.T) { eachStore(t, testExportRoundTrip) }

func testExportRoundTrip(t *testing.T, fresh newStore) {
	const secret = "the secret of the connection"
	uri, dir := fresh(t), t.TempDir()
	p := procServe(t, uri)
	p.signIn("admin", procPassword)
	p.ask(http.StatusOK, http.MethodPost, "/api/v1/batch?context=main", `{"operations": [
		{"type": "lineitems", "object": {"id": "l", "name": "L", "order": "o", "tier": "t"}}, {"type": "orders", "object": {"id": "o", "name": "O", "advertiser": "a"}},
		{"type": "tiers", "object": {"id": "t", "name": "T"}}, {"type": "advertisers", "object": {"id": "a", "name": "A"}}]}`)
	p.ask(http.StatusCreated, http.MethodPost, "/api/v1/notes/hidden?context=main", `{"text": "H\u2028\"", "objectState": "HIDDEN"}`)
	p.ask(http.StatusCreated, http.MethodPost, "/api/v1/networks/second", `{"name": "Second"}`)
	p.ask(http.StatusCreated, http.MethodPost, "/api/v1/notes/hidden?context=second", `{"text": "Another"}`)
	p.ask(http.StatusCreated, http.MethodPost, "/api/v1/orders/full?context=main", `{"name": "O", "notes": ["hidden"]}`)
	p.stop()
	importRun(t, 0, uri, "sspconnections", importFile(t, `{"id": "c", "name": "C", "ssp": "X", "apiKey": "`+secret+`"}`), "--context", "main")

	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	procWants(t, procRun(t, importEnv, "export", "--store", uri, "--all-networks", "--secrets", "--output", first), "objects exported")
	empty := fresh(t)
	procWants(t, importRun(t, 0, empty, first, "--create"), "0 changed, 0 unchanged; 0 rejected")
	exportRun(t, empty, "--all-networks", "--secrets", "--output", second)
	wanted, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(second)
	if err != nil || string(got) != string(wanted) {
		t.Errorf("%s\nbecomes\n%s\n%v", wanted, got, err)
	}
	procWants(t, string(wanted), secret, `{"type":"networks","object":{"id":"main",`, `{"type":"notes","context":"second","object":{"id":"hidden","objectState":"ACTIVE","text":"Another"}}`,
		`{"type":"notes","context":"main","object":{"id":"hidden","objectState":"HIDDEN","text":"H`, `{"type":"lineitems"`)
	procShuns(t, string(wanted), "password", procPassword, "createTime", "argon2")
	for _, pair := range [][2]string{{"networks", "roles"}, {"advertisers", "orders"}, {"orders", "lineitems"}, {"notes", "orders"}} {
		if strings.LastIndex(string(wanted), `{"type":"`+pair[0]) > strings.Index(string(wanted), `{"type":"`+pair[1]) {
			t.Errorf("%s come behind %s", pair[0], pair[1])
		}
	}
	if info, err := os.Stat(first); err != nil || info.Mode() != 0o600 {
		t.Errorf("the file has the mode %v %v", info.Mode(), err)
	}

	// One network goes into another one.
	one := exportRun(t, uri, "--context", "main")
	procShuns(t, one, secret, "apiKey", `"context"`)
	all := exportRun(t, uri, "notes", "--context", "main", "--all-fields")
	procWants(t, all, `"createTime":"`, `"updateUser":"`)
	importRun(t, 0, empty, "notes", importFile(t, all), "--context", "second")
	procWants(t, exportRun(t, empty, "notes", "--context", "second"), `{"id":"hidden","objectState":"HIDDEN","text":"H`)

	// Passwords are not exported: a user gets a new one by import.
	id, _, _ := strings.Cut(strings.Split(exportRun(t, empty, "users"), `"id":"`)[1], `"`)
	out := importRun(t, 0, empty, "users", importFile(t, `{"id": "`+id+`", "password": "a new one, by import"}`))
	procShuns(t, out, "a new one")
	q := procServe(t, empty)
	q.signIn("admin", "a new one, by import")
	procWants(t, string(q.ask(http.StatusOK, http.MethodGet, "/api/v1/sspconnections/c?context=main", "").body), secret)
	q.stop()
}

// meddling is a store of which something is done in the middle of a read.
type meddling struct {
	store.Store
	meddle func(collection string) error
}

func (m *meddling) Read(ctx context.Context, fn func(store.Snapshot) error) error {
	return m.Store.Read(ctx, func(s store.Snapshot) error { return fn(&meddled{s, m}) })
}

type meddled struct {
	store.Snapshot
	m *meddling
}

func (s *meddled) Scan(ctx context.Context, collection string, after store.Key, limit int, yield func(*store.Record) error) error {
	if err := s.Snapshot.Scan(ctx, collection, after, limit, yield); err != nil { // a store may choose the state when it first reads
		return err
	}
	return s.m.meddle(collection)
}

// exportWith exports everything from a store in place of the service's.
func exportWith(t *testing.T, s *service, from store.Store, now func() time.Time) (string, error) {
	t.Helper()
	e := &engine.Engine{Catalog: catalog.New(from, s.engine.Sealer, nil, now)}
	file, err := os.Create(filepath.Join(t.TempDir(), "export"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	registry := s.engine.Registry()
	x := transfer.Export{Engine: e, Types: transfer.Order(registry, registry.Types()), Envelopes: true}
	exported, wrong := x.Write(context.Background(), file)
	content, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(content), "\n"); wrong == nil && int64(lines) != exported.Objects {
		t.Errorf("%d lines are said to be %d", lines, exported.Objects)
	}
	return string(content), wrong
}

// TestExportIsOfOneTime: an export does not contain what is written while it is under
// way.
func TestExportIsOfOneTime(t *testing.T) { eachStore(t, testExportIsOfOneTime) }

func testExportIsOfOneTime(t *testing.T, fresh newStore) {
	s := newService(t, fresh)
	write := func(name, id string) error {
		kind, err := s.engine.Type(name)
		if err != nil {
			return err
		}
		_, err = s.engine.Write(context.Background(), &engine.Caller{System: true}, engine.Batch{Network: network,
			Operations: []engine.Operation{{Type: kind, Object: map[string]any{"id": id, "name": id}}}})
		return err
	}
	for i := range 3 {
		if err := write("tiers", fmt.Sprintf("before%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	m := &meddling{s.store, func(collection string) error {
		n++
		return errors.Join(write("tiers", fmt.Sprintf("during%d", n)), write("advertisers", fmt.Sprintf("during%d", n)))
	}}
	got, err := exportWith(t, s, m, time.Now)
	if err != nil || strings.Count(got, "before") != 6 || strings.Contains(got, "during") {
		t.Errorf("the export is %s %v", got, err)
	}
	// A read that the store runs again is exported once.
	got, err = exportWith(t, s, storetest.Again(s.store), time.Now)
	if err != nil || strings.Count(got, `"id":"before1"`) != 1 || strings.Count(got, "during") != 4*n {
		t.Errorf("the export is %s %v", got, err)
	}
}

// losing is a store that gives up the state which it reads.
type losing struct{ store.Store }

func (l losing) Read(ctx context.Context, fn func(store.Snapshot) error) error {
	var err error
	for range 10 {
		if err = l.Store.Read(ctx, fn); !errors.Is(err, errLosing) {
			break
		}
	}
	return err
}

var errLosing = errors.New("the snapshot can be read no longer")

// TestExportLosesItsState: where the store gives up the state that an export
// reads, it begins anew, and not for ever.
func TestExportLosesItsState(t *testing.T) {
	t.Parallel()
	s := newService(t, newSQLite)
	for _, c := range []struct {
		name  string
		takes time.Duration
		loses int
		fails bool
	}{
		{"once", time.Second, 1, false},
		{"again and again", time.Second, 9, true},
		{"after long", time.Hour, 1, true},
	} {
		now, reads, lost := time.Now(), 0, 0
		m := &meddling{s.store, func(collection string) error {
			if collection == "users" {
				reads++
				if now = now.Add(c.takes); lost < c.loses {
					lost++
					return errLosing
				}
			}
			return nil
		}}
		got, err := exportWith(t, s, losing{m}, func() time.Time { return now })
		if !c.fails {
			if err != nil || strings.Count(got, `"type":"networks"`) != 1 || reads != 2 {
				t.Errorf("%s: %s %v", c.name, got, err)
			}
			continue
		}
		if err == nil || reads > 3 {
			t.Fatalf("%s: %d runs, %v", c.name, reads, err)
		}
		procWants(t, err.Error(), "minSnapshotHistoryWindowInSeconds", "fewer types")
	}
}

// TestExportOrder: referenced objects come first, also through types that are not
// exported.
func TestExportOrder(t *testing.T) {
	t.Parallel()
	s := newService(t, newSQLite)
	registry := s.engine.Registry()
	var types []*schema.Type
	for _, name := range []string{"adunits", "users", "lineitems", "networks", "advertisers"} {
		kind, err := s.engine.Type(name)
		if err != nil {
			t.Fatal(err)
		}
		types = append(types, kind)
	}
	var names []string
	for _, kind := range transfer.Order(registry, types) {
		names = append(names, kind.Name)
	}
	place := func(name string) int { return strings.Index(" "+strings.Join(names, " ")+" ", " "+name+" ") }
	if len(names) != len(types) || place("networks") > place("users") || place("advertisers") > place("lineitems") {
		t.Errorf("the order is %v", names)
	}
}
