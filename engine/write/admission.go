package write

import (
	"maps"
	"slices"

	"marquee/engine/access"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/store"
)

// admit checks that the caller may write the objects and sees those that exist, and
// then the conditions of the request: they must not reveal the version of an object
// that is not visible.
func (w *Writing) admit(s store.Snapshot, changes []*Change, version func(*Change) int64) error {
	for _, c := range changes {
		if err := w.e.access.MayWrite(w.caller, c.Type, c.Context, c.ID, version(c) > 0); err != nil {
			return err
		}
	}
	if err := w.admitVisible(s, changes, version); err != nil {
		return err
	}
	for _, c := range changes {
		if c.op.OnlyNew && version(c) > 0 {
			return message.AlreadyExists.Error(message.Params{"type": c.Type.Name, "id": c.ID})
		}
		if c.op.IfVersion != nil && !c.op.IfVersion(version(c)) {
			return message.VersionMismatch.Error(message.Params{"type": c.Type.Name, "id": c.ID})
		}
	}
	return nil
}

// admitVisible refuses changes of objects that the caller does not see, as if they did
// not exist.
func (w *Writing) admitVisible(s store.Snapshot, changes []*Change, version func(*Change) int64) error {
	existing := map[store.Place][]string{}
	for _, c := range changes {
		visible := w.e.access.Visible(w.caller, c.Type, c.Context)
		switch {
		case query.IsNone(visible):
			return message.ResultInvisible.Error(message.Params{"type": c.Type.Name, "id": c.ID})
		case version(c) > 0 && !query.IsAll(visible):
			where := store.Place{Collection: c.Type.Name, Network: c.Network}
			existing[where] = append(existing[where], c.ID)
		}
	}
	for where, ids := range existing {
		t, _ := w.registry.Type(where.Collection)
		seen := map[string]bool{}
		err := access.GetVisible(w.ctx, s, where, ids, w.e.access.Visible(w.caller, t, w.batch.Network), func(r *store.Record) error {
			seen[r.ID] = true
			return nil
		})
		if err != nil {
			return err
		}
		for _, id := range ids {
			if !seen[id] {
				return message.ObjectNotFound.Error(message.Params{"type": where.Collection, "id": id})
			}
		}
	}
	return nil
}

// admitEarly is admit before the transaction, for changes with slow hooks: the time
// that a refusal takes must not reveal anything about the objects.
func (w *Writing) admitEarly(changes []*Change) error {
	keys := map[string][]store.Key{}
	for _, c := range changes {
		if c.ID != "" {
			keys[c.Type.Name] = append(keys[c.Type.Name], store.Key{Network: c.Network, ID: c.ID})
		}
	}
	return w.e.Store.Read(w.ctx, func(s store.Snapshot) error {
		versions := map[objectKey]int64{}
		for _, name := range slices.Sorted(maps.Keys(keys)) {
			err := s.Get(w.ctx, name, keys[name], func(r *store.Record) error {
				versions[objectKey{name, r.Network, r.ID}] = r.Version
				return nil
			})
			if err != nil {
				return err
			}
		}
		return w.admit(s, changes, func(c *Change) int64 { return versions[c.key()] })
	})
}
