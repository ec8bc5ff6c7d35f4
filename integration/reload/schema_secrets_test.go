package reload

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/integration/process"
	"marquee/integration/service"
)

// safes is a folder with one type that has a key, at the top and below.
func safes(resource, key string) fs.FS {
	return service.TypeWith("safes", resource, `"name": {"type": "string"}, "key": `+key+`, "key2": `+key+`,
		"parts": {"type": "array", "items": {"type": "object", "properties": {"key": `+key+`, "n": {"type": "number"}}}},
		"map": {"type": "object", "additionalProperties": `+key+`}`)
}

const (
	plainKey  = `{"type": "string"}`
	secretKey = `{"type": "string", "x-secret": true}`
	openKey   = `{"type": "string", "x-secret": false}`
	foundKey  = `, "search": ["name", "key"], "sort": ["key"], "index": ["key", "parts.key"], "unique": ["key2"]`
)

// vault is a service with safes, and a reader who may not see secrets.
type vault struct {
	*service.Service
	t             *testing.T
	token, reader string
}

func newVault(t *testing.T, fresh service.NewStore, folder fs.FS) *vault {
	s := service.NewPlain(t, fresh)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	s.Must(token, http.MethodPost, "/api/v1/batch?context=main", `{"operations": [
		{"type": "roles", "object": {"id": "reader", "name": "R", "scope": "NETWORK", "permissions": []}},
		{"type": "users", "object": {"id": "kari", "username": "kari", "password": "a password to test with", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "reader"}]}]}}}]}`, http.StatusOK)
	v := &vault{Service: s, t: t, token: token}
	if v.reader, err = s.SignIn("kari"); err != nil {
		t.Fatal(err)
	}
	if err := s.Swap(s.Engine, folder); err != nil {
		t.Fatal(err)
	}
	return v
}

// fill stores safes, of which each has the word "geheim<n>" wherever it can.
func (v *vault) fill(n int) {
	v.t.Helper()
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"id": "s%[1]d", "name": "safe", "key": "geheim%[1]d", "key2": "second geheim%[1]d", "parts": [{"key": "part geheim%[1]d", "n": 1}, {"n": 2}], "map": {"x": "map geheim%[1]d"}}`, i))
	}
	v.Must(v.token, http.MethodPost, "/api/v1/safes?context=main", "["+strings.Join(list, ",")+"]", http.StatusOK)
	v.Must(v.token, http.MethodPost, "/api/v1/safes?context=main", `{"id": "s1", "name": "changed", "key": "geheim1 old"}`, http.StatusOK)
	v.Must(v.token, http.MethodPost, "/api/v1/safes?context=main", `{"id": "s1", "key": "geheim1"}`, http.StatusOK)
}

// text is the body of an answer.
func (v *vault) text(token, path string) string {
	v.t.Helper()
	a := v.Ask(token, http.MethodGet, path, "", nil)
	if a.Status != http.StatusOK {
		v.t.Fatalf("%s: %d %s", path, a.Status, a.Body)
	}
	return string(a.Body)
}

// holds demands that each safe is read with its values.
func (v *vault) holds(n int, also ...string) {
	v.t.Helper()
	text := v.text(v.token, "/api/v1/safes?context=main&pageSize=1000&orderBy=id")
	for i := range n {
		for _, value := range []string{`"key":"geheim%d"`, `"key2":"second geheim%d"`, `"key":"part geheim%d"`, `"x":"map geheim%d"`} {
			if value := fmt.Sprintf(value, i); !strings.Contains(text, value) {
				v.t.Fatalf("no %s in %.2000s", value, text)
			}
		}
	}
	for _, value := range also {
		if !strings.Contains(text, value) {
			v.t.Errorf("no %s in %.2000s", value, text)
		}
	}
}

// hides demands that nothing shows the values, but to whom they may be shown.
func (v *vault) hides() {
	v.t.Helper()
	for _, path := range []string{"/api/v1/safes?context=main&pageSize=1000", "/api/v1/safes/s1?context=main", "/api/v1/audit?context=main&pageSize=1000&type=safes",
		"/api/v1/audit?context=main&type=safes&id=s1"} {
		if text := v.text(v.reader, path); strings.Contains(text, "geheim") || strings.Contains(text, `"v1.`) {
			v.t.Errorf("%s shows %.2000s", path, text)
		}
	}
	if text := v.text(v.token, "/api/v1/audit?context=main&pageSize=1000"); strings.Contains(text, "geheim") || strings.Contains(text, `"v1.`) {
		v.t.Errorf("the history shows %.2000s", text)
	}
	for _, query := range []string{"where=key=geheim1", "filterBy=key&filterByLike=geheim", "orderBy=key", "excludeIfMissing=key"} {
		v.Must(v.token, http.MethodGet, "/api/v1/safes?context=main&"+query, "", http.StatusBadRequest)
	}
}

