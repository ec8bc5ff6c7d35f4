package program

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"marquee"
	"marquee/engine/store"
	"marquee/integration/process"
	"marquee/integration/service"
)

// TestCrashOfRemoval kills the program while it removes the oldest history, and goes on with
// the store, with a backup of it, and with copies: each is free of faults, its counts are exact, the
// rest is removed, and a reader whose position is before what is kept learns so and continues.
func TestCrashOfRemoval(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testCrashOfRemoval)
}

func testCrashOfRemoval(t *testing.T, fresh service.NewStore) {
	kills := max(2, min(process.Number(t, "MARQUEE_CRASHES", 2)/5, 6))
	old := 2_000 * kills
	r := trimmed{T: t, schemas: t.TempDir(), uri: process.CrashStore(t, fresh)}
	r.Run("fill", func(t *testing.T) { r.fillOld(t, old) })
	p := r.serve()
	p.SignIn(service.Admin, service.AdminPassword)
	made, _ := p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/tokens/reader?context=main", `{"name": "R", "role": "administrator"}`).JSON().(map[string]any)
	r.token, _ = made["token"].(string)
	for i := range young {
		p.Ask(http.StatusCreated, http.MethodPut, fmt.Sprintf("/api/v1/notes/young%d?context=main", i), `{"text": "1"}`)
	}
	p.Token = r.token
	left := r.count(p)
	r.passes(p, left)
	if left != old+young {
		t.Fatalf("the history has %d changes of %d", left, old+young)
	}
	p.Stop()

	remove := func(end func(p *process.Process)) {
		t.Helper()
		before, p := left, r.serve(removing...)
		p.Eventually("nothing is removed", func() bool { return r.count(p) < before })
		end(p)
		left = r.judge()
		if left <= young {
			t.Fatal("the removal was not interrupted")
		}
		t.Logf("%d of %d changes are left", left, before)
	}
	remove((*process.Process).Stop) // as a store whose server was killed is not copied for two minutes
	eachKind(t, "to", func(t *testing.T, to string) { r.copied(t, to, left) })
	for range kills {
		remove(func(p *process.Process) {
			p.Kill()
			process.EndTransactions(t, r.uri)
		})
	}
	if strings.HasPrefix(r.uri, "sqlite:") {
		r.restored(left)
	}
	r.ends()
	r.tails()
}

// young is the number of changes that are not removed.
const young = 5

// removing makes a server remove what fillOld has written.
var removing = []string{"--history-days", "30", "--clock-interval", "1s", "--private-addr", "127.0.0.1:0"}

// trimmed is a store with changes that are 40 days old.
type trimmed struct {
	*testing.T
	uri, schemas, key, token string
	// passed is the position behind the oldest change, "" for none, and behind the number of changes
	// that were behind it.
	passed string
	behind int
}

// fillOld makes notes, with a clock that is behind. The first has a transaction of its own, so that
// a position behind it is before the others.
func (r *trimmed) fillOld(t *testing.T, many int) {
	types := service.TypeWith("notes", "", `"text": {"type": "string"}`)
	content, err := fs.ReadFile(types, "notes.json")
	if err != nil {
		t.Fatal(err)
	}
	process.File(t, filepath.Join(r.schemas, "notes.json"), string(content))
	behind := &service.Clock{}
	behind.Advance(-40 * 24 * time.Hour)
	s := service.StartNew(&service.Service{TB: t, URI: r.uri, Schemas: []fs.FS{types}, Clock: behind, UserID: store.NewID(), Plain: &marquee.Application{}})
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	s.Must(token, http.MethodPut, "/api/v1/notes/first?context=main", `{"text": "1"}`, http.StatusCreated)
	for from := 0; from < many-1; from += 1000 {
		s.Must(token, http.MethodPost, "/api/v1/notes?context=main", service.ArrayOf(min(1000, many-1-from), func(i int) string {
			return fmt.Sprintf(`{"id": "n%d", "text": "1"}`, from+i)
		}), http.StatusOK)
	}
	key, err := os.ReadFile(s.Key)
	if err != nil {
		t.Fatal(err)
	}
	r.key = strings.TrimSpace(string(key))
}

func (r *trimmed) env() []string { return []string{"MARQUEE_SECRET_KEY=" + r.key} }

func (r *trimmed) serve(more ...string) *process.Process {
	r.Helper()
	p := process.ServeWith(r, r.uri, r.env(), append([]string{"--application", "none", "--schemas", r.schemas}, more...)...)
	p.Token = r.token
	return p
}

// count is the number of changes of notes, by the count that the store keeps.
func (r *trimmed) count(p *process.Process) int {
	r.Helper()
	page, _ := p.Ask(http.StatusOK, http.MethodGet, "/api/v1/audit?context=main&type=notes&pageSize=1", "").JSON().(map[string]any)
	total, _ := page["totalCount"].(json.Number)
	n, err := total.Int64()
	if err != nil {
		r.Fatal(err)
	}
	return int(n)
}

// page is a page of the feed of notes.
type page struct {
	Results  []struct{ ID string }
	Position string
	More     bool
	Reset    string
}

