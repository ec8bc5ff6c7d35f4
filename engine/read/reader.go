// Package read answers reads: objects, lists, histories and notifications, rendered
// from stored bytes for one caller. It imports access, catalog, document, history,
// message, parallel, query, schema and store, and of the write path only its result
// (written). Begin with Reader, then list.go, and view.go and renderer.go for rendering.
package read

import (
	"context"
	"crypto/cipher"
	"sync/atomic"

	"marquee/engine/access"
	"marquee/engine/catalog"
	"marquee/engine/store"
)

// Reader renders objects, lists and histories for callers.
type Reader struct {
	*catalog.Catalog
	access access.Access
	hooks  map[string]Hooks
	// cursors encrypts those that sealCursor returns.
	cursors cipher.AEAD
	// moving reports whether owners were in doubt lately, so that it is better to read
	// that first than to suppose that they are not.
	moving    atomic.Bool
	following following
	ahead     ahead
	// forgotten is the number of calls of Forget.
	forgotten atomic.Int64
}

// Hooks are the rules of a type for reading. Each may be nil.
type Hooks struct {
	// BeforeRender runs before a record is rendered for a caller, and may replace
	// its document.
	BeforeRender func(caller *access.Caller, r *store.Record) error
	// Derive adds properties to records that are about to be rendered, with
	// Reading.Set, in the snapshot that they were read in. It must return errors of
	// Reading: it then runs again with fewer records.
	Derive func(ctx context.Context, r *Reading, records []*store.Record) error
	// Hidden are the top-level properties that BeforeRender hides in part. Lists
	// cannot filter by them, and the history leaves out changes of the hidden part,
	// as these would reveal it.
	Hidden []string
}

// Hide returns BeforeRender if it hides parts of records, and otherwise nil.
func (h Hooks) Hide() func(caller *access.Caller, r *store.Record) error {
	if len(h.Hidden) == 0 {
		return nil
	}
	return h.BeforeRender
}

// snapshot runs a function on a snapshot of the store, and again on another one if other types
// are served afterwards: then the snapshot may hold what was stored under types that hide
// more than those that the function has met.
func (e *Reader) snapshot(ctx context.Context, fn func(store.Snapshot) error) error {
	for {
		types := e.Registry()
		if err := e.Store.Read(ctx, fn); ctx.Err() != nil || e.Registry() == types {
			return err
		}
	}
}

// New returns a reader. The hooks are by the name of the type.
func New(c *catalog.Catalog, access access.Access, hooks map[string]Hooks) *Reader {
	return &Reader{Catalog: c, access: access, hooks: hooks}
}
