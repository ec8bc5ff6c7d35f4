package concurrency

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"marquee/integration/service"
)

// Several servers may share a database; an SQLite file has one, so that the
// tests of this file are about MongoDB alone.

// TestServersLoseNoUpdate counts up in one object, each client through one of
// the servers and from the version that it has read.
func TestServersLoseNoUpdate(t *testing.T) {
	t.Parallel()
	servers, token := service.NewServers(t, 3)
	servers[0].Must(token, http.MethodPut, service.Object, `{"name": "counter", "description": "0"}`, http.StatusCreated)
	const clients, times = 6, 8
	var wait sync.WaitGroup
	for client := range clients {
		s := servers[client%len(servers)]
		wait.Go(func() {
			for counted := 0; counted < times && !t.Failed(); {
				a := s.Ask(token, http.MethodGet, service.Object, "", nil)
				was, _ := a.JSON().(map[string]any)
				n, err := strconv.Atoi(fmt.Sprint(was["description"]))
				if err != nil {
					t.Errorf("%d %s", a.Status, a.Body)
					return
				}
				a = s.Ask(token, http.MethodPut, service.Object, fmt.Sprintf(`{"description": "%d"}`, n+1), http.Header{"If-Match": {a.Header.Get("ETag")}})
				switch a.Status {
				case http.StatusOK:
					counted++
				case http.StatusPreconditionFailed:
				default:
					t.Errorf("%d %s", a.Status, a.Body)
				}
			}
		})
	}
	wait.Wait()
	for _, s := range servers {
		if is := s.Must(token, http.MethodGet, service.Object, "", http.StatusOK); is["description"] != fmt.Sprint(clients*times) {
			t.Errorf("counted to %v instead of %d", is["description"], clients*times)
		}
	}
	audit := servers[1].Must(token, http.MethodGet, "/api/v1/audit?context=main&type=teams&id=t&pageSize=1000", "", http.StatusOK)
	entries, _ := audit["results"].([]any)
	if len(entries) != clients*times+1 {
		t.Errorf("%d entries of history", len(entries))
	}
	for i, entry := range entries { // newest first
		if version := fmt.Sprint(entry.(map[string]any)["version"]); version != fmt.Sprint(len(entries)-i) {
			t.Errorf("entry %d of the history is of version %s", i, version)
		}
	}
}

// TestServersMergeUpdates changes different properties of one object through
// each server at once: none is lost.
func TestServersMergeUpdates(t *testing.T) {
	t.Parallel()
	servers, token := service.NewServers(t, 3)
	const path = "/api/v1/advertisers/a?context=main"
	servers[0].Must(token, http.MethodPut, path, `{"name": "a"}`, http.StatusCreated)
	names := []string{"description", "externalReference", "category", "contact", "advertiserUrl", "phone"}
	var wait sync.WaitGroup
	for i, name := range names {
		wait.Go(func() {
			if a := servers[i%len(servers)].Ask(token, http.MethodPost, path, fmt.Sprintf(`{%q: %q}`, name, name), nil); a.Status != http.StatusOK {
				t.Errorf("%s: %d %s", name, a.Status, a.Body)
			}
		})
	}
	wait.Wait()
	is := servers[2].Must(token, http.MethodGet, path, "", http.StatusOK)
	for _, name := range names {
		if is[name] != name {
			t.Errorf("%s is %v", name, is[name])
		}
	}
}

