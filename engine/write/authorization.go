package write

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"marquee/engine/access"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// authorization is what the caller of a write sees in one snapshot, and may write.
type authorization struct {
	e      *Writer
	ctx    context.Context
	s      store.Snapshot
	caller *access.Caller
	sight  access.Sight
}

// authorizeEarly checks changes before the transaction, for changes with slow hooks: the time
// that a refusal takes must not reveal anything about the objects.
func (e *Writer) authorizeEarly(ctx context.Context, caller *access.Caller, changes []*Change) error {
	return e.Store.Read(ctx, func(s store.Snapshot) error {
		versions := map[objectKey]int64{}
		for _, some := range byType(changes, (*Change).mayExist) {
			found := map[store.Key]int64{}
			err := s.Get(ctx, some[0].Type.Name, keysOf(some), func(r *store.Record) error {
				found[store.Key{Network: strings.Clone(r.Network), ID: strings.Clone(r.ID)}] = r.Version
				return nil
			})
			if err != nil {
				return err
			}
			for _, c := range some {
				versions[c.key()] = found[c.recordKey()]
			}
		}
		return (&authorization{e: e, ctx: ctx, s: s, caller: caller}).check(changes, func(c *Change) int64 { return versions[c.key()] })
	})
}

// check checks that the types are still served, that the caller may write the objects and
// sees those that exist, and then the conditions of the request: they must not reveal the
// version of an object that is not visible.
func (a *authorization) check(changes []*Change, version func(*Change) int64) error {
	for _, c := range changes {
		if _, still := a.e.Registry().Type(c.Type.Name); !still {
			return unserved(c.Type)
		}
	}
	unseen, err := a.unseen(changes, version)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if err := a.mayWrite(c, version(c) > 0 && !unseen[c] || c.op.MergePatch); err != nil {
			return err
		}
	}
	if err := a.checkVisible(changes, version); err != nil {
		return err
	}
	if err := a.checkRemoved(changes); err != nil {
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
		is, err := a.versionShown(c, version(c))
		if err != nil {
			return err
		}
		if !c.op.IfVersion(is) {
			return c.refusal(message.VersionMismatch, message.Params{"type": c.Type.Name, "id": c.ID})
		}
	}
	return nil
}

// unserved is the error for a type that is served no more.
func unserved(t *schema.Type) error {
	return message.TypeUnknown.Error(message.Params{"type": t.Served().Name})
}

// mayWrite returns an error of kind Forbidden when the caller may not make a change, or may no
// longer by the types that are served by now.
func (a *authorization) mayWrite(c *Change, exists bool) error {
	may := func(t *schema.Type) error {
		if c.Erases() {
			return a.e.access.MayErase(a.caller, t, c.Context)
		}
		return a.e.access.MayWrite(a.caller, t, c.Context, c.ID, exists)
	}
	err := may(c.Type)
	if served := a.served(c.Type); err == nil && served != c.Type {
		err = may(served)
	}
	return err
}

// unseen returns the changes of stored objects that the caller does not see, if the caller may
// not create objects of the type, which takes another permission than to change them: a
// refusal that named the other permission would reveal that the object exists.
func (a *authorization) unseen(changes []*Change, version func(*Change) int64) (map[*Change]bool, error) {
	unseen := map[*Change]bool{}
	for _, some := range byType(changes, func(c *Change) bool {
		return version(c) > 0 && !c.op.MergePatch && c.Type.Create != c.Type.Permission && a.mayWrite(c, false) != nil
	}) {
		visible, err := a.visible(some[0].Type, some[0].Context)
		if err != nil {
			return nil, err
		}
		seen := map[string]bool{}
		where := store.Place{Collection: some[0].Type.Name, Network: some[0].Network}
		if err := access.GetVisible(a.ctx, a.s, where, idsOf(some), visible, func(r *store.Record) error {
			seen[r.ID] = true
			return nil
		}); err != nil {
			return nil, err
		}
		for _, c := range some {
			if !seen[c.ID] {
				unseen[c] = true
			}
		}
	}
	return unseen, nil
}

// missing is the error for an object that does not exist as far as the caller sees.
func (c *Change) missing() error {
	return c.refusal(message.ObjectNotFound, message.Params{"type": c.Type.Name, "id": c.ID})
}

// versionShown returns access.Version of the stored object, "" if there is none.
func (a *authorization) versionShown(c *Change, version int64) (shown string, err error) {
	hide := a.e.hide(c)
	switch {
	case version == 0:
		return "", nil
	case hide == nil:
		return strconv.FormatInt(version, 10), nil
	case c.stored != nil:
		return access.Version(a.caller, c.stored, hide)
	}
	err = a.s.Get(a.ctx, c.Type.Name, store.KeysIn(c.Network, []string{c.ID}), func(r *store.Record) error {
		shown, err = access.Version(a.caller, r, hide)
		return err
	})
	return shown, err
}

