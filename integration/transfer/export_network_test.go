package transfer

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
	"marquee/resources/asset/assettest"
)

// TestExportOfOneNetwork imports an export of one network into an empty store,
// which then holds that network, the users that it needs, and nothing of others.
func TestExportOfOneNetwork(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testExportOfOneNetwork)
}

func testExportOfOneNetwork(t *testing.T, fresh service.NewStore) {
	uri, dir := fresh(t), t.TempDir()
	p := process.Serve(t, uri, "--demo")
	p.SignIn("admin", process.Password)
	write := func(path, body string) {
		t.Helper()
		p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/"+path, body)
	}
	write("networks/second", `{"name": "Second"}`)
	write("roles/seller?context=main", `{"name": "Seller", "permissions": ["RUN_REPORTS"]}`)
	write("roles/other?context=second", `{"name": "Other"}`)
	write("users/both", `{"username": "both", "password": "a password to test with", "userRoles": {"rolesByNetwork": [
		{"network": "second", "roles": [{"role": "other"}]}, {"network": "main", "roles": [{"role": "seller"}]}]}}`)
	write("users/named", `{"username": "named", "userRoles": {"rolesByNetwork": [{"network": "second", "roles": [{"role": "other"}]}]}}`)
	write("users/stranger", `{"username": "stranger", "userRoles": {"rolesByNetwork": [{"network": "second", "roles": [{"role": "other"}]}]}}`)
	write("orders/sold?context=main", `{"name": "Sold", "salespersonUser": "named"}`)
	write("orders/elsewhere?context=second", `{"name": "Elsewhere", "salespersonUser": "stranger"}`)
	p.Stop()

	first, second, files := filepath.Join(dir, "first"), filepath.Join(dir, "second"), filepath.Join(dir, "files")
	process.Wants(t, process.Run(t, process.ImportEnv, "export", "--store", uri, "--context", "main", "--output", first, "--files", files), "objects and")
	wanted := readFile(t, first)
	process.Wants(t, wanted, `{"type":"networks","companionOf":"main","object":{"id":"main",`,
		`{"type":"users","companionOf":"main","object":{"id":"both","objectState":"ACTIVE","userRoles":{"rolesByNetwork":[{"network":"main","roles":[{"role":"seller"}]}]},"username":"both"}}`,
		`{"type":"users","companionOf":"main","object":{"id":"named","objectState":"ACTIVE","userRoles":{"rolesByNetwork":[]},"username":"named"}}`)
	process.Shuns(t, wanted, "stranger", `"second"`, "Elsewhere", "password", "argon2")

	empty := fresh(t)
	process.Wants(t, process.ImportRun(t, 0, empty, first, "--context", "main", "--files", files, "--create"), "0 changed, 0 unchanged; 0 rejected")
	process.ExportRun(t, empty, "--context", "main", "--output", second, "--files", filepath.Join(dir, "again"))
	if got := readFile(t, second); got != wanted {
		t.Errorf("%s\nbecomes\n%s", wanted, got)
	}
	exported := process.ExportRun(t, empty, "--all-networks")
	process.Shuns(t, exported, `"id":"second"`)

	// In a store that has the users and networks, and another network, they stay
	// as they are.
	before := process.ExportRun(t, uri, "users", "networks")
	out := process.ImportRun(t, 0, uri, first, "--context", "second", "--files", files)
	process.Wants(t, out, "0 rejected")
	if after := process.ExportRun(t, uri, "users", "networks"); after != before {
		t.Errorf("%s\nbecame\n%s", before, after)
	}
	process.Wants(t, process.ExportRun(t, uri, "orders", "--context", "second"), `"name":"Sold","salespersonUser":"named"`, `"salespersonUser":"stranger"`)

	// Under another name, in an empty store.
	renamed := fresh(t)
	process.Wants(t, process.ImportRun(t, 0, renamed, first, "--context", "north", "--files", files, "--create"), "0 changed, 0 unchanged; 0 rejected")
	all := process.ExportRun(t, renamed, "--all-networks")
	process.Wants(t, all, `{"type":"networks","object":{"id":"north",`, `[{"network":"north","roles":[{"role":"seller"}]}]`)
	process.Shuns(t, all, `"id":"main"`, `"network":"main"`)

	// A companion belongs to a global type, and to no other network besides.
	for _, line := range []string{`{"type":"notes","companionOf":"main","object":{"id":"n","text":"N"}}`, `{"type":"users","companionOf":"main","context":"main","object":{"id":"n","username":"N"}}`} {
		process.Wants(t, process.ImportRun(t, 3, renamed, process.ImportFile(t, `{"type":"notes","object":{"id":"first","text":"F"}}`, line), "--context", "north"), "1 rejected", "type and object")
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestExportNamesWhatIsMissing: an export without files names the assets that
// it lacks, and everything that an empty store does not accept without them.
func TestExportNamesWhatIsMissing(t *testing.T) { service.EachStore(t, testExportNamesWhatIsMissing) }

func testExportNamesWhatIsMissing(t *testing.T, fresh service.NewStore) {
	uri, file := fresh(t), filepath.Join(t.TempDir(), "export")
	p := process.Serve(t, uri)
	p.Creative()
	p.Uploads("picture", "a.png", assettest.PNG(5, 7))
	p.Ask(http.StatusOK, http.MethodPost, "/api/v1/creatives/c?context=main", `{"layoutParameters": {"image": {"id": "picture"}}}`)
	write := func(path, body string) {
		t.Helper()
		p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/"+path, body)
	}
	write("layouts/plain?context=main", `{"name": "Plain", "html": "{{image}}"}`)
	write("librarycreatives/lib?context=main", `{"name": "L", "layout": "plain", "layoutParameters": {"image": {"id": "picture"}}, "width": 1, "height": 1, "verifiedSafe": true}`)
	write("creatives/taken?context=main", `{"name": "T", "libraryCreative": "lib"}`)
	write("creatives/text?context=main", `{"name": "T", "layout": "plain", "layoutParameters": {"image": "a text"}, "width": 1, "height": 1, "verifiedSafe": true}`)
	p.Stop()

	process.Wants(t, process.Run(t, process.ImportEnv, "export", "--store", uri, "--context", "main", "--output", file),
		"The files of 1 asset were left out. Without them, an import into another store rejects the assets and what refers to them: 2 creatives and 1 librarycreatives. --files DIR exports the files.\n")
	report := file + ".rejected"
	process.Wants(t, process.ImportRun(t, 3, fresh(t), file, "--context", "main", "--create", "--rejected", report), "4 rejected")
	rejected := readFile(t, report)
	for kind, want := range map[string]int{"assets": 1, "creatives": 2, "librarycreatives": 1} {
		if n := strings.Count(rejected, `{"type":"`+kind+`"`); n != want {
			t.Errorf("%d %s are rejected, want %d:\n%s", n, kind, want, rejected)
		}
	}
	// Nothing is missing of types without files.
	process.Shuns(t, process.Run(t, process.ImportEnv, "export", "--store", uri, "creatives", "--context", "main", "--output", file), "left out")
}
