package marquee_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"marquee/client"
)

const ward = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "x-resource": {"path": "wards"}, "type": "object", "properties": {"name": {"type": "string"}, "beds": {"type": "integer"}}}`

// otherModule makes the module hospital, which uses this one through a workspace, in a
// folder.
func otherModule(t *testing.T, main string) (folder string) {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	folder = t.TempDir()
	ours, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	// The same versions, so that the cache of modules has all of them. In a workspace, packages
	// are compiled as in this module, and with replace once more.
	_, requirements, _ := strings.Cut(string(ours), "\n")
	version, _, _ := strings.Cut(strings.TrimSpace(requirements), "\n")
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"go.mod":     "module hospital\n" + requirements,
		"go.work":    version + "\n\nuse (\n\t.\n\t" + here + "\n)\n",
		"go.sum":     string(sums),
		"main.go":    main,
		"wards.json": ward,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// goTool runs the tool of Go in a folder.
func goTool(t *testing.T, folder string, args ...string) (out string) {
	t.Helper()
	command := exec.Command("go", args...)
	command.Dir = folder
	text, err := command.CombinedOutput()
	out = string(text)
	if err != nil && (strings.Contains(out, "dial tcp") || strings.Contains(out, "module lookup disabled") || strings.Contains(out, "no such host")) {
		t.Skip("neither the cache of modules nor the proxy has the modules that the program needs")
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// TestAnotherModule builds and runs a program of another module.
func TestAnotherModule(t *testing.T) {
	if testing.Short() {
		t.Skip("TestCommandsOfAnotherModule builds another")
	}
	folder := otherModule(t, `package main

import (
	"embed"
	"log"
	"net/http"
	"net/http/httptest"

	"marquee"
)

//go:embed wards.json
var schemas embed.FS

