package integration

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"marquee/engine/document"
)

// apiHash is the form in which the store has an API token.
func apiHash(token string) string {
	digest := sha256.Sum256([]byte(token))
	return hex.EncodeToString(digest[:])
}

// apiToken creates an API token of a role, and returns it.
func (s *service) apiToken(as, id, role string) string {
	s.tb.Helper()
	object := s.must(as, http.MethodPost, "/api/v1/tokens/"+id+"?context=main", `{"name": "T", "role": "`+role+`"}`, http.StatusCreated)
	token, _ := object["token"].(string)
	if token == "" {
		s.tb.Fatalf("no token is shown: %v", object)
	}
	return token
}

// TestAPITokensHoldAtOnce: API tokens are remembered with their rights, and what changes
// these holds for the next request to the same server.
func TestAPITokensHoldAtOnce(t *testing.T) { eachStore(t, testAPITokensHoldAtOnce) }

func testAPITokensHoldAtOnce(t *testing.T, fresh newStore) {
	s := newService(t, fresh)
	token, err := s.signIn(admin)
	if err != nil {
		t.Fatal(err)
	}
	s.must(token, http.MethodPost, "/api/v1/roles/r?context=main", `{"name": "R", "scope": "NETWORK", "permissions": ["MANAGE_BUSINESS"]}`, http.StatusCreated)
	s.must(token, http.MethodPost, "/api/v1/users/kari", `{"username": "kari", "password": "a password to test with", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "administrator"}]}]}}`, http.StatusCreated)
	kari, err := s.signIn("kari")
	if err != nil {
		t.Fatal(err)
	}
	s.remembers()
	api := s.apiToken(kari, "t", "r")
	const notes = "/api/v1/notes?context=main"
	for _, change := range []struct {
		path, take, give string
		status           int
	}{
		{"/api/v1/roles/r?context=main", `{"permissions": []}`, `{"permissions": ["MANAGE_BUSINESS"]}`, http.StatusForbidden},
		{"/api/v1/roles/r?context=main", `{"objectState": "INACTIVE"}`, `{"objectState": "ACTIVE"}`, http.StatusUnauthorized},
		{"/api/v1/users/kari", `{"objectState": "INACTIVE"}`, `{"objectState": "ACTIVE"}`, http.StatusUnauthorized},
		{"/api/v1/users/kari", `{"userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "r"}]}]}}`,
			`{"userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "administrator"}]}]}}`, http.StatusUnauthorized},
	} {
		for range 2 {
			s.must(api, http.MethodPost, notes, `{"text": "x"}`, http.StatusOK)
			s.must(token, http.MethodPut, change.path, change.take, http.StatusOK)
			s.must(api, http.MethodPost, notes, `{"text": "x"}`, change.status)
			s.must(token, http.MethodPut, change.path, change.give, http.StatusOK)
		}
	}
	s.must(api, http.MethodPost, notes, `{"text": "x"}`, http.StatusOK)
	s.must(token, http.MethodPut, "/api/v1/tokens/t?context=main", `{"objectState": "HIDDEN"}`, http.StatusOK)
	s.must(api, http.MethodPost, notes, `{"text": "x"}`, http.StatusUnauthorized)
}

// TestAPITokensExpire: the time that a client sets is when a token stops working, also
// one that is remembered, and its hash leaves the store.
func TestAPITokensExpire(t *testing.T) { eachStore(t, testAPITokensExpire) }

