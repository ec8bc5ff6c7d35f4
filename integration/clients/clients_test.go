// Package clients generates clients from the OpenAPI document of a server, as
// docs/how-to/generated-clients.md describes, and runs the programs of that page. It may
// import package marquee, resources, marqueetest and installed. Begin with TestGo.
package clients

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"marquee"
	"marquee/integration/installed"
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
	_, rest, found := strings.Cut(string(text), "# "+heading+"\n")
	if !found {
		t.Fatalf("%s has no section %s", page, heading)
	}
	rest, _, _ = strings.Cut(rest, "\n##")
	blocks := map[string]string{}
	for _, block := range regexp.MustCompile("(?s)```(\\w+)\n(.*?)```").FindAllStringSubmatch(rest, -1) {
		blocks[block[1]] += block[2]
	}
	return blocks
}

// suite installs the generators.
const suite = installed.Suite("clients")

// need ends a test if one of its programs is not there.
func need(t *testing.T, how string, programs ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("clients are generated and compiled")
	}
	suite.Need(t, how, programs...)
}

// must runs a program of a test.
func must(t *testing.T, folder string, env []string, program string, args ...string) string {
	t.Helper()
	began := time.Now()
	out, err := installed.Run(t.Context(), folder, env, program, args...)
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
	need(t, "")
	folder := suite.Node(t, "typescript")
	blocks := section(t, "TypeScript")
	s, env := start(t)
	dir := t.TempDir()
	link(t, folder, dir)
	write(t, dir, "package.json", `{"type": "module"}`)
	must(t, dir, nil, "sh", "-c", strings.Replace(generate(t, blocks["sh"], s), "npx ", "node_modules/.bin/", 1))
	write(t, dir, "main.ts", blocks["ts"])
	must(t, dir, nil, "node_modules/.bin/tsc", "--strict", "--target", "es2022", "--module", "nodenext", "--types", "node", "main.ts")
	printed(t, must(t, dir, env, "node", "main.js"))
}

func TestPython(t *testing.T) {
	t.Parallel()
	need(t, "")
	bin := suite.Python(t, "python")
	blocks := section(t, "Python")
	s, env := start(t)
	dir := t.TempDir()
	must(t, dir, []string{"PATH=" + bin + ":" + os.Getenv("PATH")}, "sh", "-c", generate(t, blocks["sh"], s))
	must(t, dir, nil, filepath.Join(bin, "python"), "-m", "compileall", "-q", "marquee_client")
	write(t, dir, "main.py", blocks["python"])
	printed(t, must(t, dir, env, filepath.Join(bin, "python"), "main.py"))
}

// module gives a folder the module of a generator in Go, whose dependencies it downloads.
func module(t *testing.T, folder, dir string) {
	t.Helper()
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, name, string(content))
	}
	if _, err := installed.Run(t.Context(), dir, nil, "go", "mod", "download"); err != nil {
		suite.Missing(t, fmt.Sprintf("the modules of the generated client cannot be downloaded: %v", err))
	}
}

func TestGo(t *testing.T) {
	t.Parallel()
	need(t, "it fetches the document (Debian: apt-get install curl)", "curl")
	blocks := section(t, "Go")
	s, env := start(t)
	dir := t.TempDir()
	module(t, "go", dir)
	must(t, dir, nil, "sh", "-c", generate(t, blocks["sh"], s))
	write(t, dir, "main.go", blocks["go"])
	must(t, dir, nil, "go", "build", "-o", "program", ".")
	printed(t, must(t, dir, env, "./program"))
}
