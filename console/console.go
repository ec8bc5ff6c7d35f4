// Package console serves the console: the pages in which people work with the objects of every
// type, made from the same schemas as the API, which the pages call. It imports engine/rest and
// engine/message alone. dist has the files that "make console" builds from web.
package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
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

// files returns the files of dist by their paths.
var files = sync.OnceValues(func() (map[string]file, error) {
	found := map[string]file{}
	err := fs.WalkDir(dist, "dist", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := dist.ReadFile(name)
		digest := sha256.Sum256(body)
		found[strings.TrimPrefix(name, "dist/")] = file{body, `"` + hex.EncodeToString(digest[:16]) + `"`}
		return err
	})
	return found, err
})

// Routes returns the routes of the console.
func Routes() []rest.Route {
	return []rest.Route{{
		Path: Path + "{page...}", Methods: []string{http.MethodGet, http.MethodHead}, Public: true,
		Operation: rest.OperationDocument, ContentSecurityPolicy: Policy, Serve: serve,
	}}
}

// serve answers with a file, or for the path of a page with the document that shows it.
func serve(r *rest.Call) error {
	known, err := files()
	if err != nil {
		return err
	}
	name, cache := r.PathValue("page"), "public, max-age=31536000, immutable"
	if !strings.HasPrefix(name, filesFolder) {
		name, cache = indexName, "no-cache"
	}
	found, ok := known[name]
	if !ok {
		return message.PathUnknown.Error(nil)
	}
	r.Header().Set("Cache-Control", cache)
	return r.Content(rest.Content{Type: mediaTypes[path.Ext(name)], ETag: found.etag, Size: int64(len(found.body)), Reader: bytes.NewReader(found.body)})
}
