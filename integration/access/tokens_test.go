package access

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"

	"marquee"
	"marquee/auth/seal"
	"marquee/engine/query"
	"marquee/engine/store"
	"marquee/engine/store/mongo"
	"marquee/integration/service"
)

// grant sends a token request and returns the answer with its members.
func grant(s *service.Service, fields map[string]string) (int, map[string]string) {
	s.TB.Helper()
	body, err := json.Marshal(fields)
	if err != nil {
		s.TB.Fatal(err)
	}
	a, err := s.Send(http.MethodPost, "/api/authenticate", http.Header{"Content-Type": {"application/json"}}, strings.NewReader(string(body)))
	if err != nil {
		s.TB.Fatal(err)
	}
	members := map[string]string{}
	_ = json.Unmarshal(a.Body, &members) // an error has other members
	return a.Status, members
}

func session(s *service.Service, username string) (access, refresh string) {
	s.TB.Helper()
	status, tokens := grant(s, map[string]string{"grant_type": "password", "username": username, "password": "a password to test with"})
	if status != http.StatusOK {
		s.TB.Fatalf("%s cannot sign in: %d", username, status)
	}
	return tokens["access_token"], tokens["refresh_token"]
}

// TestChangesHoldAtOnce: callers are remembered, and what changes their rights holds for
// the next request to the same server.
func TestChangesHoldAtOnce(t *testing.T) { service.EachStore(t, testChangesHoldAtOnce) }

func testChangesHoldAtOnce(t *testing.T, fresh service.NewStore) {
	s := service.New(t, fresh)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	post := func(path, body string) {
		t.Helper()
		if a := s.Ask(token, http.MethodPost, path, body, nil); a.Status >= 300 {
			t.Fatalf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	post("/api/v1/networks/other", `{"name": "Other"}`)
	post("/api/v1/roles/r?context=other", `{"name": "R", "scope": "NETWORK", "permissions": ["MANAGE_BUSINESS"]}`)
	post("/api/v1/users/kari", `{"username": "kari", "password": "a password to test with", "userRoles": {"rolesByNetwork": [{"network": "other", "roles": [{"role": "r"}]}]}}`)
	const notes = "/api/v1/notes?context=other"
	s.Remembers()
	for range 5 {
		kari, refresh := session(s, "kari")
		sees := func(status int) {
			t.Helper()
			s.Must(kari, http.MethodGet, notes, "", status)
		}
		writes := func(status int) {
			t.Helper()
			s.Must(kari, http.MethodPost, notes, `{"text": "x"}`, status)
		}
		sees(http.StatusOK)
		sees(http.StatusOK)
		post("/api/v1/users/kari", `{"objectState": "INACTIVE"}`)
		sees(http.StatusUnauthorized)
		post("/api/v1/users/kari", `{"objectState": "ACTIVE"}`)
		sees(http.StatusOK)
		post("/api/v1/users/kari", `{"objectState": "HIDDEN"}`)
		sees(http.StatusUnauthorized)
		post("/api/v1/users/kari", `{"objectState": "ACTIVE"}`)
		writes(http.StatusOK)
		post("/api/v1/roles/r?context=other", `{"permissions": []}`)
		writes(http.StatusForbidden)
		post("/api/v1/roles/r?context=other", `{"permissions": ["MANAGE_BUSINESS"]}`)
		writes(http.StatusOK)
		post("/api/v1/networks/other", `{"objectState": "INACTIVE"}`)
		sees(http.StatusForbidden)
		post("/api/v1/networks/other", `{"objectState": "ACTIVE"}`)
		sees(http.StatusOK)
		if a := s.Ask("", http.MethodPost, "/api/authenticate/revoke", `{"token": "`+refresh+`"}`, nil); a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		sees(http.StatusUnauthorized)
		kari, _ = session(s, "kari")
		sees(http.StatusOK)
		if err := s.Marquee.Auth().Sessions.EndAll(t.Context(), "kari"); err != nil {
			t.Fatal(err)
		}
		sees(http.StatusUnauthorized)
		kari, _ = session(s, "kari")
		sees(http.StatusOK)
		post("/api/v1/users/kari", `{"password": "another password to test with"}`)
		sees(http.StatusUnauthorized)
		post("/api/v1/users/kari", `{"password": "a password to test with"}`)
	}
}

// TestServersEndSessions ends sessions through one server, and asks another.
func TestServersEndSessions(t *testing.T) {
	t.Parallel()
	servers, token := service.NewServers(t, 2)
	here, there := servers[0], servers[1]
	here.Must(token, http.MethodPost, "/api/v1/users/kari", `{"username": "kari", "password": "a password to test with"}`, http.StatusCreated)
	there.Remembers()
	const self = "/api/v1/users/kari"
	for range 3 {
		kari, refresh := session(there, "kari")
		there.Must(kari, http.MethodGet, self, "", http.StatusOK)
		here.Must("", http.MethodPost, "/api/authenticate/revoke", `{"token": "`+refresh+`"}`, http.StatusOK)
		there.Within(kari, http.MethodGet, self, "", http.StatusUnauthorized)
		if status, _ := grant(there, map[string]string{"grant_type": "refresh_token", "refresh_token": refresh}); status != http.StatusBadRequest {
			t.Errorf("a revoked refresh token is answered with %d", status)
		}
		kari, refresh = session(there, "kari")
		there.Must(kari, http.MethodGet, self, "", http.StatusOK)
		if err := here.Marquee.Auth().Sessions.EndAll(t.Context(), "kari"); err != nil {
			t.Fatal(err)
		}
		there.Within(kari, http.MethodGet, self, "", http.StatusUnauthorized)
		if status, _ := grant(there, map[string]string{"grant_type": "refresh_token", "refresh_token": refresh}); status != http.StatusBadRequest {
			t.Errorf("the refresh token of an ended session is answered with %d", status)
		}
	}
}

// TestRefreshesRace sends one refresh token many times at once, while the session is
// being ended: there is one successor, and nothing survives.
func TestRefreshesRace(t *testing.T) { service.EachStore(t, testRefreshesRace) }

func testRefreshesRace(t *testing.T, fresh service.NewStore) {
	s := service.New(t, fresh)
	_, refresh := session(s, service.Admin)
	for round := range 4 {
		revoking := round == 3
		var mu sync.Mutex
		successors, access := map[string]int{}, ""
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				status, tokens := grant(s, map[string]string{"grant_type": "refresh_token", "refresh_token": refresh})
				mu.Lock()
				defer mu.Unlock()
				if status == http.StatusOK {
					successors[tokens["refresh_token"]]++
					access = tokens["access_token"]
				} else if !revoking {
					t.Errorf("status %d", status)
				}
			})
		}
		if revoking {
			all.Go(func() {
				s.Must("", http.MethodPost, "/api/authenticate/revoke", `{"token": "`+refresh+`"}`, http.StatusOK)
			})
		}
		all.Wait()
		if len(successors) != 1 && !revoking {
			t.Fatalf("round %d: %d successors", round, len(successors))
		}
		for successor := range successors {
			refresh = successor
		}
		if revoking {
			if status, _ := grant(s, map[string]string{"grant_type": "refresh_token", "refresh_token": refresh}); status != http.StatusBadRequest {
				t.Errorf("after the revocation, the status is %d", status)
			}
			if access != "" {
				s.Must(access, http.MethodGet, "/api/v1/networks/main", "", http.StatusUnauthorized)
			}
		}
	}
}