// rests demands that the store has nothing in plain text. What SQLite has left
// in its file it has wiped out.
func (v *vault) rests() {
	v.t.Helper()
	v.Stop()
	if content := service.AtRest(v.t, v.URI); bytes.Contains(content, []byte("geheim")) {
		at := bytes.Index(content, []byte("geheim"))
		v.t.Errorf("the store holds %q", content[max(0, at-200):min(len(content), at+200)])
	}
	v.Start()
}

// TestSchemaBecomesSecret serves schemas in which stored values become secret,
// and then cease to be.
func TestSchemaBecomesSecret(t *testing.T) { service.EachStore(t, testSchemaBecomesSecret) }

func testSchemaBecomesSecret(t *testing.T, fresh service.NewStore) {
	const n = 120
	v := newVault(t, fresh, safes(foundKey, plainKey))
	v.fill(n)
	if got := v.found2("q=geheim99"); got != 1 {
		t.Fatalf("%d found by a word", got)
	}
	before := v.Must(v.token, http.MethodGet, "/api/v1/safes/s1?context=main", "", http.StatusOK)
	tag := v.tag("s1")
	if err := v.Swap(v.Engine, safes(`, "search": ["name"]`, secretKey)); err != nil {
		t.Fatal(err)
	}
	v.holds(n)
	v.hides()
	if got := v.found2("q=safe"); got != n-1 {
		t.Errorf("%d found by a word that is none of a secret", got)
	}
	if got := v.found2("q=geheim99"); got != 0 {
		t.Errorf("%d found by a word of a secret", got)
	}
	after := v.Must(v.token, http.MethodGet, "/api/v1/safes/s1?context=main", "", http.StatusOK)
	if fmt.Sprint(before["updateTime"]) != fmt.Sprint(after["updateTime"]) || v.tag("s1") != tag {
		t.Errorf("the object has changed: %v %s, %v %s", before["updateTime"], tag, after["updateTime"], v.tag("s1"))
	}
	v.Schemas = []fs.FS{safes(`, "search": ["name"]`, secretKey)}
	v.rests()
	v.holds(n)

	// Nothing is shown without a word.
	refusedBy(t, v.Swap(v.Engine, safes("", plainKey)), `schemas/safes.json#/properties/key: the stored values are secret and would become readable`, `"x-secret": false`,
		"#/properties/parts/items/properties/key", "#/properties/map/additionalProperties")
	refusedBy(t, restart(v.Service, safes("", plainKey)), `the stored values are secret`)
	refusedBy(t, v.Swap(v.Engine, service.TypeWith("safes", "", `"map": {"type": "object"}, "key": {"x-ref": "teams"}`)), `#/properties/map/additionalProperties: the stored values are secret`)
	if err := v.Swap(v.Engine, service.TypeWith("safes", "", `"name": {"type": "string"}`)); err != nil {
		t.Fatal(err)
	}
	refusedBy(t, v.Swap(v.Engine, safes("", plainKey)), `the stored values are secret`)
	v.hides2()

	if err := v.Swap(v.Engine, safes(foundKey, openKey)); err != nil {
		t.Fatal(err)
	}
	v.holds(n)
	for query, want := range map[string]int{"q=geheim99": 1, "where=key=geheim7": 1, "where=key2=second%20geheim7": 1, "where=parts.key=part%20geheim7": 1, "filterBy=map.x&filterByValue=map%20geheim7": 1} {
		if got := v.found2(query); got != want {
			t.Errorf("%s: %d", query, got)
		}
	}
	if text := v.text(v.reader, "/api/v1/safes/s7?context=main"); !strings.Contains(text, `"key":"geheim7"`) {
		t.Error(text)
	}
	v.Must(v.token, http.MethodPost, "/api/v1/safes/other?context=main", `{"key2": "second geheim7"}`, http.StatusUnprocessableEntity)
	// Once accepted, the word may go.
	if err := v.Swap(v.Engine, safes(foundKey, plainKey)); err != nil {
		t.Fatal(err)
	}
	v.holds(n)
}

