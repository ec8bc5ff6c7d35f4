package program

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestBootstrapFromEnvironment: an empty store gets its first network and user
// from the environment.
func TestBootstrapFromEnvironment(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testBootstrapFromEnvironment)
}

func testBootstrapFromEnvironment(t *testing.T, fresh service.NewStore) {
	const network, user = "north & south", "kari.o'hara@example.com"
	store := fresh(t)
	env := []string{"MARQUEE_BOOTSTRAP_NETWORK=" + network, "MARQUEE_BOOTSTRAP_USERNAME=" + user, "MARQUEE_BOOTSTRAP_PASSWORD=" + process.Password}
	p := process.ServeWith(t, store, env)
	p.SignIn(user, process.Password)
	a := p.Ask(http.StatusOK, http.MethodGet, "/api/v1/networks", "")
	var list struct{ Results []struct{ ID, Name string } }
	if err := json.Unmarshal(a.Body, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Results) != 1 || list.Results[0].ID != network || list.Results[0].Name != network {
		t.Errorf("the networks are %s", a.Body)
	}
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/advertisers/a?context=north+%26+south", `{"name": "A"}`)
	p.Ask(http.StatusForbidden, http.MethodGet, "/api/v1/advertisers?context=main", "")
	p.Stop()
	process.Shuns(t, p.Stdout.String()+p.Stderr.String(), process.Password)

	// What the environment says later changes nothing.
	p = process.ServeWith(t, store, []string{"MARQUEE_BOOTSTRAP_NETWORK=other", "MARQUEE_BOOTSTRAP_PASSWORD=another password"})
	p.SignIn(user, process.Password)
	for _, wrong := range [][2]string{{"admin", "another password"}, {user, "another password"}} {
		if a, err := p.Authenticate(wrong[0], wrong[1]); err != nil || a.Status != http.StatusBadRequest {
			t.Errorf("%v can sign in: %v %v", wrong, err, a)
		}
	}
	p.Stop()
	if p.Stdout.String() != "" {
		t.Errorf("the second start prints %s", p.Stdout)
	}
}

// TestBootstrapMakesPassword: without a password, a random one is made and
// printed once.
func TestBootstrapMakesPassword(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testBootstrapMakesPassword)
}

func testBootstrapMakesPassword(t *testing.T, fresh service.NewStore) {
	store := fresh(t)
	p := process.ServeWith(t, store, nil)
	password := p.MadePassword()
	p.SignIn("admin", password)
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/notes/a?context=main", `{"text": "A"}`)
	p.Stop()
	if n := strings.Count(p.Stdout.String()+p.Stderr.String(), password); n != 1 {
		t.Errorf("the password is printed %d times:\n%s%s", n, p.Stdout, p.Stderr)
	}
	for _, args := range [][]string{nil, {"--demo"}} {
		q := process.ServeWith(t, store, nil, args...)
		q.SignIn("admin", password)
		q.Stop()
		process.Shuns(t, q.Stdout.String()+q.Stderr.String(), password, "The password is")
	}
	// Each store has its own.
	other := process.ServeWith(t, fresh(t), nil)
	if other.MadePassword() == password {
		t.Error("two stores have the same password")
	}
	other.Stop()
}

// TestInit makes the first user, and refuses a store that has users.
func TestInit(t *testing.T) { service.EachStore(t, testInit) }

func testInit(t *testing.T, fresh service.NewStore) {
	store := fresh(t)
	first := process.Launch(t, process.Command(t, nil, "init", "--store", store, "--bootstrap-network", "first", "--bootstrap-username", "ola"))
	first.Ends(0)
	out, password := first.Stdout.String()+first.Stderr.String(), first.MadePassword()
	process.Wants(t, out, `"first"`, `"ola"`)
	if strings.Count(out, password) != 1 {
		t.Errorf("the password is printed more than once:\n%s", out)
	}
	refused := process.Fails(t, nil, "init", "--store", store, "--bootstrap-username", "per")
	process.Wants(t, refused, "not empty")
	process.Shuns(t, refused, "The password is", password)

	p := process.Serve(t, store)
	p.SignIn("ola", password)
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/notes/a?context=first", `{"text": "A"}`)
	if a, err := p.Authenticate("per", process.Password); err != nil || a.Status != http.StatusBadRequest {
		t.Errorf("the refused init made a user: %v %v", err, a)
	}
	p.Stop()
	if p.Stdout.String() != "" {
		t.Errorf("serve prints %s", p.Stdout)
	}
}

// TestBootstrapRefuses: a refusal names the mistake, and nothing is created.
func TestBootstrapRefuses(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testBootstrapRefuses)
}

func testBootstrapRefuses(t *testing.T, fresh service.NewStore) {
	store := fresh(t)
	for _, wrong := range [][]string{
		{"MARQUEE_BOOTSTRAP_PASSWORD=short"},
		{"MARQUEE_BOOTSTRAP_NETWORK=a\tb", "MARQUEE_BOOTSTRAP_PASSWORD=" + process.Password},
	} {
		out := process.Fails(t, wrong, "serve", "--addr", "127.0.0.1:0", "--store", store)
		process.Wants(t, out, "the first network and user cannot be made")
		process.Shuns(t, out, "=short", process.Password)
	}
	p := process.Serve(t, store) // still empty
	p.SignIn("admin", process.Password)
	p.Stop()
}

// TestDemo: the greeting names the address, the network and the user, and its commands work.
func TestDemo(t *testing.T) { service.EachStore(t, testDemo) }

func testDemo(t *testing.T, fresh service.NewStore) {
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
		{"given password", fresh(t), []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + process.Password,
			"MARQUEE_BOOTSTRAP_NETWORK=a'b & c", "MARQUEE_BOOTSTRAP_USERNAME=o'hara&$(sons)"}},
	} {
		p := process.ServeWith(t, c.store, c.env, "--demo")
		p.Stdout.Await(t, 0, func(line string) bool { return strings.Contains(line, "pageSize=2") })
		out := p.Stdout.String()
		_, commands, found := strings.Cut(out, "who changed what.\n")
		if !found {
			t.Fatal(out)
		}
		commands, _, _ = strings.Cut(commands, "\n\n") // what to do about a lost password is TestLostPassword's
		process.Wants(t, out, "URL       "+p.URL, "console   "+p.URL+"/console/", "network ", "user ")
		process.Shuns(t, out+p.Stderr.String(), process.Password)
		env := c.env
		if c.name == "made password" {
			made = p.MadePassword()
			process.Shuns(t, p.Stderr.String(), made)
		}
		if did := strings.Contains(out, "The store is not empty, so --demo adds nothing to it."); did != (c.name == "second start") {
			t.Errorf("%s: it prints\n%s", c.name, out)
		}
		if c.name == "second start" {
			process.Shuns(t, out, made)
		}
		if c.name == "second start" {
			if out, err := process.Shell(t, commands); err == nil || !strings.Contains(err.Error(), "MARQUEE_BOOTSTRAP_PASSWORD") {
				t.Errorf("without the password the commands say %s %v", out, err)
			}
			env = []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + made}
		}
		printed, err := process.Shell(t, commands, env...)
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
		p.Stop()
	}
}
