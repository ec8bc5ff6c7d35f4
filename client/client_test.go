package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"marquee"
	"marquee/client"
	"marquee/engine/message"
	"marquee/engine/rest"
	"marquee/integration/marqueetest"
	"marquee/resources"
)

// Order is an order as a program that uses the client declares it.
type Order struct {
	ID         string     `json:"id,omitempty"`
	Name       string     `json:"name,omitempty"`
	Advertiser *Reference `json:"advertiser,omitempty"`
}

// Reference is a link to another object.
type Reference struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
}

func start(t *testing.T, configure ...func(*marquee.Options)) *marqueetest.Server {
	t.Helper()
	options := marquee.Options{Application: resources.New().Application()}
	for _, change := range configure {
		change(&options)
	}
	return marqueetest.StartWith(t, options)
}

// network returns the network of a server, to a client through a proxy that may fail.
func network(t *testing.T, s *marqueetest.Server, through http.Handler) *client.Network {
	t.Helper()
	proxy := httptest.NewServer(through)
	t.Cleanup(proxy.Close)
	c, err := client.New(proxy.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SignIn(t.Context(), marqueetest.Username, marqueetest.Password); err != nil {
		t.Fatal(err)
	}
	return c.Network(marqueetest.Network)
}

// proxyTo forwards requests to a server.
func proxyTo(t *testing.T, s *marqueetest.Server) *httputil.ReverseProxy {
	t.Helper()
	to, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
}

// losing forwards requests, and closes the connection in place of the response to the
// first write of objects.
func losing(t *testing.T, s *marqueetest.Server) (_ http.Handler, writes *atomic.Int32) {
	writes = new(atomic.Int32)
	forward := proxyTo(t, s)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		write := r.Method != http.MethodGet && strings.HasPrefix(r.URL.Path, "/api/v1/")
		if write && writes.Add(1) == 1 {
			forward.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		forward.ServeHTTP(w, r)
	}), writes
}

func TestObjects(t *testing.T) {
	s := start(t)
	n, ctx := s.API.Network(marqueetest.Network), t.Context()
	orders := client.Of[Order](n, "orders")
	if _, err := client.Of[map[string]any](n, "advertisers").Save(ctx, "acme", map[string]any{"name": "Acme"}); err != nil {
		t.Fatal(err)
	}
	saved, err := orders.Save(ctx, "a/b ?", Order{Name: "Spring", Advertiser: &Reference{ID: "acme"}}, client.IfAbsent(), client.Strict())
	if err != nil || saved.ID != "a/b ?" || saved.Advertiser.Name != "Acme" {
		t.Fatalf("%+v %v", saved, err)
	}
	if _, err := orders.Save(ctx, "a/b ?", Order{Name: "Spring"}, client.IfAbsent()); !client.HasStatus(err, http.StatusPreconditionFailed) {
		t.Errorf("an object that is there is written: %v", err)
	}
	if _, err := orders.Save(ctx, "new", Order{Name: "New"}, client.IfExists()); !client.HasStatus(err, http.StatusPreconditionFailed) {
		t.Errorf("an object that is not there is written: %v", err)
	}
	got, tag, err := orders.Get(ctx, "a/b ?", "name")
	if err != nil || tag == "" || got.Name != "Spring" || got.Advertiser != nil {
		t.Errorf("%+v %s %v", got, tag, err)
	}
	if _, _, err := orders.Get(ctx, "none"); !client.HasCode(err, "error.object.not.found") || client.HasCode(err, "error.conflict") {
		t.Errorf("an object that is not there: %v", err)
	}
	if _, err := orders.Save(ctx, "checked", Order{Name: "Checked"}, client.ValidateOnly()); err != nil {
		t.Error(err)
	}
	if _, _, err := orders.Get(ctx, "checked"); !client.HasStatus(err, http.StatusNotFound) {
		t.Errorf("a checked object is stored: %v", err)
	}
}

