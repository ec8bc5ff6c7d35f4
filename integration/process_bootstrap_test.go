package integration

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

var procMade = regexp.MustCompile(`The password is (\S+) `)

// madePassword is the password that the program says it has made.
func (p *proc) madePassword() string {
	p.tb.Helper()
	found := procMade.FindStringSubmatch(p.stdout.await(p.tb, 0, procMade.MatchString))
	if found == nil || len(found[1]) < 20 {
		p.tb.Fatalf("no good password in:\n%s", p.stdout)
	}
	return found[1]
}

// TestBootstrapFromEnvironment: an empty store gets its first network and user
// from the environment.
func TestBootstrapFromEnvironment(t *testing.T) { eachStore(t, testBootstrapFromEnvironment) }

func testBootstrapFromEnvironment(t *testing.T, fresh newStore) {
	const network, user = "north & south", "kari.o'hara@example.com"
	store := fresh(t)
	env := []string{"MARQUEE_BOOTSTRAP_NETWORK=" + network, "MARQUEE_BOOTSTRAP_USERNAME=" + user, "MARQUEE_BOOTSTRAP_PASSWORD=" + procPassword}
	p := procServeWith(t, store, env)
	p.signIn(user, procPassword)
	a := p.ask(http.StatusOK, http.MethodGet, "/api/v1/networks", "")
	var list struct{ Results []struct{ ID, Name string } }
	if err := json.Unmarshal(a.body, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Results) != 1 || list.Results[0].ID != network || list.Results[0].Name != network {
		t.Errorf("the networks are %s", a.body)
	}
	p.ask(http.StatusCreated, http.MethodPost, "/api/v1/advertisers/a?context=north+%26+south", `{"name": "A"}`)
	p.ask(http.StatusForbidden, http.MethodGet, "/api/v1/advertisers?context=main", "")
	p.stop()
	procShuns(t, p.stdout.String()+p.stderr.String(), procPassword)

	// What the environment says later changes nothing.
	p = procServeWith(t, store, []string{"MARQUEE_BOOTSTRAP_NETWORK=other", "MARQUEE_BOOTSTRAP_PASSWORD=another password"})
	p.signIn(user, procPassword)
	for _, wrong := range [][2]string{{"admin", "another password"}, {user, "another password"}} {
		if a, err := p.authenticate(wrong[0], wrong[1]); err != nil || a.status != http.StatusBadRequest {
			t.Errorf("%v can sign in: %v %v", wrong, err, a)
		}
	}
	p.stop()
	if p.stdout.String() != "" {
		t.Errorf("the second start prints %s", p.stdout)
	}
}

// TestBootstrapMakesPassword: without a password, a random one is made and
// printed once.
func TestBootstrapMakesPassword(t *testing.T) { eachStore(t, testBootstrapMakesPassword) }

func testBootstrapMakesPassword(t *testing.T, fresh newStore) {
	store := fresh(t)
	p := procServeWith(t, store, nil)
	password := p.madePassword()
	p.signIn("admin", password)
	p.ask(http.StatusCreated, http.MethodPost, "/api/v1/notes/a?context=main", `{"text": "A"}`)
	p.stop()
	if n := strings.Count(p.stdout.String()+p.stderr.String(), password); n != 1 {
		t.Errorf("the password is printed %d times:\n%s%s", n, p.stdout, p.stderr)
	}
	for _, args := range [][]string{nil, {"--demo"}} {
		q := procServeWith(t, store, nil, args...)
		q.signIn("admin", password)
		q.stop()
		procShuns(t, q.stdout.String()+q.stderr.String(), password, "The password is")
	}
	// Each store has its own.
	other := procServeWith(t, fresh(t), nil)
	if other.madePassword() == password {
		t.Error("two stores have the same password")
	}
	other.stop()
}

// TestInit makes the first user, and refuses a store that has users.
func TestInit(t *testing.T) { eachStore(t, testInit) }

