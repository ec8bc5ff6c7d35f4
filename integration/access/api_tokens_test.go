package access

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"marquee/engine/document"
	"marquee/integration/process"
	"marquee/integration/service"
)

// TestAPITokensHoldAtOnce: API tokens are remembered with their rights, and what changes
// these holds for the next request to the same server.
func TestAPITokensHoldAtOnce(t *testing.T) { service.EachStore(t, testAPITokensHoldAtOnce) }

func testAPITokensHoldAtOnce(t *testing.T, fresh service.NewStore) {
	s := service.New(t, fresh)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	s.Must(token, http.MethodPost, "/api/v1/roles/r?context=main", `{"name": "R", "scope": "NETWORK", "permissions": ["MANAGE_BUSINESS"]}`, http.StatusCreated)
	s.Must(token, http.MethodPost, "/api/v1/users/kari", `{"username": "kari", "password": "a password to test with", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "administrator"}]}]}}`, http.StatusCreated)
	kari, err := s.SignIn("kari")
	if err != nil {
		t.Fatal(err)
	}
	s.Remembers()
	api := s.APIToken(kari, "t", "r")
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
			s.Must(api, http.MethodPost, notes, `{"text": "x"}`, http.StatusOK)
			s.Must(token, http.MethodPut, change.path, change.take, http.StatusOK)
			s.Must(api, http.MethodPost, notes, `{"text": "x"}`, change.status)
			s.Must(token, http.MethodPut, change.path, change.give, http.StatusOK)
		}
	}
	s.Must(api, http.MethodPost, notes, `{"text": "x"}`, http.StatusOK)
	s.Must(token, http.MethodPut, "/api/v1/tokens/t?context=main", `{"objectState": "HIDDEN"}`, http.StatusOK)
	s.Must(api, http.MethodPost, notes, `{"text": "x"}`, http.StatusUnauthorized)
}

// TestAPITokensExpire: the time that a client sets is when a token stops working, also
// one that is remembered, and its hash leaves the store.
func TestAPITokensExpire(t *testing.T) { service.EachStore(t, testAPITokensExpire) }

func testAPITokensExpire(t *testing.T, fresh service.NewStore) {
	s := service.New(t, fresh)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	at := s.Clock.Now()
	s.Clock.Stop(at)
	body := func(expiry time.Time) string {
		return fmt.Sprintf(`{"name": "T", "role": "administrator", "expiryTime": %q}`, document.FormatTime(expiry))
	}
	path := "/api/v1/tokens/%s?context=main"
	object := s.Must(token, http.MethodPost, fmt.Sprintf(path, "t"), body(at.Add(10*time.Minute)), http.StatusCreated)
	if object["expiryTime"] != document.FormatTime(at.Add(10*time.Minute)) {
		t.Errorf("it expires at %v", object["expiryTime"])
	}
	s.Must(token, http.MethodPost, fmt.Sprintf(path, "u"), body(at.AddDate(0, 0, 366)), http.StatusCreated)
	s.Must(token, http.MethodPost, fmt.Sprintf(path, "v"), body(at.AddDate(0, 0, 366).Add(time.Millisecond)), http.StatusUnprocessableEntity)
	s.Must(token, http.MethodPost, fmt.Sprintf(path, "v"), body(at), http.StatusUnprocessableEntity)
	api, _ := object["token"].(string)
	const main = "/api/v1/networks/main"
	s.Must(api, http.MethodGet, main, "", http.StatusOK)
	s.Clock.Stop(at.Add(10*time.Minute - time.Millisecond))
	s.Must(api, http.MethodGet, main, "", http.StatusOK)
	s.Clock.Stop(at.Add(10 * time.Minute))
	s.Must(api, http.MethodGet, main, "", http.StatusUnauthorized)
	s.Clock.Stop(at.Add(20 * time.Minute))
	if err := s.Marquee.Pass(t.Context(), slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	s.Must(api, http.MethodGet, main, "", http.StatusUnauthorized)
	if bytes.Contains(service.AtRest(t, s.URI), []byte(service.APIHash(api))) && !strings.HasPrefix(s.URI, "sqlite:") { // whose file keeps deleted bytes
		t.Error("the hash of an expired token is still there")
	}
}

// TestAPITokenIsRevokedMeanwhile revokes a token in the middle of a body that is sent
// with it.
func TestAPITokenIsRevokedMeanwhile(t *testing.T) {
	service.EachStore(t, testAPITokenIsRevokedMeanwhile)
}

func testAPITokenIsRevokedMeanwhile(t *testing.T, fresh service.NewStore) {
	s := service.New(t, fresh)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range []struct{ path, body string }{
		{"/api/v1/tiers/late?context=main", `{"name": "late"}`},
		{"/api/v1/batch?context=main", `{"operations": [{"type": "tiers", "object": {"id": "late", "name": "late"}}]}`},
		{"/api/v1/segments/upload?context=main", `[{"segmentId": "late", "name": "late", "dataSource": "ADOBE"}]`},
	} {
		id := fmt.Sprint("t", i)
		api := s.APIToken(token, id, "administrator")
		reader, writer := io.Pipe()
		var sending sync.WaitGroup
		sending.Go(func() {
			io.WriteString(writer, r.body[:5])
			s.Must(token, http.MethodPut, "/api/v1/tokens/"+id+"?context=main", `{"objectState": "INACTIVE"}`, http.StatusOK)
			io.WriteString(writer, r.body[5:])
			writer.Close()
		})
		a, err := s.Send(http.MethodPut, r.path, http.Header{"Authorization": {"Bearer " + api}, "Content-Type": {"application/json"}}, reader)
		if err != nil {
			t.Fatal(err)
		}
		sending.Wait()
		if a.Status != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", r.path, a.Status, a.Body)
		}
	}
	s.Must(token, http.MethodGet, "/api/v1/tiers/late?context=main", "", http.StatusNotFound)
	s.Must(token, http.MethodGet, "/api/v1/segments/late?context=main", "", http.StatusNotFound)
}

