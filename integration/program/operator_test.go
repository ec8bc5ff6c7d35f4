package program

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// operatorPassword is a password that tests set.
const operatorPassword = "nine green boats at dawn"

// procInput runs a command with a text on its standard input.
func procInput(tb testing.TB, input string, args ...string) string {
	tb.Helper()
	cmd := process.Command(tb, nil, args...)
	cmd.Stdin = strings.NewReader(input)
	p := process.Launch(tb, cmd)
	p.Ends(0)
	return p.Printed()
}

// refusesSignIn checks that the password of a user is refused.
func refusesSignIn(p *process.Process, username, password string) {
	p.TB.Helper()
	if a, err := p.Authenticate(username, password); err != nil || a.Status != http.StatusBadRequest {
		p.TB.Fatalf("%s signs in: %v %v", username, a, err)
	}
}

// TestOperatorManagesUsers: the commands do the same beside a server and without one,
// with the rules of the API, and the history names the operator.
func TestOperatorManagesUsers(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testOperatorManagesUsers)
}

func testOperatorManagesUsers(t *testing.T, fresh service.NewStore) {
	uri := fresh(t)
	at := []string{"--store", uri}
	run := func(args ...string) string { return process.Run(t, nil, append(args, at...)...) }
	fails := func(args ...string) string { return process.Fails(t, nil, append(args, at...)...) }
	p := process.Serve(t, uri)
	for _, c := range []struct {
		name   string
		before func()
		after  func()
	}{{"served", func() {}, func() {}}, {"stopped", func() { p.Stop() }, func() {
		token := p.Token
		p = process.Serve(t, uri)
		p.Token = token
	}}} {
		beside := c.name == "served"
		// do runs commands in the state of the case, and leaves a server running.
		do := func(commands func()) {
			c.before()
			commands()
			c.after()
		}
		kari := "kari-" + c.name
		do(func() {
			process.Wants(t, procInput(t, operatorPassword+"\n", append([]string{"user", "add", kari, "--name", "Kari Nordmann", "--role", "Administrator"}, at...)...), "Created the user "+kari)
		})
		p.SignIn(strings.ToUpper(kari), operatorPassword)
		p.Ask(http.StatusOK, http.MethodGet, "/api/v1/roles?context=main", "")
		do(func() {
			process.Wants(t, fails("user", "add", kari, "--no-password", "--role", "Administrator"), "Another object has the same /username")
			process.Wants(t, fails("user", "add", "x", "--no-password", "--role", "Nothing"), `there is no role "Nothing" in the network "main"`)
			process.Wants(t, fails("user", "passwd", "nobody", "--generate-password"), `there is no user "nobody"`)
			process.Wants(t, run("user", "list"), "USERNAME", kari, "Kari Nordmann", "main: Administrator")
			process.Wants(t, run("user", "list", "--network", "main", "--json"), `"username":"`+kari+`"`)
			process.Wants(t, fails("user", "list", "--network", "none"), `there is no network "none"`)
			out := run("user", "passwd", strings.ToUpper(kari), "--generate-password")
			_, password, _ := strings.Cut(out, "The password is ")
			password, _, _ = strings.Cut(password, " ")
			if beside {
				refusesSignIn(p, kari, operatorPassword)
				p.SignIn(kari, password)
			}
			file := filepath.Join(t.TempDir(), "password")
			process.File(t, file, operatorPassword+"\r\nnot this line\n")
			run("user", "passwd", kari, "--password-file", file)
			process.File(t, file, "short\n")
			process.Wants(t, fails("user", "passwd", kari, "--password-file", file), "/password is too short: the minimum length is 12")
		})
		p.SignIn(kari, operatorPassword)
		do(func() { process.Wants(t, run("user", "logout", kari), "Ended all sessions of "+kari) })
		p.Eventually("the session goes on", func() bool {
			a, err := p.Send(http.MethodGet, "/api/v1/networks/main", nil, nil)
			return err == nil && a.Status == http.StatusUnauthorized
		})
		p.SignIn(kari, operatorPassword)
		do(func() { process.Wants(t, run("user", "logout", "--all"), "Ended all sessions of ") })
		p.Eventually("the session goes on", func() bool {
			a, err := p.Send(http.MethodGet, "/api/v1/networks/main", nil, nil)
			return err == nil && a.Status == http.StatusUnauthorized
		})
		do(func() { run("user", "disable", kari) })
		refusesSignIn(p, kari, operatorPassword)
		do(func() {
			process.Wants(t, fails("user", "disable", "admin"), "would be left without an administrator")
			run("user", "enable", kari)
		})
		p.SignIn(kari, operatorPassword)
		do(func() {
			role := "Planner " + c.name
			process.Wants(t, run("role", "add", role, "--permission", "MANAGE_BUSINESS", "--id", "planner-"+c.name), "Created the role "+role)
			process.Wants(t, fails("role", "add", "x", "--permission", "NOTHING"), "/permissions/0 must be one of")
			run("role", "set", role, "--scope", "network", "--permission", "MANAGE_LAYOUTS")
			process.Wants(t, run("role", "list", "--network", "main"), role, "NETWORK", "MANAGE_LAYOUTS")
			run("role", "set", role, "--add-permission", "RUN_REPORTS", "--add-permission", "MANAGE_LAYOUTS")
			process.Wants(t, fails("role", "set", role, "--add-permission", "RUN_REPORTS", "--permission", "MANAGE_LAYOUTS"), "--add-permission cannot be combined with --permission")
			run("role", "disable", role)
			process.Wants(t, run("role", "show", role), `"objectState":"INACTIVE"`, `"permissions":["MANAGE_LAYOUTS","RUN_REPORTS"]`)
			run("role", "enable", role)
			process.Wants(t, fails("role", "set", "Administrator", "--no-permissions"), "would be left without an administrator")
			process.Wants(t, run("key", "rotate"), "have been rotated", "SIGNING", "NEXT")
			process.Wants(t, run("key", "list", "--json"), `"state":"SIGNING"`)
		})
		p.Ask(http.StatusOK, http.MethodGet, "/api/v1/networks/main", "") // a rotation ends no token
		history := string(p.Ask(http.StatusOK, http.MethodGet, "/api/v1/audit?context=main&type=roles&id=planner-"+c.name, "").Body)
		if n := strings.Count(history, `"code":"audit.cause.operator"`); n != 5 || strings.Contains(history, `"user"`) {
			t.Errorf("the history names the operator %d times: %s", n, history)
		}
		do(func() {
			process.Wants(t, run("key", "rotate", "--revoke"), "have been replaced")
			run("user", "disable", kari)
		})
		p.Eventually("the token of a replaced key is valid", func() bool {
			a, err := p.Send(http.MethodGet, "/api/v1/networks/main", nil, nil)
			return err == nil && a.Status == http.StatusUnauthorized
		})
		process.Shuns(t, p.Stdout.String()+p.Stderr.String(), operatorPassword)
	}
	p.Stop()
	process.Wants(t, process.Run(t, nil, "check", "--store", uri), "nothing is wrong")
}

