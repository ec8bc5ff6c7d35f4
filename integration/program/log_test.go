package program

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestRequestIDs: each request has one line in the log, and every line and
// the answer have its id.
func TestRequestIDs(t *testing.T) { service.EachStore(t, testRequestIDs) }

func testRequestIDs(t *testing.T, fresh service.NewStore) {
	p := process.Serve(t, fresh(t))
	p.SignIn("admin", process.Password)
	plain := regexp.MustCompile(`^[a-z0-9]{16}$`)
	ids := map[string]string{}
	for i, r := range []struct{ method, path, body, id, kept string }{
		{"GET", "/healthz", "", "", ""},
		{"GET", "/readyz", "", "", ""},
		{"GET", "/nowhere", "", "", ""},
		{"GET", "/api/v1/orders?context=main", "", "client-1.a_B", "client-1.a_B"},
		{"GET", "/api/v1/orders/none?context=main", "", strings.Repeat("x", 65), ""},
		{"GET", "/api/v1/orders?context=main&page=x", "", `a" b`, ""},
		{"POST", "/api/v1/orders/o?context=main", `{"name": "O"}`, "", ""},
		{"POST", "/api/v1/orders/o?context=main", `{"name": `, "", ""},
		{"POST", "/api/v1/orders/o?context=main", `{"name": 1}`, "", ""},
		{"PATCH", "/api/v1/orders/o?context=main", `{}`, "", ""},
		{"POST", "/api/authenticate", `grant_type=password`, "", ""},
		{"GET", "/.well-known/jwks.json", "", "", ""},
	} {
		header := http.Header{}
		if r.id != "" {
			header.Set("X-Request-Id", r.id)
		}
		a, err := p.Send(r.method, r.path, header, []byte(r.body))
		if err != nil {
			t.Fatal(err)
		}
		id := a.Header.Get("X-Request-Id")
		if r.kept != "" && id != r.kept || r.kept == "" && !plain.MatchString(id) {
			t.Errorf("%s %s is called %q", r.method, r.path, id)
		}
		if other, twice := ids[id]; twice {
			t.Errorf("%s and %s are both called %s", other, r.path, id)
		}
		path, _, _ := strings.Cut(r.path, "?")
		ids[id] = fmt.Sprintf("%d %s %s %d", i, r.method, path, a.Status)
	}
	p.Stop()
	lines := map[string]int{}
	for line := range strings.Lines(p.Stderr.String()) {
		entry := service.Entry(line)
		if entry == nil {
			t.Errorf("this line is no JSON: %s", line)
			continue
		}
		id, _ := entry["requestId"].(string)
		if id == "" && !slices.Contains([]any{"starting", "serving a set of schemas", "listening", "shutting down", "stopped"}, entry["msg"]) {
			t.Errorf("whose is this line? %s", line)
		}
		if want, ours := ids[id]; ours && entry["msg"] == "request" {
			lines[id]++
			if got := fmt.Sprintf("%s %s %v", entry["method"], entry["path"], entry["status"]); !strings.HasSuffix(want, " "+got) {
				t.Errorf("%s is logged as %s", want, got)
			}
		}
	}
	for id, what := range ids {
		if lines[id] != 1 {
			t.Errorf("%s has %d lines in the log", what, lines[id])
		}
	}
}

// TestNothingSecretIsPrinted goes through all that takes a secret, in forms
// that succeed and that fail, and looks for them in what the process printed.
func TestNothingSecretIsPrinted(t *testing.T) { service.EachStore(t, testNothingSecretIsPrinted) }

func testNothingSecretIsPrinted(t *testing.T, fresh service.NewStore) {
	for _, format := range []string{"json", "text"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			store := fresh(t)
			p := process.Launch(t, process.Command(t, []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + process.Password}, "serve", "--demo",
				"--addr", "127.0.0.1:0", "--store", store, "--log-format", format, "--log-level", "debug", "--schemas", t.TempDir()))
			if format == "json" {
				p.Listens()
			} else {
				line := p.Stderr.Await(t, 0, func(line string) bool { return strings.Contains(line, "msg=listening") })
				_, after, _ := strings.Cut(line, "url=")
				p.URL, _, _ = strings.Cut(after, " ")
			}
			secrets := procSession(t, p)
			p.Stop()
			key := process.Key
			if path, ok := strings.CutPrefix(store, "sqlite:"); ok {
				content, err := os.ReadFile(filepath.Join(filepath.Dir(path), "marquee.key"))
				if err != nil {
					t.Fatal(err)
				}
				key = strings.TrimSpace(string(content))
			}
			secrets = append(secrets, key, store, process.Password, url.QueryEscape(process.Password), "auth_token", "argon2", "eyJ")
			process.Shuns(t, p.Stdout.String()+p.Stderr.String(), secrets...)
			process.Shuns(t, p.Stderr.String(), "Bearer")
		})
	}
}

