// Package catalog holds what the service knows of each type while it runs: its
// schema, the keys that its objects are indexed by, and the form in which its
// strings are stored. Every write obeys what the store notes of a type in
// engine_types, whichever schemas the server has. It imports document, keyword, message, query,
// schema and store. Begin with Catalog and Indexing. Package write keeps the index
// entries of what it stores (indexings.go there); package migration adds those that a new
// schema asks for, and drops the others.
package catalog

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Catalog is the service's knowledge of the types that it serves.
type Catalog struct {
	Store  store.Store
	Sealer Sealer
	// Lookups are the lists that x-lookup names.
	Lookups map[string]LookupList
	Now     func() time.Time

	registry atomic.Pointer[schema.Registry]
	// paths is what ServeSince was called with.
	paths atomic.Pointer[map[string]time.Time]
	// mixed holds the types whose secrets are stored partly in plain text while they
	// are being rewritten.
	mixed sync.Map
	// indexings caches the decoded records of TypeCollection, by the name of the type.
	indexings sync.Map
	// wanted caches what types ask for, by the name of the type.
	wanted sync.Map
	// lane counts the calls that may add references to objects that can be removed.
	lane atomic.Uint64
}

// LookupList returns the properties that a list of the service adds to an id.
type LookupList = func(id int64) (members []Member, found bool)

// Member is one property that a lookup list adds.
type Member struct{ Name, Text string }

// New returns a catalog that serves no types yet. A nil clock is time.Now; without a sealer,
// nothing can be encrypted (ErrNoKey).
func New(s store.Store, sealer Sealer, lookups map[string]LookupList, now func() time.Time) *Catalog {
	if now == nil {
		now = time.Now
	}
	if sealer == nil {
		sealer = noSealer{}
	}
	c := &Catalog{Store: s, Sealer: sealer, Lookups: lookups, Now: now}
	c.lane.Store(rand.Uint64N(lanes)) // #nosec G404 -- servers should begin at different lanes
	return c
}

// Registry returns the types that are served now.
func (c *Catalog) Registry() *schema.Registry { return c.registry.Load() }

// Serve replaces the types that are served.
func (c *Catalog) Serve(registry *schema.Registry) { c.registry.Store(registry) }

// ServeSince is Serve with the times at which the present paths of renamed types were first
// served, by the stored names of the types.
func (c *Catalog) ServeSince(registry *schema.Registry, paths map[string]time.Time) {
	c.paths.Store(&paths)
	c.Serve(registry)
}

// PathSince returns the time at which the present path of a renamed type was first served,
// or the zero time if it is not known.
func (c *Catalog) PathSince(t *schema.Type) time.Time {
	if paths := c.paths.Load(); paths != nil {
		return (*paths)[t.Name]
	}
	return time.Time{}
}

// Type returns the type with a path, present or former, or an error of kind NotFound.
func (c *Catalog) Type(path string) (*schema.Type, error) {
	t, ok := c.Registry().Named(path)
	if !ok {
		return nil, message.TypeUnknown.Error(message.Params{"type": path})
	}
	return t, nil
}
