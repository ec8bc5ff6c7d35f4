// Package write stores what clients send, all of it or nothing, in one transaction of
// the store: merge, rules, no-op detection (unchanged.go), references and their visibility,
// unique values, index terms, history. It knows neither the read path
// nor the migration of schemas. Begin with Writer.Write and Writing.runRound.
package write

import (
	"context"
	"sync/atomic"

	"marquee/engine/access"
	"marquee/engine/catalog"
	"marquee/engine/store"
	"marquee/engine/write/numbers"
)

// Numbers is the collection of the numbers of sequences.
var Numbers = numbers.Collection

// Writer stores batches and streams of objects.
type Writer struct {
	*catalog.Catalog
	access access.Access
	hooks  map[string]Hooks
	sizes  sizes
	// numbers are those that the server has reserved.
	numbers *numbers.Reserve
	// streams holds a place for the one Stream that is written at a time.
	streams chan struct{}
	// followed has an item when the queue may be longer than when it was last read;
	// following is its length then.
	followed  chan struct{}
	following atomic.Pointer[Following]
}

// Hooks are the rules of a type for writing. Each may be nil. They receive
// all changes of their type in a round, so that one query can serve them all, and
// run again when the transaction does.
type Hooks struct {
	// Prepare runs once, before the transaction, and is the place for slow work.
	// It receives only changes that the caller may make to objects visible to it.
	Prepare func(ctx context.Context, c *Change) error
	// BeforeValidate runs after the merge. It may alter c.After and add faults.
	BeforeValidate func(ctx context.Context, w *Writing, changes []*Change) error
	// Validate runs when the changes of all types are merged. It may add faults and
	// warnings that depend on other objects.
	Validate func(ctx context.Context, w *Writing, changes []*Change) error
	// BeforeStore receives the valid changes that alter something. It may write
	// other objects through w.
	BeforeStore func(ctx context.Context, w *Writing, changes []*Change) error
	// BeforeRemove receives the objects that are about to be removed, with After nil. It may
	// refuse that with Writing.Add, and write other objects, such as those that refer to
	// the object: what refers to it afterwards refuses the removal. No other hook runs.
	BeforeRemove func(ctx context.Context, w *Writing, changes []*Change) error
	// Dependants are the objects that take values from objects of the type.
	Dependants []Dependants
	// Derived reports that answers contain what is read from other objects, so that
	// they cannot be rendered before the transaction.
	Derived bool
	// Hidden are the top-level properties of which parts are hidden from some callers.
	Hidden []string
	// Hide hides these parts from a caller; nil for a type without them.
	Hide func(caller *access.Caller, r *store.Record) error
}

// New returns a writer. The hooks are by the name of the type.
func New(c *catalog.Catalog, access access.Access, hooks map[string]Hooks) *Writer {
	return &Writer{Catalog: c, access: access, hooks: hooks, numbers: numbers.New(c.Store, c.Now), streams: make(chan struct{}, 1), followed: make(chan struct{}, 1)}
}
