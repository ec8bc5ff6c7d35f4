package program

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestOperatorErases: the command erases beside a server and without one, and the history
// names the operator.
func TestOperatorErases(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testOperatorErases)
}

func testOperatorErases(t *testing.T, fresh service.NewStore) {
	uri, folder := fresh(t), t.TempDir()
	process.File(t, filepath.Join(folder, "patients.json"), `{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Patient", "x-resource": {"path": "patients"},
		"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "x-personal": true}}}`)
	at := []string{"--store", uri, "--schemas", folder}
	run := func(args ...string) string { return process.Run(t, nil, append(args, at...)...) }
	fails := func(args ...string) string { return process.Fails(t, nil, append(args, at...)...) }
	p := process.Serve(t, uri, "--schemas", folder)
	p.SignIn("admin", process.Password)
	p.Ask(http.StatusOK, http.MethodPost, "/api/v1/patients?context=main", `[{"id": "a/1", "name": "Kari"}, {"id": "b", "name": "Ola"}]`)
	p.Ask(http.StatusOK, http.MethodPost, "/api/v1/users", `[{"id": "k", "username": "kari"}]`)
	process.Wants(t, run("erase", "patients", "a/1"), "Erased patients a/1: /name.")
	process.Wants(t, run("erase", "users", "k", "--json"), `"complete":true`, `"properties":["/username"]`)
	process.Wants(t, fails("erase", "patients", "c"), "There is no object c of type patients")
	process.Wants(t, fails("erase", "teams", "c"), "This path does not exist")
	process.Wants(t, fails("erase", "patients", "b", "--network", "none"), `there is no network "none"`)
	p.Stop()
	process.Wants(t, run("erase", "patients", "b", "--network", "main"), "Erased patients b: /name.")
	process.Wants(t, run("erase", "patients", "b"), "Erased patients b, which had no personal values any more.")
	if strings.HasPrefix(uri, "sqlite:") {
		run("check") // which finds no fault in what erased objects lack
	}
	exported := filepath.Join(t.TempDir(), "exported.ndjson")
	run("export", "patients", "--context", "main", "--output", exported)
	other := []string{"--store", "sqlite:" + filepath.Join(t.TempDir(), "other.db"), "--schemas", folder}
	process.Run(t, []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + process.Password}, append([]string{"init"}, other...)...)
	process.Wants(t, process.Run(t, nil, append([]string{"import", "patients", exported, "--context", "main"}, other...)...), "2")
	p = process.Serve(t, uri, "--schemas", folder)
	p.SignIn("admin", process.Password)
	process.Shuns(t, string(p.Ask(http.StatusOK, http.MethodGet, "/api/v1/patients?context=main&includeHidden=true", "").Body), "Kari", "Ola")
	history := string(p.Ask(http.StatusOK, http.MethodGet, "/api/v1/audit?context=main&type=patients", "").Body)
	process.Shuns(t, history, "Kari", "Ola")
	process.Wants(t, history, "audit.cause.operator")
}