func TestPatch(t *testing.T) {
	n, ctx := start(t).API.Network(marqueetest.Network), t.Context()
	items := client.Of[map[string]any](n, "lineitems")
	if _, err := items.Patch(ctx, "l", map[string]any{"name": "L"}); !client.HasStatus(err, http.StatusNotFound) {
		t.Errorf("a patch of nothing: %v", err)
	}
	if _, err := items.Save(ctx, "l", map[string]any{"name": "L", "targeting": map[string]any{
		"keywordTargets": []any{map[string]any{"keywords": []string{"a"}}}, "domainNameTarget": map[string]any{"names": []string{"example.com"}}}}); err != nil {
		t.Fatal(err)
	}
	_, tag, err := items.Get(ctx, "l", "id")
	if err != nil {
		t.Fatal(err)
	}
	patched, err := items.Patch(ctx, "l", map[string]any{"targeting": map[string]any{"keywordTargets": nil}}, client.IfMatch(tag))
	if err != nil {
		t.Fatal(err)
	}
	targeting := patched["targeting"].(map[string]any)
	names := targeting["domainNameTarget"].(map[string]any)["names"]
	if len(targeting["keywordTargets"].([]any)) != 0 || len(names.([]any)) != 1 {
		t.Errorf("the targeting is %v", targeting)
	}
	if _, err := items.Patch(ctx, "l", map[string]any{"name": "M"}, client.IfMatch(tag)); !client.HasStatus(err, http.StatusPreconditionFailed) {
		t.Errorf("with an old tag: %v", err)
	}
}

func TestListOfManyPages(t *testing.T) {
	s := start(t)
	n, ctx := s.API.Network(marqueetest.Network), t.Context()
	notes := client.Of[map[string]any](n, "notes")
	var all []any
	for i := range 25 {
		all = append(all, map[string]any{"id": fmt.Sprintf("n%02d", i), "text": "A note"})
	}
	if saved, err := notes.SaveAll(ctx, all); err != nil || len(saved) != 25 || saved[24]["id"] != "n24" {
		t.Fatalf("%v %v", saved, err)
	}
	var ids []string
	for note, err := range notes.All(ctx, client.List{PageSize: 4, OrderBy: "id", Descending: true, Fields: []string{"id"}, Where: "id!=n24"}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, note["id"].(string))
	}
	if len(ids) != 24 || ids[0] != "n23" || ids[23] != "n00" {
		t.Errorf("the list has %v", ids)
	}
	n2 := 0
	for _, err := range notes.All(ctx, client.List{PageSize: 4}) {
		if n2++; err != nil || n2 == 6 {
			break
		}
	}
	if n2 != 6 {
		t.Errorf("the iteration goes on for %d", n2)
	}
	var failures []error
	for _, err := range notes.All(ctx, client.List{Where: "nothing=1"}) {
		failures = append(failures, err)
	}
	if len(failures) != 1 || !client.HasStatus(failures[0], http.StatusBadRequest) {
		t.Errorf("a wrong condition: %v", failures)
	}
	var changes []string
	for change, err := range client.Iterate[struct{ Code string }](ctx, n, "/api/v1/audit", url.Values{"type": {"notes"}, "pageSize": {"10"}}) {
		if err != nil {
			t.Fatal(err)
		}
		changes = append(changes, change.Code)
	}
	if len(changes) != 25 || changes[0] != "audit.object.created" {
		t.Errorf("the history has %v", changes)
	}
}

func TestProblem(t *testing.T) {
	s := start(t)
	n := s.API.Network(marqueetest.Network)
	_, err := n.Batch(t.Context(), []client.Operation{
		{Type: "orders", Object: Order{ID: "o"}},
		{Type: "lineitems", Object: map[string]any{"name": "L", "order": "none"}},
	})
	var problem *client.Error
	if !errors.As(err, &problem) || problem.Status != http.StatusUnprocessableEntity || len(problem.Messages) < 2 || problem.RequestID == "" {
		t.Fatalf("%+v", err)
	}
	i := slices.IndexFunc(problem.Messages, func(m client.Message) bool { return m.Code == "error.referenced.object.not.found" })
	if i < 0 {
		t.Fatal(err)
	}
	m := problem.Messages[i]
	if at, in := m.Index(); !in || at != 1 || m.Field() != "/order" || strings.Contains(m.String(), "{{") || !strings.Contains(m.String(), "none") {
		t.Errorf("%+v", m)
	}
	if !strings.Contains(err.Error(), "/name is required. (error.property.required)") || !strings.Contains(problem.Type, "/docs/messages/") {
		t.Errorf("the text is %s", err)
	}
}

