package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"marquee/engine/query"
	"marquee/engine/store"
)

// ledger is a store that notes what it is asked to do: a request that does the
// same work takes the same time.
type ledger struct {
	store.Store
	mu    sync.Mutex
	calls []string
}

func (s *ledger) note(what string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, fmt.Sprintf(what, args...))
}

// readAgain is how a request reads the signing keys, its session or its caller again,
// whatever it asks for, when the store does not know whether they have changed.
var readAgain = regexp.MustCompile(`read, (find in auth_keys|get 2 of auth_sessions|get 1 of users, get 1 of auth_credentials, get 1 of networks, get 1 of roles, find in teams)(, |$)`)

// taken returns what has been noted but for what is read again, and forgets it.
func (s *ledger) taken() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := strings.Join(s.calls, ", ")
	s.calls = nil
	return readAgain.ReplaceAllString(calls, "")
}

func (s *ledger) Read(ctx context.Context, fn func(store.Snapshot) error) error {
	s.note("read")
	return s.Store.Read(ctx, func(r store.Snapshot) error { return fn(noted{r, s}) })
}

func (s *ledger) Write(ctx context.Context, fn func(store.Tx) error) error {
	s.note("write")
	return s.Store.Write(ctx, func(tx store.Tx) error { return fn(notedTx{tx, noted{tx, s}}) })
}

// noted notes the queries of a snapshot; those of a transaction too.
type noted struct {
	store.Snapshot
	s *ledger
}

func (r noted) Get(ctx context.Context, collection string, keys []store.Key, yield func(*store.Record) error) error {
	r.s.note("get %d of %s", len(keys), collection)
	return r.Snapshot.Get(ctx, collection, keys, yield)
}

func (r noted) Find(ctx context.Context, q query.Query, yield func(*store.Record) error) error {
	r.s.note("find in %s", q.Collection)
	return r.Snapshot.Find(ctx, q, yield)
}

func (r noted) Count(ctx context.Context, q query.Query) (int64, error) {
	r.s.note("count in %s", q.Collection)
	return r.Snapshot.Count(ctx, q)
}

func (r noted) History(ctx context.Context, q store.HistoryQuery, yield func(*store.Change) error) error {
	r.s.note("history")
	return r.Snapshot.History(ctx, q, yield)
}

type notedTx struct {
	store.Tx
	reads noted
}

func (tx notedTx) Get(ctx context.Context, collection string, keys []store.Key, yield func(*store.Record) error) error {
	return tx.reads.Get(ctx, collection, keys, yield)
}

func (tx notedTx) Find(ctx context.Context, q query.Query, yield func(*store.Record) error) error {
	return tx.reads.Find(ctx, q, yield)
}

func (tx notedTx) Count(ctx context.Context, q query.Query) (int64, error) {
	return tx.reads.Count(ctx, q)
}

// unseenWorld has a user kari of a team, and an object of another team of each
// of these types, that is called "unseen".
func unseenWorld(c *conversation) {
	c.send("POST", "/api/v1/batch?context=main", `{"operations": [
		{"type": "roles", "object": {"id": "team", "name": "T", "permissions": ["MANAGE_BUSINESS"]}},
		{"type": "users", "object": {"id": "kari", "username": "kari", "password": "a password to test with", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "team"}]}]}}},
		{"type": "teams", "object": {"id": "own", "name": "Own", "users": ["kari"]}}, {"type": "teams", "object": {"id": "others", "name": "Others"}},
		{"type": "layouts", "object": {"id": "l", "name": "L", "html": "<p></p>"}}, {"type": "sites", "object": {"id": "unseen", "name": "S"}},
		{"type": "adunits", "object": {"id": "unseen", "name": "U", "site": "unseen"}},
		{"type": "advertisers", "object": {"id": "unseen", "name": "A", "team": "others"}}, {"type": "advertisers", "object": {"id": "seen", "name": "A", "team": "own"}},
		{"type": "orders", "object": {"id": "unseen", "name": "O", "team": "others"}}, {"type": "lineitems", "object": {"id": "unseen", "name": "LI", "order": "unseen"}},
		{"type": "creatives", "object": {"id": "unseen", "name": "C", "lineItem": "unseen", "layout": "l", "dimensionType": "FLEXIBLE", "verifiedSafe": true}},
		{"type": "segments", "object": {"id": "unseen", "name": "S", "dataSource": "ADOBE", "team": "others"}}]}`, 200, "")
}

// unseenRequests name an object in every position where an invisible one must be
// answered like a missing one; the id is {id}.
func unseenRequests() (requests []programmed) {
	add := func(method, path, body string) {
		requests = append(requests, programmed{method: method, path: path, body: body})
	}
	escape := url.QueryEscape
	for _, kind := range []string{"sites", "adunits", "advertisers", "orders", "lineitems", "creatives", "segments"} {
		add("GET", "/api/v1/"+kind+"/{id}?context=main", "")
		add("HEAD", "/api/v1/"+kind+"/{id}?context=main", "")
		add("GET", "/api/v1/"+kind+"?context=main&id={id}", "")
		add("GET", "/api/v1/"+kind+"?context=main&where="+escape("id=")+"{id}", "")
		add("GET", "/api/v1/audit?context=main&type="+kind+"&id={id}", "")
	}
	add("GET", "/api/v1/assets/{id}?context=main", "")
	for kind, reference := range map[string]string{"adunits": "site", "orders": "advertiser", "lineitems": "order", "articles": "site"} {
		add("GET", "/api/v1/"+kind+"?context=main&where="+reference+"={id}", "")
		add("POST", "/api/v1/"+kind+"/new?context=main", `{"name": "N", "url": "https://example.com/", "`+reference+`": "{id}"}`)
	}
	add("POST", "/api/v1/creatives/new?context=main", `{"name": "N", "layout": "l", "dimensionType": "FLEXIBLE", "verifiedSafe": true, "lineItem": "{id}"}`)
	add("POST", "/api/v1/lineitems/new?context=main", `{"name": "N", "targeting": {"siteTarget": {"sites": ["{id}"]}}}`)
	add("POST", "/api/v1/targetingquery/articles2?context=main&pageSize=9&thresholdScore=0.5&sentence=x", `{"siteTarget": {"sites": ["{id}"]}}`)
	return requests
}

