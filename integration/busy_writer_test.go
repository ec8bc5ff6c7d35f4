package integration

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"marquee/engine/store"
	"marquee/integration/service"
)

// TestBusyWriter keeps the embedded store's one writer: a write that waits for
// it is refused at its own deadline and does not happen later, nor does one whose
// client has gone, and reads are answered meanwhile.
func TestBusyWriter(t *testing.T) {
	t.Parallel()
	c := service.Converse(t, service.NewSQLite)
	c.Send("POST", "/api/v1/advertisers/there?context=main", `{"name": "There"}`, http.StatusCreated, "")
	c.Service.Stop()
	c.Service.Deadline = time.Second
	c.Service.Start()
	began, end, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		ended <- c.Service.Store.Write(context.Background(), func(store.Tx) error {
			close(began)
			<-end
			return nil
		})
	}()
	<-began
	gone, leave := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer leave()
	r, err := http.NewRequestWithContext(gone, "POST", c.Service.Server.URL+"/api/v1/advertisers/gone?context=main", strings.NewReader(`{"name": "Gone"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.Token)
	if a, err := c.Service.Client.Do(r); err == nil {
		t.Errorf("a write was answered with %d while another one had not ended", a.StatusCode)
	}
	for _, body := range []string{`{"name": "Late"}`, `[{"id": "late", "name": "Late"}]`} {
		path := "/api/v1/advertisers/late?context=main"
		if body[0] == '[' {
			path = "/api/v1/advertisers?context=main"
		}
		a := c.Send("POST", path, body, http.StatusServiceUnavailable, `{"messages": [{"code": "error.server.busy"}]}`)
		if a.Header.Get("Retry-After") == "" {
			t.Error("the refusal of a late write does not say when to try again")
		}
	}
	c.Send("GET", "/api/v1/advertisers/there?context=main", "", http.StatusOK, "")
	close(end)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	c.Send("POST", "/api/v1/advertisers/next?context=main", `{"name": "Next"}`, http.StatusCreated, "")
	c.Send("GET", "/api/v1/advertisers?context=main&fields=id&orderBy=id", "", http.StatusOK, `{"totalCount": 2, "results": [{"id": "next"}, {"id": "there"}]}`)
}

// attributed is a store that notes on whose behalf it writes, and reads what takes long.
type attributed struct {
	store.Store
	mu      sync.Mutex
	callers map[string]bool
}

func (s *attributed) note(ctx context.Context, counts bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if caller := store.EffortOf(ctx).Caller; counts && caller != "" { // which the service's own calls do not have
		s.callers[caller] = true
	}
}

func (s *attributed) Write(ctx context.Context, fn func(store.Tx) error) error {
	s.note(ctx, true)
	return s.Store.Write(ctx, fn)
}

func (s *attributed) Read(ctx context.Context, fn func(store.Snapshot) error) error {
	s.note(ctx, store.EffortOf(ctx).Extensive)
	return s.Store.Read(ctx, fn)
}

// taken returns the callers that have been noted, and forgets them.
func (s *attributed) taken() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.callers = map[string]bool{} }()
	return slices.Collect(maps.Keys(s.callers))
}

// TestStoreWorksForCallers checks that the store, whose waiting calls take turns by
// caller, distinguishes users and API tokens, whatever they write or list.
func TestStoreWorksForCallers(t *testing.T) {
	t.Parallel()
	noted := &attributed{callers: map[string]bool{}}
	s := service.StartNew(&service.Service{TB: t, URI: service.NewSQLite(t), Wrap: func(below store.Store) store.Store {
		noted.Store = below
		return noted
	}})
	c := service.ConverseWith(t, s)
	c.Send("POST", "/api/v1/users/kari?context=main", `{"username": "kari", "password": "a password to test with", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "administrator"}]}]}}`, http.StatusCreated, "")
	kari, err := s.SignIn("kari")
	if err != nil {
		t.Fatal(err)
	}
	callers := map[string]string{}
	for name, token := range map[string]string{"admin": c.Token, "kari": kari, "token": s.APIToken(kari, "t", "administrator")} {
		for _, r := range []struct{ method, path, body string }{
			{"POST", "/api/v1/advertisers/" + name + "?context=main", `{"name": "A"}`},
			{"POST", "/api/v1/advertisers?context=main", `[{"name": "A"}]`},
			{"POST", "/api/v1/batch?context=main", `{"operations": [{"type": "advertisers", "object": {"name": "A"}}]}`},
			{"POST", "/api/v1/segments/upload?context=main", `[{"segmentId": "` + name + `", "name": "S", "dataSource": "ADOBE"}]`},
			{"GET", "/api/v1/advertisers?context=main", ""},
			{"GET", "/api/v1/audit?context=main", ""},
			{"GET", "/api/v1/notifications?context=main", ""},
		} {
			noted.taken()
			if a, err := s.Send(r.method, r.path, http.Header{"Authorization": {"Bearer " + token}}, strings.NewReader(r.body)); err != nil || a.Status >= 300 {
				t.Fatalf("%s %s: %v %v", r.method, r.path, a, err)
			}
			got := noted.taken()
			if len(got) != 1 || callers[name] != "" && callers[name] != got[0] {
				t.Errorf("%s %s by %s ran for %q, other requests for %q", r.method, r.path, name, got, callers[name])
				continue
			}
			callers[name] = got[0]
		}
	}
	if all := slices.Collect(maps.Values(callers)); len(slices.Compact(slices.Sorted(slices.Values(all)))) != 3 {
		t.Errorf("callers share turns: %q", callers)
	}
}
