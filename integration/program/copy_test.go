package program

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"marquee/integration/mongodb"
	"marquee/integration/process"
	"marquee/integration/service"
)

// eachKind runs a test with a new store of each kind. A long test runs with an SQLite file also
// where MARQUEE_STORES leaves that out, so that copies go in all directions.
func eachKind(t *testing.T, as string, test func(t *testing.T, uri string)) {
	for name, fresh := range map[string]service.NewStore{"sqlite": service.NewSQLite, "mongodb": mongodb.URI} {
		t.Run(as+" "+name, func(t *testing.T) {
			if name == "mongodb" {
				service.NeedStore(t, name)
				mongodb.Need(t)
			}
			test(t, fresh(t))
		})
	}
}

// otherKey is another secret key than process.Key.
const otherKey = "YW5vdGhlciBrZXkgb2YgdGhlIHRlc3RzIHRoYW4gaXQ="

// TestCopyDrill: what a service answers on a copy is what it has answered on the store that was
// copied, byte by byte: objects with their entity tags, lists, searches, the history, and files.
// Passwords, access tokens and API tokens remain valid, although the copy has another key.
func TestCopyDrill(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	eachKind(t, "from", testCopyDrill)
}

func testCopyDrill(t *testing.T, from string) {
	folder := t.TempDir()
	source := []string{"--schemas", folder}
	serving := []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + process.Password, "MARQUEE_SECRET_KEY=" + process.Key}
	copied := []string{"MARQUEE_FROM_SECRET_KEY=" + process.Key, "MARQUEE_TO_SECRET_KEY=" + otherKey}
	schema := func(resource, properties string) string {
		return `{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Venue", "x-resource": {` + resource + `, "search": ["name"], "unique": ["name"], "index": ["kind"], "sort": ["name"],
			"methods": ["GET", "HEAD", "POST", "PUT", "DELETE"]}, "type": "object", "required": ["name"],
			"properties": {"name": {"type": "string", "x-personal": true}, "kind": {"type": "string"}, "owner": {"$ref": "common/reference.json", "x-ref": "users"}, ` + properties + `}}`
	}
	place := filepath.Join(folder, "venues.json")
	process.File(t, place, schema(`"path": "halls"`, `"pin": {"type": "string", "x-secret": true}`))
	p := process.ServeWith(t, from, serving, append(source, "--demo")...)
	p.SignIn("admin", process.Password)
	for from := range 2 {
		p.Ask(http.StatusOK, http.MethodPost, "/api/v1/halls?context=main", service.ArrayOf(600, func(i int) string {
			i += 600 * from
			return fmt.Sprintf(`{"id": "h%d", "name": "Große Halle %d", "kind": "k%d", "pin": "geheim %d"}`, i, i, i%7, i)
		}))
	}
	p.Ask(http.StatusOK, http.MethodPatch, "/api/v1/halls/h1?context=main", `{"kind": null}`)
	p.Ask(http.StatusNoContent, http.MethodDelete, "/api/v1/halls/h2?context=main", "")
	p.Ask(http.StatusOK, http.MethodPost, "/api/v1/halls/h3/erase?context=main", "")
	p.Ask(http.StatusOK, http.MethodPost, "/api/v1/users", `[{"id": "kari", "username": "kari", "name": "Kari", "password": "a long unheard-of one"}]`)
	p.Ask(http.StatusOK, http.MethodPost, "/api/v1/users/kari/erase", "")
	p.Stop()
	process.File(t, place, schema(`"path": "venues", "was": "halls"`, `"code": {"type": "string", "x-secret": true, "x-was": "pin"}, "rank": {"type": "integer", "default": 3}`))
	added := process.Run(t, serving, append([]string{"token", "add", "reader", "--user", "admin", "--role", "Administrator", "--network", "main", "--json", "--store", from}, source...)...)
	apiToken := regexp.MustCompile(`mq_[\w-]+`).FindString(added)
	p = process.ServeWith(t, from, serving, source...)
	p.SignIn("admin", process.Password)
	p.Ask(http.StatusOK, http.MethodPatch, "/api/v1/venues/h4?context=main", `{"code": "another"}`)
	access := p.Token
	before := recorded(p)
	const feed = "/api/v1/changes?context=main&type=venues"
	position, _ := p.Ask(http.StatusOK, http.MethodGet, feed, "").JSON().(map[string]any)["position"].(string)
	if position == "" {
		t.Fatal("the change feed has no position")
	}
	if len(before) < 1300 || apiToken == "" {
		t.Fatalf("%d answers are recorded; the token: %s", len(before), added)
	}
	none := filepath.Join(t.TempDir(), "none.db")
	process.Wants(t, process.Fails(t, copied, "copy", "--from", from, "--to", "sqlite:"+none), "stop")
	if _, err := os.Stat(none); err == nil {
		t.Error("a copy of a store that is served has made a target")
	}
	p.Stop()
	content := service.AtRest(t, from)
	eachKind(t, "to", func(t *testing.T, to string) {
		said := process.Run(t, copied, "copy", "--from", from, "--to", to)
		process.Wants(t, said, "1,199 halls", "copying the history: ", "the digests of both stores agree")
		process.Shuns(t, said, "geheim", "mq_", process.Key, otherKey)
		resealed := []string{"MARQUEE_SECRET_KEY=" + otherKey}
		process.Wants(t, process.Run(t, resealed, "check", "--store", to, "--schemas", folder), "nothing is wrong")
		p := process.ServeWith(t, to, resealed, source...)
		p.Token = access
		after := recorded(p)
		for path, want := range before {
			if got := after[path]; got != want {
				t.Errorf("%s:\n%s\ninstead of\n%s", path, got, want)
			}
		}
		if len(after) != len(before) {
			t.Errorf("%d answers instead of %d", len(after), len(before))
		}
		refused := p.Ask(http.StatusBadRequest, http.MethodGet, feed+"&after="+url.QueryEscape(position), "")
		process.Wants(t, string(refused.Body), "error.position.invalid")
		p.SignIn("admin", process.Password)
		p.Ask(http.StatusOK, http.MethodPatch, "/api/v1/venues/h5?context=main", `{"rank": 4}`)
		p.Ask(http.StatusUnprocessableEntity, http.MethodPost, "/api/v1/venues?context=main", `[{"name": "Große Halle 5"}]`)
		p.Token = apiToken
		p.Ask(http.StatusOK, http.MethodGet, "/api/v1/venues/h5?context=main", "")
		p.Stop()
		process.Wants(t, process.Fails(t, copied, "copy", "--from", from, "--to", to), "it is not empty")
	})
	if !slices.Equal(service.AtRest(t, from), content) {
		t.Error("the source has changed")
	}
}