func testAPITokensExpire(t *testing.T, fresh newStore) {
	s := newService(t, fresh)
	token, err := s.signIn(admin)
	if err != nil {
		t.Fatal(err)
	}
	at := s.clock.now()
	s.clock.stop(at)
	body := func(expiry time.Time) string {
		return fmt.Sprintf(`{"name": "T", "role": "administrator", "expiryTime": %q}`, document.FormatTime(expiry))
	}
	path := "/api/v1/tokens/%s?context=main"
	object := s.must(token, http.MethodPost, fmt.Sprintf(path, "t"), body(at.Add(10*time.Minute)), http.StatusCreated)
	if object["expiryTime"] != document.FormatTime(at.Add(10*time.Minute)) {
		t.Errorf("it expires at %v", object["expiryTime"])
	}
	s.must(token, http.MethodPost, fmt.Sprintf(path, "u"), body(at.AddDate(0, 0, 366)), http.StatusCreated)
	s.must(token, http.MethodPost, fmt.Sprintf(path, "v"), body(at.AddDate(0, 0, 366).Add(time.Millisecond)), http.StatusUnprocessableEntity)
	s.must(token, http.MethodPost, fmt.Sprintf(path, "v"), body(at), http.StatusUnprocessableEntity)
	api, _ := object["token"].(string)
	const main = "/api/v1/networks/main"
	s.must(api, http.MethodGet, main, "", http.StatusOK)
	s.clock.stop(at.Add(10*time.Minute - time.Millisecond))
	s.must(api, http.MethodGet, main, "", http.StatusOK)
	s.clock.stop(at.Add(10 * time.Minute))
	s.must(api, http.MethodGet, main, "", http.StatusUnauthorized)
	s.clock.stop(at.Add(20 * time.Minute))
	if err := s.marquee.Pass(t.Context(), slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	s.must(api, http.MethodGet, main, "", http.StatusUnauthorized)
	if bytes.Contains(atRest(t, s.uri), []byte(apiHash(api))) && !strings.HasPrefix(s.uri, "sqlite:") { // whose file keeps deleted bytes
		t.Error("the hash of an expired token is still there")
	}
}

// TestAPITokenIsRevokedMeanwhile revokes a token in the middle of a body that is sent
// with it.
func TestAPITokenIsRevokedMeanwhile(t *testing.T) { eachStore(t, testAPITokenIsRevokedMeanwhile) }

func testAPITokenIsRevokedMeanwhile(t *testing.T, fresh newStore) {
	s := newService(t, fresh)
	token, err := s.signIn(admin)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range []struct{ path, body string }{
		{"/api/v1/tiers/late?context=main", `{"name": "late"}`},
		{"/api/v1/batch?context=main", `{"operations": [{"type": "tiers", "object": {"id": "late", "name": "late"}}]}`},
		{"/api/v1/segments/upload?context=main", `[{"segmentId": "late", "name": "late", "dataSource": "ADOBE"}]`},
	} {
		id := fmt.Sprint("t", i)
		api := s.apiToken(token, id, "administrator")
		reader, writer := io.Pipe()
		var sending sync.WaitGroup
		sending.Go(func() {
			io.WriteString(writer, r.body[:5])
			s.must(token, http.MethodPut, "/api/v1/tokens/"+id+"?context=main", `{"objectState": "INACTIVE"}`, http.StatusOK)
			io.WriteString(writer, r.body[5:])
			writer.Close()
		})
		a, err := s.send(http.MethodPut, r.path, http.Header{"Authorization": {"Bearer " + api}, "Content-Type": {"application/json"}}, reader)
		if err != nil {
			t.Fatal(err)
		}
		sending.Wait()
		if a.status != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", r.path, a.status, a.body)
		}
	}
	s.must(token, http.MethodGet, "/api/v1/tiers/late?context=main", "", http.StatusNotFound)
	s.must(token, http.MethodGet, "/api/v1/segments/late?context=main", "", http.StatusNotFound)
}

// TestAPITokenIsShownOnce: neither the store nor an export has an API token, and in
// another store an imported one does not work.
func TestAPITokenIsShownOnce(t *testing.T) { eachStore(t, testAPITokenIsShownOnce) }

