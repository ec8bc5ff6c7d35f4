package integration

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
)

// operatorPassword is a password that tests set.
const operatorPassword = "nine green boats at dawn"

// procInput runs a command with a text on its standard input.
func procInput(tb testing.TB, input string, args ...string) string {
	tb.Helper()
	cmd := procCommand(tb, nil, args...)
	cmd.Stdin = strings.NewReader(input)
	p := procLaunch(tb, cmd)
	p.ends(0)
	return p.printed()
}

// refusesSignIn checks that the password of a user is refused.
func (p *proc) refusesSignIn(username, password string) {
	p.tb.Helper()
	if a, err := p.authenticate(username, password); err != nil || a.status != http.StatusBadRequest {
		p.tb.Fatalf("%s signs in: %v %v", username, a, err)
	}
}

// TestOperatorManagesUsers: the commands do the same beside a server and without one,
// with the rules of the API, and the history names the operator.
func TestOperatorManagesUsers(t *testing.T) { eachStore(t, testOperatorManagesUsers) }

func testOperatorManagesUsers(t *testing.T, fresh newStore) {
	uri := fresh(t)
	at := []string{"--store", uri}
	run := func(args ...string) string { return procRun(t, nil, append(args, at...)...) }
	fails := func(args ...string) string { return procFails(t, nil, append(args, at...)...) }
	p := procServe(t, uri)
	for _, c := range []struct {
		name   string
		before func()
		after  func()
	}{{"served", func() {}, func() {}}, {"stopped", func() { p.stop() }, func() {
		token := p.token
		p = procServe(t, uri)
		p.token = token
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
			procWants(t, procInput(t, operatorPassword+"\n", append([]string{"user", "add", kari, "--name", "Kari Nordmann", "--role", "Administrator"}, at...)...), "Created the user "+kari)
		})
		p.signIn(strings.ToUpper(kari), operatorPassword)
		p.ask(http.StatusOK, http.MethodGet, "/api/v1/roles?context=main", "")
		do(func() {
			procWants(t, fails("user", "add", kari, "--no-password", "--role", "Administrator"), "Another object has the same /username")
			procWants(t, fails("user", "add", "x", "--no-password", "--role", "Nothing"), `there is no role "Nothing" in the network "main"`)
			procWants(t, fails("user", "passwd", "nobody", "--generate-password"), `there is no user "nobody"`)
			procWants(t, run("user", "list"), "USERNAME", kari, "Kari Nordmann", "main: Administrator")
			procWants(t, run("user", "list", "--network", "main", "--json"), `"username":"`+kari+`"`)
			procWants(t, fails("user", "list", "--network", "none"), `there is no network "none"`)
			out := run("user", "passwd", strings.ToUpper(kari), "--generate-password")
			_, password, _ := strings.Cut(out, "The password is ")
			password, _, _ = strings.Cut(password, " ")
			if beside {
				p.refusesSignIn(kari, operatorPassword)
				p.signIn(kari, password)
			}
			file := filepath.Join(t.TempDir(), "password")
			procFile(t, file, operatorPassword+"\r\nnot this line\n")
			run("user", "passwd", kari, "--password-file", file)
			procFile(t, file, "short\n")
			procWants(t, fails("user", "passwd", kari, "--password-file", file), "/password must have at least 12 characters")
		})
		p.signIn(kari, operatorPassword)
		do(func() { procWants(t, run("user", "logout", kari), "Ended all sessions of "+kari) })
		p.eventually("the session goes on", func() bool {
			a, err := p.send(http.MethodGet, "/api/v1/networks/main", nil, nil)
			return err == nil && a.status == http.StatusUnauthorized
		})
		p.signIn(kari, operatorPassword)
		do(func() { procWants(t, run("user", "logout", "--all"), "Ended all sessions of ") })
		p.eventually("the session goes on", func() bool {
			a, err := p.send(http.MethodGet, "/api/v1/networks/main", nil, nil)
			return err == nil && a.status == http.StatusUnauthorized
		})
		do(func() { run("user", "disable", kari) })
		p.refusesSignIn(kari, operatorPassword)
		do(func() {
			procWants(t, fails("user", "disable", "admin"), "would be left without an administrator")
			run("user", "enable", kari)
		})
		p.signIn(kari, operatorPassword)
		do(func() {
			role := "Planner " + c.name
			procWants(t, run("role", "add", role, "--permission", "MANAGE_BUSINESS", "--id", "planner-"+c.name), "Created the role "+role)
			procWants(t, fails("role", "add", "x", "--permission", "NOTHING"), "/permissions/0 must be one of")
			run("role", "set", role, "--scope", "network", "--permission", "MANAGE_LAYOUTS")
			procWants(t, run("role", "list", "--network", "main"), role, "NETWORK", "MANAGE_LAYOUTS")
			run("role", "disable", role)
			procWants(t, run("role", "show", role), `"objectState":"INACTIVE"`, `"permissions":["MANAGE_LAYOUTS"]`)
			run("role", "enable", role)
			procWants(t, fails("role", "set", "Administrator", "--no-permissions"), "would be left without an administrator")
			procWants(t, run("key", "rotate"), "have been rotated", "SIGNING", "NEXT")
			procWants(t, run("key", "list", "--json"), `"state":"SIGNING"`)
		})
		p.ask(http.StatusOK, http.MethodGet, "/api/v1/networks/main", "") // a rotation ends no token
		history := string(p.ask(http.StatusOK, http.MethodGet, "/api/v1/audit?context=main&type=roles&id=planner-"+c.name, "").body)
		if n := strings.Count(history, `"code":"audit.cause.operator"`); n != 4 || strings.Contains(history, `"user"`) {
			t.Errorf("the history names the operator %d times: %s", n, history)
		}
		do(func() {
			procWants(t, run("key", "rotate", "--revoke"), "have been replaced")
			run("user", "disable", kari)
		})
		p.eventually("the token of a replaced key is valid", func() bool {
			a, err := p.send(http.MethodGet, "/api/v1/networks/main", nil, nil)
			return err == nil && a.status == http.StatusUnauthorized
		})
		procShuns(t, p.stdout.String()+p.stderr.String(), operatorPassword)
	}
	p.stop()
	procWants(t, procRun(t, nil, "check", "--store", uri), "nothing is wrong")
}