var (
	// unlike is what two answers with the same content do not share.
	unlike = regexp.MustCompile(`"nextCursor":"[^"]*"|"instance":"[^"]*"|https?://127[.]0[.]0[.]1:\d+`)
	stored = regexp.MustCompile(`/delivery/[^"?]+`)
)

// recorded returns what a service answers to requests that read everything, by path.
func recorded(p *process.Process) map[string]string {
	answers := map[string]string{}
	get := func(path string) map[string]any {
		a, err := p.Send(http.MethodGet, path, nil, nil)
		if err != nil {
			p.TB.Fatal(path, err)
		}
		answers[path] = unlike.ReplaceAllString(fmt.Sprintf("%d %s\n%s", a.Status, a.Header.Get("ETag"), a.Body), "")
		object, _ := a.JSON().(map[string]any)
		return object
	}
	// list reads all pages of a list, and each of its objects.
	list := func(path string) {
		for page := 0; ; page++ {
			results, _ := get(fmt.Sprintf("%s?context=main&includeHidden=true&pageSize=1000&page=%d", path, page))["results"].([]any)
			for _, object := range results {
				id, _ := object.(map[string]any)["id"].(string)
				get(path + "/" + url.PathEscape(id) + "?context=main")
			}
			if len(results) < 1000 {
				return
			}
		}
	}
	types, _ := p.Ask(http.StatusOK, http.MethodGet, "/api/schemas", "").JSON().(map[string]any)["types"].([]any)
	for _, t := range types {
		name, _ := t.(map[string]any)["type"].(string)
		switch name {
		case "tokens": // of which the last use is noted
		case "assets":
			for _, creative := range p.Ask(http.StatusOK, http.MethodGet, "/api/v1/creatives?context=main", "").JSON().(map[string]any)["results"].([]any) {
				list("/api/v1/assets/" + creative.(map[string]any)["id"].(string))
			}
		default:
			list("/api/v1/" + name)
		}
		for page := range 3 {
			get(fmt.Sprintf("/api/v1/audit?context=main&pageSize=1000&type=%s&page=%d", name, page))
		}
	}
	for _, path := range []string{"audit?", "notifications?", "venues?q=halle+7&sort=name&", "venues?kind=k3&", "venues?where=rank+%3E+2&"} {
		get("/api/v1/" + path + "context=main&pageSize=1000")
	}
	files := map[string]bool{}
	for _, answer := range answers {
		for _, path := range stored.FindAllString(answer, -1) {
			files[path] = true
		}
	}
	if len(files) == 0 {
		p.TB.Error("there are no files")
	}
	for path := range files {
		get(path)
	}
	return answers
}