func (r programmed) of(id string) programmed {
	r.path, r.body = strings.ReplaceAll(r.path, "{id}", id), strings.ReplaceAll(r.body, "{id}", id)
	return r
}

// TestUnseenIsTheWorkOfMissing: objects that a user does not see and objects that do
// not exist are answered in the same words, and after the same work of the store, so that no
// clock can distinguish them. How long each takes is measured by TestTiming.
func TestUnseenIsTheWorkOfMissing(t *testing.T) { eachStore(t, testUnseenIsTheWorkOfMissing) }

func testUnseenIsTheWorkOfMissing(t *testing.T, fresh newStore) {
	skipSequential(t)
	var calls *ledger
	s := startNew(&service{tb: t, uri: fresh(t), wrap: func(s store.Store) store.Store {
		calls = &ledger{Store: s}
		return calls
	}})
	c := converseWith(t, s)
	unseenWorld(c)
	var err error
	if c.token, err = s.signIn("kari"); err != nil {
		t.Fatal(err)
	}
	for _, r := range unseenRequests() {
		work := func(id string) string {
			q := r.of(id)
			header := http.Header{"Content-Type": {"application/json"}}
			s.ask(c.token, q.method, q.path, q.body, header) // which fills what is kept
			calls.taken()
			a := s.ask(c.token, q.method, q.path, q.body, header)
			if a.status >= 500 {
				t.Errorf("%s: %s", q.curl(), a.body)
			}
			return strings.ReplaceAll(fmt.Sprintf("%d %s: %s", a.status, a.body, calls.taken()), id, "ID")
		}
		if a, b := work("unseen"), work("missng"); a != b {
			t.Errorf("%s\nunseen:  %s\nmissing: %s", r.curl(), a, b)
		}
	}
}

// TestTiming measures how long refusals take that must not reveal anything: the
// medians of many samples, in random order, differ by less than a tenth. It
// runs where MARQUEE_TIMING is set, on a machine that does nothing else.
func TestTiming(t *testing.T) {
	if os.Getenv("MARQUEE_TIMING") == "" {
		t.Skip("MARQUEE_TIMING is not set: a busy machine measures nothing")
	}
	for name, fresh := range map[string]newStore{"sqlite": newSQLite, "mongodb": reusing(t)} {
		t.Run(name, func(t *testing.T) { testTiming(t, fresh) })
	}
}

func testTiming(t *testing.T, fresh newStore) {
	c := converse(t, fresh)
	unseenWorld(c)
	c.send("POST", "/api/v1/users?context=main", `[{"id": "idle", "username": "idle", "password": "a password to test with", "objectState": "INACTIVE"}]`, 200, "")
	token, err := c.s.signIn("kari")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range unseenRequests() {
		c.alike(r.method+" "+r.path+" "+r.body, 400, func(second bool) {
			q := r.of(map[bool]string{false: "unseen", true: "missng"}[second])
			c.s.ask(token, q.method, q.path, q.body, http.Header{"Content-Type": {"application/json"}})
		})
	}
	grant := func(form url.Values) {
		if _, err := c.s.send("POST", "/api/authenticate", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, strings.NewReader(form.Encode())); err != nil {
			t.Error(err)
		}
		c.s.clock.advance(16 * time.Minute) // behind which failed grants are forgotten
	}
	guess := func(user, password string) func() {
		return func() { grant(url.Values{"grant_type": {"password"}, "username": {user}, "password": {password}}) }
	}
	wrong := guess("kari", "a wrong guess")
	for what, other := range map[string]func(){"an unknown user": guess("nobody", "a wrong guess"), "an inactive user": guess("idle", "a password to test with"),
		"a longer guess": guess("kari", strings.Repeat("a wrong guess ", 50)), "a guess that is nearly right": guess("kari", "a password to test witi")} {
		c.alike(what, 60, func(second bool) {
			if second {
				other()
			} else {
				wrong()
			}
		})
	}
}

// alike measures two requests, of which the second must take as long as the first.
func (c *conversation) alike(what string, samples int, ask func(second bool)) {
	c.Helper()
	var took [2][]time.Duration
	for n := range 2*samples + 20 {
		second := rand.IntN(2)
		if len(took[second]) >= samples {
			second = 1 - second
		}
		began := time.Now()
		ask(second == 1)
		if n >= 20 {
			took[second] = append(took[second], time.Since(began))
		}
	}
	var medians [2]time.Duration
	for i, samples := range took {
		slices.Sort(samples)
		medians[i] = samples[len(samples)/2]
	}
	ratio := float64(medians[0]) / float64(medians[1])
	c.Logf("%s: %v and %v", what, medians[0], medians[1])
	if ratio > 1.1 || ratio < 1/1.1 {
		c.Errorf("%s: %v and %v", what, medians[0], medians[1])
	}
}
