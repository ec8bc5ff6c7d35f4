package reload

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"marquee"
	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/migration"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/integration/process"
	"marquee/integration/service"
)

// killed is a store on which each write fails after the first ones, as if the process had been
// killed before it.
type killed struct {
	store.Store
	left atomic.Int64
}

func (k *killed) Write(ctx context.Context, fn func(store.Tx) error) error {
	if k.left.Add(-1) < 0 {
		return &store.Error{Code: store.CodeUnavailable, Text: "killed"}
	}
	return k.Store.Write(ctx, fn)
}

// TestInterruptedAtEveryStep interrupts changes of stored objects before each of their
// transactions. A later pass finishes them, or nothing has happened; each object is written once.
func TestInterruptedAtEveryStep(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testInterruptedAtEveryStep)
}

func testInterruptedAtEveryStep(t *testing.T, fresh service.NewStore) {
	const objects = 60 // which take two transactions
	s := service.NewPlain(t, fresh)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	amend := func(e *engine.Engine, _ string) error { return e.Amend(t.Context(), slog.New(slog.DiscardHandler)) }
	n, stride := 0, 1
	if !s.Engine.Store.Serial() {
		stride = 3 // which takes longer
	}
	for name, c := range map[string]struct {
		required, after string
		do              func(e *engine.Engine, path string) error
		// done reports whether an object has what it should have in the end.
		done func(object map[string]any) bool
	}{
		"default": {`"seat"`, `"fax": {"type": "string"}, "state": {"enum": ["OLD"]}, "seat": {"type": "string", "default": "any"}`, amend, func(object map[string]any) bool { return object["seat"] == "any" }},
		"value":   {"", `"fax": {"type": "string"}, "state": {"enum": ["NEW"], "x-was-values": {"OLD": "NEW"}}`, amend, func(object map[string]any) bool { return object["state"] == "NEW" }},
		"prune": {"", `"state": {"enum": ["OLD"]}`, func(e *engine.Engine, path string) error { return e.Prune(t.Context(), path, "/fax") },
			func(object map[string]any) bool { return object["fax"] == nil }},
	} {
		for step := 0; ; step += stride {
			n++
			path := fmt.Sprint("venues", n)
			set := func(required, properties string) fs.FS {
				return fstest.MapFS{"venues.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Venue", "x-resource": {"path": "` + path + `"}, "type": "object",
					"required": [` + required + `], "properties": {` + properties + `}}`)}}
			}
			if err := s.Swap(s.Engine, set("", `"fax": {"type": "string"}, "state": {"enum": ["OLD"]}`)); err != nil {
				t.Fatal(err)
			}
			var list []string
			for i := range objects {
				list = append(list, fmt.Sprintf(`{"id": "v%02d", "fax": "secret", "state": "OLD"}`, i))
			}
			s.Must(token, http.MethodPost, "/api/v1/"+path+"?context=main", "["+strings.Join(list, ",")+"]", http.StatusOK)
			after := set(c.required, c.after)
			if err := s.Swap(s.Engine, after); err != nil {
				t.Fatal(err)
			}
			registry, err := s.Load(after)
			if err != nil {
				t.Fatal(err)
			}
			options, failing := s.Options, &killed{Store: s.Engine.Store}
			failing.left.Store(1 << 30)
			options.Types, options.Store = registry, failing
			other, err := marquee.Open(t.Context(), options)
			if err != nil {
				t.Fatal(err)
			}
			failing.left.Store(int64(step))
			whole := c.do(other.Engine(), path)
			if n > 1 && !s.Engine.Store.Serial() { // the first time, the lease ends by itself
				if err := service.WriteLease(s.Store, ""); err != nil {
					t.Fatal(err)
				}
			}
			if err := amend(s.Engine, path); err != nil {
				t.Fatal(err)
			}
			done, versions := 0, map[int64]int{}
			err = s.Engine.Store.Read(t.Context(), func(snapshot store.Snapshot) error {
				done = 0
				clear(versions)
				return snapshot.Scan(t.Context(), path, store.Key{}, objects+1, func(r *store.Record) error {
					object, err := document.DecodeObject(r.Document, document.Limits{})
					if c.done(object) {
						done++
					}
					versions[r.Version]++
					return err
				})
			})
			if err != nil {
				t.Fatal(err)
			}
			history := string(s.Ask(token, http.MethodGet, "/api/v1/audit?context=main&pageSize=1000&type="+path, "", nil).Body)
			switch {
			case done == objects && versions[2] == objects && (name != "prune" || !strings.Contains(history, "secret")):
			case name == "prune" && whole != nil && done == 0 && versions[1] == objects:
			default:
				t.Errorf("%s, interrupted before the transaction %d (%v): %d of %d are done, and the versions are %v", name, step, whole, done, objects, versions)
			}
			if name == "prune" {
				left, err := migration.Undeclared(t.Context(), s.Engine.Store, mustType(t, registry, path), "")
				if err != nil || left["/fax"] != int64(objects-done) {
					t.Errorf("left are %v, %v", left, err)
				}
			}
			if whole == nil {
				t.Logf("%s takes %d transactions", name, step)
				break
			}
		}
	}
}

func mustType(t *testing.T, registry *schema.Registry, name string) *schema.Type {
	t.Helper()
	found, ok := registry.Type(name)
	if !ok {
		t.Fatal(name)
	}
	return found
}
