package program

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestOperatorManagesTokens: the commands for API tokens work beside a server and
// without one. A token belongs to a user, who must hold what it grants.
func TestOperatorManagesTokens(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testOperatorManagesTokens)
}

func testOperatorManagesTokens(t *testing.T, fresh service.NewStore) {
	uri := fresh(t)
	run := func(args ...string) string { return process.Run(t, nil, append(args, "--store", uri)...) }
	fails := func(args ...string) string { return process.Fails(t, nil, append(args, "--store", uri)...) }
	add := func(name string, more ...string) (made struct{ ID, Token, ExpiryTime string }) {
		t.Helper()
		out := run(append([]string{"token", "add", name, "--user", "ADMIN", "--role", "Administrator", "--json"}, more...)...)
		if err := json.Unmarshal([]byte(out[strings.Index(out, "{"):]), &made); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return made
	}
	p := process.Serve(t, uri)
	p.SignIn(service.Admin, process.Password)
	administrator := p.Token
	answers := func(token string) int {
		p.Token = token
		defer func() { p.Token = administrator }()
		a, err := p.Send(http.MethodGet, "/api/v1/networks/main", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return a.Status
	}
	first := add("Nightly backup", "--days", "3")
	if status := answers(first.Token); status != http.StatusOK {
		t.Errorf("the token is answered with %d", status)
	}
	listed := run("token", "list")
	process.Wants(t, listed, "Nightly backup", "ACTIVE", first.ID, "Administrator", "admin", first.ExpiryTime)
	process.Shuns(t, listed+run("token", "list", "--json"), first.Token)
	history := string(p.Ask(http.StatusOK, http.MethodGet, "/api/v1/audit?context=main&type=tokens&id="+first.ID, "").Body)
	process.Wants(t, history, `"code":"audit.cause.operator"`, `"name":"admin"`)
	process.Shuns(t, history, first.Token)

	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/roles/reader?context=main", `{"name": "Reader", "permissions": []}`)
	process.Wants(t, fails("user", "add", "kari", "--no-password"), "--role is missing")
	run("user", "add", "kari", "--no-password", "--role", "Reader")
	fails("token", "add", "x", "--user", "kari", "--role", "Administrator")
	process.Wants(t, fails("token", "add", "x", "--user", "nobody", "--role", "Administrator"), `there is no user "nobody"`)
	process.Wants(t, fails("token", "add", "x", "--user", "admin", "--role", "Nothing"), `there is no role "Nothing"`)
	process.Wants(t, fails("token", "add", "x", "--user", "admin", "--role", "Administrator", "--days", "367"), "366")
	process.Wants(t, fails("token", "add", "x", "--user", "admin", "--role", "Administrator", "--days", "0"), "at least 1")
	process.Wants(t, fails("token", "revoke", "nothing"), `there is no token with the id "nothing"`)

	process.Wants(t, run("token", "revoke", first.ID), "Revoked the token "+first.ID)
	p.Eventually("the revoked token works", func() bool { return answers(first.Token) == http.StatusUnauthorized })
	// Over TCP, nobody acts for a user by naming one.
	p.Token = ""
	a, err := p.Send(http.MethodGet, "/api/v1/users", http.Header{"Marquee-User": {"admin"}}, nil)
	if err != nil || a.Status != http.StatusUnauthorized {
		t.Errorf("a request without a token is answered with %v %v", a, err)
	}
	p.Stop()
	process.Shuns(t, p.Stdout.String()+p.Stderr.String(), first.Token)

	second := add("Pipeline")
	p = process.Serve(t, uri)
	if status := answers(second.Token); status != http.StatusOK {
		t.Errorf("the token that was made while nothing was served is answered with %d", status)
	}
	p.Stop()
	process.Wants(t, run("token", "list"), "Nightly backup", "INACTIVE", "Pipeline")
}