func testInit(t *testing.T, fresh newStore) {
	store := fresh(t)
	first := procLaunch(t, procCommand(t, nil, "init", "--store", store, "--bootstrap-network", "first", "--bootstrap-username", "ola"))
	first.ends(0)
	out, password := first.stdout.String()+first.stderr.String(), first.madePassword()
	procWants(t, out, `"first"`, `"ola"`)
	if strings.Count(out, password) != 1 {
		t.Errorf("the password is printed more than once:\n%s", out)
	}
	refused := procFails(t, nil, "init", "--store", store, "--bootstrap-username", "per")
	procWants(t, refused, "not empty")
	procShuns(t, refused, "The password is", password)

	p := procServe(t, store)
	p.signIn("ola", password)
	p.ask(http.StatusCreated, http.MethodPost, "/api/v1/notes/a?context=first", `{"text": "A"}`)
	if a, err := p.authenticate("per", procPassword); err != nil || a.status != http.StatusBadRequest {
		t.Errorf("the refused init made a user: %v %v", err, a)
	}
	p.stop()
	if p.stdout.String() != "" {
		t.Errorf("serve prints %s", p.stdout)
	}
}

// TestBootstrapRefuses: a refusal names the mistake, and nothing is created.
func TestBootstrapRefuses(t *testing.T) { eachStore(t, testBootstrapRefuses) }

func testBootstrapRefuses(t *testing.T, fresh newStore) {
	store := fresh(t)
	for _, wrong := range [][]string{
		{"MARQUEE_BOOTSTRAP_PASSWORD=short"},
		{"MARQUEE_BOOTSTRAP_NETWORK=a\tb", "MARQUEE_BOOTSTRAP_PASSWORD=" + procPassword},
	} {
		out := procFails(t, wrong, "serve", "--addr", "127.0.0.1:0", "--store", store)
		procWants(t, out, "the first network and user cannot be made")
		procShuns(t, out, "=short", procPassword)
	}
	p := procServe(t, store) // still empty
	p.signIn("admin", procPassword)
	p.stop()
}

// TestDemo: the greeting names the address, the network and the user, and its commands work.
func TestDemo(t *testing.T) { eachStore(t, testDemo) }

func testDemo(t *testing.T, fresh newStore) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl")
	}
	store, made := fresh(t), ""
	for _, c := range []struct {
		name, store string
		env         []string
	}{
		{"made password", store, nil},
		{"second start", store, nil},
		{"given password", fresh(t), []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + procPassword,
			"MARQUEE_BOOTSTRAP_NETWORK=a'b & c", "MARQUEE_BOOTSTRAP_USERNAME=o'hara&$(sons)"}},
	} {
		p := procServeWith(t, c.store, c.env, "--demo")
		p.stdout.await(t, 0, func(line string) bool { return strings.Contains(line, "pageSize=2") })
		out := p.stdout.String()
		_, commands, found := strings.Cut(out, "who changed what.\n")
		if !found {
			t.Fatal(out)
		}
		commands, _, _ = strings.Cut(commands, "\n\n") // what to do about a lost password is TestLostPassword's
		procWants(t, out, "URL       "+p.url, "network ", "user ")
		procShuns(t, out+p.stderr.String(), procPassword)
		env := c.env
		if c.name == "made password" {
			made = p.madePassword()
			procShuns(t, p.stderr.String(), made)
		}
		if did := strings.Contains(out, "The store is not empty, so --demo adds nothing to it."); did != (c.name == "second start") {
			t.Errorf("%s: it prints\n%s", c.name, out)
		}
		if c.name == "second start" {
			procShuns(t, out, made)
		}
		if c.name == "second start" {
			if out, err := procShell(t, commands); err == nil || !strings.Contains(err.Error(), "MARQUEE_BOOTSTRAP_PASSWORD") {
				t.Errorf("without the password the commands say %s %v", out, err)
			}
			env = []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + made}
		}
		printed, err := procShell(t, commands, env...)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		// A problem, articles, and the history.
		var answers [3]struct {
			Status   int
			Messages []struct{ Code string }
			Results  []struct{ ID, Title, Code string }
		}
		decoder := json.NewDecoder(strings.NewReader(printed))
		for i := range answers {
			if err := decoder.Decode(&answers[i]); err != nil {
				t.Fatalf("%s: the commands print %s, %v\n%s", c.name, printed, err, commands)
			}
		}
		refused, articles, changes := answers[0], answers[1].Results, answers[2].Results
		if refused.Status != http.StatusUnprocessableEntity || len(refused.Messages) != 3 ||
			len(articles) == 0 || articles[0].ID != "ferry-delays" || len(changes) != 2 || !strings.HasPrefix(changes[0].Code, "audit.") {
			t.Errorf("%s: the commands print %s\n%s", c.name, printed, commands)
		}
		p.stop()
	}
}
