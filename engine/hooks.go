package engine

import (
	"context"
	"slices"

	"marquee/engine/store"
)

// Each adapts a hook for a single change to one for all changes of a round. It returns
// the first error.
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

// Then returns hooks that run those of h, and then more. The zero Hooks do nothing.
func (h Hooks) Then(more Hooks) Hooks {
	return Hooks{
		Prepare: both(h.Prepare, more.Prepare, func(first, second func(context.Context, *Change) error) func(context.Context, *Change) error {
			return func(ctx context.Context, c *Change) error {
				if err := first(ctx, c); err != nil {
					return err
				}
				return second(ctx, c)
			}
		}),
		BeforeValidate: both(h.BeforeValidate, more.BeforeValidate, inTurn),
		Validate:       both(h.Validate, more.Validate, inTurn),
		BeforeStore:    both(h.BeforeStore, more.BeforeStore, inTurn),
		BeforeRemove:   both(h.BeforeRemove, more.BeforeRemove, inTurn),
		Dependants:     slices.Concat(h.Dependants, more.Dependants),
		BeforeRender: both(h.BeforeRender, more.BeforeRender, func(first, second func(*Caller, *store.Record) error) func(*Caller, *store.Record) error {
			return func(caller *Caller, r *store.Record) error {
				if err := first(caller, r); err != nil {
					return err
				}
				return second(caller, r)
			}
		}),
		Derive: both(h.Derive, more.Derive, func(first, second deriveHook) deriveHook {
			return func(ctx context.Context, r *Reading, records []*store.Record) error {
				if err := first(ctx, r, records); err != nil {
					return err
				}
				return second(ctx, r, records)
			}
		}),
		Hidden: slices.Concat(h.Hidden, more.Hidden),
	}
}

type (
	writeHook  = func(context.Context, *Writing, []*Change) error
	deriveHook = func(context.Context, *Reading, []*store.Record) error
)

func inTurn(first, second writeHook) writeHook {
	return func(ctx context.Context, w *Writing, changes []*Change) error {
		if err := first(ctx, w, changes); err != nil {
			return err
		}
		return second(ctx, w, changes)
	}
}

// both joins two hooks of which either may be nil.
func both[H func(context.Context, *Change) error | writeHook | deriveHook | func(*Caller, *store.Record) error](first, second H, join func(first, second H) H) H {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return join(first, second)
}
