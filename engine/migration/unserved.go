package migration

import (
	"context"
	"slices"

	"marquee/engine/catalog"
	"marquee/engine/store"
)

// Unserved returns the sorted names of types that have stored objects and no schema.
func (m *Migrator) Unserved(ctx context.Context) ([]string, error) {
	return Stored(ctx, m.Store, func(name string) bool {
		_, served := m.Registry().Type(name)
		return !served
	})
}

// Stored returns the sorted names of types that have stored objects, among those that are
// wanted.
func Stored(ctx context.Context, from store.Store, wanted func(name string) bool) ([]string, error) {
	var names []string
	err := from.Read(ctx, func(s store.Snapshot) error {
		names = nil
		known, err := catalog.ReadAll(ctx, s)
		if err != nil {
			return err
		}
		for name := range known {
			if !wanted(name) {
				continue
			}
			empty, err := isEmpty(ctx, s, name)
			if err != nil {
				return err
			}
			if !empty {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return nil
	})
	return names, store.Translate(err)
}