func (v *vault) found2(query string) int {
	v.t.Helper()
	list := v.Must(v.token, http.MethodGet, "/api/v1/safes?context=main&pageSize=1000&"+query, "", http.StatusOK)
	return len(list["results"].([]any))
}

func (v *vault) tag(id string) string {
	v.t.Helper()
	version, _, _ := strings.Cut(v.Ask(v.token, http.MethodGet, "/api/v1/safes/"+id+"?context=main", "", nil).Header.Get("ETag"), "-")
	return version
}

// hides2 demands that a schema without the properties shows nothing of them.
func (v *vault) hides2() {
	v.t.Helper()
	for _, path := range []string{"/api/v1/safes?context=main&pageSize=1000", "/api/v1/audit?context=main&pageSize=1000"} {
		if text := v.text(v.token, path); strings.Contains(text, "geheim") || strings.Contains(text, `"v1.`) {
			v.t.Errorf("%s shows %.2000s", path, text)
		}
	}
}

// TestSchemaSecretLookalikes makes secrets of values that look as if they were
// sealed already: they are distinguished.
func TestSchemaSecretLookalikes(t *testing.T) { service.EachStore(t, testSchemaSecretLookalikes) }

func testSchemaSecretLookalikes(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	v := newVault(t, fresh, safes("", secretKey))
	v.Must(v.token, http.MethodPost, "/api/v1/safes?context=main", `{"id": "sealed", "key": "the first"}`, http.StatusOK)
	at := bytes.Split(atRestOf(t, v), []byte(`v1.`))
	if len(at) < 2 {
		t.Fatal("nothing is sealed")
	}
	var copied string
	for _, part := range at[1:] {
		if end := bytes.IndexFunc(part, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.", r)
		}); end > 40 {
			copied = "v1." + string(part[:end])
		}
	}
	looks := []string{copied, "v1.", "v1.00000000." + strings.Repeat("A", 60), "v1..", "v1.x.y", copied[:len(copied)-4] + "AAAA"}
	if err := v.Swap(v.Engine, service.TypeWith("notes2", "", `"text": `+plainKey)); err != nil {
		t.Fatal(err)
	}
	for i, text := range looks {
		v.Must(v.token, http.MethodPost, "/api/v1/notes2?context=main", fmt.Sprintf(`{"id": "n%d", "text": %q}`, i, text), http.StatusOK)
	}
	read := func(when string) {
		t.Helper()
		for i, text := range looks {
			if got := v.Must(v.token, http.MethodGet, fmt.Sprintf("/api/v1/notes2/n%d?context=main", i), "", http.StatusOK); got["text"] != text {
				t.Errorf("%s: %v instead of %s", when, got["text"], text)
			}
		}
	}
	read("before")
	for _, text := range []string{secretKey, openKey, secretKey} {
		if err := v.Swap(v.Engine, service.TypeWith("notes2", "", `"text": `+text)); err != nil {
			t.Fatal(err)
		}
		read(text)
	}
}