// TestOperatorSocket: the socket exists while a server serves, however the one before
// ended, and only its owner can use it.
func TestOperatorSocket(t *testing.T) {
	t.Parallel()
	uri := service.NewSQLite(t)
	socket := service.SQLiteFile(uri) + ".sock"
	p := process.Serve(t, uri)
	info, err := os.Lstat(socket)
	if err != nil || info.Mode() != fs.ModeSocket|0o600 {
		t.Fatalf("the socket is %v: %v", info, err)
	}
	// A second server neither starts nor takes the socket.
	process.Wants(t, process.Fails(t, nil, "serve", "--addr", "127.0.0.1:0", "--store", uri), "another process has it open")
	process.Wants(t, process.Run(t, nil, "user", "list", "--store", uri), "admin")
	p.Kill()
	if _, err := os.Lstat(socket); err != nil {
		t.Fatalf("the killed process has left no socket: %v", err)
	}
	process.Wants(t, process.Run(t, nil, "user", "list", "--store", uri), "admin")
	p = process.Serve(t, uri)
	process.Wants(t, process.Run(t, nil, "user", "list", "--store", uri), "admin")
	p.Stderr.Await(t, 0, func(line string) bool { return strings.Contains(line, `"route":"/api/v1/users"`) }) // the server was asked
	p.Stop()
	if _, err := os.Lstat(socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a server that has stopped leaves its socket: %v", err)
	}
	// Anything but a socket stays, and the server starts all the same.
	for _, place := range []func() error{
		func() error { return os.WriteFile(socket, []byte("a file"), 0o600) },
		func() error { return os.Symlink("elsewhere", socket) },
	} {
		if err := place(); err != nil {
			t.Fatal(err)
		}
		p = process.Serve(t, uri)
		process.Wants(t, p.Stderr.String(), "there is no socket for commands", "is in the way")
		p.Stop()
		if err := os.Remove(socket); err != nil {
			t.Fatal(err)
		}
	}
	// A path that is longer than that of a socket can be.
	long := "sqlite:" + filepath.Join(t.TempDir(), strings.Repeat("long", 30), "marquee.db")
	p = process.Serve(t, long)
	process.Wants(t, process.Run(t, nil, "user", "list", "--store", long), "admin")
	p.Stderr.Await(t, 0, func(line string) bool { return strings.Contains(line, `"route":"/api/v1/users"`) }) // the server was asked
	p.Stop()
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(service.SQLiteFile(long)), "*.sock*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %s %v", left, err)
	}
}