func main() {
	server, err := marquee.New(marquee.Options{Schemas: schemas})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	answer := httptest.NewRecorder()
	server.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	println(answer.Code)
}
`)
	if out := goTool(t, folder, "run", "."); strings.TrimSpace(out) != "200" {
		t.Fatal(out)
	}
}

// TestCommandsOfAnotherModule builds the program at the end of the page about embedding,
// and runs its commands.
func TestCommandsOfAnotherModule(t *testing.T) {
	page, err := os.ReadFile("docs/how-to/embedding-marquee.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```go\n")
	main, _, _ := strings.Cut(blocks[len(blocks)-1], "```")
	folder := otherModule(t, main)
	goTool(t, folder, "build", "-ldflags=-s -w", "-o", folder+string(filepath.Separator), ".", "marquee/cmd/marquee")
	start := func(program string, args ...string) *exec.Cmd {
		c := exec.Command(filepath.Join(folder, program), args...)
		c.Dir, c.Env = folder, append(os.Environ(), "MARQUEE_BOOTSTRAP_PASSWORD=correct horse battery")
		return c
	}
	run := func(status int, wants, program string, args ...string) string {
		t.Helper()
		c := start(program, args...)
		var out, messages strings.Builder
		c.Stdout, c.Stderr = &out, &messages
		err := c.Run()
		if c.ProcessState.ExitCode() != status || !strings.Contains(out.String()+messages.String(), wants) {
			t.Fatalf("%s %q: %v\n%s%s\nwithout %q", program, args, err, &out, &messages, wants)
		}
		return out.String()
	}

	run(0, "Usage: hospital serve", "hospital", "serve", "--help")
	run(0, "hospital export roles teams", "hospital", "help", "export")
	run(2, "unknown flag --application", "hospital", "serve", "--application", "none")
	run(2, "unknown flag --demo", "hospital", "serve", "--demo")
	run(2, "unknown flag --cdn-url", "hospital", "serve", "--cdn-url", "https://cdn.example.com")
	run(0, `"/api/v1/wards/{id}"`, "hospital", "openapi")
	run(1, "hospital: there is no store at ", "hospital", "check")

	server := start("hospital", "serve", "--addr", "127.0.0.1:0", "--log-format", "json", "--drain-delay", "0s")
	address := listening(t, server)
	ctx := t.Context()
	signedIn := func(name, password string) *client.Network {
		t.Helper()
		c, err := client.New(address, client.Options{})
		if err == nil {
			err = c.SignIn(ctx, name, password)
		}
		if err != nil {
			t.Fatal(err)
		}
		return c.Network("main")
	}
	saves := func(network *client.Network, code string) {
		t.Helper()
		_, err := client.Of[map[string]any](network, "wards").Save(ctx, "east", map[string]any{"name": "East", "beds": 4})
		if code == "" && err != nil || code != "" && !client.HasCode(err, code) {
			t.Fatalf("%v instead of %q", err, code)
		}
	}
	saves(signedIn("admin", "correct horse battery"), "")
	_, err = client.Of[map[string]any](signedIn("admin", "correct horse battery"), "wards").Save(ctx, "west", map[string]any{"beds": 0})
	if !client.HasCode(err, "error.ward.no.beds") {
		t.Fatal(err)
	}

	// The permissions are those of the application, while the server has the store.
	run(0, "Created the role Nurse", "hospital", "role", "add", "Nurse", "--permission", "MANAGE_WARDS", "--permission", "DISCHARGE")
	run(0, "Created the role Porter", "hospital", "role", "add", "Porter", "--permission", "DISCHARGE")
	run(1, "permissions", "hospital", "role", "add", "Seller", "--permission", "MANAGE_BUSINESS")
	for name, code := range map[string]string{"Nurse": "", "Porter": "error.permission.missing"} {
		var made struct{ Password string }
		out := run(0, "", "hospital", "user", "add", name, "--role", name, "--generate-password", "--json")
		if err := json.Unmarshal([]byte(out), &made); err != nil {
			t.Fatal(err)
		}
		saves(signedIn(name, made.Password), code)
	}
	run(0, "The token is mq_", "hospital", "token", "add", "Backup", "--user", "admin", "--role", "Nurse")
	run(0, "nothing is wrong", "hospital", "check") // by the server
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Fatal(err)
	}

	// Everything comes into another store, and nothing is wrong there.
	run(0, "objects exported", "hospital", "export", "--all-networks", "--output", "all.ndjson")
	copied := []string{"--store", "sqlite:copy/marquee.db"}
	run(0, "0 rejected", "hospital", append([]string{"import", "all.ndjson", "--create"}, copied...)...)
	run(0, "nothing is wrong", "hospital", append([]string{"check", "--quiet"}, copied...)...)
	run(0, `"beds":4`, "hospital", append([]string{"export", "wards", "--context", "main"}, copied...)...)
	run(0, "DISCHARGE", "hospital", append([]string{"role", "list"}, copied...)...)

	for _, args := range [][]string{{"serve", "--addr", "127.0.0.1:0"}, {"check"}, {"check", "--application", "none"}} {
		run(2, "the store was made for the application hospital, and cannot be opened for ", "marquee", args...)
		run(2, ": use the program of that application, or another store", "marquee", args...)
	}
}

// listening starts a server, and returns its address when its log has it. The server is
// killed when the test fails before it has stopped it.
func listening(t *testing.T, server *exec.Cmd) (address string) {
	t.Helper()
	log, err := server.StderrPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill() })
	ctx, found := context.WithCancel(context.Background())
	go func() {
		lines := bufio.NewScanner(log)
		for lines.Scan() {
			var entry struct{ Msg, URL string }
			if json.Unmarshal(lines.Bytes(), &entry) == nil && entry.Msg == "listening" {
				address = entry.URL
				found()
			}
		}
		found()
	}()
	<-ctx.Done()
	if address == "" {
		t.Fatal("the server has ended")
	}
	return address
}