// atRestOf returns everything that a store keeps while it is open.
func atRestOf(t *testing.T, v *vault) []byte {
	return service.AtRest(t, v.URI)
}

// ending is a store that ends a context at one of the transactions.
type ending struct {
	store.Store
	tb   testing.TB
	left atomic.Int64
	end  context.CancelFunc
}

func (e *ending) Write(ctx context.Context, fn func(store.Tx) error) error {
	if e.left.Add(-1) == 0 {
		e.end()
	}
	return e.Store.Write(ctx, func(tx store.Tx) error { return fn(unscanned{tx, e.tb}) })
}

// unscanned is a transaction in which the history is not scanned: other writes
// would wait for as long as that takes.
type unscanned struct {
	store.Tx
	tb testing.TB
}

func (u unscanned) ScanHistory(ctx context.Context, collection, after string, limit int) ([]store.Change, error) {
	u.tb.Error("the history is scanned in a transaction that writes")
	return u.Tx.ScanHistory(ctx, collection, after, limit)
}

// TestSchemaSecretInterrupted ends the sealing and the opening at each of their
// steps, with writes in between: all values are read all the time, nothing
// changes by being sealed, and in the end the last schema holds. What was left is
// done by the next start, by the same reload again, or by the service itself.
func TestSchemaSecretInterrupted(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testSchemaSecretInterrupted)
}

func testSchemaSecretInterrupted(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	const n = 200
	v := newVault(t, fresh, safes(foundKey, plainKey))
	v.fill(n)
	v.StopSearch() // which reads the engine's store
	own := v.Engine.Store
	load := func(folder fs.FS) *schema.Registry {
		registry, err := v.Load(folder)
		if err != nil {
			t.Fatal(err)
		}
		return registry
	}
	sealed, opened := load(safes("", secretKey)), load(safes(foundKey, openKey))
	for _, to := range []*schema.Registry{sealed, opened} {
		from, folder := opened, safes("", secretKey)
		if to == opened {
			from, folder = sealed, safes(foundKey, openKey)
		}
		early, stride := 0, 1
		if testing.Short() {
			stride = 2
		}
		for step, done := 1, false; !done; step += stride {
			if err := v.Engine.Migrate(t.Context(), from); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			e := &ending{Store: own, tb: t, end: cancel}
			e.left.Store(int64(step))
			v.Engine.Store = e
			err := v.Engine.Migrate(ctx, to)
			v.Engine.Store = own
			if done = e.left.Load() > 0; !done && err != nil {
				early++
			}
			cancel()
			v.holds(n)
			// What says the same changes nothing.
			tag := v.tag("s5")
			v.Must(v.token, http.MethodPost, "/api/v1/safes?context=main", `{"id": "s5", "key": "geheim5", "parts": [{"key": "part geheim5", "n": 1}, {"n": 2}], "map": {"x": "map geheim5"}}`, http.StatusOK)
			if now := v.tag("s5"); now != tag {
				t.Errorf("step %d: %s became %s", step, tag, now)
			}
			v.Must(v.token, http.MethodPost, "/api/v1/safes?context=main", `{"id": "s6", "key": "geheim6b", "name": "x"}`, http.StatusOK)
			v.Must(v.token, http.MethodPost, "/api/v1/safes?context=main", `{"id": "s6", "key": "geheim6"}`, http.StatusOK)
			switch step % 3 {
			case 0:
				err = restart(v.Service, folder)
			case 1:
				err = v.Engine.Migrate(t.Context(), to)
			default:
				err = v.Pass()
			}
			if err != nil {
				t.Fatal(err)
			}
			v.holds(n)
			if to == sealed && step%3 == 1 {
				v.hides()
			}
		}
		t.Log("ended early:", early)
		if early < 4 {
			t.Error("hardly anything was interrupted")
		}
	}
	if err := v.Engine.Migrate(t.Context(), sealed); err != nil {
		t.Fatal(err)
	}
	v.holds(n)
	v.hides()
	v.Schemas = []fs.FS{safes("", secretKey)}
	v.rests()
}