// TestOperatorOnlyThroughTheSocket: no request over TCP is the operator's, whatever its
// headers, its target or its method.
func TestOperatorOnlyThroughTheSocket(t *testing.T) {
	t.Parallel()
	p := process.Serve(t, service.NewSQLite(t))
	address := strings.TrimPrefix(p.URL, "http://")
	headers := []string{"", "Host: operator", "Authorization: Bearer operator", "X-Forwarded-For: 127.0.0.1", "Forwarded: for=unix", "X-Forwarded-Host: operator",
		"X-Operator: true", "Connection: Upgrade\r\nUpgrade: unix", "X-Original-URL: /operator/keys", "X-HTTP-Method-Override: GET", "Cookie: operator=1"}
	for _, target := range []string{"/operator/keys", "/operator/user?username=admin", "http://operator/operator/keys", "//operator/keys", "/operator/./keys", "/operator/keys/", "/api/v1/users", "http://operator/api/v1/users", "/operator/keys/replace"} {
		for _, method := range []string{"GET", "POST", "HEAD", "OPTIONS"} {
			for _, header := range headers {
				if method == "OPTIONS" && strings.Contains(target, "/api/") {
					continue // which everybody may send
				}
				if (method == "OPTIONS" || method == "HEAD") && header != "" {
					continue
				}
				request := method + " " + target + " HTTP/1.1\r\n"
				if !strings.HasPrefix(header, "Host:") {
					request += "Host: " + address + "\r\n"
				}
				if header != "" {
					request += header + "\r\n"
				}
				if !strings.HasPrefix(header, "Connection:") {
					request += "Connection: close\r\n"
				}
				status := rawStatus(t, address, request+"Content-Length: 0\r\n\r\n")
				if want := http.StatusNotFound; status != want && status != http.StatusUnauthorized {
					t.Errorf("%s %s with %q: %d", method, target, header, status)
				}
			}
		}
	}
	p.SignIn(service.Admin, process.Password) // an administrator is not the operator
	p.Ask(http.StatusNotFound, http.MethodGet, "/operator/keys", "")
	p.Ask(http.StatusNotFound, http.MethodPost, "/operator/keys/rotate", "")
	p.Stop()
}

