package openapi

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"path"
	"sync"

	"github.com/swaggest/swgui/v5/static"

	"marquee/engine/message"
	"marquee/engine/rest"
)

// pagePolicy lets the page load its own scripts and call its own server, and nothing
// else. Swagger UI sets the style of elements.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

//go:embed page
var page embed.FS

// parsePage returns the template of a page without scripts.
func parsePage(name string) *template.Template {
	return template.Must(template.ParseFS(page, "page/"+name))
}

func execute(t *template.Template, of any) ([]byte, error) {
	var b bytes.Buffer
	err := t.Execute(&b, of)
	return b.Bytes(), err
}

// pageTypes are the media types of the files of the page.
var pageTypes = map[string]string{".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}

// pageFiles returns the files of the page by their names. They are unpacked when the
// first of them is asked for.
var pageFiles = sync.OnceValues(func() (map[string]content, error) {
	files := map[string]content{}
	for _, name := range []string{"index.html", "page.css", "page.js", "type.css"} {
		body, err := page.ReadFile("page/" + name)
		if err != nil {
			return nil, err
		}
		files[name] = newContent(body)
	}
	for _, name := range []string{"swagger-ui.css", "swagger-ui-bundle.js"} {
		body, err := unpacked(name + ".gz")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files[name] = newContent(body)
	}
	return files, nil
})

func unpacked(name string) ([]byte, error) {
	packed, err := static.FS.Open(name)
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	reader, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}

// pageRoutes are the routes of the documentation page, and of those of types. Those of
// messages are in messageRoutes.
func (s *Documents) pageRoutes() []rest.Route {
	read := []string{http.MethodGet, http.MethodHead}
	serve := func(name func(*rest.Call) string) func(*rest.Call) error {
		return func(r *rest.Call) error { return servePage(r, name(r)) }
	}
	return []rest.Route{
		{Path: "/docs", Methods: read, Public: true, Operation: rest.OperationDocument, ContentSecurityPolicy: pagePolicy, Serve: serve(func(*rest.Call) string { return "index.html" })},
		{Path: "/docs/{file}", Methods: read, Public: true, Operation: rest.OperationDocument, ContentSecurityPolicy: pagePolicy, Serve: serve(func(r *rest.Call) string { return r.PathValue("file") })},
		{Path: "/docs/types/{type}", Methods: read, Public: true, Operation: rest.OperationDocument, ContentSecurityPolicy: pagePolicy, Serve: func(r *rest.Call) error {
			_, mine, err := asked(r)
			if err != nil {
				return err
			}
			name := r.PathValue("type")
			page, err := s.text(r, "/docs/types/"+name, mine, ofType(name, renderType))
			if err != nil {
				return err
			}
			markFormer(r, "/docs/types/", name)
			return serveFile(r, pageTypes[".html"], page)
		}},
	}
}

func servePage(r *rest.Call, name string) error {
	files, err := pageFiles()
	if err != nil {
		return err
	}
	file, ok := files[name]
	if !ok {
		return message.PathUnknown.Error(nil)
	}
	return serveFile(r, pageTypes[path.Ext(name)], file)
}

func serveFile(r *rest.Call, mediaType string, file content) error {
	r.Header().Set("Cache-Control", "no-cache")
	return r.Content(rest.Content{Type: mediaType, ETag: file.etag, Size: int64(len(file.body)), Reader: bytes.NewReader(file.body)})
}
