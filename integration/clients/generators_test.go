package clients

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"marquee/integration/marqueetest"
)

// used is what the programs of this folder print: they sign in, create an order, list
// orders, update one with If-Match and then with the same again, send a reference to
// nothing, and upload an asset.
const used = `created spring Spring
listed spring Spring
updated spring Spring 2
refused 412 error.version.mismatch
refused 422 error.referenced.object.not.found /advertiser
uploaded logo 10 20
`

// use starts a server with a creative to upload assets to, and returns a folder with its
// document and the program of a generator.
func use(t *testing.T, program string) (dir string, env []string) {
	t.Helper()
	s, env := start(t)
	s.Do(http.MethodPut, "/api/v1/layouts/plain?context=main", `{"name": "Plain", "html": "<p>{{image}}</p>", "assetConstraints": [{"tag": "image"}]}`, http.StatusCreated)
	s.Do(http.MethodPut, "/api/v1/creatives/banner?context=main",
		`{"name": "Banner", "layout": "plain", "verifiedSafe": true, "dimensionType": "FLEXIBLE"}`, http.StatusCreated)
	dir = t.TempDir()
	write(t, dir, "openapi.json", documentOf(t, s))
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, filepath.Base(program), string(text))
	return dir, env
}

func documentOf(t *testing.T, s *marqueetest.Server) string {
	t.Helper()
	text, err := json.Marshal(s.Do(http.MethodGet, "/api/openapi.json", "", http.StatusOK))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// uses fails if a program has not done what all of them do.
func uses(t *testing.T, out string) {
	t.Helper()
	if out != used {
		t.Errorf("the program prints\n%s\ninstead of\n%s", out, used)
	}
}

// command returns the arguments of a program, such as "npx openapi-ts", in the commands
// of a section of the page.
func command(t *testing.T, heading, program string) []string {
	t.Helper()
	for line := range strings.Lines(section(t, heading)["sh"]) {
		if _, arguments, found := strings.Cut(line, program+" "); found {
			return strings.Fields(arguments)
		}
	}
	t.Fatalf("the section %s of %s has no command %s", heading, page, program)
	return nil
}

// compiled compiles a program in TypeScript, and runs it.
func compiled(t *testing.T, dir string, env []string) string {
	t.Helper()
	must(t, dir, nil, "node_modules/.bin/tsc", "--strict", "--skipLibCheck", "--target", "es2022", "--module", "commonjs", "--types", "node", "main.ts")
	return must(t, dir, env, "node", "main.js")
}

func TestHeyAPI(t *testing.T) {
	t.Parallel()
	need(t, "")
	folder := suite.Node(t, "hey-api")
	dir, env := use(t, "hey-api/main.ts")
	link(t, folder, dir)
	must(t, dir, nil, "node_modules/.bin/openapi-ts", command(t, "hey-api", "npx openapi-ts")...)
	uses(t, compiled(t, dir, env))
}

// link gives a folder the packages of another one.
func link(t *testing.T, folder, dir string) {
	t.Helper()
	if err := os.Symlink(filepath.Join(folder, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
}

// java returns the folder with openapi-generator and the libraries of its clients.
func java(t *testing.T) string {
	t.Helper()
	need(t, "install a JDK 17 and Maven (Debian: apt-get install default-jdk-headless maven)", "java", "javac", "mvn")
	return filepath.Join(suite.Maven(t, "java"), "lib")
}

// openapiGenerator makes a client from the document in a folder.
func openapiGenerator(t *testing.T, libraries, dir, heading string) {
	t.Helper()
	jars, err := filepath.Glob(filepath.Join(libraries, "openapi-generator-cli-*.jar"))
	if err != nil || len(jars) != 1 {
		t.Fatal(jars, err)
	}
	must(t, dir, nil, "java", append([]string{"-jar", jars[0]}, command(t, heading, "npx @openapitools/openapi-generator-cli")...)...)
}

func TestAxios(t *testing.T) {
	t.Parallel()
	libraries := java(t)
	folder := suite.Node(t, "axios")
	dir, env := use(t, "axios/main.ts")
	link(t, folder, dir)
	openapiGenerator(t, libraries, dir, "openapi-generator: TypeScript")
	uses(t, compiled(t, dir, env))
}

func TestJava(t *testing.T) {
	t.Parallel()
	libraries := java(t)
	dir, env := use(t, "java/Main.java")
	openapiGenerator(t, libraries, dir, "openapi-generator: Java")
	classpath := filepath.Join(libraries, "*")
	must(t, dir, nil, "sh", "-c", "javac -nowarn -proc:none -d classes -cp '"+classpath+"' Main.java $(find marquee/src/main -name '*.java')")
	uses(t, must(t, dir, env, "java", "-cp", "classes:"+classpath, "Main"))
}

func TestOgen(t *testing.T) {
	t.Parallel()
	need(t, "")
	dir, env := use(t, "ogen/main.go")
	module(t, "ogen", dir)
	write(t, dir, "ogen.yml", section(t, "ogen")["yaml"])
	must(t, dir, nil, "go", append([]string{"tool", "ogen"}, command(t, "ogen", "go tool ogen")...)...)
	must(t, dir, nil, "go", "build", "-o", "program", ".")
	uses(t, must(t, dir, env, "./program"))
}