// checkVisible refuses changes of objects that the caller does not see, as if they did
// not exist. An object that must exist is looked for in any case, so that a missing one takes
// the same work as one that the caller does not see.
func (a *authorization) checkVisible(changes []*Change, version func(*Change) int64) error {
	existing := map[store.Place][]*Change{}
	var places []store.Place // in the order of the changes, so that the first fault is always the same
	for _, c := range changes {
		visible, err := a.both(c.Type, func(t *schema.Type) (query.Expr, error) { return a.e.access.Visible(a.caller, t, c.Context), nil })
		if err != nil {
			return err
		}
		where := store.Place{Collection: c.Type.Name, Network: c.Network}
		switch {
		case query.IsNone(visible) && c.op.MergePatch:
			return a.refuseUnseen(where, c)
		case query.IsNone(visible):
			return message.ResultInvisible.Error(message.Params{"type": c.Type.Name, "id": c.ID})
		case (version(c) > 0 || c.op.MergePatch) && !(query.IsAll(visible) && query.IsAll(a.writable(c.Type, c.Context, true))):
			if existing[where] == nil {
				places = append(places, where)
			}
			existing[where] = append(existing[where], c)
		}
	}
	for _, where := range places {
		if err := a.checkExisting(where, existing[where]); err != nil {
			return err
		}
	}
	return nil
}

// checkExisting refuses changes of stored objects that the caller does not see, and
// those for which the permission does not hold.
func (a *authorization) checkExisting(where store.Place, changes []*Change) error {
	t, network := changes[0].Type, changes[0].Context
	visible, err := a.both(t, func(t *schema.Type) (query.Expr, error) {
		return a.sight.Visible(a.ctx, a.s, a.e.access, a.caller, t, network)
	})
	if err != nil {
		return err
	}
	find := func(condition query.Expr) (map[string]bool, error) {
		found := map[string]bool{}
		err := access.GetVisible(a.ctx, a.s, where, idsOf(changes), condition, func(r *store.Record) error {
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
			return a.refuseUnseen(where, c)
		}
	}
	writable := a.writable(t, network, true)
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
func (a *authorization) refuseUnseen(where store.Place, c *Change) error {
	refused := c.missing()
	if c.Type.Public == nil {
		return refused
	}
	public, err := a.both(c.Type, func(t *schema.Type) (query.Expr, error) { return t.PublicObjects(), nil })
	if err != nil {
		return err
	}
	permission := c.Type.Permission
	if c.Type.Read != "" && query.IsNone(a.e.access.Visible(a.caller, c.Type, c.Context)) {
		permission = c.Type.Read
	}
	err = access.GetVisible(a.ctx, a.s, where, []string{c.ID}, public, func(*store.Record) error {
		refused = c.refusal(message.PermissionMissing, message.Params{"type": c.Type.Name, "permission": permission})
		return nil
	})
	return cmp.Or(err, refused)
}

// checkRemoved refuses to create objects with the ids of removed ones that the caller
// did not see, as it refuses to change objects that the caller does not see: the history
// of such an object would become that of the new one.
func (a *authorization) checkRemoved(changes []*Change) error {
	for _, c := range changes {
		if c.tombstone == nil {
			continue
		}
		visible, err := a.visible(c.Type, c.Context)
		if err != nil {
			return err
		}
		if !access.Saw(visible, c.Type, c.ID, c.tombstone) {
			return c.missing()
		}
	}
	return nil
}

// checkResults rejects changes by the caller whose results the caller could not see, or
// not write, also by the types that are served by now.
func (a *authorization) checkResults(changes []*Change) error {
	for _, c := range changes {
		if c.Internal() || c.owners == nil {
			continue
		}
		err := a.checkResult(c, c.Type)
		if served := a.served(c.Type); err == nil && served != c.Type {
			err = a.checkResult(c, served)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkResult is checkResults for one change and its type, as the write has it or as it is served.
func (a *authorization) checkResult(c *Change, t *schema.Type) error {
	visible, writable := a.e.access.Visible(a.caller, t, c.Context), a.e.access.Writable(a.caller, t, c.Context, !c.Created())
	if query.IsAll(visible) && query.IsAll(writable) {
		return nil
	}
	field := t.OwnerField()
	if field.Term != "" && c.ownerKeys()[field.Term] == nil {
		return outdated(t.Name)
	}
	if !access.Meets(visible, c.ID, field, c.owners[field.Term]) {
		return message.ResultInvisible.Error(message.Params{"type": t.Name, "id": c.ID})
	}
	if !access.Meets(writable, c.ID, field, c.owners[field.Term]) {
		return message.PermissionMissing.Error(message.Params{"type": t.Name, "permission": t.WritePermission(!c.Created())})
	}
	return nil
}

// visible returns the condition that objects of a type must meet for the caller to see
// them, as it was before the transaction wrote.
func (a *authorization) visible(t *schema.Type, network string) (query.Expr, error) {
	return a.both(t, func(t *schema.Type) (query.Expr, error) {
		return a.sight.Shown(a.ctx, a.s, a.e.access, a.caller, t, network)
	})
}

// writable returns the condition that objects of a type must meet for the caller to write them.
func (a *authorization) writable(t *schema.Type, network string, exists bool) query.Expr {
	condition, _ := a.both(t, func(t *schema.Type) (query.Expr, error) {
		return a.e.access.Writable(a.caller, t, network, exists), nil
	})
	return condition
}

// both returns a condition on objects of a type as the write has it and, if other types are
// served by now, also as they have it: objects may have been stored since.
func (a *authorization) both(t *schema.Type, of func(*schema.Type) (query.Expr, error)) (query.Expr, error) {
	condition, err := of(t)
	if served := a.served(t); err == nil && served != t {
		var now query.Expr
		now, err = of(served)
		condition = query.Both(condition, now)
	}
	return condition, err
}

// served returns a type as it is served by now, and as the write has it if it is served no more.
func (a *authorization) served(t *schema.Type) *schema.Type {
	if served, still := a.e.Registry().Type(t.Name); still {
		return served
	}
	return t
}