func testAPITokenIsShownOnce(t *testing.T, fresh newStore) {
	uri := fresh(t)
	p := procServe(t, uri)
	p.signIn(admin, procPassword)
	p.ask(http.StatusCreated, http.MethodPost, "/api/v1/roles/r?context=main", `{"name": "R", "scope": "NETWORK"}`)
	object, _ := p.ask(http.StatusCreated, http.MethodPost, "/api/v1/tokens/t?context=main", `{"name": "A name in plain text", "role": "r"}`).json().(map[string]any)
	api, _ := object["token"].(string)
	person := p.token
	p.token = api
	p.ask(http.StatusOK, http.MethodGet, "/api/v1/networks/main", "")
	p.token = person
	for _, path := range []string{"/api/v1/tokens?context=main", "/api/v1/tokens/t?context=main", "/api/v1/audit?context=main", "/api/v1/notifications?context=main"} {
		procShuns(t, string(p.ask(http.StatusOK, http.MethodGet, path, "").body), "mq_", apiHash(api))
	}
	p.stop()
	procShuns(t, p.stdout.String()+p.stderr.String(), "mq_", apiHash(api))
	procWants(t, p.stderr.String(), `"token":"t"`)
	kept := atRest(t, uri)
	if bytes.Contains(kept, []byte(api)) || !bytes.Contains(kept, []byte(apiHash(api))) {
		t.Error("the store has the token, or lacks its hash")
	}
	exported := procRun(t, nil, "export", "--store", uri, "--context", "main", "tokens")
	procWants(t, exported, "A name in plain text")
	procShuns(t, exported, "mq_", apiHash(api))
	// When the server stops, it stores the last use.
	p = procServe(t, uri)
	p.signIn(admin, procPassword)
	procWants(t, string(p.ask(http.StatusOK, http.MethodGet, "/api/v1/tokens/t?context=main", "").body), `"lastUsedTime":"`)
	p.stop()
}

// TestServersShareAPITokens revokes and uses API tokens through one server, and asks
// another.
func TestServersShareAPITokens(t *testing.T) {
	t.Parallel()
	servers, token := newServers(t, 2)
	here, there := servers[0], servers[1]
	there.remembers()
	const main = "/api/v1/networks/main"
	for i := range 3 {
		id := fmt.Sprint("t", i)
		api := here.apiToken(token, id, "administrator")
		there.must(api, http.MethodGet, main, "", http.StatusOK)
		there.must(api, http.MethodGet, main, "", http.StatusOK)
		here.must(token, http.MethodPut, "/api/v1/tokens/"+id+"?context=main", `{"objectState": "INACTIVE"}`, http.StatusOK)
		there.within(api, http.MethodGet, main, "", http.StatusUnauthorized)
	}
}

// TestLastUses: all servers store when a token was last used, at most once in a minute,
// and the tokens themselves stay as they are.
func TestLastUses(t *testing.T) {
	t.Parallel()
	servers, token := newServers(t, 2)
	apis := make([]string, 5)
	for i := range apis {
		apis[i] = servers[0].apiToken(token, fmt.Sprint("t", i), "administrator")
	}
	etag := servers[0].ask(token, http.MethodGet, "/api/v1/tokens/t0?context=main", "", nil).header.Get("ETag")
	at := servers[0].clock.now()
	for _, step := range []struct{ after, want time.Duration }{
		{0, 0}, {59 * time.Second, 0}, {time.Minute, time.Minute}, {5 * time.Minute, 5 * time.Minute},
	} {
		servers[0].clock.stop(at.Add(step.after))
		var using sync.WaitGroup
		for _, s := range servers {
			using.Go(func() {
				for _, api := range apis {
					s.must(api, http.MethodGet, "/api/v1/networks/main", "", http.StatusOK)
				}
				if err := s.marquee.Auth().Maintain(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		using.Wait()
		for i := range apis {
			a := servers[1].ask(token, http.MethodGet, fmt.Sprintf("/api/v1/tokens/t%d?context=main", i), "", nil)
			object, _ := a.json().(map[string]any)
			if want := document.FormatTime(at.Add(step.want)); object["lastUsedTime"] != want {
				t.Errorf("after %v, the last use of token %d was at %v, not %s", step.after, i, object["lastUsedTime"], want)
			}
		}
	}
	if a := servers[0].ask(token, http.MethodPut, "/api/v1/tokens/t0?context=main", `{"name": "N"}`, http.Header{"If-Match": {etag}}); a.status != http.StatusOK {
		t.Errorf("a use has changed the version of a token: %d %s", a.status, a.body)
	}
}