func (r *trimmed) page(p *process.Process, after string, limit int) (found page) {
	r.Helper()
	a := p.Ask(http.StatusOK, http.MethodGet, fmt.Sprintf("/api/v1/changes?context=main&type=notes&include=none&limit=%d&after=%s", limit, url.QueryEscape(after)), "")
	if err := json.Unmarshal(a.Body, &found); err != nil {
		r.Fatal(err)
	}
	return found
}

// passes notes the position behind the oldest of the changes that are left.
func (r *trimmed) passes(p *process.Process, left int) {
	r.Helper()
	r.passed, r.behind = r.page(p, "begin", 1).Position, left-1
}

// read returns the number of changes behind a position, and why they are not all.
func (r *trimmed) read(p *process.Process, after string) (n int, reset string) {
	r.Helper()
	for more := true; more && reset == ""; {
		found := r.page(p, after, 1000)
		n, after, more, reset = n+len(found.Results), found.Position, found.More, found.Reset
	}
	return n, reset
}

// judge checks the store, and that the feed has as many changes as are counted, which it returns.
// Of the passed position, some behind which were removed: its reader learns so, or is answered
// with them, which MongoDB can do if the position is within a transaction.
func (r *trimmed) judge() int {
	r.Helper()
	process.Wants(r, process.Run(r, r.env(), "check", "--store", r.uri, "--application", "none", "--schemas", r.schemas), "nothing is wrong")
	p := r.serve()
	defer p.Stop()
	read, _ := r.read(p, "begin")
	if counted := r.count(p); counted != read {
		r.Errorf("%d changes are counted, and %d are kept", counted, read)
	}
	if r.passed != "" {
		if n, reset := r.read(p, r.passed); reset != "POSITION_TOO_OLD" && (n != r.behind || reset != "") {
			r.Errorf("a position before what is kept is answered with %d changes of %d, and %q", n, r.behind, reset)
		}
	}
	return read
}

// ends lets a server remove the rest.
func (r *trimmed) ends() {
	r.Helper()
	p := r.serve(removing...)
	private := p.Private()
	p.Eventually("the removal does not end", func() bool { return r.count(p) == young })
	awaitMetric(p, private, "marquee_history_removed_total > 0")
	p.Stop()
	if left := r.judge(); left != young {
		r.Errorf("%d changes are left, and %d are young", left, young)
	}
}

// restored judges a backup of the store, and lets a server remove the rest of what it has.
func (r *trimmed) restored(left int) {
	r.Helper()
	backups := r.TempDir()
	process.Run(r, r.env(), "backup", backups, "--quiet", "--store", r.uri)
	made, err := filepath.Glob(filepath.Join(backups, "*.db"))
	if err != nil || len(made) != 1 {
		r.Fatal(made, err)
	}
	drill := *r
	drill.passed = "" // a position of the other store
	drill.uri = "sqlite:" + filepath.Join(r.TempDir(), "drill.db")
	process.Run(r, r.env(), "restore", made[0], "--quiet", "--application", "none", "--store", drill.uri)
	p := drill.serve()
	p.SignIn(service.Admin, service.AdminPassword) // as the restoration has ended the tokens
	drill.token = p.Token
	p.Stop()
	if n := drill.judge(); n != left {
		r.Errorf("the backup has %d changes of %d", n, left)
	}
	p = drill.serve()
	drill.passes(p, left)
	p.Stop()
	drill.ends()
}

// copied judges a copy of the store, and lets a server remove the rest of what it has.
func (r *trimmed) copied(t *testing.T, to string, left int) {
	process.Run(t, []string{"MARQUEE_FROM_SECRET_KEY=" + r.key, "MARQUEE_TO_SECRET_KEY=" + otherKey}, "copy", "--from", r.uri, "--to", to, "--application", "none")
	other := trimmed{T: t, uri: to, schemas: r.schemas, key: otherKey, token: r.token}
	if n := other.judge(); n != left {
		t.Errorf("the copy has %d changes of %d", n, left)
	}
	p := other.serve()
	other.passes(p, left)
	p.Stop()
	other.ends()
}

// tails lets marquee tail continue from a position before what is kept.
func (r *trimmed) tails() {
	r.Helper()
	p := r.serve()
	defer p.Stop()
	position := process.File(r, filepath.Join(r.TempDir(), "position"), r.passed+"\n")
	tail := []string{"tail", "notes", "--url", p.URL, "--context", "main", "--position", position, "--include", "none", "--once"}
	env := []string{"MARQUEE_TOKEN=" + r.token}
	printed := process.Run(r, env, tail...)
	process.Wants(r, printed, `"kind":"reset","reason":"POSITION_TOO_OLD"`)
	process.Shuns(r, printed, `"id"`)
	p.Ask(http.StatusCreated, http.MethodPut, "/api/v1/notes/after?context=main", `{"text": "1"}`)
	printed = process.Run(r, env, tail...)
	process.Wants(r, printed, `"id":"after"`)
	process.Shuns(r, printed, `"kind":"reset"`, `"id":"young`)
}