// TestOperatorTokensActForAUser: the operator creates API tokens on behalf of a user, and
// none that would act for nobody, which nobody could use.
func TestOperatorTokensActForAUser(t *testing.T) {
	t.Parallel()
	uri := service.NewSQLite(t)
	p := process.Serve(t, uri)
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", service.SQLiteFile(uri)+".sock")
	}}}
	defer client.CloseIdleConnections()
	ask := func(method, path, user, body string, status int) map[string]any {
		t.Helper()
		r, err := http.NewRequest(method, "http://operator"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if user != "" {
			r.Header.Set("Marquee-User", user)
		}
		a, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		var answer map[string]any
		if err := json.NewDecoder(a.Body).Decode(&answer); err != nil || a.StatusCode != status {
			t.Fatalf("%s %s: %d instead of %d: %v %v", method, path, a.StatusCode, status, answer, err)
		}
		return answer
	}
	admin, _ := ask(http.MethodGet, "/operator/user?username=admin", "", "", http.StatusOK)["id"].(string)
	roles, _ := ask(http.MethodGet, "/api/v1/roles?context=main", "", "", http.StatusOK)["results"].([]any)
	role, _ := roles[0].(map[string]any)
	body := service.JSONText(map[string]any{"name": "T", "role": role["id"]})
	refused := ask(http.MethodPost, "/api/v1/tokens/t?context=main", "", body, http.StatusBadRequest)
	if text := fmt.Sprint(refused["messages"]); !strings.Contains(text, "error.header.invalid") || !strings.Contains(text, "Marquee-User") {
		t.Errorf("a token that acts for nobody: %s", text)
	}
	token, _ := ask(http.MethodPost, "/api/v1/tokens/t?context=main", admin, body, http.StatusCreated)["token"].(string)
	p.Token = token
	p.Ask(http.StatusOK, http.MethodGet, "/api/v1/roles?context=main", "")
	// What exists is changed without a user.
	ask(http.MethodPost, "/api/v1/tokens/t?context=main", "", `{"objectState": "INACTIVE"}`, http.StatusOK)
	p.Ask(http.StatusUnauthorized, http.MethodGet, "/api/v1/roles?context=main", "")
	p.Stop()
}

// rawStatus sends bytes on a connection of their own and returns the status.
func rawStatus(tb testing.TB, address, request string) int {
	tb.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		tb.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, request); err != nil {
		tb.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		tb.Fatal(err)
	}
	return response.StatusCode // a HEAD has no body to be closed
}

// TestOperatorIsTheOwner: another user of the machine cannot use the socket, even if
// its mode is changed.
func TestOperatorIsTheOwner(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can run a command as another user")
	}
	program := process.Binary(t)
	dir, err := os.MkdirTemp("", "marquee-operator-") // whose parents others can enter
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	database := filepath.Join(dir, "marquee.db")
	p := process.Serve(t, "sqlite:"+database)
	other := func(says string) {
		t.Helper()
		cmd := exec.Command(program, "user", "list", "--store", "sqlite:"+database)
		cmd.Dir, cmd.Env = "/", []string{"HOME=/"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		process.Wants(t, process.Refused(t, cmd), says)
	}
	other("permission denied: run the command as the user of the server")
	if err := os.Chmod(database+".sock", 0o666); err != nil {
		t.Fatal(err)
	}
	other("the service does not answer")
	p.Stderr.Await(t, 0, service.Says("a connection of another user to the operator's socket was refused"))
	p.Stop()
}

// TestOperatorGrantsDeclaredPermission grants a permission that only a schema declares, and that
// nobody needs to hold.
func TestOperatorGrantsDeclaredPermission(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, func(t *testing.T, fresh service.NewStore) {
		dir := t.TempDir()
		process.File(t, filepath.Join(dir, "notes.json"), `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
			"x-resource": {"path": "notes", "permissions": {"read": "READ_NOTES"}}, "properties": {"text": {"type": "string"}}}`)
		at := []string{"--store", fresh(t), "--application", "none", "--schemas", dir}
		p := process.Serve(t, at[1], at[2:]...)
		p.SignIn("admin", process.Password)
		p.Ask(http.StatusCreated, http.MethodPut, "/api/v1/notes/n?context=main", `{"text": "1"}`)
		p.Ask(http.StatusCreated, http.MethodPut, "/api/v1/roles/reader?context=main", `{"name": "Reader", "scope": "NETWORK", "permissions": []}`)
		made, _ := p.Ask(http.StatusCreated, http.MethodPut, "/api/v1/tokens/reader?context=main", `{"name": "Reader", "role": "reader"}`).JSON().(map[string]any)
		p.Token, _ = made["token"].(string)
		p.Ask(http.StatusNotFound, http.MethodGet, "/api/v1/notes/n?context=main", "")
		set := append([]string{"role", "set", "Reader", "--add-permission"}, "READ_NOTES")
		process.Run(t, nil, append(set, at...)...)
		p.Eventually("the token cannot read", func() bool {
			a, err := p.Send(http.MethodGet, "/api/v1/notes/n?context=main", nil, nil)
			return err == nil && a.Status == http.StatusOK
		})
		set[4] = "READ_NOBODY"
		process.Wants(t, process.Fails(t, nil, append(set, at...)...), "/permissions")
	})
}
