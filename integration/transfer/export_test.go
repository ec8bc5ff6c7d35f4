package transfer

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
	"marquee/integration/process"
	"marquee/integration/service"
)

// TestExportRoundTrip: an export that is imported into an empty store and exported
// again is the same, byte for byte.
func TestExportRoundTrip(t *testing.T) { service.EachStore(t, testExportRoundTrip) }

func testExportRoundTrip(t *testing.T, fresh service.NewStore) {
	const secret = "the secret of the connection"
	uri, dir := fresh(t), t.TempDir()
	p := process.Serve(t, uri)
	p.SignIn("admin", process.Password)
	p.Ask(http.StatusOK, http.MethodPost, "/api/v1/batch?context=main", `{"operations": [
		{"type": "lineitems", "object": {"id": "l", "name": "L", "order": "o", "tier": "t"}}, {"type": "orders", "object": {"id": "o", "name": "O", "advertiser": "a"}},
		{"type": "tiers", "object": {"id": "t", "name": "T"}}, {"type": "advertisers", "object": {"id": "a", "name": "A"}}]}`)
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/notes/hidden?context=main", `{"text": "H\u2028\"", "objectState": "HIDDEN"}`)
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/networks/second", `{"name": "Second"}`)
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/notes/hidden?context=second", `{"text": "Another"}`)
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/orders/full?context=main", `{"name": "O", "notes": ["hidden"]}`)
	p.Stop()
	process.ImportRun(t, 0, uri, "sspconnections", process.ImportFile(t, `{"id": "c", "name": "C", "ssp": "X", "apiKey": "`+secret+`"}`), "--context", "main")

	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	process.Wants(t, process.Run(t, process.ImportEnv, "export", "--store", uri, "--all-networks", "--secrets", "--output", first), "objects exported")
	empty := fresh(t)
	process.Wants(t, process.ImportRun(t, 0, empty, first, "--create"), "0 changed, 0 unchanged; 0 rejected")
	process.ExportRun(t, empty, "--all-networks", "--secrets", "--output", second)
	wanted, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(second)
	if err != nil || string(got) != string(wanted) {
		t.Errorf("%s\nbecomes\n%s\n%v", wanted, got, err)
	}
	process.Wants(t, string(wanted), secret, `{"type":"networks","object":{"id":"main",`, `{"type":"notes","context":"second","object":{"id":"hidden","objectState":"ACTIVE","text":"Another"}}`,
		`{"type":"notes","context":"main","object":{"id":"hidden","objectState":"HIDDEN","text":"H`, `{"type":"lineitems"`)
	process.Shuns(t, string(wanted), "password", process.Password, "createTime", "argon2")
	for _, pair := range [][2]string{{"networks", "roles"}, {"advertisers", "orders"}, {"orders", "lineitems"}, {"notes", "orders"}} {
		if strings.LastIndex(string(wanted), `{"type":"`+pair[0]) > strings.Index(string(wanted), `{"type":"`+pair[1]) {
			t.Errorf("%s come behind %s", pair[0], pair[1])
		}
	}
	if info, err := os.Stat(first); err != nil || info.Mode() != 0o600 {
		t.Errorf("the file has the mode %v %v", info.Mode(), err)
	}

	// One network goes into another one.
	one := process.ExportRun(t, uri, "--context", "main")
	process.Shuns(t, one, secret, "apiKey", `"context"`)
	all := process.ExportRun(t, uri, "notes", "--context", "main", "--all-fields")
	process.Wants(t, all, `"createTime":"`, `"updateUser":"`)
	process.ImportRun(t, 0, empty, "notes", process.ImportFile(t, all), "--context", "second")
	process.Wants(t, process.ExportRun(t, empty, "notes", "--context", "second"), `{"id":"hidden","objectState":"HIDDEN","text":"H`)

	// Passwords are not exported: a user gets a new one by import.
	id, _, _ := strings.Cut(strings.Split(process.ExportRun(t, empty, "users"), `"id":"`)[1], `"`)
	out := process.ImportRun(t, 0, empty, "users", process.ImportFile(t, `{"id": "`+id+`", "password": "a new one, by import"}`))
	process.Shuns(t, out, "a new one")
	q := process.Serve(t, empty)
	q.SignIn("admin", "a new one, by import")
	process.Wants(t, string(q.Ask(http.StatusOK, http.MethodGet, "/api/v1/sspconnections/c?context=main", "").Body), secret)
	q.Stop()
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
func exportWith(t *testing.T, s *service.Service, from store.Store, now func() time.Time) (string, error) {
	t.Helper()
	e := &engine.Engine{Catalog: catalog.New(from, s.Engine.Sealer, nil, now)}
	file, err := os.Create(filepath.Join(t.TempDir(), "export"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	registry := s.Engine.Registry()
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
func TestExportIsOfOneTime(t *testing.T) { service.EachStore(t, testExportIsOfOneTime) }

func testExportIsOfOneTime(t *testing.T, fresh service.NewStore) {
	s := service.New(t, fresh)
	write := func(name, id string) error {
		kind, err := s.Engine.Type(name)
		if err != nil {
			return err
		}
		_, err = s.Engine.Write(context.Background(), &engine.Caller{System: true}, engine.Batch{Network: service.Network,
			Operations: []engine.Operation{{Type: kind, Object: map[string]any{"id": id, "name": id}}}})
		return err
	}
	for i := range 3 {
		if err := write("tiers", fmt.Sprintf("before%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	m := &meddling{s.Store, func(collection string) error {
		n++
		return errors.Join(write("tiers", fmt.Sprintf("during%d", n)), write("advertisers", fmt.Sprintf("during%d", n)))
	}}
	got, err := exportWith(t, s, m, time.Now)
	if err != nil || strings.Count(got, "before") != 6 || strings.Contains(got, "during") {
		t.Errorf("the export is %s %v", got, err)
	}
	// A read that the store runs again is exported once.
	got, err = exportWith(t, s, storetest.Again(s.Store), time.Now)
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
	s := service.New(t, service.NewSQLite)
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
		m := &meddling{s.Store, func(collection string) error {
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
		process.Wants(t, err.Error(), "minSnapshotHistoryWindowInSeconds", "fewer types")
	}
}

// TestExportOrder: referenced objects come first, also through types that are not
// exported.
func TestExportOrder(t *testing.T) {
	t.Parallel()
	s := service.New(t, service.NewSQLite)
	registry := s.Engine.Registry()
	var types []*schema.Type
	for _, name := range []string{"adunits", "users", "lineitems", "networks", "advertisers"} {
		kind, err := s.Engine.Type(name)
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
