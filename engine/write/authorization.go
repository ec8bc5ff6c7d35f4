package write

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"marquee/engine/access"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/store"
)

// authorize checks that the caller may write the objects and sees those that exist, and
// then the conditions of the request: they must not reveal the version of an object
// that is not visible.
func (w *Writing) authorize(s store.Snapshot, changes []*Change, version func(*Change) int64) error {
	for _, c := range changes {
		if err := w.mayWrite(c, version(c) > 0 || c.op.MergePatch); err != nil {
			return err
		}
	}
	if err := w.authorizeVisible(s, changes, version); err != nil {
		return err
	}
	if err := w.authorizeRemoved(s, changes); err != nil {
		return err
	}
	for _, c := range changes {
		if c.op.MergePatch && version(c) == 0 {
			return c.missing()
		}
		if c.op.OnlyNew && version(c) > 0 {
			return c.refusal(message.AlreadyExists, message.Params{"type": c.Type.Name, "id": c.ID})
		}
		if c.op.IfVersion == nil {
			continue
		}
		is, err := w.versionShown(s, c, version(c))
		if err != nil {
			return err
		}
		if !c.op.IfVersion(is) {
			return c.refusal(message.VersionMismatch, message.Params{"type": c.Type.Name, "id": c.ID})
		}
	}
	return nil
}

// mayWrite returns an error of kind Forbidden when the caller may not make a change.
func (w *Writing) mayWrite(c *Change, exists bool) error {
	if c.Erases() {
		return w.e.access.MayErase(w.caller, c.Type, c.Context)
	}
	return w.e.access.MayWrite(w.caller, c.Type, c.Context, c.ID, exists)
}

// lockConditions locks the objects of the round that stay as they are, but whose next
// version the request would refuse: the others are written on the condition that nobody
// changes them.
func (w *Writing) lockConditions() error {
	ids := map[string][]string{}
	for _, c := range w.round {
		if !c.Internal() && !c.changed && c.op.IfVersion != nil && !c.op.IfVersion(strconv.FormatInt(c.record.Version+1, 10)) {
			ids[c.Type.Name] = append(ids[c.Type.Name], c.ID)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		if err := w.Lock(name, w.batch.Network, ids[name]...); err != nil {
			return err
		}
	}
	return nil
}

// missing is the error for an object that does not exist as far as the caller sees.
func (c *Change) missing() error {
	return c.refusal(message.ObjectNotFound, message.Params{"type": c.Type.Name, "id": c.ID})
}

// versionShown returns access.Version of the stored object, "" if there is none.
func (w *Writing) versionShown(s store.Snapshot, c *Change, version int64) (shown string, err error) {
	hide := w.hide(c)
	switch {
	case version == 0:
		return "", nil
	case hide == nil:
		return strconv.FormatInt(version, 10), nil
	case c.stored != nil:
		return access.Version(w.caller, c.stored, hide)
	}
	err = s.Get(w.ctx, c.Type.Name, store.KeysIn(c.Network, []string{c.ID}), func(r *store.Record) error {
		shown, err = access.Version(w.caller, r, hide)
		return err
	})
	return shown, err
}

// authorizeVisible refuses changes of objects that the caller does not see, as if they did
// not exist.
func (w *Writing) authorizeVisible(s store.Snapshot, changes []*Change, version func(*Change) int64) error {
	existing := map[store.Place][]*Change{}
	var places []store.Place // in the order of the changes, so that the first fault is always the same
	for _, c := range changes {
		visible := w.e.access.Visible(w.caller, c.Type, c.Context)
		switch {
		case query.IsNone(visible) && c.op.MergePatch:
			return w.refuseUnseen(s, store.Place{Collection: c.Type.Name, Network: c.Network}, c)
		case query.IsNone(visible):
			return message.ResultInvisible.Error(message.Params{"type": c.Type.Name, "id": c.ID})
		case version(c) > 0 && !(query.IsAll(visible) && query.IsAll(w.e.access.Writable(w.caller, c.Type, c.Context, true))):
			where := store.Place{Collection: c.Type.Name, Network: c.Network}
			if existing[where] == nil {
				places = append(places, where)
			}
			existing[where] = append(existing[where], c)
		}
	}
	for _, where := range places {
		if err := w.authorizeExisting(s, where, existing[where]); err != nil {
			return err
		}
	}
	return nil
}

// authorizeExisting refuses changes of stored objects that the caller does not see, and
// those for which the permission does not hold.
func (w *Writing) authorizeExisting(s store.Snapshot, where store.Place, changes []*Change) error {
	ids := make([]string, len(changes))
	for i, c := range changes {
		ids[i] = c.ID
	}
	t, _ := w.registry.Type(where.Collection)
	visible, err := w.sight.Visible(w.ctx, s, w.e.access, w.caller, t, w.batch.Network)
	if err != nil {
		return err
	}
	find := func(condition query.Expr) (map[string]bool, error) {
		found := map[string]bool{}
		err := access.GetVisible(w.ctx, s, where, ids, condition, func(r *store.Record) error {
			found[r.ID] = true
			return nil
		})
		return found, err
	}
	seen, err := find(visible)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if !seen[c.ID] {
			return w.refuseUnseen(s, where, c)
		}
	}
	writable := w.e.access.Writable(w.caller, t, w.batch.Network, true)
	if query.IsAll(writable) || changes[0].Erases() { // which is alone, and has a permission of its own
		return nil
	}
	may, err := find(writable)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if !may[c.ID] {
			return c.refusal(message.PermissionMissing, message.Params{"type": t.Name, "permission": t.Permission})
		}
	}
	return nil
}

