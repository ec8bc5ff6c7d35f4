// Package write stores what clients send, all of it or nothing, in one transaction of
// the store: merge, rules, no-op detection (unchanged.go), references and their visibility,
// unique values, index terms, history. It knows neither the read path
// nor the migration of schemas. Begin with Writer.Write and Writing.runRound.
package write

import (
	"sync/atomic"

	"marquee/engine/access"
	"marquee/engine/catalog"
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

// New returns a writer. The hooks are by the name of the type.
func New(c *catalog.Catalog, access access.Access, hooks map[string]Hooks) *Writer {
	return &Writer{Catalog: c, access: access, hooks: hooks, numbers: numbers.New(c.Store, c.Now), streams: make(chan struct{}, 1), followed: make(chan struct{}, 1)}
}
