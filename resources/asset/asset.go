// Package asset holds the rules of assets: files that are uploaded to
// creatives, found out about, kept once per content beside the documents, and
// delivered to everybody who knows where (docs/api/assets.md).
package asset

import (
	"net/url"
	"strings"

	"marquee/engine"
	"marquee/engine/store"
)

// DefaultMaxBytes is how large a file may be, unless it is configured.
const DefaultMaxBytes = 20 << 20

const collection = "assets"

// Path is where assets are delivered.
const Path = "/delivery"

// Rules are those of the type. Its fields may be set until it is used.
type Rules struct {
	// MaxBytes is how large a file may be.
	MaxBytes int64
	// CDN is the URL that stands before the paths of delivered files, without a
	// slash at its end; "" where the service itself is asked.
	CDN string

	places chan struct{}
}

// uploadsAtOnce bounds the memory that it takes to look into files and to store
// them, once they have been received.
const uploadsAtOnce = 4

// New makes the rules.
func New() *Rules {
	return &Rules{MaxBytes: DefaultMaxBytes, places: make(chan struct{}, uploadsAtOnce)}
}

// Hooks are the rules of the write path and the read path.
func (a *Rules) Hooks() map[string]engine.Hooks {
	return map[string]engine.Hooks{collection: {Merged: merged, Written: written, Derived: a.derived}}
}

// Collections are what the store must have besides the type.
func Collections() []store.Collection { return []store.Collection{{Name: deliveries}} }

// URL is where a file is delivered whose path an asset has as its cdnId.
func (a *Rules) URL(path string) string {
	if path == "" {
		return ""
	}
	return a.CDN + path
}

// place is the path at which a file of a delivery is delivered.
func place(name, path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return Path + "/" + name + "/" + strings.Join(parts, "/")
}

// nameOf is the name of the delivery that a path leads to, or "".
func nameOf(place string) string {
	rest, _ := strings.CutPrefix(place, Path+"/")
	name, _, _ := strings.Cut(rest, "/")
	return name
}