// refuseUnseen returns the error of a change of a stored object that the caller's roles do
// not show: it does not exist for the caller, unless it is public.
func (w *Writing) refuseUnseen(s store.Snapshot, where store.Place, c *Change) error {
	refused := c.missing()
	if c.Type.Public == nil {
		return refused
	}
	permission := c.Type.Permission
	if c.Type.Read != "" && query.IsNone(w.e.access.Visible(w.caller, c.Type, c.Context)) {
		permission = c.Type.Read
	}
	err := access.GetVisible(w.ctx, s, where, []string{c.ID}, c.Type.PublicObjects(), func(*store.Record) error {
		refused = c.refusal(message.PermissionMissing, message.Params{"type": c.Type.Name, "permission": permission})
		return nil
	})
	return cmp.Or(err, refused)
}

// authorizeEarly is authorize before the transaction, for changes with slow hooks: the time
// that a refusal takes must not reveal anything about the objects.
func (w *Writing) authorizeEarly(changes []*Change) error {
	keys := map[string][]store.Key{}
	for _, c := range changes {
		if c.ID != "" {
			keys[c.Type.Name] = append(keys[c.Type.Name], store.Key{Network: c.Network, ID: c.ID})
		}
	}
	return w.e.Store.Read(w.ctx, func(s store.Snapshot) error {
		w.sight = access.Sight{}
		versions := map[objectKey]int64{}
		for _, name := range slices.Sorted(maps.Keys(keys)) {
			found, err := s.Versions(w.ctx, name, keys[name])
			if err != nil {
				return err
			}
			for key, version := range found {
				versions[objectKey{name, key.Network, key.ID}] = version
			}
		}
		return w.authorize(s, changes, func(c *Change) int64 { return versions[c.key()] })
	})
}

// authorizeRemoved refuses to create objects with the ids of removed ones that the caller
// did not see, as it refuses to change objects that the caller does not see: the history
// of such an object would become that of the new one.
func (w *Writing) authorizeRemoved(s store.Snapshot, changes []*Change) error {
	for _, c := range changes {
		if c.tombstone == nil {
			continue
		}
		visible, err := w.visible(w.ctx, s, c.Type, w.batch.Network)
		if err != nil {
			return err
		}
		if !access.Saw(visible, c.Type, c.ID, c.tombstone) {
			return c.missing()
		}
	}
	return nil
}