func TestBatch(t *testing.T) {
	s := start(t)
	n := s.API.Network(marqueetest.Network)
	results, err := n.Batch(t.Context(), []client.Operation{
		{Type: "lineitems", Object: map[string]any{"id": "l", "name": "L", "order": "o"}},
		{Type: "orders", Object: Order{ID: "o", Name: "O"}},
	})
	if err != nil || len(results) != 2 || !strings.Contains(string(results[0]), `"order":{"id":"o"`) {
		t.Errorf("%s %v", results, err)
	}
	_, tag, err := client.Of[Order](n, "orders").Get(t.Context(), "o")
	if err != nil {
		t.Fatal(err)
	}
	rename := func(name string) error {
		_, err := n.Batch(t.Context(), []client.Operation{{Type: "orders", Object: Order{ID: "o", Name: name}, IfMatch: tag},
			{Type: "notes", Object: map[string]any{"id": name, "text": name}, IfNoneMatch: "*"}})
		return err
	}
	if err := rename("P"); err != nil {
		t.Errorf("an object that nobody has changed: %v", err)
	}
	if err := rename("Q"); !client.HasStatus(err, http.StatusPreconditionFailed) {
		t.Errorf("an object that has changed: %v", err)
	}
}

// TestUpdate: updates of several goroutines at once all happen.
func TestUpdate(t *testing.T) {
	s := start(t)
	ctx := t.Context()
	notes := client.Of[struct{ Text string }](s.API.Network(marqueetest.Network), "notes")
	if _, err := notes.Save(ctx, "n", map[string]any{"text": "0"}); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 5 {
				_, err := notes.Update(ctx, "n", func(current struct{ Text string }) (any, error) {
					i, err := strconv.Atoi(current.Text)
					return map[string]any{"text": strconv.Itoa(i + 1)}, err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if note, _, err := notes.Get(ctx, "n"); err != nil || note.Text != "20" {
		t.Errorf("%v %v", note, err)
	}
	mine := errors.New("mine")
	if _, err := notes.Update(ctx, "n", func(struct{ Text string }) (any, error) { return nil, mine }); err != mine {
		t.Errorf("the error of the change is %v", err)
	}
	if note, err := notes.Update(ctx, "n", func(struct{ Text string }) (any, error) { return nil, nil }); err != nil || note.Text != "20" {
		t.Errorf("no change: %v %v", note, err)
	}
}

// TestLostResponse: writes are sent again, and carried out once, unless the server does not
// support that.
func TestLostResponse(t *testing.T) {
	s := start(t)
	for _, c := range []struct {
		name  string
		write func(*client.Network) error
	}{
		{"a save", func(n *client.Network) error {
			_, err := client.Of[Order](n, "orders").Save(t.Context(), "a", Order{Name: "A"})
			return err
		}},
		{"a merge patch", func(n *client.Network) error {
			_, err := client.Of[Order](n, "orders").Patch(t.Context(), "a", Order{Name: "A2"})
			return err
		}},
		{"a save of what must not be there", func(n *client.Network) error {
			_, err := client.Of[Order](n, "orders").Save(t.Context(), "b", Order{Name: "B"}, client.IfAbsent())
			return err
		}},
		{"objects with ids", func(n *client.Network) error {
			_, err := client.Of[Order](n, "orders").SaveAll(t.Context(), []Order{{ID: "c", Name: "C"}})
			return err
		}},
		{"an object without an id", func(n *client.Network) error {
			_, err := client.Of[Order](n, "orders").SaveAll(t.Context(), []Order{{ID: "d", Name: "D"}, {Name: "E"}})
			return err
		}},
		{"a batch with ids", func(n *client.Network) error {
			_, err := n.Batch(t.Context(), []client.Operation{{Type: "orders", Object: Order{ID: "f", Name: "F"}}})
			return err
		}},
		{"a batch with a condition", func(n *client.Network) error {
			_, err := n.Batch(t.Context(), []client.Operation{{Type: "orders", Object: Order{ID: "g", Name: "G"}, IfNoneMatch: "*"}})
			return err
		}},
		{"an update", func(n *client.Network) error {
			_, err := client.Of[Order](n, "orders").Update(t.Context(), "a", func(Order) (any, error) { return Order{Name: "AA"}, nil })
			return err
		}},
	} {
		handler, writes := losing(t, s)
		err := c.write(network(t, s, handler))
		if err != nil || writes.Load() != 2 {
			t.Errorf("%s is sent %d times: %v", c.name, writes.Load(), err)
		}
	}
	n := s.API.Network(marqueetest.Network)
	named := 0
	for _, err := range client.Of[Order](n, "orders").All(t.Context(), client.List{Where: "name in D,E"}) {
		if named++; err != nil {
			t.Fatal(err)
		}
	}
	if named != 2 {
		t.Errorf("%d orders were created, want 2", named)
	}
	handler, writes := losing(t, s)
	if err := client.Of[Order](network(t, s, handler), "orders").Remove(t.Context(), "a"); !errors.Is(err, client.ErrOutcomeUnknown) || writes.Load() != 1 {
		t.Errorf("a removal is sent %d times: %v", writes.Load(), err)
	}
}

// TestKeyUnsupported: what cannot have an idempotency key is sent without one.
func TestKeyUnsupported(t *testing.T) {
	n := start(t).API.Network(marqueetest.Network)
	if _, err := client.Of[map[string]any](n, "roles").Save(t.Context(), "r", map[string]any{"name": "R", "scope": "NETWORK"}); err != nil {
		t.Fatal(err)
	}
	tokens, err := client.Of[struct{ Token string }](n, "tokens").SaveAll(t.Context(), []any{map[string]any{"name": "T", "role": "r"}})
	if err != nil || len(tokens) != 1 || tokens[0].Token == "" {
		t.Errorf("%+v %v", tokens, err)
	}
}

// TestRefusedForNow: a request that the server has not carried out is sent again after
// the time that the server names, unless that is too long.
func TestRefusedForNow(t *testing.T) {
	s := start(t)
	for _, c := range []struct {
		status     int
		body, wait string
		sent       int32
	}{
		{429, `{"messages": [{"code": "error.rate.exceeded"}]}`, "0", 2},
		{503, `{"messages": [{"code": "error.server.busy"}]}`, "0", 2},
		{409, `{"messages": [{"code": "error.conflict"}]}`, "", 2},
		{503, `{"messages": [{"code": "error.server.busy"}]}`, "3600", 1},
		{503, `{"messages": [{"code": "error.outcome.unknown"}]}`, "0", 2},
		{502, `<html>`, "", 2},
		{500, `{"messages": [{"code": "error.internal"}]}`, "", 1},
		{422, `{"messages": [{"code": "error.property.required"}]}`, "", 1},
	} {
		var sent atomic.Int32
		forward := proxyTo(t, s)
		n := network(t, s, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/api/v1/") && sent.Add(1) == 1 {
				w.Header().Set("Retry-After", c.wait)
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.body)
				return
			}
			forward.ServeHTTP(w, r)
		}))
		_, err := client.Of[Order](n, "orders").SaveAll(t.Context(), []Order{{Name: "A"}})
		if (err == nil) != (c.sent == 2) || sent.Load() != c.sent || err != nil && !client.HasStatus(err, c.status) {
			t.Errorf("%d %s: sent %d times: %v", c.status, c.body, sent.Load(), err)
		}
	}
}