// TestServersRaceForValues lets clients of all servers want the same unique
// value, the same new object, and both at once in batches: one gets it, and the
// answers to the others say why they do not.
func TestServersRaceForValues(t *testing.T) {
	t.Parallel()
	servers, token := service.NewServers(t, 3)
	const clients, rounds = 6, 5
	for _, c := range []struct {
		what    string
		request func(round, client int) (path, body string, header http.Header)
		won     int
		lost    int
		code    string
	}{
		{"a username", func(round, client int) (string, string, http.Header) {
			return fmt.Sprintf("/api/v1/users/u%d-%d", round, client), fmt.Sprintf(`{"username": "one%d"}`, round), nil
		}, http.StatusCreated, http.StatusUnprocessableEntity, "error.value.not.unique"},
		{"an url", func(round, client int) (string, string, http.Header) {
			return fmt.Sprintf("/api/v1/articles/a%d-%d?context=main", round, client), fmt.Sprintf(`{"url": "https://example.com/%d"}`, round), nil
		}, http.StatusCreated, http.StatusUnprocessableEntity, "error.value.not.unique"},
		{"an object that must be new", func(round, client int) (string, string, http.Header) {
			return fmt.Sprintf("/api/v1/teams/new%d?context=main", round), fmt.Sprintf(`{"name": "of client %d"}`, client), http.Header{"If-None-Match": {"*"}}
		}, http.StatusCreated, http.StatusPreconditionFailed, "error.already.exists"},
		{"a batch", func(round, client int) (string, string, http.Header) {
			return "/api/v1/batch?context=main", fmt.Sprintf(`{"operations": [{"type": "advertisers", "object": {"id": "b%[1]d-%[2]d", "name": "b"}},
				{"type": "articles", "object": {"id": "b%[1]d-%[2]d", "url": "https://example.com/batch/%[1]d"}}]}`, round, client), nil
		}, http.StatusOK, http.StatusUnprocessableEntity, "error.value.not.unique"},
	} {
		for round := range rounds {
			var wait sync.WaitGroup
			var mu sync.Mutex
			won := 0
			for client := range clients {
				wait.Go(func() {
					path, body, header := c.request(round, client)
					a := servers[client%len(servers)].Ask(token, http.MethodPost, path, body, header)
					mu.Lock()
					defer mu.Unlock()
					switch {
					case a.Status == c.won:
						won++
					case a.Status != c.lost || !strings.Contains(string(a.Body), `"`+c.code+`"`):
						t.Errorf("%s: %d %s", c.what, a.Status, a.Body)
					}
				})
			}
			wait.Wait()
			if won != 1 {
				t.Errorf("%s: %d clients got it", c.what, won)
			}
		}
	}
	// Nothing is left of the batches that were refused.
	list := servers[0].Must(token, http.MethodGet, "/api/v1/advertisers?context=main", "", http.StatusOK)
	if n := len(list["results"].([]any)); n != rounds {
		t.Errorf("%d advertisers of %d batches", n, rounds)
	}
}

// TestServersShareTokens signs in through one server, and goes on through
// another.
func TestServersShareTokens(t *testing.T) {
	t.Parallel()
	servers, token := service.NewServers(t, 2)
	here, there := servers[0], servers[1]
	there.Must(token, http.MethodGet, service.Collection, "", http.StatusOK)
	if here, there := here.Must("", http.MethodGet, "/.well-known/jwks.json", "", http.StatusOK), there.Must("", http.MethodGet, "/.well-known/jwks.json", "", http.StatusOK); fmt.Sprint(here) != fmt.Sprint(there) {
		t.Errorf("the keys are %v and %v", here, there)
	}

	// A refresh token has one successor, whichever server is asked.
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	a, err := here.Send(http.MethodPost, "/api/authenticate", form, strings.NewReader("grant_type=password&username=admin&password="+strings.ReplaceAll(service.AdminPassword, " ", "+")))
	if err != nil {
		t.Fatal(err)
	}
	granted, _ := a.JSON().(map[string]any)
	var wait sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	successors := map[any]int{}
	for client := range 6 {
		wait.Go(func() {
			a, err := servers[client%2].Send(http.MethodPost, "/api/authenticate", form.Clone(), strings.NewReader(fmt.Sprintf("grant_type=refresh_token&refresh_token=%v", granted["refresh_token"])))
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			statuses[a.Status]++
			object, _ := a.JSON().(map[string]any)
			successors[object["refresh_token"]]++
		})
	}
	wait.Wait()
	if statuses[200] != 6 || len(successors) != 1 {
		t.Errorf("a refresh token that is used six times at once is answered with %v and %d tokens", statuses, len(successors))
	}

	// A new password, set through one, ends the tokens at the other.
	here.Must(token, http.MethodPost, "/api/v1/users/kari", `{"username": "kari", "password": "a password to test with"}`, http.StatusCreated)
	kari, err := there.SignIn("kari")
	if err != nil {
		t.Fatal(err)
	}
	here.Must(kari, http.MethodGet, "/api/v1/users/kari", "", http.StatusOK)
	here.Must(token, http.MethodPost, "/api/v1/users/kari", `{"password": "another password to test with"}`, http.StatusOK)
	there.Within(kari, http.MethodGet, "/api/v1/users/kari", "", http.StatusUnauthorized)
	if _, err := there.SignIn("kari"); err == nil {
		t.Error("the old password is taken")
	}
}

