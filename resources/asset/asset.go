// Package asset holds the rules of assets: files that are uploaded to creatives,
// inspected, stored once per content, and delivered to everyone who knows their
// path (docs/reference/types/assets.md). It may import the engine and catalogue;
// begin with Rules, then upload.go and deliver.go.
package asset

import (
	"net/http"
	"net/url"
	"strings"
	"sync"

	"marquee/engine"
	"marquee/engine/rest"
	"marquee/engine/store"
)

// DefaultMaxBytes is the default maximum size of a file.
const DefaultMaxBytes = 20 << 20

const collection = "assets"

// Path is the prefix of the paths of delivered files.
const Path = "/delivery"

// Rules are the rules of the type. The fields may be set before the first use.
type Rules struct {
	// MaxBytes is the maximum size of a file.
	MaxBytes int64
	// CDN is the URL in front of the paths of delivered files, without a trailing
	// slash, or "" if the service delivers them itself.
	CDN string

	// NetworkQuota is the maximum total size of the files of a network's assets; 0
	// is no quota.
	NetworkQuota int64

	// uploads limits how many uploads are processed at once.
	uploads chan struct{}
	pieces  *pieces
	known   *knownDeliveries
	// counted has the networks whose usage has been counted. turns has, by network,
	// the channel that the upload being stored fills.
	counted, turns sync.Map
}

// uploadsAtOnce is the maximum number of received files that are inspected and stored at once, which
// bounds the memory for it.
const uploadsAtOnce = 4

// New returns rules with default settings.
func New() *Rules {
	return &Rules{MaxBytes: DefaultMaxBytes, uploads: make(chan struct{}, uploadsAtOnce), pieces: newPieces(), known: &knownDeliveries{Most: maxDeliveryBytes, Weigh: (*delivery).weight}}
}

// Hooks returns the hooks of the type.
func (a *Rules) Hooks() map[string]engine.Hooks {
	return map[string]engine.Hooks{collection: {BeforeValidate: beforeValidate, BeforeStore: a.beforeStore, Derive: a.derive}}
}

// Routes returns the uploads of assets, with an id and without one, and the public delivery of files.
func (a *Rules) Routes() []rest.Route {
	return []rest.Route{
		{Path: "/api/v1/assets/{creative}", Methods: []string{http.MethodPost}, ContentType: "multipart/form-data", Operation: rest.OperationUpload, Serve: a.upload},
		{Path: "/api/v1/assets/{creative}/{id}", Methods: []string{http.MethodPost, http.MethodPut}, ContentType: "multipart/form-data", Operation: rest.OperationUpload, Serve: a.upload},
		{Path: Path + "/{below...}", Methods: []string{http.MethodGet, http.MethodHead}, Public: true, Operation: rest.OperationDelivery, Serve: a.deliver},
	}
}

// Collections returns the collections that the rules need besides the type's.
func Collections() []store.Collection { return []store.Collection{{Name: deliveries}, {Name: usages}} }

// URL returns the URL of the file at a path, or "" for the path "".
func (a *Rules) URL(path string) string {
	if path == "" {
		return ""
	}
	return a.CDN + path
}

// deliveryPath returns the path of a file of a delivery.
func deliveryPath(name, path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return Path + "/" + name + "/" + strings.Join(parts, "/")
}

// deliveryName returns the name of the delivery at a path, or "".
func deliveryName(path string) string {
	rest, _ := strings.CutPrefix(path, Path+"/")
	name, _, _ := strings.Cut(rest, "/")
	return name
}