// TestSchemaSecretWhileWriting makes a secret of what clients write all the time.
func TestSchemaSecretWhileWriting(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testSchemaSecretWhileWriting)
}

func testSchemaSecretWhileWriting(t *testing.T, fresh service.NewStore) {
	const n = 200
	v := newVault(t, fresh, safes(foundKey, plainKey))
	v.fill(n)
	v.writeKeys(t, []*service.Service{v.Service}, n, func() {
		for range 3 {
			if err := v.Swap(v.Engine, safes("", secretKey)); err != nil {
				t.Error(err)
			}
			v.hides()
			if err := v.Swap(v.Engine, safes(foundKey, openKey)); err != nil {
				t.Error(err)
			}
		}
		if err := v.Swap(v.Engine, safes("", secretKey)); err != nil {
			t.Error(err)
		}
	})
	v.hides()
	v.Schemas = []fs.FS{safes("", secretKey)}
	v.rests()
}

// writeKeys changes safes through servers until the function returns: a safe is
// always read as it was written last.
func (v *vault) writeKeys(t *testing.T, servers []*service.Service, n int, during func()) {
	var done atomic.Bool
	var writers sync.WaitGroup
	for w, s := range servers {
		for k := range 2 {
			writers.Go(func() {
				for i := 0; !done.Load() && !t.Failed(); i++ {
					id := fmt.Sprintf("s%d", (i*4+w*2+k)%n)
					key := fmt.Sprintf("geheim%d-%d-%d", i, w, k)
					a := s.Ask(v.token, http.MethodPost, "/api/v1/safes/"+id+"?context=main", fmt.Sprintf(`{"key": %q, "parts": [{"key": %q}], "map": {"y": %q}}`, key, key, key), nil)
					if a.Status != http.StatusOK {
						t.Errorf("%d %s", a.Status, a.Body)
						continue
					}
					a = s.Ask(v.token, http.MethodGet, "/api/v1/safes/"+id+"?context=main", "", nil)
					if a.Status != http.StatusOK || strings.Count(string(a.Body), `"`+key+`"`) != 3 {
						t.Errorf("wrote %s, read %d %s", key, a.Status, a.Body)
					}
				}
			})
		}
	}
	during()
	done.Store(true)
	writers.Wait()
}

// TestServersReloadSecrets makes a secret on one server of what another, which
// has the schema before, goes on writing and reading.
func TestServersReloadSecrets(t *testing.T) {
	t.Parallel()
	servers, token := service.NewPlainServers(t, 2, safes(foundKey, plainKey))
	here, there := servers[0], servers[1]
	v := &vault{Service: here, t: t, token: token, reader: token}
	const n = 100
	v.fill(n)
	v.writeKeys(t, servers, n, func() {
		for range 2 {
			for _, folder := range []fs.FS{safes("", secretKey), safes(foundKey, openKey)} {
				for _, s := range []*service.Service{here, there} {
					if err := s.Swap(s.Engine, folder); err != nil {
						t.Error(err)
					}
				}
			}
		}
		if err := here.Swap(here.Engine, safes("", secretKey)); err != nil {
			t.Error(err)
		}
	})
	if text := v.text(token, "/api/v1/audit?context=main&pageSize=1000&type=safes"); strings.Contains(text, "geheim") {
		t.Errorf("the history shows %.2000s", text)
	}
	if content := service.AtRest(t, here.URI); bytes.Contains(content, []byte("geheim")) {
		at := bytes.Index(content, []byte("geheim"))
		t.Errorf("the store holds %q", content[max(0, at-200):min(len(content), at+200)])
	}
}