// TestExpiredTokensAreSwept: what has expired leaves the store.
func TestExpiredTokensAreSwept(t *testing.T) { service.EachStore(t, testExpiredTokensAreSwept) }

func testExpiredTokensAreSwept(t *testing.T, fresh service.NewStore) {
	s := service.New(t, fresh)
	count := func() map[string]int64 {
		counts := map[string]int64{}
		err := s.Store.Read(t.Context(), func(r store.Snapshot) error {
			for _, name := range []string{"auth_refresh", "auth_sessions"} {
				n, err := r.Count(t.Context(), query.Query{Collection: name})
				if err != nil {
					return err
				}
				counts[name] = n
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return counts
	}
	var first, last string
	for range 30 {
		_, first = session(s, service.Admin)
		_, tokens := grant(s, map[string]string{"grant_type": "refresh_token", "refresh_token": first})
		last = tokens["refresh_token"]
	}
	s.Must("", http.MethodPost, "/api/authenticate/revoke", `{"token": "`+last+`"}`, http.StatusOK)
	s.Clock.Advance(20 * 24 * time.Hour)
	if err := s.Pass(); err != nil {
		t.Fatal(err)
	}
	if n := count(); n["auth_refresh"] != 60 || n["auth_sessions"] != 1 {
		t.Errorf("before anything has expired: %v", n)
	}
	_, late := session(s, service.Admin)
	s.Clock.Advance(11 * 24 * time.Hour)
	if err := s.Pass(); err != nil {
		t.Fatal(err)
	}
	if n := count(); n["auth_refresh"] != 1 || n["auth_sessions"] != 0 {
		t.Errorf("after all but one have expired: %v", n)
	}
	if status, _ := grant(s, map[string]string{"grant_type": "refresh_token", "refresh_token": late}); status != http.StatusOK {
		t.Errorf("the remaining token is answered with %d", status)
	}
}

// published returns the ids of the keys that a service publishes.
func published(s *service.Service) (ids []string) {
	s.TB.Helper()
	for _, key := range s.Must("", http.MethodGet, "/.well-known/jwks.json", "", http.StatusOK)["keys"].([]any) {
		ids = append(ids, key.(map[string]any)["kid"].(string))
	}
	return ids
}

// keyOf returns the key that a token names.
func keyOf(tb testing.TB, token string) string {
	tb.Helper()
	header, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[0])
	var fields struct{ Kid, Alg string }
	if err == nil {
		err = json.Unmarshal(header, &fields)
	}
	if err != nil || fields.Alg != "EdDSA" {
		tb.Fatalf("%s %v", header, err)
	}
	return fields.Kid
}

// TestSigningKeysRotate: the next key is published before it signs, and a key remains
// valid until its last token has expired.
func TestSigningKeysRotate(t *testing.T) { service.EachStore(t, testSigningKeysRotate) }

func testSigningKeysRotate(t *testing.T, fresh service.NewStore) {
	s := service.New(t, fresh)
	const self = "/api/v1/networks/main"
	signs := func(key string) string {
		t.Helper()
		token, _ := session(s, service.Admin)
		if got := keyOf(t, token); got != key {
			t.Fatalf("%s signs instead of %s", got, key)
		}
		s.Must(token, http.MethodGet, self, "", http.StatusOK)
		return token
	}
	publishes := func(keys ...string) {
		t.Helper()
		if got := published(s); !slices.Equal(got, keys) {
			t.Fatalf("%s are published instead of %s", got, keys)
		}
	}
	pass := func(after time.Duration) {
		t.Helper()
		s.Clock.Advance(after)
		if err := s.Pass(); err != nil {
			t.Fatal(err)
		}
	}
	keys := published(s)
	if len(keys) != 2 {
		t.Fatalf("the keys are %s", keys)
	}
	one, two := keys[0], keys[1]
	signs(one)
	// The next key has just been published, and has to wait.
	if err := s.Marquee.Auth().Keys.Rotate(t.Context()); err != nil {
		t.Fatal(err)
	}
	three := published(s)[2]
	publishes(one, two, three)
	signs(one)
	pass(9 * time.Minute)
	signs(one)
	pass(2 * time.Minute)
	old := signs(two)
	s.Stop()
	s.Start()
	publishes(one, two, three)
	pass(time.Hour - time.Minute)
	publishes(one, two, three)
	s.Must(old, http.MethodGet, self, "", http.StatusOK)
	pass(5 * time.Minute)
	publishes(two, three)
	// By the schedule, a key that was published long ago signs at once.
	pass(30 * 24 * time.Hour)
	four := published(s)[2]
	publishes(two, three, four)
	signs(three)
	pass(2 * time.Hour)
	publishes(three, four)
	// After a replacement, tokens of all other keys are refused at once.
	_, refresh := session(s, service.Admin)
	before := signs(three)
	if err := s.Marquee.Auth().Keys.Replace(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Must(before, http.MethodGet, self, "", http.StatusUnauthorized)
	keys = published(s)
	if len(keys) != 2 || slices.Contains(keys, three) || slices.Contains(keys, four) {
		t.Errorf("after a replacement, the keys are %s", keys)
	}
	status, tokens := grant(s, map[string]string{"grant_type": "refresh_token", "refresh_token": refresh})
	if status != http.StatusOK || keyOf(t, tokens["access_token"]) != keys[0] {
		t.Errorf("after a replacement, a refresh token is answered with %d", status)
	}
	s.Stop()
	s.Start()
	signs(keys[0])
	publishes(keys...)
	// There is an end to rotations.
	var err error
	for range 100 {
		if err = s.Marquee.Auth().Keys.Rotate(t.Context()); err != nil {
			break
		}
	}
	if n := len(published(s)); err == nil || n > 60 {
		t.Errorf("100 rotations leave %d keys (%v)", n, err)
	}
	signs(keys[0])
}

// TestSigningKeysOnServers: every server of a store follows a rotation within a second,
// and several servers do not rotate twice.
func TestSigningKeysOnServers(t *testing.T) {
	t.Parallel()
	servers, token := service.NewServers(t, 2)
	here, there := servers[0], servers[1]
	const self = "/api/v1/networks/main"
	there.Must(token, http.MethodGet, self, "", http.StatusOK)
	for range 3 {
		if err := here.Marquee.Auth().Keys.Replace(t.Context()); err != nil {
			t.Fatal(err)
		}
		here.Must(token, http.MethodGet, self, "", http.StatusUnauthorized)
		fresh, _ := session(here, service.Admin)
		there.Within(fresh, http.MethodGet, self, "", http.StatusOK)
		there.Within(token, http.MethodGet, self, "", http.StatusUnauthorized)
		if a, b := published(here), published(there); !slices.Equal(a, b) {
			t.Errorf("the keys are %s and %s", a, b)
		}
		token = fresh
	}
	keys := published(here)
	here.Clock.Advance(31 * 24 * time.Hour)
	var all sync.WaitGroup
	for _, s := range servers {
		all.Go(func() {
			if err := s.Pass(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	fresh, _ := session(here, service.Admin)
	there.Within(fresh, http.MethodGet, self, "", http.StatusOK)
	if got := published(here); len(got) != 3 || keyOf(t, fresh) != keys[1] {
		t.Errorf("after %s, the keys are %s, and %s signs", keys, got, keyOf(t, fresh))
	}
}

// TestCallersNeedNoCommands: on MongoDB, a request whose caller is remembered reads
// nothing of users, roles and sessions.
func TestCallersNeedNoCommands(t *testing.T) {
	t.Parallel()
	uri := service.Reusing(t)(t)
	var mu sync.Mutex
	var commands []string
	monitor := &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		mu.Lock()
		defer mu.Unlock()
		name, _ := e.Command.Lookup(e.CommandName).StringValueOK()
		commands = append(commands, e.CommandName+" "+name)
	}}
	opened, err := mongo.Open(t.Context(), mongo.Options{URI: uri, Monitor: monitor})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { opened.Close() })
	sealer, err := seal.New(make([]byte, seal.KeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	s, err := marquee.Open(t.Context(), marquee.Options{Store: opened, Sealer: sealer, First: marquee.First{Password: service.AdminPassword}})
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := s.Auth().Sessions.SignIn(t.Context(), "192.0.2.1", "admin", service.AdminPassword, "")
	if err != nil {
		t.Fatal(err)
	}
	during := func() (counted []string) {
		mu.Lock()
		commands = nil
		mu.Unlock()
		if _, err := s.Auth().Caller(t.Context(), tokens.AccessToken); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, command := range commands {
			if !strings.HasSuffix(command, " marquee.store") && !strings.HasSuffix(command, " marquee.commits") && !strings.HasPrefix(command, "getMore") {
				counted = append(counted, command)
			}
		}
		return counted
	}
	first := during()
	if len(first) < 4 {
		t.Errorf("the first request has %s", first)
	}
	(&service.Service{TB: t, Store: opened}).Remembers()
	during()
	none := 0
	for range 20 {
		if len(during()) == 0 {
			none++
		}
	}
	if none < 15 {
		t.Errorf("%d of 20 requests need no commands", none)
	}
	t.Log(fmt.Sprint(first))
}

// TestRacingSignInsAreBounded: of sessions that begin at once, on one server or two, as
// many remain as a user can have.
func TestRacingSignInsAreBounded(t *testing.T) { service.EachStore(t, testRacingSignInsAreBounded) }

func testRacingSignInsAreBounded(t *testing.T, fresh service.NewStore) {
	const most, clients = 5, 16
	limit := func(o *marquee.Options) { o.MaxSessions = most }
	first := service.StartNew(&service.Service{TB: t, URI: fresh(t), Configure: limit})
	servers := []*service.Service{first}
	if !first.Store.Serial() { // another server can have the same database
		second := &service.Service{TB: t, URI: first.URI, Key: first.Key, Clock: first.Clock, UserID: first.UserID, Configure: limit}
		second.Start()
		t.Cleanup(second.End)
		servers = append(servers, second)
	}
	token, err := first.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	first.Must(token, http.MethodPost, "/api/v1/users/kari", `{"username": "kari", "password": "a password to test with"}`, http.StatusCreated)
	refresh := make([]string, clients)
	var wait sync.WaitGroup
	for i := range refresh {
		s := servers[i%len(servers)]
		wait.Go(func() { _, refresh[i] = session(s, "kari") })
	}
	wait.Wait()
	remain := 0
	for i, token := range refresh {
		switch status, _ := grant(servers[i%len(servers)], map[string]string{"grant_type": "refresh_token", "refresh_token": token}); status {
		case http.StatusOK:
			remain++
		case http.StatusBadRequest:
		default:
			t.Errorf("a refresh is answered with %d", status)
		}
	}
	if remain != most {
		t.Errorf("%d sessions remain instead of %d", remain, most)
	}
}
