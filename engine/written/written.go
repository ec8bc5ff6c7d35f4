// Package written is what the write path passes to the read path: the objects that a
// call has stored. It imports schema and store. Begin with Objects.
package written

import (
	"context"
	"slices"

	"marquee/engine/schema"
	"marquee/engine/store"
)

// Objects are the objects that a call has stored, in the order of its operations.
type Objects struct {
	Objects []Object
	// Listed reports whether the call wrote a list, and not a single object.
	Listed bool
	// Targets are objects that the call has read because stored objects refer to them.
	Targets map[Key]Target
}

// Key identifies an object.
type Key struct{ Collection, Network, ID string }

// Target is what an answer shows of a referenced object: the property that names it,
// and its parent, as they were in the snapshot of the write.
type Target struct{ Label, Parent string }

// Object is one stored object.
type Object struct {
	Type   *schema.Type
	Record *store.Record
	// Label is the value of the property that names the object, Parent the id of its
	// parent; "" without one.
	Label, Parent string
	// Shown are properties that only this answer has; nil for none.
	Shown map[string]any
}

// Once reports whether any of the objects has properties that no other answer will have.
func (o Objects) Once() bool {
	return slices.ContainsFunc(o.Objects, func(one Object) bool { return one.Shown != nil })
}

// Answer receives the objects that a stream writes.
type Answer interface {
	// Begin discards what was added, as the transaction may run again.
	Begin() error
	// Add receives the objects stored since the last call, in the snapshot that has
	// them.
	Add(ctx context.Context, s store.Snapshot, objects Objects) error
	End() error
}
