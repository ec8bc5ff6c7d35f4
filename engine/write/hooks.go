package write

import (
	"context"
	"slices"
)

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

// hooks calls one hook of each type with its changes.
func (w *Writing) hooks(changes []*Change, of func(Hooks) func(context.Context, *Writing, []*Change) error) error {
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