// TestRateLimit: a client that is faster than the limit of a server waits, and is not
// refused.
func TestRateLimit(t *testing.T) {
	s := start(t, func(o *marquee.Options) {
		o.RateLimits = rest.RateLimits{Caller: rest.Rate{Objects: 10, Window: 2 * time.Second}}
	})
	notes := client.Of[map[string]any](s.API.Network(marqueetest.Network), "notes")
	for i := range 14 {
		if _, err := notes.Save(t.Context(), fmt.Sprint(i), map[string]any{"text": "A"}); err != nil {
			t.Fatal(i, err)
		}
	}
}

// TestSession: an access token that the server refuses, or that has ended, is renewed
// once, however many requests need it.
func TestSession(t *testing.T) {
	s := start(t)
	var first client.Tokens
	c, err := client.New(s.URL+"/", client.Options{Renewed: func(tokens client.Tokens) { first = tokens }})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Do(t.Context(), http.MethodGet, "/api/v1/networks", nil, nil); !errors.Is(err, client.ErrSignedOut) {
		t.Errorf("without a token: %v", err)
	}
	if err := c.Do(t.Context(), http.MethodGet, "/healthz", nil, nil); err != nil {
		t.Errorf("what is public: %v", err)
	}
	if err := c.SignIn(t.Context(), marqueetest.Username, "wrong"); !client.HasStatus(err, http.StatusBadRequest) {
		t.Errorf("a wrong password: %v", err)
	}
	if err := c.SignIn(t.Context(), marqueetest.Username, marqueetest.Password); err != nil || first.Refresh == "" || time.Until(first.Expiry) < time.Minute {
		t.Fatalf("%+v %v", first, err)
	}
	for name, tokens := range map[string]client.Tokens{
		"refused": {Access: "refused", Refresh: first.Refresh},
		"ended":   {Access: "refused", Refresh: first.Refresh, Expiry: time.Now()},
	} {
		var renewed atomic.Int32
		c, err := client.New(s.URL, client.Options{Tokens: tokens, Renewed: func(client.Tokens) { renewed.Add(1) }})
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				if err := c.Do(t.Context(), http.MethodGet, "/api/v1/networks?count=false", nil, nil); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		group.Wait()
		if renewed.Load() != 1 {
			t.Errorf("%s: renewed %d times", name, renewed.Load())
		}
		if name == "ended" {
			continue
		}
		if err := c.SignOut(t.Context()); err != nil {
			t.Error(err)
		}
		if err := c.Do(t.Context(), http.MethodGet, "/api/v1/networks", nil, nil); !errors.Is(err, client.ErrSignedOut) {
			t.Errorf("after signing out: %v", err)
		}
		break // the session has ended
	}
	if err := c.Do(t.Context(), http.MethodGet, "/api/v1/networks", nil, nil); !errors.Is(err, client.ErrSignedOut) {
		t.Errorf("in a session that has ended: %v", err)
	}
}

