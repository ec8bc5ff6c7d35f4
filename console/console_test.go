package console_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"marquee/console"
	"marquee/engine/rest"
)

func serve(t *testing.T, method, url string, headers ...string) *http.Response {
	t.Helper()
	return serveWith(t, console.Module{}, method, url, headers...)
}

func serveWith(t *testing.T, module console.Module, method, url string, headers ...string) *http.Response {
	t.Helper()
	s, err := rest.New(rest.Config{Routes: console.Routes(module)})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	request, err := http.NewRequestWithContext(t.Context(), method, server.URL+url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	return answer
}

// TestConsolePages: the path of each page is answered with the same document, which is asked for again each time.
func TestConsolePages(t *testing.T) {
	for _, url := range []string{"/console", "/console/", "/console/networks/main/list/orders?q=a", "/console/networks/a%2Fb/object/orders/%2e%2e"} {
		page := serve(t, http.MethodGet, url)
		for name, want := range map[string]string{
			"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' blob:; frame-src 'self'; " +
				"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
		} {
			if got := page.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q", url, name, got)
			}
		}
		if page.StatusCode != http.StatusOK || page.Header.Get("ETag") == "" {
			t.Errorf("%s: %d %v", url, page.StatusCode, page.Header)
		}
		if again := serve(t, http.MethodGet, url, "If-None-Match", page.Header.Get("ETag")); again.StatusCode != http.StatusNotModified {
			t.Errorf("%s is sent again: %d", url, again.StatusCode)
		}
	}
	if posted := serve(t, http.MethodPost, "/console/"); posted.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", posted.StatusCode)
	}
}

// TestConsoleFiles: the files are kept by browsers, as their names change with their contents. Other
// names are not answered with a page.
func TestConsoleFiles(t *testing.T) {
	names := list(t)
	for _, name := range names {
		answer := serve(t, http.MethodGet, "/console/files/"+name)
		want := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}[path.Ext(name)]
		if got := answer.Header.Get("Content-Type"); answer.StatusCode != http.StatusOK || got != want || want == "" {
			t.Errorf("%s: %d, %q", name, answer.StatusCode, got)
		}
		if got := answer.Header.Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
			t.Errorf("%s: Cache-Control is %q", name, got)
		}
		if !regexp.MustCompile(`-[A-Z0-9]{8}\.`).MatchString(name) {
			t.Errorf("%s has no hash in its name", name)
		}
		if packed := serve(t, http.MethodGet, "/console/files/"+name, "Accept-Encoding", "gzip"); size(t, name) > 1000 && packed.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s is not compressed", name)
		}
	}
	for _, name := range []string{"app-00000000.js", "", "../index.html", "..%2findex.html"} {
		if answer := serve(t, http.MethodGet, "/console/files/"+name); answer.StatusCode != http.StatusNotFound {
			t.Errorf("files/%s: %d", name, answer.StatusCode)
		}
	}
}

// TestConsoleModule: the document names the first file of the module by an address that changes with
// the files. Without a module, it names none.
func TestConsoleModule(t *testing.T) {
	address := func(module console.Module) string {
		body, err := io.ReadAll(serveWith(t, module, http.MethodGet, "/console/").Body)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`data-module="([^"]+)"`).FindSubmatch(body)
		if found == nil {
			return ""
		}
		return string(found[1])
	}
	if named := address(console.Module{}); named != "" {
		t.Errorf("without a module, the document names %s", named)
	}
	files := fstest.MapFS{"module.js": {Data: []byte("export const panels = []")}, "other.js": {Data: []byte("1")}, "notes.txt": {Data: []byte("2")}}
	module := console.Module{Files: files}
	named := address(module)
	for url, status := range map[string]int{named: http.StatusOK, strings.Replace(named, "module.js", "other.js", 1): http.StatusOK, strings.Replace(named, "module.js", "notes.txt", 1): http.StatusNotFound} {
		if answer := serveWith(t, module, http.MethodGet, url); answer.StatusCode != status || status == http.StatusOK && answer.Header.Get("Cache-Control") != "public, max-age=31536000, immutable" {
			t.Errorf("%s: %d %v", url, answer.StatusCode, answer.Header)
		}
	}
	files["other.js"] = &fstest.MapFile{Data: []byte("3")}
	if again := address(module); again == named || again == "" {
		t.Errorf("the address of other files is %s", again)
	}
}