// procSession uses every form of every secret, and returns them.
func procSession(t *testing.T, p *process.Process) (secrets []string) {
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	send := func(status int, method, path string, header http.Header, body string) *service.Answer {
		t.Helper()
		a, err := p.Send(method, path, header, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if a.Status != status {
			t.Errorf("%s %s %s: %d instead of %d: %s", method, path, body, a.Status, status, a.Body)
		}
		return a
	}
	secret := func(text string) string { secrets = append(secrets, text); return text }

	// Signing in.
	var tokens struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
	}
	body, err := json.Marshal(map[string]string{"grant_type": "password", "username": "admin", "password": process.Password})
	if err != nil {
		t.Fatal(err)
	}
	a := send(200, "POST", "/api/authenticate", nil, string(body))
	if err := json.Unmarshal(a.Body, &tokens); err != nil {
		t.Fatal(err)
	}
	token, first := secret(tokens.Access), secret(tokens.Refresh)
	a = send(200, "POST", "/api/authenticate", form, "grant_type=refresh_token&refresh_token="+first)
	if err := json.Unmarshal(a.Body, &tokens); err != nil {
		t.Fatal(err)
	}
	secret(tokens.Access)
	secret(tokens.Refresh)
	send(200, "POST", "/api/authenticate", form, "grant_type=refresh_token&refresh_token="+first)
	send(400, "POST", "/api/authenticate", form, "grant_type=refresh_token&refresh_token="+secret("refresh-made-up"))
	send(400, "POST", "/api/authenticate", form, "grant_type=password&username=admin&password="+secret("wrong-password-1"))
	send(400, "POST", "/api/authenticate", form, "grant_type=password&username=nobody&password="+secret("wrong-password-2"))
	send(400, "POST", "/api/authenticate", form, "grant_type=password&password="+secret("wrong-password-3"))
	send(400, "POST", "/api/authenticate", form, "grant_type=magic&username=a&password="+secret("wrong-password-4"))
	send(400, "POST", "/api/authenticate", form, "grant_type=password&password="+secret("wrong-password-5")+"&password=%zz")
	send(400, "POST", "/api/authenticate", nil, `{"grant_type": "password", "password": "`+secret("wrong-password-6"))
	send(400, "POST", "/api/authenticate", nil, `{"grant_type": "password", "password": ["`+secret("wrong-password-7")+`"]}`)
	send(415, "POST", "/api/authenticate", http.Header{"Content-Type": {"image/png"}}, secret("wrong-password-8"))

	// Tokens in the header and in the query, good and bad.
	bearer := func(text string) http.Header { return http.Header{"Authorization": {"Bearer " + text}} }
	list := "/api/v1/orders?context=main"
	send(200, "GET", list, bearer(token), "")
	send(200, "GET", list+"&auth_token="+token, nil, "")
	send(404, "GET", "/api/v1/orders/none?context=main&auth_token="+token, nil, "")
	send(404, "GET", "/api/v1/nowhere?auth_token="+token, nil, "")
	send(404, "GET", "/nowhere?auth_token="+token, nil, "")
	send(200, "GET", "/readyz?auth_token="+token, nil, "")
	send(400, "GET", list+"&page=x&auth_token="+token, nil, "")
	send(200, "GET", list+"&auth_token="+token, bearer(token), "")
	send(400, "GET", list+"&auth_token="+secret("made-up-token-2"), bearer(token), "")
	send(200, "GET", list+"&auth_token="+token+"&auth_token="+token, nil, "")
	send(400, "GET", list+"&auth_token="+token+"&auth_token="+secret("made-up-token-0"), nil, "")
	send(400, "GET", list+"&auth_token="+token+"%zz", nil, "")
	send(401, "GET", list+"&auth_token="+secret("made-up-token-1"), nil, "")
	send(401, "GET", list, bearer(secret("made-up-token-2")), "")
	send(401, "GET", list, bearer(token[:len(token)-5]), "")
	send(401, "GET", list, http.Header{"Authorization": {"Basic " + secret("YWRtaW46cGFzc3dvcmQ=")}}, "")
	// In the path, where none belongs, however it is escaped.
	for _, name := range []string{"auth_token", "AUTH_TOKEN", "auth%5Ftoken", "%2561uth%255ftoken", "%25zz;auth%5Ftoken"} {
		for _, path := range []string{"/api/v1/orders/x;", "/api/v1/orders;", "/api/v1/orders&", "/api/v1/nowhere/x/y%3F", "/nowhere;"} {
			for _, bearers := range []http.Header{bearer(token), nil} {
				a, err := p.Send("GET", path+name+"="+token+"?context=main", bearers, nil)
				if err != nil {
					t.Fatal(err)
				}
				if a.Status < 400 || a.Status > 404 {
					t.Errorf("%s%s: %d %s", path, name, a.Status, a.Body)
				}
				process.Shuns(t, fmt.Sprint(a.Header)+string(a.Body), token)
			}
		}
	}
	send(400, "GET", "/api/v1/orders/"+token+"?context=main", bearer(token), "")
	send(404, "GET", "/delivery/x/"+token, nil, "")

	// An API token.
	send(201, "POST", "/api/v1/roles/r?context=main", bearer(token), `{"name": "R", "scope": "NETWORK"}`)
	var made struct{ Token string }
	a = send(201, "POST", "/api/v1/tokens/t?context=main", bearer(token), `{"name": "T", "role": "r"}`)
	if err := json.Unmarshal(a.Body, &made); err != nil {
		t.Fatal(err)
	}
	api := secret(made.Token)
	secret(service.APIHash(api))
	send(200, "GET", list, bearer(api), "")
	send(401, "GET", list+"&auth_token="+api, nil, "")
	send(400, "GET", "/api/v1/orders/"+api+"?context=main", bearer(token), "")
	send(404, "GET", "/delivery/x/"+api, nil, "")
	send(404, "GET", "/nowhere/"+api, nil, "")
	send(401, "GET", list, bearer(secret(api[:len(api)-1])), "")
	send(400, "POST", "/api/authenticate", form, "grant_type=refresh_token&refresh_token="+api)
	send(200, "POST", "/api/authenticate/revoke", form, "token="+api)
	send(401, "GET", list, bearer(api), "")
	a = send(201, "POST", "/api/v1/orders/made?context=main&auth_token="+token, nil, `{"name": "O"}`)
	process.Shuns(t, fmt.Sprint(a.Header)+string(a.Body), token, "auth_token")

	// Passwords and secret properties in writes, good and bad.
	p.Token = token
	user := func(status int, password string) {
		t.Helper()
		send(status, "POST", "/api/v1/users/u?context=main", nil, fmt.Sprintf(`{"username": "u", "password": %s}`, password))
	}
	user(422, `"`+secret("pw-1")+`"`)
	user(422, `["`+secret("password-in-an-array")+`"]`)
	user(201, `"`+secret("password-of-u-4417")+`"`)
	user(400, `"`+secret("password-of-u-cut"))
	send(422, "POST", "/api/v1/users/v?context=main&fieldValidation=Strict", nil, `{"username": "v", "pasword": "`+secret("password-misspelt")+`"}`)
	own := send(200, "GET", "/api/v1/users?context=main&filterBy=username&filterByValue=admin&fields=id", nil, "")
	var admins struct{ Results []struct{ ID string } }
	if err := json.Unmarshal(own.Body, &admins); err != nil || len(admins.Results) != 1 {
		t.Fatalf("%s %v", own.Body, err)
	}
	send(422, "POST", "/api/v1/users/"+admins.Results[0].ID, nil,
		`{"password": "`+secret("new-password-4417")+`", "currentPassword": "`+secret("guessed-password")+`"}`)
	connection := func(status int, more string) {
		t.Helper()
		send(status, "POST", "/api/v1/contextserviceconnections/c?context=main", nil, `{"name": "C", "contextService": "X", "username": "u", `+more)
	}
	connection(201, `"apiKey": "`+secret("api-key-1")+`"}`)
	connection(200, `"apiKey": "`+secret("api-key-2")+`"}`)
	connection(422, `"apiKey": {"a": "`+secret("api-key-3")+`"}}`)
	connection(400, `"apiKey": "`+secret("api-key-4"))
	send(400, "GET", "/api/v1/contextserviceconnections?context=main&filterBy=apiKey&filterByValue="+secret("api-key-5"), nil, "")
	return secrets
}
