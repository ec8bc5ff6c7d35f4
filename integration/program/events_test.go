package program

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"marquee/engine/event"
	"marquee/integration/process"
	"marquee/integration/service"
)

// happened waits for the line of an event.
func happened(t *testing.T, p *process.Process, from int, e event.Event) map[string]any {
	t.Helper()
	return service.Entry(p.Stderr.Await(t, from, func(line string) bool { return strings.Contains(line, `"event":"`+string(e)+`"`) }))
}

// TestEventsAreDocumented: the documents list all events, and no other.
func TestEventsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/how-to/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "### Security events")
	section, _, _ = strings.Cut(section, "###")
	var documented []event.Event
	for _, row := range regexp.MustCompile("(?m)^\\| (`[a-z-]+`(?:, `[a-z-]+`)*) \\|").FindAllStringSubmatch(section, -1) {
		for _, name := range strings.Split(row[1], ", ") {
			if name := strings.Trim(name, "`"); name != "event" {
				documented = append(documented, event.Event(name))
			}
		}
	}
	if !slices.Equal(documented, event.All) {
		t.Errorf("documented are %v, and there are %v", documented, event.All)
	}
}

// TestEvents: what concerns security has a line with the name of the event, and without
// secrets.
func TestEvents(t *testing.T) { service.EachStore(t, testEvents) }

func testEvents(t *testing.T, fresh service.NewStore) {
	p := process.Serve(t, fresh(t), "--max-sessions", "2")
	from := p.Stderr.Mark()
	p.SignIn("admin", process.Password)
	user := happened(t, p, from, event.SignIn)["user"]
	if id, _ := user.(string); id == "" {
		t.Errorf("the user is %v", user)
	}
	if a, err := p.Authenticate("admin", "a wrong password"); err != nil || a.Status != http.StatusBadRequest {
		t.Fatal(a, err)
	}
	if line := happened(t, p, from, event.SignInRefused); line["username"] != "admin" || line["client"] != "127.0.0.1" || line["requestId"] == nil {
		t.Errorf("%v", line)
	}

	role := p.Ask(http.StatusOK, http.MethodGet, "/api/v1/roles?context=main", "")
	var roles struct{ Results []struct{ ID string } }
	if err := json.Unmarshal(role.Body, &roles); err != nil {
		t.Fatal(err)
	}
	create := fmt.Sprintf(`{"name": "T", "role": %q}`, roles.Results[0].ID)
	p.Ask(http.StatusOK, http.MethodPost, "/api/v1/tokens/dry?context=main&validateOnly=true", create)
	var tokens []string
	for _, id := range []string{"one", "two"} {
		var made struct{ Token string }
		if err := json.Unmarshal(p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/tokens/"+id+"?context=main", create).Body, &made); err != nil || made.Token == "" {
			t.Fatal(err, made)
		}
		tokens = append(tokens, made.Token)
	}
	if line := happened(t, p, from, event.TokenCreated); line["token"] != "one" || line["user"] != user {
		t.Errorf("%v", line)
	}
	p.Ask(http.StatusOK, http.MethodPatch, "/api/v1/tokens/one?context=main", `{"objectState": "INACTIVE"}`)
	if line := happened(t, p, from, event.TokenRevoked); line["token"] != "one" || line["user"] != user {
		t.Errorf("%v", line)
	}
	from = p.Stderr.Mark()
	p.Ask(http.StatusOK, http.MethodPost, "/api/authenticate/revoke", `{"token": "`+tokens[1]+`"}`)
	if line := happened(t, p, from, event.TokenRevoked); line["token"] != "two" {
		t.Errorf("%v", line)
	}

	p.Ask(http.StatusOK, http.MethodPost, "/api/authenticate/revoke", `{"token": "not a token"}`)
	ended := p.Token
	p.Ask(http.StatusOK, http.MethodPost, "/api/authenticate/revoke", `{"token": "`+ended+`"}`)
	if line := happened(t, p, from, event.SessionEnded); line["user"] != user {
		t.Errorf("%v", line)
	}
	p.Token = ""
	p.SignIn("admin", process.Password)
	from = p.Stderr.Mark()
	p.Ask(http.StatusNoContent, http.MethodPost, fmt.Sprintf("/api/v1/users/%s/logout", user), "")
	if line := happened(t, p, from, event.SessionEnded); line["user"] != user {
		t.Errorf("%v", line)
	}

	p.Token = ""
	from = p.Stderr.Mark()
	for range 3 { // one more than the maximum
		p.SignIn("admin", process.Password)
	}
	if line := happened(t, p, from, event.SessionEnded); line["user"] != user || line["sessions"] != 1.0 {
		t.Errorf("%v", line)
	}
	from = p.Stderr.Mark()
	change := fmt.Sprintf(`{"password": "another long password", "currentPassword": %q}`, process.Password)
	p.Ask(http.StatusOK, http.MethodPatch, fmt.Sprintf("/api/v1/users/%s?context=main", user), change)
	if line := happened(t, p, from, event.SessionEnded); line["user"] != user {
		t.Errorf("%v", line)
	}
	p.Stop()
	log := p.Stderr.String()
	process.Shuns(t, log, append(tokens, ended, "a wrong password", "another long password", process.Password, `"token":"dry"`)...)
	if n := strings.Count(log, `"event":"session-ended"`); n != 4 {
		t.Errorf("%d sessions were ended", n)
	}
}

// TestOperatorEvents: commands that change something, and keys that are rotated, have lines, as
// has an export with secrets.
func TestOperatorEvents(t *testing.T) {
	t.Parallel()
	store := service.NewSQLite(t)
	p := process.Serve(t, store)
	process.Run(t, nil, "user", "list", "--store", store)
	process.Run(t, nil, "key", "rotate", "--store", store)
	happened(t, p, 0, event.SigningKeyRotated)
	if line := happened(t, p, 0, event.OperatorCommand); line["path"] != "/operator/keys/rotate" || line["user"] != "operator" {
		t.Errorf("%v", line)
	}
	process.Run(t, nil, "secrets", "rotate", "--store", store)
	if line := happened(t, p, 0, event.SecretKeyRotated); line["key"] == nil {
		t.Errorf("%v", line)
	}
	p.Stop()
	if n := strings.Count(p.Stderr.String(), `"event":"operator-command"`); n != 1 {
		t.Errorf("%d commands of the operator", n)
	}
	export := []string{"export", "--all-networks", "--store", store}
	process.Shuns(t, process.Run(t, nil, export...), "event=")
	exporting := process.Launch(t, process.Command(t, nil, append(export, "--secrets", "--quiet")...))
	exporting.Ends(0)
	process.Wants(t, exporting.Stderr.String(), "event="+string(event.SecretsExported))
}
