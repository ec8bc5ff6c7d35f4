package write

import (
	"context"

	"marquee/engine/access"
	"marquee/engine/store"
)

// Hooks are the rules of a type for writing. Each may be nil. Package engine describes them
// to applications.
type Hooks struct {
	Prepare                                             func(ctx context.Context, c *Change) error
	BeforeValidate, Validate, BeforeStore, BeforeRemove hook
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

// hook receives all changes of its type in a round, so that one query can serve them all,
// and runs again when the transaction does.
type hook = func(ctx context.Context, w *Writing, changes []*Change) error

// hooks calls one hook of each type with its changes.
func (w *Writing) hooks(changes []*Change, of func(Hooks) hook) error {
	hooked := func(c *Change) bool { return of(w.e.hooks[c.Type.Name]) != nil }
	for _, some := range byType(changes, hooked) {
		if err := of(w.e.hooks[some[0].Type.Name])(w.ctx, w, some); err != nil {
			return err
		}
	}
	return nil
}