// TestFailedSignInsAcrossServers lets sign-ins fail at one server: the other one
// refuses the next.
func TestFailedSignInsAcrossServers(t *testing.T) {
	t.Parallel()
	servers, token := service.NewServers(t, 2)
	here, there := servers[0], servers[1]
	here.Must(token, http.MethodPost, "/api/v1/users/kari", `{"username": "kari", "password": "a password to test with"}`, http.StatusCreated)
	signIn := func(s *service.Service, password string, status int) {
		t.Helper()
		a, err := s.Send(http.MethodPost, "/api/authenticate", http.Header{}, strings.NewReader(fmt.Sprintf(`{"grant_type": "password", "username": "kari", "password": %q}`, password)))
		if err != nil || a.Status != status {
			t.Fatalf("%d, %v", a.Status, err)
		}
	}
	for range 5 {
		signIn(here, "the wrong word 4", http.StatusBadRequest)
	}
	signIn(there, "a password to test with", http.StatusTooManyRequests)
	signIn(here, "a password to test with", http.StatusTooManyRequests)
}

// TestServersShareRights changes through one server what a user may do, and
// asks the other: a second later at most, requests are answered by it.
func TestServersShareRights(t *testing.T) {
	t.Parallel()
	servers, token := service.NewServers(t, 2)
	here, there := servers[0], servers[1]
	role := func(s *service.Service, permissions, state string) {
		t.Helper()
		s.Must(token, http.MethodPost, "/api/v1/roles/r?context=main", fmt.Sprintf(`{"permissions": [%s], "objectState": %q}`, permissions, state), http.StatusOK)
	}
	here.Must(token, http.MethodPost, "/api/v1/roles/r?context=main", `{"name": "R", "scope": "NETWORK"}`, http.StatusCreated)
	here.Must(token, http.MethodPost, "/api/v1/users/kari", `{"username": "kari", "password": "a password to test with",
		"userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "r"}]}]}}`, http.StatusCreated)
	kari, err := there.SignIn("kari")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		write := func(s *service.Service, status int) {
			t.Helper()
			s.Within(kari, http.MethodPost, "/api/v1/notes/kari?context=main", fmt.Sprintf(`{"text": "note %d"}`, i), status)
		}
		write(there, http.StatusForbidden)
		role(here, `"MANAGE_BUSINESS"`, "ACTIVE")
		if i == 0 {
			write(there, http.StatusCreated)
		} else {
			write(there, http.StatusOK)
		}
		role(there, `"MANAGE_BUSINESS"`, "INACTIVE")
		write(here, http.StatusForbidden)
		here.Must(kari, http.MethodGet, "/api/v1/notes/kari?context=main", "", http.StatusForbidden)
		role(here, ``, "ACTIVE")
		there.Within(kari, http.MethodGet, "/api/v1/notes/kari?context=main", "", http.StatusOK)
	}
	here.Must(token, http.MethodPost, "/api/v1/users/kari", `{"objectState": "INACTIVE"}`, http.StatusOK)
	there.Within(kari, http.MethodGet, "/api/v1/notes/kari?context=main", "", http.StatusUnauthorized)
	// What one server counts, the other has written.
	for n := range 5 {
		servers[n%2].Must(token, http.MethodPost, fmt.Sprintf("/api/v1/tiers/t%d?context=main", n), `{"name": "T"}`, http.StatusCreated)
		for _, s := range servers {
			if list := s.Must(token, http.MethodGet, "/api/v1/tiers?context=main", "", http.StatusOK); fmt.Sprint(list["totalCount"]) != fmt.Sprint(n+1) {
				t.Errorf("%v tiers instead of %d", list["totalCount"], n+1)
			}
		}
	}
}