// TestAPIToken: an API token is sent as it is, and not renewed.
func TestAPIToken(t *testing.T) {
	s := start(t)
	var token struct{ Token string }
	role := s.Do(http.MethodGet, "/api/v1/roles?context=main", "", http.StatusOK)["results"].([]any)[0].(map[string]any)["id"]
	if err := s.API.Do(t.Context(), http.MethodPost, "/api/v1/tokens/script?context=main", map[string]any{"name": "Script", "role": role}, &token); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(s.URL, client.Options{Tokens: client.Tokens{Access: token.Token}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Do(t.Context(), http.MethodGet, "/api/v1/orders?context=main", nil, nil); err != nil {
		t.Error(err)
	}
	if err := c.SignOut(t.Context()); err != nil {
		t.Error(err)
	}
	c, _ = client.New(s.URL, client.Options{Tokens: client.Tokens{Access: token.Token}})
	if err := c.Do(t.Context(), http.MethodGet, "/api/v1/orders?context=main", nil, nil); !errors.Is(err, client.ErrSignedOut) || !client.HasStatus(err, http.StatusUnauthorized) {
		t.Errorf("a revoked token: %v", err)
	}
}

// TestUpload sends segments as a stream, and again if the response is lost.
func TestUpload(t *testing.T) {
	s := start(t)
	type segment struct {
		ID         string `json:"segmentId"`
		Name       string `json:"name,omitempty"`
		DataSource string `json:"dataSource,omitempty"`
	}
	handler, writes := losing(t, s)
	n := network(t, s, handler)
	segments := client.Of[segment](n, "segments")
	many := func(yield func(segment) bool) {
		for i := range 3000 {
			if !yield(segment{fmt.Sprintf("s%d", i), "A segment", "ADOBE"}) {
				return
			}
		}
	}
	if err := segments.Upload(t.Context(), many); err != nil || writes.Load() != 2 {
		t.Fatalf("%d %v", writes.Load(), err)
	}
	count := 0
	for _, err := range segments.All(t.Context(), client.List{PageSize: 1000, Fields: []string{"segmentId"}}) {
		if err != nil {
			t.Fatal(err)
		}
		count++
	}
	if count != 3000 {
		t.Errorf("there are %d segments", count)
	}
	err := segments.Upload(t.Context(), slices.Values([]segment{{ID: "wrong"}}))
	if !client.HasCode(err, "error.property.required") {
		t.Errorf("a wrong segment: %v", err)
	}
	if err := segments.Upload(t.Context(), slices.Values([]segment(nil))); err != nil {
		t.Errorf("no segments: %v", err)
	}
	type wrong struct{ F func() }
	if err := client.Of[wrong](n, "segments").Upload(t.Context(), slices.Values([]wrong{{}})); err == nil || errors.Is(err, client.ErrOutcomeUnknown) {
		t.Errorf("what cannot be encoded: %v", err)
	}
}

// TestSaveFile sends a file, and again if the response is lost and it can be read again.
func TestSaveFile(t *testing.T) {
	s := start(t)
	s.Do(http.MethodPost, "/api/v1/layouts/l?context=main", `{"name": "L", "html": "<p>"}`, http.StatusCreated)
	s.Do(http.MethodPost, "/api/v1/creatives/c?context=main", `{"name": "C", "layout": "l", "width": 30, "height": 20, "verifiedSafe": true}`, http.StatusCreated)
	name := filepath.Join(t.TempDir(), "a.svg")
	const picture = `<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20"/>`
	if err := os.WriteFile(name, []byte("skipped"+picture), 0o600); err != nil {
		t.Fatal(err)
	}
	opened, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if _, err := opened.Seek(int64(len("skipped")), 0); err != nil {
		t.Fatal(err)
	}
	type asset struct {
		FileName string
		Width    int
	}
	handler, writes := losing(t, s)
	saved, err := client.Of[asset](network(t, s, handler), "assets/c").SaveFile(t.Context(), "a", client.File{Name: "a.svg", Content: opened})
	if err != nil || saved.FileName != "a.svg" || saved.Width != 30 || writes.Load() != 2 {
		t.Errorf("%+v %d %v", saved, writes.Load(), err)
	}
	handler, writes = losing(t, s)
	once := struct{ *strings.Reader }{strings.NewReader(picture)}
	_, err = client.Of[asset](network(t, s, handler), "assets/c").SaveFile(t.Context(), "b", client.File{Name: "b.svg", Content: reader{once}, Properties: map[string]string{"objectState": "INACTIVE"}})
	if !errors.Is(err, client.ErrOutcomeUnknown) || writes.Load() != 1 {
		t.Errorf("a file that can be read once: %d %v", writes.Load(), err)
	}
}

// reader can only be read.
type reader struct {
	from interface{ Read([]byte) (int, error) }
}

func (r reader) Read(p []byte) (int, error) { return r.from.Read(p) }

// TestForeignServers: the token is not sent to another server.
func TestForeignServers(t *testing.T) {
	s, other := start(t), httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the other server is asked") }))
	defer other.Close()
	if _, err := s.Client.Get(other.URL); err == nil {
		t.Error("a request to another server is sent")
	}
	for _, address := range []string{"", "ftp://a", "http://", "http://a/?b=c", "http://a/#b", "http://a:b@c", "/api", "http://a b"} {
		if _, err := client.New(address, client.Options{}); err == nil {
			t.Errorf("the address %q is accepted", address)
		}
	}
}

// TestCodes: the server has the codes that the client looks for.
func TestCodes(t *testing.T) {
	for _, code := range []string{client.CodeConflict, client.CodeOutcomeUnknown} {
		if _, known := message.BuiltIn().Lookup(code); !known {
			t.Errorf("there is no message %s", code)
		}
	}
}

// TestWarnings: what the server has dropped is reported.
func TestWarnings(t *testing.T) {
	s := start(t)
	var texts []string
	c, err := client.New(s.URL, client.Options{Warning: func(method, path, text string) { texts = append(texts, method+" "+path+" "+text) }})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SignIn(t.Context(), marqueetest.Username, marqueetest.Password); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Of[Order](c.Network("main"), "orders").Save(t.Context(), "o", map[string]any{"name": "O", "nmae": "O"}); err != nil {
		t.Fatal(err)
	}
	if len(texts) != 1 || !strings.HasPrefix(texts[0], "POST /api/v1/orders/o ") || !strings.Contains(texts[0], "nmae") {
		t.Errorf("the warnings are %q", texts)
	}
}

func TestRemove(t *testing.T) {
	s := marqueetest.Start(t, fstest.MapFS{"copies.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Copy",
		"x-resource": {"path": "copies", "methods": ["GET", "POST", "DELETE"]}, "type": "object", "properties": {"other": {"x-ref": "copies"}}}`)}})
	copies, ctx := client.Of[map[string]any](s.API.Network(marqueetest.Network), "copies"), t.Context()
	for _, one := range []map[string]any{{"id": "a"}, {"id": "b", "other": "a"}} {
		if _, err := copies.Save(ctx, one["id"].(string), one); err != nil {
			t.Fatal(err)
		}
	}
	_, tag, err := copies.Get(ctx, "b")
	if err != nil {
		t.Fatal(err)
	}
	if err := copies.Remove(ctx, "a"); !client.HasCode(err, "error.object.referenced") || !client.HasStatus(err, http.StatusConflict) {
		t.Errorf("of an object that is referred to: %v", err)
	}
	if err := copies.Remove(ctx, "b", client.ValidateOnly(), client.IfMatch(tag)); err != nil {
		t.Error(err)
	}
	for _, id := range []string{"b", "a"} {
		if err := copies.Remove(ctx, id); err != nil {
			t.Error(err)
		}
	}
	if err := copies.Remove(ctx, "a"); !client.HasStatus(err, http.StatusNotFound) {
		t.Errorf("of an object that is gone: %v", err)
	}
}
