package write

import (
	"context"
	"slices"

	"marquee/engine/access"
	"marquee/engine/store"
)

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

// Each adapts a hook for a single change.
func Each(hook func(ctx context.Context, w *Writing, c *Change) error) func(context.Context, *Writing, []*Change) error {
	return func(ctx context.Context, w *Writing, changes []*Change) error {
		for _, c := range changes {
			if err := hook(ctx, w, c); err != nil {
				return err
			}
		}
		return nil
	}
}

// hook is one of the hooks that receive all changes of their type.
type hook = func(ctx context.Context, w *Writing, changes []*Change) error

// hooks calls one hook of each type with its changes.
func (w *Writing) hooks(changes []*Change, of func(Hooks) hook) error {
	var names []string
	byType := map[string][]*Change{}
	for _, c := range changes {
		if of(w.e.hooks[c.Type.Name]) == nil {
			continue
		}
		if byType[c.Type.Name] == nil {
			names = append(names, c.Type.Name)
		}
		byType[c.Type.Name] = append(byType[c.Type.Name], c)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := of(w.e.hooks[name])(w.ctx, w, byType[name]); err != nil {
			return err
		}
	}
	return nil
}
