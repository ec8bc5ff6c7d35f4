package integration

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestOperatorManagesTokens: the commands for API tokens work beside a server and
// without one. A token belongs to a user, who must hold what it grants.
func TestOperatorManagesTokens(t *testing.T) { eachStore(t, testOperatorManagesTokens) }

func testOperatorManagesTokens(t *testing.T, fresh newStore) {
	uri := fresh(t)
	run := func(args ...string) string { return procRun(t, nil, append(args, "--store", uri)...) }
	fails := func(args ...string) string { return procFails(t, nil, append(args, "--store", uri)...) }
	add := func(name string, more ...string) (made struct{ ID, Token, ExpiryTime string }) {
		t.Helper()
		out := run(append([]string{"token", "add", name, "--user", "ADMIN", "--role", "Administrator", "--json"}, more...)...)
		if err := json.Unmarshal([]byte(out[strings.Index(out, "{"):]), &made); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return made
	}
	p := procServe(t, uri)
	p.signIn(admin, procPassword)
	administrator := p.token
	answers := func(token string) int {
		p.token = token
		defer func() { p.token = administrator }()
		a, err := p.send(http.MethodGet, "/api/v1/networks/main", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return a.status
	}
	first := add("Nightly backup", "--days", "3")
	if status := answers(first.Token); status != http.StatusOK {
		t.Errorf("the token is answered with %d", status)
	}
	listed := run("token", "list")
	procWants(t, listed, "Nightly backup", "ACTIVE", first.ID, "Administrator", "admin", first.ExpiryTime)
	procShuns(t, listed+run("token", "list", "--json"), first.Token)
	history := string(p.ask(http.StatusOK, http.MethodGet, "/api/v1/audit?context=main&type=tokens&id="+first.ID, "").body)
	procWants(t, history, `"code":"audit.cause.operator"`, `"name":"admin"`)
	procShuns(t, history, first.Token)

	p.ask(http.StatusCreated, http.MethodPost, "/api/v1/roles/reader?context=main", `{"name": "Reader", "permissions": []}`)
	procWants(t, fails("user", "add", "kari", "--no-password"), "--role is missing")
	run("user", "add", "kari", "--no-password", "--role", "Reader")
	fails("token", "add", "x", "--user", "kari", "--role", "Administrator")
	procWants(t, fails("token", "add", "x", "--user", "nobody", "--role", "Administrator"), `there is no user "nobody"`)
	procWants(t, fails("token", "add", "x", "--user", "admin", "--role", "Nothing"), `there is no role "Nothing"`)
	procWants(t, fails("token", "add", "x", "--user", "admin", "--role", "Administrator", "--days", "367"), "366")
	procWants(t, fails("token", "add", "x", "--user", "admin", "--role", "Administrator", "--days", "0"), "at least 1")
	procWants(t, fails("token", "revoke", "nothing"), `there is no token with the id "nothing"`)

	procWants(t, run("token", "revoke", first.ID), "Revoked the token "+first.ID)
	p.eventually("the revoked token works", func() bool { return answers(first.Token) == http.StatusUnauthorized })
	// Over TCP, nobody acts for a user by naming one.
	p.token = ""
	a, err := p.send(http.MethodGet, "/api/v1/users", http.Header{"Marquee-User": {"admin"}}, nil)
	if err != nil || a.status != http.StatusUnauthorized {
		t.Errorf("a request without a token is answered with %v %v", a, err)
	}
	p.stop()
	procShuns(t, p.stdout.String()+p.stderr.String(), first.Token)

	second := add("Pipeline")
	p = procServe(t, uri)
	if status := answers(second.Token); status != http.StatusOK {
		t.Errorf("the token that was made while nothing was served is answered with %d", status)
	}
	p.stop()
	procWants(t, run("token", "list"), "Nightly backup", "INACTIVE", "Pipeline")
}
