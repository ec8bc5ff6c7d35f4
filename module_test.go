package marquee_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAnotherModule builds and runs a program of another module, which uses this one
// through a replace line.
func TestAnotherModule(t *testing.T) {
	if testing.Short() {
		t.Skip("a program is built")
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	ours, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	// The same versions, so that the cache of modules has all of them.
	_, requirements, _ := strings.Cut(string(ours), "\n")
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"go.mod": "module hospital\n" + requirements + "\nrequire marquee v0.0.0\n\nreplace marquee => " + here + "\n",
		"go.sum": string(sums),
		"main.go": `package main

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
`,
		"wards.json": `{"$schema": "https://json-schema.org/draft/2020-12/schema", "x-resource": {"path": "wards"}, "type": "object", "properties": {"name": {"type": "string"}}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command("go", "run", "-mod=mod", ".")
	command.Dir = dir
	out, err := command.CombinedOutput()
	if err != nil && (strings.Contains(string(out), "dial tcp") || strings.Contains(string(out), "module lookup disabled") || strings.Contains(string(out), "no such host")) {
		t.Skip("neither the cache of modules nor the proxy has the modules that the program needs")
	}
	if err != nil || strings.TrimSpace(string(out)) != "200" {
		t.Fatalf("%v\n%s", err, out)
	}
}