// TestOperatorSocket: the socket exists while a server serves, however the one before
// ended, and only its owner can use it.
func TestOperatorSocket(t *testing.T) {
	t.Parallel()
	uri := newSQLite(t)
	socket := sqliteFile(uri) + ".sock"
	p := procServe(t, uri)
	info, err := os.Lstat(socket)
	if err != nil || info.Mode() != fs.ModeSocket|0o600 {
		t.Fatalf("the socket is %v: %v", info, err)
	}
	// A second server neither starts nor takes the socket.
	procWants(t, procFails(t, nil, "serve", "--addr", "127.0.0.1:0", "--store", uri), "another process has it open")
	procWants(t, procRun(t, nil, "user", "list", "--store", uri), "admin")
	p.kill()
	if _, err := os.Lstat(socket); err != nil {
		t.Fatalf("the killed process has left no socket: %v", err)
	}
	procWants(t, procRun(t, nil, "user", "list", "--store", uri), "admin")
	p = procServe(t, uri)
	procWants(t, procRun(t, nil, "user", "list", "--store", uri), "admin")
	p.stderr.await(t, 0, func(line string) bool { return strings.Contains(line, `"route":"/api/v1/users"`) }) // the server was asked
	p.stop()
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
		p = procServe(t, uri)
		procWants(t, p.stderr.String(), "there is no socket for commands", "is in the way")
		p.stop()
		if err := os.Remove(socket); err != nil {
			t.Fatal(err)
		}
	}
	// A path that is longer than that of a socket can be.
	long := "sqlite:" + filepath.Join(t.TempDir(), strings.Repeat("long", 30), "marquee.db")
	p = procServe(t, long)
	procWants(t, procRun(t, nil, "user", "list", "--store", long), "admin")
	p.stderr.await(t, 0, func(line string) bool { return strings.Contains(line, `"route":"/api/v1/users"`) }) // the server was asked
	p.stop()
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(sqliteFile(long)), "*.sock*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %s %v", left, err)
	}
}

// TestOperatorOnlyThroughTheSocket: no request over TCP is the operator's, whatever its
// headers, its target or its method.
func TestOperatorOnlyThroughTheSocket(t *testing.T) {
	t.Parallel()
	p := procServe(t, newSQLite(t))
	address := strings.TrimPrefix(p.url, "http://")
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
	p.signIn(admin, procPassword) // an administrator is not the operator
	p.ask(http.StatusNotFound, http.MethodGet, "/operator/keys", "")
	p.ask(http.StatusNotFound, http.MethodPost, "/operator/keys/rotate", "")
	p.stop()
}

// TestOperatorTokensActForAUser: the operator creates API tokens on behalf of a user, and
// none that would act for nobody, which nobody could use.
func TestOperatorTokensActForAUser(t *testing.T) {
	t.Parallel()
	uri := newSQLite(t)
	p := procServe(t, uri)
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", sqliteFile(uri)+".sock")
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
	body := jsonText(map[string]any{"name": "T", "role": role["id"]})
	refused := ask(http.MethodPost, "/api/v1/tokens/t?context=main", "", body, http.StatusBadRequest)
	if text := fmt.Sprint(refused["messages"]); !strings.Contains(text, "error.header.invalid") || !strings.Contains(text, "Marquee-User") {
		t.Errorf("a token that acts for nobody: %s", text)
	}
	token, _ := ask(http.MethodPost, "/api/v1/tokens/t?context=main", admin, body, http.StatusCreated)["token"].(string)
	p.token = token
	p.ask(http.StatusOK, http.MethodGet, "/api/v1/roles?context=main", "")
	// What exists is changed without a user.
	ask(http.MethodPost, "/api/v1/tokens/t?context=main", "", `{"objectState": "INACTIVE"}`, http.StatusOK)
	p.ask(http.StatusUnauthorized, http.MethodGet, "/api/v1/roles?context=main", "")
	p.stop()
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
	program := procBinary(t)
	dir, err := os.MkdirTemp("", "marquee-operator-") // whose parents others can enter
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	database := filepath.Join(dir, "marquee.db")
	p := procServe(t, "sqlite:"+database)
	other := func(says string) {
		t.Helper()
		cmd := exec.Command(program, "user", "list", "--store", "sqlite:"+database)
		cmd.Dir, cmd.Env = "/", []string{"HOME=/"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		procWants(t, procRefused(t, cmd), says)
	}
	other("permission denied: run the command as the user of the server")
	if err := os.Chmod(database+".sock", 0o666); err != nil {
		t.Fatal(err)
	}
	other("the service does not answer")
	p.stderr.await(t, 0, procSays("a connection of another user to the operator's socket was refused"))
	p.stop()
}