const (
	maxFirst = 60 << 10
	// maxAll leaves 12 KB of 120 to the module of an application.
	maxAll = 108 << 10
	// maxEmbedded leaves 100 KB of the 400 by which the console may make a program larger to the
	// module of an application and to code. The files are not compressed in a program.
	maxEmbedded = 300 << 10
)

// TestConsoleSizes: the first page, which is what the document names and what that imports at once, has
// at most 60 KB compressed, and all files have 108 KB. A program becomes at most 400 KB larger.
func TestConsoleSizes(t *testing.T) {
	index := read(t, "dist/index.html")
	first, all, embedded := size(t, "../index.html"), size(t, "../index.html"), len(index)
	named := regexp.MustCompile(`[a-z]+-[A-Z0-9]{8}\.[a-z]+`).FindAllString(index, -1)
	imported := regexp.MustCompile(`(?:from|import)"\./([^"]+)"`)
	for i := 0; i < len(named); i++ {
		for _, match := range imported.FindAllStringSubmatch(read(t, "dist/files/"+named[i]), -1) {
			if !slices.Contains(named, match[1]) {
				named = append(named, match[1])
			}
		}
		first += size(t, named[i])
	}
	for _, name := range list(t) {
		all += size(t, name)
		embedded += len(read(t, "dist/files/"+name))
	}
	if embedded > maxEmbedded {
		t.Errorf("the files make a program %d bytes larger", embedded)
	}
	t.Logf("the first page has %d bytes compressed, all files have %d", first, all)
	if len(named) < 3 || first > maxFirst || all > maxAll {
		t.Errorf("the first page (%v) has %d bytes compressed, and all files have %d", named, first, all)
	}
}

const maxRenderer = 2500

// TestRendererSize: what draws forms has at most 2,500 lines.
func TestRendererSize(t *testing.T) {
	names, err := fs.Glob(os.DirFS("web/src/form"), "*.ts*")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	lines := 0
	for _, name := range names {
		lines += strings.Count(read(t, "web/src/form/"+name), "\n")
	}
	t.Logf("the renderer has %d lines", lines)
	if lines > maxRenderer {
		t.Errorf("the renderer has %d lines", lines)
	}
}

// TestConsoleNamesNothingElse: the files name no other host, have no text that becomes a script, and one style sheet.
func TestConsoleNamesNothingElse(t *testing.T) {
	sheets := 0
	for _, name := range append(list(t), "../index.html") {
		text := read(t, "dist/files/"+name)
		for _, url := range regexp.MustCompile(`(?:https?:)?//[a-z0-9-]+\.[a-z.]+[^"'\s`+"`"+`]*`).FindAllString(text, -1) {
			if !strings.HasPrefix(url, "http://www.w3.org/") { // names of namespaces
				t.Errorf("%s names %s", name, url)
			}
		}
		for _, sink := range []string{"eval(", "new Function", "document.write", "insertAdjacentHTML", "outerHTML", "localStorage.setItem(\"marquee.refresh"} {
			if strings.Contains(text, sink) {
				t.Errorf("%s has %s", name, sink)
			}
		}
		if path.Ext(name) == ".css" {
			sheets++
		}
	}
	if sheets != 1 {
		t.Errorf("there are %d style sheets", sheets)
	}
}

func list(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir("dist/files")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func read(t *testing.T, name string) string {
	t.Helper()
	body, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// size returns the number of bytes of a file when it is compressed.
func size(t *testing.T, name string) int {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(read(t, "dist/files/"+name))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Len()
}