// TestAPITokenIsShownOnce: neither the store nor an export has an API token, and in
// another store an imported one does not work.
func TestAPITokenIsShownOnce(t *testing.T) { service.EachStore(t, testAPITokenIsShownOnce) }

func testAPITokenIsShownOnce(t *testing.T, fresh service.NewStore) {
	uri := fresh(t)
	p := process.Serve(t, uri)
	p.SignIn(service.Admin, process.Password)
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/roles/r?context=main", `{"name": "R", "scope": "NETWORK"}`)
	object, _ := p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/tokens/t?context=main", `{"name": "A name in plain text", "role": "r"}`).JSON().(map[string]any)
	api, _ := object["token"].(string)
	person := p.Token
	p.Token = api
	p.Ask(http.StatusOK, http.MethodGet, "/api/v1/networks/main", "")
	p.Token = person
	for _, path := range []string{"/api/v1/tokens?context=main", "/api/v1/tokens/t?context=main", "/api/v1/audit?context=main", "/api/v1/notifications?context=main"} {
		process.Shuns(t, string(p.Ask(http.StatusOK, http.MethodGet, path, "").Body), "mq_", service.APIHash(api))
	}
	p.Stop()
	process.Shuns(t, p.Stdout.String()+p.Stderr.String(), "mq_", service.APIHash(api))
	process.Wants(t, p.Stderr.String(), `"token":"t"`)
	kept := service.AtRest(t, uri)
	if bytes.Contains(kept, []byte(api)) || !bytes.Contains(kept, []byte(service.APIHash(api))) {
		t.Error("the store has the token, or lacks its hash")
	}
	exported := process.Run(t, nil, "export", "--store", uri, "--context", "main", "tokens")
	process.Wants(t, exported, "A name in plain text")
	process.Shuns(t, exported, "mq_", service.APIHash(api))
	// When the server stops, it stores the last use.
	p = process.Serve(t, uri)
	p.SignIn(service.Admin, process.Password)
	process.Wants(t, string(p.Ask(http.StatusOK, http.MethodGet, "/api/v1/tokens/t?context=main", "").Body), `"lastUsedTime":"`)
	p.Stop()
}

// TestServersShareAPITokens revokes and uses API tokens through one server, and asks
// another.
func TestServersShareAPITokens(t *testing.T) {
	t.Parallel()
	servers, token := service.NewServers(t, 2)
	here, there := servers[0], servers[1]
	there.Remembers()
	const main = "/api/v1/networks/main"
	for i := range 3 {
		id := fmt.Sprint("t", i)
		api := here.APIToken(token, id, "administrator")
		there.Must(api, http.MethodGet, main, "", http.StatusOK)
		there.Must(api, http.MethodGet, main, "", http.StatusOK)
		here.Must(token, http.MethodPut, "/api/v1/tokens/"+id+"?context=main", `{"objectState": "INACTIVE"}`, http.StatusOK)
		there.Within(api, http.MethodGet, main, "", http.StatusUnauthorized)
	}
}

// TestLastUses: all servers store when a token was last used, at most once in a minute,
// and the tokens themselves stay as they are.
func TestLastUses(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	servers, token := service.NewServers(t, 2)
	apis := make([]string, 5)
	for i := range apis {
		apis[i] = servers[0].APIToken(token, fmt.Sprint("t", i), "administrator")
	}
	etag := servers[0].Ask(token, http.MethodGet, "/api/v1/tokens/t0?context=main", "", nil).Header.Get("ETag")
	at := servers[0].Clock.Now()
	for _, step := range []struct{ after, want time.Duration }{
		{0, 0}, {59 * time.Second, 0}, {time.Minute, time.Minute}, {5 * time.Minute, 5 * time.Minute},
	} {
		servers[0].Clock.Stop(at.Add(step.after))
		var using sync.WaitGroup
		for _, s := range servers {
			using.Go(func() {
				for _, api := range apis {
					s.Must(api, http.MethodGet, "/api/v1/networks/main", "", http.StatusOK)
				}
				if err := s.Marquee.Auth().Maintain(t.Context(), slog.New(slog.DiscardHandler)); err != nil {
					t.Error(err)
				}
			})
		}
		using.Wait()
		for i := range apis {
			a := servers[1].Ask(token, http.MethodGet, fmt.Sprintf("/api/v1/tokens/t%d?context=main", i), "", nil)
			object, _ := a.JSON().(map[string]any)
			if want := document.FormatTime(at.Add(step.want)); object["lastUsedTime"] != want {
				t.Errorf("after %v, the last use of token %d was at %v, not %s", step.after, i, object["lastUsedTime"], want)
			}
		}
	}
	if a := servers[0].Ask(token, http.MethodPut, "/api/v1/tokens/t0?context=main", `{"name": "N"}`, http.Header{"If-Match": {etag}}); a.Status != http.StatusOK {
		t.Errorf("a use has changed the version of a token: %d %s", a.Status, a.Body)
	}
}
