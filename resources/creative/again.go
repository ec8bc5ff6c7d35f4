package creative

import (
	"context"
	"slices"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/query"
	"marquee/engine/store"
)

// again lets the objects of a type that refer to changed ones look at them
// again, in the same transaction. With refused, that is the error where there is
// one among them that the caller does not see.
func again(w *engine.Writing, changes []*engine.Change, collection, property string, matters func(*engine.Change) bool, refused error) error {
	t, served := w.Type(collection)
	if !served {
		return nil
	}
	field, err := t.Field("", property)
	if err != nil {
		return err
	}
	byNetwork := map[string][]any{}
	for _, c := range changes {
		if matters(c) {
			byNetwork[c.Network] = append(byNetwork[c.Network], c.ID)
		}
	}
	for network, ids := range byNetwork {
		for part := range slices.Chunk(ids, 200) {
			where := query.In{Field: field, Values: part}
			if refused != nil {
				hidden, err := w.Unseen(t, network, where)
				if err != nil {
					return err
				}
				if hidden {
					return refused
				}
			}
			err := w.Find(t, network, where, 0, func(r *store.Record) error {
				w.Upsert(t, network, r.ID, nil)
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// differs reports whether one of the properties of a stored object changes.
func differs(c *engine.Change, properties ...string) bool {
	return !c.Created() && slices.ContainsFunc(properties, func(name string) bool {
		return !document.Equal(c.Before[name], c.After[name])
	})
}

// layoutsWritten lets creatives see what their layouts ask for now.
func layoutsWritten(_ context.Context, w *engine.Writing, changes []*engine.Change) error {
	matters := func(c *engine.Change) bool {
		return differs(c, "html", "assetConstraints", "textConstraints", "urlConstraints") || !c.Created() && c.State != c.StateBefore
	}
	for _, collection := range []string{"librarycreatives", "creatives"} {
		if err := again(w, changes, collection, "layout", matters, nil); err != nil {
			return err
		}
	}
	return nil
}

// assetsWritten lets creatives see what has become of the assets in their slots.
func assetsWritten(_ context.Context, w *engine.Writing, changes []*engine.Change) error {
	matters := func(c *engine.Change) bool {
		return differs(c, "mimeType", "fileSizeBytes", "width", "height") || !c.Created() && c.State != c.StateBefore
	}
	for _, collection := range []string{"librarycreatives", "creatives"} {
		if err := again(w, changes, collection, "assets", matters, nil); err != nil {
			return err
		}
	}
	return nil
}
