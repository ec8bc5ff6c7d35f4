package transfer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
	"marquee/resources/asset/assettest"
)

// TestExportFiles: a store with assets is exported with their files and
// imported into an empty one, which is then the same, and delivers them at the
// same places.
func TestExportFiles(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testExportFiles)
}

func testExportFiles(t *testing.T, fresh service.NewStore) {
	uri, dir := fresh(t), t.TempDir()
	image := assettest.PNG(5, 7)
	p := process.Serve(t, uri)
	p.Creative()
	p.Uploads("picture", "é b.png", image)
	p.Uploads("gone", "gone.svg", assettest.SVG(3, 3))
	p.Uploads("bundle", "b.zip", assettest.ZIP(assettest.Entry{Name: "index.html", Content: `<img src="i/a%20b.png">`},
		assettest.Entry{Name: "i/a b.png", Content: string(image)}, assettest.Entry{Name: "more.html", Content: "<p>"}))
	p.Ask(http.StatusOK, http.MethodPost, "/api/v1/assets/c/gone?context=main", `{"objectState": "HIDDEN"}`)
	p.Ask(http.StatusOK, http.MethodPost, "/api/v1/creatives/c?context=main", `{"layoutParameters": {"image": {"id": "picture"}}}`)
	list := string(p.Ask(http.StatusOK, http.MethodGet, "/api/v1/assets/c?context=main&orderBy=fileName&includeHidden=true&fields=id,objectState,fileName,mimeType,cdnId,htmlUrls,sha256,fileSizeBytes,width,height,primaryHtmlAsset", "").Body)
	p.Stop()

	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	exports := func(uri, folder, file string, more ...string) string {
		return process.Run(t, process.ImportEnv, append([]string{"export", "--store", uri, "--all-networks", "--secrets", "--output", file, "--files", filepath.Join(dir, folder)}, more...)...)
	}
	process.Wants(t, exports(uri, "files", first), " and 5 files exported\n")
	names := func(folder string) (names []string) {
		entries, err := os.ReadDir(filepath.Join(dir, folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		return names
	}
	if got := names("files"); len(got) != 4 {
		t.Errorf("the folder has %v", got)
	}
	// What is there is not written again.
	before, err := os.Stat(filepath.Join(dir, "files", names("files")[0]))
	if err != nil {
		t.Fatal(err)
	}
	exports(uri, "files", second)
	if after, err := os.Stat(filepath.Join(dir, "files", names("files")[0])); err != nil || after.ModTime() != before.ModTime() {
		t.Error("a file was written again", err)
	}

	empty := fresh(t)
	process.Wants(t, process.Fails(t, process.ImportEnv, "import", "--create", "--store", empty, first), "refers to files", "--files DIR")
	process.Wants(t, process.ImportRun(t, 0, empty, first, "--create", "--restart", "--chunk", "1", "--files", filepath.Join(dir, "files")), "; 0 rejected")
	exports(empty, "others", second)
	wanted, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(second); err != nil || string(got) != string(wanted) {
		t.Errorf("%s\nbecomes\n%s\n%v", wanted, got, err)
	}
	if fmt.Sprint(names("files")) != fmt.Sprint(names("others")) {
		t.Errorf("%v become %v", names("files"), names("others"))
	}
	id, _, _ := strings.Cut(strings.Split(process.ExportRun(t, empty, "users"), `"id":"`)[1], `"`)
	process.ImportRun(t, 0, empty, "users", process.ImportFile(t, `{"id": "`+id+`", "password": "`+process.Password+`"}`))
	q := process.Serve(t, empty)
	q.SignIn("admin", process.Password)
	if got := string(q.Ask(http.StatusOK, http.MethodGet, "/api/v1/assets/c?context=main&orderBy=fileName&includeHidden=true&fields=id,objectState,fileName,mimeType,cdnId,htmlUrls,sha256,fileSizeBytes,width,height,primaryHtmlAsset", "").Body); got != list {
		t.Errorf("%s\nbecomes\n%s", list, got)
	}
	for path, status := range deliveredPlaces(list) {
		if a := q.Ask(status, http.MethodGet, path, ""); status == http.StatusOK && strings.HasSuffix(path, ".png") && !bytes.Equal(a.Body, image) {
			t.Errorf("%s is %q", path, a.Body)
		}
	}
	q.Stop()

	// Without files, the objects are there and it is said what is missing.
	process.Wants(t, process.Run(t, process.ImportEnv, "export", "--store", uri, "assets", "--context", "main", "--output", second), "3 objects exported\n", "The files of 3 assets were left out", "--files DIR")
	// In a store that delivers from a place already, there is another one.
	process.ImportRun(t, 0, empty, process.ImportFile(t, `{"type": "networks", "object": {"id": "second", "name": "Second"}}`))
	process.ExportRun(t, uri, "assets", "creatives", "layouts", "--context", "main", "--output", second, "--files", filepath.Join(dir, "files"))
	process.Wants(t, process.ImportRun(t, 0, empty, second, "--context", "second", "--files", filepath.Join(dir, "files")), "5 objects: 5 new")
	copied := process.ExportRun(t, empty, "assets", "--context", "second", "--files", filepath.Join(dir, "files"))
	for path := range deliveredPlaces(list) {
		process.Shuns(t, copied, strings.Split(path, "/")[2])
	}
	// Again, nothing changes.
	process.Wants(t, process.ImportRun(t, 0, empty, second, "--context", "second", "--files", filepath.Join(dir, "files")), "5 objects: 0 new, 0 changed, 5 unchanged")
}

// deliveredPlaces are the paths in a list of assets, with the status that they
// answer with.
func deliveredPlaces(list string) map[string]int {
	value, _ := service.Decode([]byte(list))
	places := map[string]int{}
	object, _ := value.(map[string]any)
	results, _ := object["results"].([]any)
	for _, result := range results {
		asset, _ := result.(map[string]any)
		status := http.StatusOK
		if asset["objectState"] != "ACTIVE" {
			status = http.StatusNotFound
		}
		urls, _ := asset["htmlUrls"].(map[string]any)
		for _, path := range urls {
			places[path.(string)] = status
		}
		places[asset["cdnId"].(string)] = status
	}
	return places
}

// TestImportFilesRefused: what a line says of its files, and what the files
// hold, is not believed.
func TestImportFilesRefused(t *testing.T) {
	process.SkipLong(t)
	eachImport(t, testImportFilesRefused)
}

func testImportFilesRefused(t *testing.T, fresh service.NewStore) {
	uri, dir := process.ImportMade(t, fresh), t.TempDir()
	put := func(content []byte) string {
		sum := sha256.Sum256(content)
		name := hex.EncodeToString(sum[:])
		process.File(t, filepath.Join(dir, name), string(content))
		return name
	}
	image, page, program := put(assettest.PNG(2, 2)), put([]byte("<!doctype html><p>")), put([]byte("MZ\x90\x00"))
	bundle := put(assettest.ZIP(assettest.Entry{Name: "index.html", Content: "<p>"}))
	other := strings.Repeat("0", 63) + "1"
	process.File(t, filepath.Join(dir, other), string(assettest.PNG(3, 3)))
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, strings.Repeat("0", 63)+"2")); err != nil {
		t.Fatal(err)
	}
	single := func(name, sum string) string { return says(name, sum, map[string]string{name: sum}) }
	for i, c := range []struct{ file, code string }{
		{single("a.png", image), ""},
		{single("a.png", other), "error.asset.file.other"},
		{single("a.png", strings.Repeat("0", 64)), "error.file.not.in.folder"},
		{single("a.exe", program), "error.asset.type"},
		{single("b.zip", bundle), "error.asset.file.said"},
		{says("b.zip", bundle, map[string]string{"index.html": page, "i/a.png": image}), ""},
		{says("b.zip", bundle, map[string]string{"index.html": page, "../a.png": image}), "error.bundle.path"},
		{says("b.zip", bundle, map[string]string{"index.html": page, "a.png": page}), "error.bundle.entry.type"},
		{says("b.zip", bundle, map[string]string{"index.html": page, "a.exe": program}), "error.bundle.entry.type"},
		{says("b.zip", bundle, map[string]string{"index.html": page, "Thumbs.db": page}), "error.asset.file.said"},
		{says("b.zip", bundle, map[string]string{"a.png": image}), "error.bundle.primary"},
		{says("b.zip", bundle, map[string]string{"index.html": "../" + image}), "error.asset.file.said"},
		{says("b.zip", bundle, map[string]string{}), "error.asset.file.said"},
		{`{"name": 3}`, "error.asset.file.said"},
		{`null`, "error.asset.file.said"},
		{strings.Replace(single("a.png", image), strings.Repeat("A", 26), "A/B", 1), "error.asset.file.said"},
	} {
		id := fmt.Sprintf("a%d", i)
		file := process.ImportFile(t, `{"type": "layouts", "object": {"id": "l", "name": "L", "html": "<p>"}}`,
			`{"type": "creatives", "object": {"id": "c", "name": "C", "layout": "l", "verifiedSafe": true, "dimensionType": "FLEXIBLE"}}`,
			`{"type": "assets", "object": {"id": "`+id+`", "creative": "c", "file": `+c.file+`}}`)
		report, code := filepath.Join(t.TempDir(), "report"), 3
		if c.code == "" {
			code = 0
		}
		process.ImportRun(t, code, uri, file, "--context", "main", "--rejected", report, "--files", dir)
		rejected := process.ReadReport(t, report)
		if c.code == "" {
			if len(rejected) > 0 {
				t.Errorf("%s: %v", c.file, rejected)
			}
			continue
		}
		if messages := rejected[3].Messages; len(rejected) != 1 || len(messages) != 1 || messages[0].Code != c.code || messages[0].Params["field"] != "/file" {
			t.Errorf("%s: %v, not %s", c.file, rejected, c.code)
		}
	}
	if got := process.ExportRun(t, uri, "assets", "--context", "main", "--files", filepath.Join(dir, "out")); strings.Count(got, "\n") != 2 {
		t.Errorf("there are %s", got)
	}
	// A link does not lead out of the folder.
	link := process.ImportFile(t, `{"id": "z", "creative": "c", "file": `+single("a.html", strings.Repeat("0", 63)+"2")+`}`)
	process.Shuns(t, process.ImportRun(t, 1, uri, "assets", link, "--context", "main", "--files", dir), "root:")
	process.Wants(t, process.ImportRun(t, 1, uri, "assets", link, "--context", "main", "--files", filepath.Join(dir, "nowhere")), "--files cannot be opened")
	process.Wants(t, process.Fails(t, process.ImportEnv, "export", "--store", uri, "--context", "main", "--files", filepath.Join(dir, image)), "--files cannot be made")
}

// says is what a line says of its files.
func says(name, sum string, files map[string]string) string {
	var members []string
	for path, sum := range files {
		members = append(members, fmt.Sprintf("%q: %q", path, sum))
	}
	return fmt.Sprintf(`{"name": %q, "sha256": %q, "size": 10, "delivery": "AAAAAAAAAAAAAAAAAAAAAAAAAA", "files": {%s}}`, name, sum, strings.Join(members, ", "))
}
