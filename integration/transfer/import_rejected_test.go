package transfer

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestImportRejectedAgain: the file of rejected lines is corrected and imported.
func TestImportRejectedAgain(t *testing.T) { eachImport(t, testImportRejectedAgain) }

func testImportRejectedAgain(t *testing.T, fresh service.NewStore) {
	uri := process.ImportMade(t, fresh)
	file := process.ImportFile(t, `{"id": "one", "name": "One", "ssp": "EXAMPLE"}`, `# a remark {`, `{"id": "two", "name": "Two", "apiKey": "the secret of two"}`,
		"  #", `{"id": "three", "name": "Thr`+"\xff"+`ee", "ssp": "EXAMPLE"}`, `not JSON`, "\t"+`{"id": "f\u0007", "name": "Four", "ssp": "EXAMPLE"}  `)
	report := filepath.Join(t.TempDir(), "rejected.ndjson")
	out := process.ImportRun(t, 3, uri, "sspconnections", file, "--context", "main", "--rejected", report)
	process.Wants(t, out, "1 object: 1 new", "4 lines were rejected", "in "+report+", with the reasons: correct them there, and import that file")
	process.Shuns(t, out, "the secret of two")
	content, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	process.Wants(t, string(content), "# line 3: /ssp is required.\n# {\"line\":3,\"messages\":[{", "}]}\n"+`{"id": "two", "name": "Two", "apiKey": "the secret of two"}`+"\n",
		"# line 6: ", "\nnot JSON\n", "\n\t"+`{"id": "f\u0007", "name": "Four", "ssp": "EXAMPLE"}  `+"\n")
	if info, err := os.Stat(report); err != nil || info.Mode() != 0o600 {
		t.Errorf("the file has the mode %v: %v", info.Mode(), err)
	}

	// As it is, the same lines are rejected again.
	second := filepath.Join(t.TempDir(), "again")
	process.ImportRun(t, 3, uri, "sspconnections", report, "--context", "main", "--rejected", second)
	texts := func(path string) (list []string) {
		for _, r := range process.ReadReport(t, path) {
			list = append(list, r.Text)
		}
		slices.Sort(list)
		return list
	}
	if first, again := texts(report), texts(second); len(first) != 4 || !slices.Equal(first, again) {
		t.Errorf("%q are reported again as %q", first, again)
	}

	corrected := strings.NewReplacer(`"apiKey"`, `"ssp": "EXAMPLE", "apiKey"`, "\xff", "", "not JSON", `{"id": "five", "name": "Five", "ssp": "EXAMPLE"}`, `f\u0007`, "four").Replace(string(content))
	process.File(t, report, corrected)
	process.Wants(t, process.ImportRun(t, 0, uri, "sspconnections", report, "--context", "main"), "4 objects: 4 new", "0 rejected")
	process.Gone(t, report)
}

// TestImportHint: the command that an import without a type prints works.
func TestImportHint(t *testing.T) {
	process.SkipLong(t)
	eachImport(t, testImportHint)
}

func testImportHint(t *testing.T, fresh service.NewStore) {
	uri, dir := process.ImportMade(t, fresh), t.TempDir()
	network := process.File(t, filepath.Join(dir, "networks.ndjson"), `{"id": "second", "name": "Second"}`+"\n")
	file := process.File(t, filepath.Join(dir, "my tiers.ndjson"), `{"id": "t", "name": "T", "priority": 3}`+"\n")
	named := process.File(t, filepath.Join(dir, "advertisers.ndjson"), `{"id": "a", "name": "A"}`+"\n")
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
		said := process.Refused(t, process.Command(t, process.ImportEnv, args...))
		process.Gone(t, c.file)
		_, hint, found := strings.Cut(strings.TrimSpace(said), "as in: ")
		if !found || !strings.HasPrefix(hint, "marquee import ") {
			t.Fatalf("%v says %s", args, said)
		}
		var env []string
		if !strings.HasPrefix(uri, "sqlite:") {
			env = []string{"MARQUEE_SECRET_KEY=" + process.Key}
		}
		out, err := process.Shell(t, strings.Replace(hint, "marquee", process.Binary(t), 1)+" 2>&1", env...)
		if err != nil {
			t.Errorf("%s: %s %v", hint, out, err)
		}
		process.Wants(t, out, c.says)
	}
	// Where the network or the type cannot be known, the place is named.
	said := process.Refused(t, process.Command(t, process.ImportEnv, "import", file, "--store", uri))
	process.Wants(t, said, "--context NETWORK")
	unknown := process.File(t, filepath.Join(dir, "unknown.ndjson"), `{"id": "a", "name": "A"}`+"\n")
	process.Wants(t, process.Refused(t, process.Command(t, process.ImportEnv, "import", unknown, "--store", uri)), "marquee import TYPE ", "advertisers")
	if secret := "hunter2secret"; strings.HasPrefix(uri, "sqlite:") {
		key := "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
		other := service.NewSQLite(t)
		process.Run(t, process.ImportEnv, "init", "--store", other, "--secret-key", key)
		out := process.Refused(t, process.Command(t, process.ImportEnv, "import", named, "--store", other, "--secret-key", key))
		process.Wants(t, out, "as in: marquee import advertisers ", "and the other flags as before")
		process.Shuns(t, out, key, secret)
	}
}