// TestCopyRefusals: what cannot be copied is refused with the reason, and neither store is
// changed.
func TestCopyRefusals(t *testing.T) {
	from, folder := sqliteStore(t)
	p := process.Serve(t, from)
	p.Stop()
	path, place := filepath.Join(folder, "marquee.db"), t.TempDir()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other := func(name string, change func([]byte) []byte) string {
		key, err := os.ReadFile(filepath.Join(folder, "marquee.key"))
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(place, name)
		if err := os.Mkdir(at, 0o700); err != nil {
			t.Fatal(err)
		}
		process.File(t, filepath.Join(at, "marquee.key"), string(key))
		process.File(t, filepath.Join(at, "marquee.db"), string(change(slices.Clone(content))))
		return "sqlite:" + filepath.Join(at, "marquee.db")
	}
	version := func(n byte) func([]byte) []byte { // PRAGMA user_version is at 60
		return func(file []byte) []byte {
			copy(file[60:], []byte{0, 0, n, 0})
			return file
		}
	}
	elsewhere := "sqlite:" + filepath.Join(place, "elsewhere", "marquee.db")
	wrong := process.File(t, filepath.Join(place, "wrong.key"), otherKey+"\n")
	before, names := contentOf(t, folder), namesIn(t, folder)
	letter := process.File(t, filepath.Join(place, "letter"), strings.Repeat("a letter ", 1000))
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"same":        {[]string{"--from", from, "--to", "sqlite:" + filepath.Join(folder, ".", "marquee.db")}, "are the same store"},
		"none":        {[]string{"--from", "sqlite:" + filepath.Join(place, "none.db"), "--to", elsewhere}, "there is no store at"},
		"lock":        {[]string{"--from", from, "--to", from + ".lock"}, "would overwrite the source"},
		"log":         {[]string{"--from", from, "--to", from + "-wal"}, "would overwrite the source"},
		"own key":     {[]string{"--from", from, "--to", "sqlite:" + filepath.Join(folder, "marquee.key"), "--to-secret-key", otherKey}, "would overwrite the key of the source"},
		"target key":  {[]string{"--from", from, "--to", elsewhere, "--to-secret-key-file", strings.TrimPrefix(elsewhere, "sqlite:")}, "would overwrite the key of the target"},
		"wrong key":   {[]string{"--from", from, "--to", elsewhere, "--to-secret-key", "geheim"}, "--to-secret-key: the secret key must be base64"},
		"a letter":    {[]string{"--from", from, "--to", "sqlite:" + letter}, "it is not an SQLite database"},
		"a folder":    {[]string{"--from", from, "--to", "sqlite:" + folder}, "is a folder"},
		"missing":     {[]string{"--from", from}, "--from and --to are needed"},
		"scheme":      {[]string{"--from", from, "--to", "postgres://kari:geheim@host"}, "--to: the store \"postgres://…\" has an unknown scheme"},
		"key":         {[]string{"--from", from, "--to", elsewhere, "--from-secret-key-file", wrong}, "the key of the source is not the one that it was served with"},
		"no key":      {[]string{"--from", from, "--to", elsewhere, "--from-secret-key-file", filepath.Join(place, "none.key")}, "the key of the source cannot be read"},
		"application": {[]string{"--from", from, "--to", elsewhere, "--application", "none"}, "the store was made for the application advertising, and cannot be opened for none"},
		"newer":       {[]string{"--from", other("newer", version(3)), "--to", elsewhere}, "it was written by a newer Marquee"},
		"truncated":   {[]string{"--from", other("truncated", func(file []byte) []byte { return file[:len(file)/2] }), "--to", elsewhere}, "it is corrupt"},
		"foreign":     {[]string{"--from", other("foreign", func([]byte) []byte { return []byte(strings.Repeat("no database ", 1000)) }), "--to", elsewhere}, "it is not an SQLite database"},
		"not empty":   {[]string{"--from", from, "--to", other("filled", func(file []byte) []byte { return file })}, "it is not empty"},
	} {
		t.Run(name, func(t *testing.T) {
			said := process.Fails(t, nil, append([]string{"copy"}, c.args...)...)
			process.Wants(t, said, c.want)
			process.Shuns(t, said, "geheim", otherKey, "sqlite3")
			if left, err := filepath.Glob(filepath.Join(place, "*.lock")); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v %v", left, err)
			}
			if _, err := os.Stat(filepath.Join(place, "elsewhere")); err == nil {
				t.Error("a target was made")
			}
		})
	}
	if after := contentOf(t, folder); !maps.Equal(after, before) || !slices.Equal(names, namesIn(t, folder)) {
		t.Error("the source was changed")
	}
}
