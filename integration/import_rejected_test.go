package integration

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestImportRejectedAgain: the file of rejected lines is corrected and imported.
func TestImportRejectedAgain(t *testing.T) { eachImport(t, testImportRejectedAgain) }

func testImportRejectedAgain(t *testing.T, fresh newStore) {
	uri := importMade(t, fresh)
	file := importFile(t, `{"id": "one", "name": "One", "ssp": "EXAMPLE"}`, `# a remark {`, `{"id": "two", "name": "Two", "apiKey": "the secret of two"}`,
		"  #", `{"id": "three", "name": "Thr`+"\xff"+`ee", "ssp": "EXAMPLE"}`, `not JSON`, "\t"+`{"id": "f\u0007", "name": "Four", "ssp": "EXAMPLE"}  `)
	report := filepath.Join(t.TempDir(), "rejected.ndjson")
	out := importRun(t, 3, uri, "sspconnections", file, "--context", "main", "--rejected", report)
	procWants(t, out, "1 object: 1 new", "4 lines were rejected", "in "+report+", with the reasons: correct them there, and import that file")
	procShuns(t, out, "the secret of two")
	content, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	procWants(t, string(content), "# line 3: /ssp is required.\n# {\"line\":3,\"messages\":[{", "}]}\n"+`{"id": "two", "name": "Two", "apiKey": "the secret of two"}`+"\n",
		"# line 6: ", "\nnot JSON\n", "\n\t"+`{"id": "f\u0007", "name": "Four", "ssp": "EXAMPLE"}  `+"\n")
	if info, err := os.Stat(report); err != nil || info.Mode() != 0o600 {
		t.Errorf("the file has the mode %v: %v", info.Mode(), err)
	}

	// As it is, the same lines are rejected again.
	second := filepath.Join(t.TempDir(), "again")
	importRun(t, 3, uri, "sspconnections", report, "--context", "main", "--rejected", second)
	texts := func(path string) (list []string) {
		for _, r := range readReport(t, path) {
			list = append(list, r.Text)
		}
		slices.Sort(list)
		return list
	}
	if first, again := texts(report), texts(second); len(first) != 4 || !slices.Equal(first, again) {
		t.Errorf("%q are reported again as %q", first, again)
	}

	corrected := strings.NewReplacer(`"apiKey"`, `"ssp": "EXAMPLE", "apiKey"`, "\xff", "", "not JSON", `{"id": "five", "name": "Five", "ssp": "EXAMPLE"}`, `f\u0007`, "four").Replace(string(content))
	procFile(t, report, corrected)
	procWants(t, importRun(t, 0, uri, "sspconnections", report, "--context", "main"), "4 objects: 4 new", "0 rejected")
	gone(t, report)
}

// TestImportHint: the command that an import without a type prints works.
func TestImportHint(t *testing.T) { eachImport(t, testImportHint) }

func testImportHint(t *testing.T, fresh newStore) {
	uri, dir := importMade(t, fresh), t.TempDir()
	network := procFile(t, filepath.Join(dir, "networks.ndjson"), `{"id": "second", "name": "Second"}`+"\n")
	file := procFile(t, filepath.Join(dir, "my tiers.ndjson"), `{"id": "t", "name": "T", "priority": 3}`+"\n")
	named := procFile(t, filepath.Join(dir, "advertisers.ndjson"), `{"id": "a", "name": "A"}`+"\n")
	for _, c := range []struct {
		file string
		args []string
		says string
	}{
		{file, []string{"--chunk", "10"}, "1 object: 1 new"},
		{named, nil, "1 object: 1 new"},
		{network, []string{"--quiet"}, ""},
		{named, []string{"--context", "second"}, "1 object: 1 new"},
	} {
		args := append([]string{"import", c.file, "--store", uri}, c.args...)
		said := procRefused(t, procCommand(t, importEnv, args...))
		gone(t, c.file)
		_, hint, found := strings.Cut(strings.TrimSpace(said), "as in: ")
		if !found || !strings.HasPrefix(hint, "marquee import ") {
			t.Fatalf("%v says %s", args, said)
		}
		var env []string
		if !strings.HasPrefix(uri, "sqlite:") {
			env = []string{"MARQUEE_SECRET_KEY=" + procKey}
		}
		out, err := procShell(t, strings.Replace(hint, "marquee", procBinary(t), 1)+" 2>&1", env...)
		if err != nil {
			t.Errorf("%s: %s %v", hint, out, err)
		}
		procWants(t, out, c.says)
	}
	// Where the network or the type cannot be known, the place is named.
	said := procRefused(t, procCommand(t, importEnv, "import", file, "--store", uri))
	procWants(t, said, "--context NETWORK")
	unknown := procFile(t, filepath.Join(dir, "unknown.ndjson"), `{"id": "a", "name": "A"}`+"\n")
	procWants(t, procRefused(t, procCommand(t, importEnv, "import", unknown, "--store", uri)), "marquee import TYPE ", "advertisers")
	if secret := "hunter2secret"; strings.HasPrefix(uri, "sqlite:") {
		key := "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
		other := newSQLite(t)
		procRun(t, importEnv, "init", "--store", other, "--secret-key", key)
		out := procRefused(t, procCommand(t, importEnv, "import", named, "--store", other, "--secret-key", key))
		procWants(t, out, "as in: marquee import advertisers ", "and the other flags as before")
		procShuns(t, out, key, secret)
	}
}
