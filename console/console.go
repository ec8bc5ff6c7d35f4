// Package console serves the console: the pages in which people work with the objects of every
// type, made from the same schemas as the API, which the pages call. An application can add a
// Module. The package imports the engine and its routes, and neither a store nor an application.
// Begin with Routes; dist has the files that "make console" builds from web.
package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"

	"marquee/engine/message"
	"marquee/engine/rest"
)

// Path is where the console begins. Every path below it is a page of the console, except for
// its files.
const Path = "/console/"

// Policy is the Content-Security-Policy of the pages: they run the scripts of the console alone,
// call their own server, and turn no text into a script.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' blob:; frame-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

//go:embed dist
var dist embed.FS

const (
	indexName = "index.html"
	// filesFolder has the files whose names change with their contents.
	filesFolder = "files/"
)

// mediaTypes are those of the files by their extensions.
var mediaTypes = map[string]string{".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

type file struct {
	body []byte
	etag string
}

func newFile(body []byte) file {
	digest := sha256.Sum256(body)
	return file{body, `"` + hex.EncodeToString(digest[:16]) + `"`}
}

// read returns the files of dist and of a module by their paths.
func read(module Module) (map[string]file, error) {
	found := map[string]file{}
	err := fs.WalkDir(dist, "dist", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := dist.ReadFile(name)
		found[strings.TrimPrefix(name, "dist/")] = newFile(body)
		return err
	})
	return found, errors.Join(err, module.add(found))
}

// Routes returns the routes of the console with the module of an application.
func Routes(module Module) []rest.Route {
	s := &server{previews: previews{types: module.Previews, given: map[string]given{}, used: map[string]int64{}},
		files: sync.OnceValues(func() (map[string]file, error) { return read(module) })}
	routes := []rest.Route{{
		Path: Path + "{page...}", Methods: []string{http.MethodGet, http.MethodHead}, Public: true,
		Operation: rest.OperationDocument, ContentSecurityPolicy: Policy, Serve: s.serve,
	}}
	if len(module.Previews) > 0 {
		routes = append(routes, rest.Route{Path: ticketsPath, Methods: []string{http.MethodGet}, Serve: s.previews.give})
	}
	return routes
}

// server serves the console with a module.
type server struct {
	files    func() (map[string]file, error)
	previews previews
}

// serve answers with a file, a preview, or for the path of a page with the document that shows it.
func (s *server) serve(r *rest.Call) error {
	name, cache := r.PathValue("page"), "public, max-age=31536000, immutable"
	if code, is := strings.CutPrefix(name, previewsFolder); is {
		return s.previews.use(r, code)
	}
	known, err := s.files()
	if err != nil {
		return err
	}
	if !strings.HasPrefix(name, filesFolder) && !strings.HasPrefix(name, moduleFolder) {
		name, cache = indexName, "no-cache"
	}
	found, ok := known[name]
	if !ok {
		return message.PathUnknown.Error(nil)
	}
	r.Header().Set("Cache-Control", cache)
	return r.Content(rest.Content{Type: mediaTypes[path.Ext(name)], ETag: found.etag, Size: int64(len(found.body)), Reader: bytes.NewReader(found.body)})
}
