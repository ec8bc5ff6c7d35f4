// Package clients generates clients from the OpenAPI document of a server, as
// docs/how-to/generated-clients.md describes, and runs the programs of that page.
package clients

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"marquee"
	"marquee/integration/marqueetest"
	"marquee/resources"
)

const page = "../../docs/how-to/generated-clients.md"

// section returns the blocks of code beneath a heading of the page, by their languages.
func section(t *testing.T, heading string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("%s has no section %s", page, heading)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	blocks := map[string]string{}
	for _, block := range regexp.MustCompile("(?s)```(\\w+)\n(.*?)```").FindAllStringSubmatch(rest, -1) {
		blocks[block[1]] += block[2]
	}
	return blocks
}

// missing ends a test whose tools are not there.
func missing(t *testing.T, reason string) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("MARQUEE_REQUIRE"), ","), "clients") {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// need ends a test if one of its programs is not there.
func need(t *testing.T, how string, programs ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("clients are generated and compiled")
	}
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			missing(t, fmt.Sprintf("there is no %s for the generated clients: %s", name, how))
		}
	}
}

// cached returns a folder in .cache that has what install puts there, once for each
// content of the files that name the versions.
func cached(t *testing.T, name string, install func(folder string) error, files ...string) string {
	t.Helper()
	digest := sha256.New()
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(name, file))
		if err != nil {
			t.Fatal(err)
		}
		digest.Write(content)
	}
	root, err := filepath.Abs("../../.cache/clients")
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(root, name+"-"+hex.EncodeToString(digest.Sum(nil)[:8]))
	done := filepath.Join(folder, ".installed")
	if _, err := os.Stat(done); err == nil {
		return folder
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(name, file))
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, file), content, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := install(folder); err != nil {
		missing(t, fmt.Sprintf("the generators of %s cannot be installed: %v", name, err))
	}
	if err := os.WriteFile(done, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return folder
}

// run runs a program in a folder. The error has what it prints.
func run(ctx context.Context, folder string, env []string, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), env...)
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, tail(out))
	}
	return string(out), nil
}

// tail is the end of what a program has printed.
func tail(out []byte) []byte { return out[max(0, len(out)-4000):] }

// must runs a program of a test.
func must(t *testing.T, folder string, env []string, program string, args ...string) string {
	t.Helper()
	began := time.Now()
	out, err := run(t.Context(), folder, env, program, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s %s: %.1f s", filepath.Base(program), strings.Join(args, " "), time.Since(began).Seconds())
	return out
}

// write writes a file of a test.
func write(t *testing.T, folder, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// start starts a server, and returns the environment for the programs of the page.
func start(t *testing.T) (s *marqueetest.Server, env []string) {
	t.Helper()
	s = marqueetest.StartWith(t, marquee.Options{Application: resources.New().Application()})
	return s, []string{"MARQUEE_URL=" + s.URL, "MARQUEE_PASSWORD=" + marqueetest.Password}
}

// generate returns the last line of the commands of the page, for a server: those before
// it install.
func generate(t *testing.T, commands string, s *marqueetest.Server) string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(commands), "\n")
	const address = "http://127.0.0.1:8080"
	last := lines[len(lines)-1]
	if !strings.Contains(last, address) {
		t.Fatalf("%q does not name the server", last)
	}
	return strings.ReplaceAll(last, address, s.URL)
}

// printed fails if a program of the page has not done what it says: it prints the orders
// of a list of several pages, and the messages of a fault.
func printed(t *testing.T, out string) {
	t.Helper()
	const want = "autumn Autumn\nspring Spring\nsummer Summer\nerror.referenced.object.not.found /advertiser\nerror.property.required /name\n"
	if out != want {
		t.Errorf("the program prints\n%s\ninstead of\n%s", out, want)
	}
}

func TestTypeScript(t *testing.T) {
	t.Parallel()
	need(t, "install Node.js 20 with npm", "node", "npm")
	installed := cached(t, "typescript", func(folder string) error {
		_, err := run(t.Context(), folder, nil, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
		return err
	}, "package.json", "package-lock.json", ".npmrc")
	blocks := section(t, "TypeScript")
	s, env := start(t)
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(installed, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "package.json", `{"type": "module"}`)
	must(t, dir, nil, "sh", "-c", strings.Replace(generate(t, blocks["sh"], s), "npx ", "node_modules/.bin/", 1))
	write(t, dir, "main.ts", blocks["ts"])
	must(t, dir, nil, "node_modules/.bin/tsc", "--strict", "--target", "es2022", "--module", "nodenext", "--types", "node", "main.ts")
	printed(t, must(t, dir, env, "node", "main.js"))
}

func TestPython(t *testing.T) {
	t.Parallel()
	need(t, "install Python 3.11 with venv and pip (Debian: apt-get install python3-venv)", "python3")
	installed := cached(t, "python", func(folder string) error {
		if _, err := run(t.Context(), folder, nil, "python3", "-m", "venv", "venv"); err != nil {
			return err
		}
		_, err := run(t.Context(), folder, nil, "venv/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
			"--require-hashes", "--only-binary", ":all:", "--requirement", "requirements.txt")
		return err
	}, "requirements.txt")
	blocks := section(t, "Python")
	s, env := start(t)
	dir, bin := t.TempDir(), filepath.Join(installed, "venv", "bin")
	must(t, dir, []string{"PATH=" + bin + ":" + os.Getenv("PATH")}, "sh", "-c", generate(t, blocks["sh"], s))
	must(t, dir, nil, filepath.Join(bin, "python"), "-m", "compileall", "-q", "marquee_client")
	write(t, dir, "main.py", blocks["python"])
	printed(t, must(t, dir, env, filepath.Join(bin, "python"), "main.py"))
}

func TestGo(t *testing.T) {
	t.Parallel()
	need(t, "it fetches the document (Debian: apt-get install curl)", "curl")
	blocks := section(t, "Go")
	s, env := start(t)
	dir := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join("go", name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, name, string(content))
	}
	if _, err := run(t.Context(), dir, nil, "go", "mod", "download"); err != nil {
		missing(t, fmt.Sprintf("the modules of the generated client cannot be downloaded: %v", err))
	}
	must(t, dir, nil, "sh", "-c", generate(t, blocks["sh"], s))
	write(t, dir, "main.go", blocks["go"])
	must(t, dir, nil, "go", "build", "-o", "program", ".")
	printed(t, must(t, dir, env, "./program"))
}
