package access

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"marquee/engine/catalog"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// maxMoving is the number of changed objects up to which a query excludes the objects
// that belong to them. While there are more in a network, nothing is shown there of the
// types whose owners depend on other objects.
const maxMoving = 100

// ErrDoubt reports that owners are in doubt that a Sight has assumed to be certain. What
// was read on this assumption must not be shown, and is read again by Sight.Known.
var ErrDoubt = errors.New("access: owners are in doubt")

// Sight decides what a caller sees in one snapshot. The zero value is ready.
type Sight struct {
	moving map[string]moving
	// supposing reports whether no owners are supposed to be in doubt where that is not
	// known. Supposed lists the networks of which that has yet to be confirmed, and
	// mistaken reports whether it was wrong of one.
	supposing, mistaken bool
	supposed            []string
}

// moving are the objects of a network that have other owners than before, while it is
// not certain that all objects that belong to them have been updated.
type moving struct {
	values []any
	many   bool
}

// Visible is Access.Visible without the objects whose owners are in doubt: those that
// belong, directly or indirectly, to an object that has another owner than before, until
// all of them have been updated.
// Only callers who see what certain owners have are concerned.
func (v *Sight) Visible(ctx context.Context, s store.Snapshot, a Access, caller *Caller, t *schema.Type, network string) (query.Expr, error) {
	visible := a.Visible(caller, t, network)
	if !t.Indirect() || query.IsAll(visible) || query.IsNone(visible) {
		return visible, nil
	}
	now, known := v.moving[network]
	if !known && v.supposing {
		if !slices.Contains(v.supposed, network) {
			v.supposed = append(v.supposed, network)
		}
		return visible, nil
	}
	if !known {
		found, err := s.Labels(ctx, findMoving(network))
		if err != nil {
			return nil, err
		}
		if now, err = v.learn(network, found[0]); err != nil {
			return nil, err
		}
	}
	if len(now.values) == 0 {
		return visible, nil
	}
	if doubt, watched := ctx.Value(doubtKey{}).(*atomic.Bool); watched {
		doubt.Store(true)
	}
	if now.many {
		return query.None, nil
	}
	return query.And{visible, query.Not{Of: query.In{Field: t.OwnerField(), Values: now.values}}}, nil
}

// Hidden returns the condition of the objects that Visible, called before, has left out because
// their owners are in doubt.
func (v *Sight) Hidden(a Access, caller *Caller, t *schema.Type, network string) query.Expr {
	visible, now := a.Visible(caller, t, network), v.moving[network]
	switch {
	case !t.Indirect() || query.IsAll(visible) || query.IsNone(visible) || len(now.values) == 0:
		return query.None
	case now.many:
		return visible
	}
	return query.And{visible, query.In{Field: t.OwnerField(), Values: now.values}}
}

// Shown is Visible together with the objects that are public: what answers show, where
// Visible decides what the history shows, and what a caller may write.
func (v *Sight) Shown(ctx context.Context, s store.Snapshot, a Access, caller *Caller, t *schema.Type, network string) (query.Expr, error) {
	if caller.Anonymous {
		if network != caller.Public {
			return query.None, nil
		}
		return t.PublicObjects(), nil
	}
	visible, err := v.Visible(ctx, s, a, caller, t, network)
	if err != nil || t.Public == nil || query.IsAll(visible) {
		return visible, err
	}
	if _, member := caller.Grants[network]; !member {
		return visible, nil
	}
	if query.IsNone(visible) {
		return t.PublicObjects(), nil
	}
	return query.Or{t.PublicObjects(), visible}, nil
}

type doubtKey struct{}

// WithDoubt returns a context for reads and writes that set doubt when they may leave
// something out because its owners are in doubt.
func WithDoubt(ctx context.Context, doubt *atomic.Bool) context.Context {
	return context.WithValue(ctx, doubtKey{}, doubt)
}

// Suppose makes Visible suppose that no owners are in doubt where that is not known yet.
// Nothing may be shown before Confirm has returned nil.
func (v *Sight) Suppose() { v.supposing = true }

// Unconfirmed returns the queries that find out whether what was supposed is true.
func (v *Sight) Unconfirmed() []store.LabelQuery {
	queries := make([]store.LabelQuery, len(v.supposed))
	for i, network := range v.supposed {
		queries[i] = findMoving(network)
	}
	return queries
}

// Confirm takes the results of Unconfirmed, in the same snapshot. It returns ErrDoubt if
// anything was ever supposed that is not true.
func (v *Sight) Confirm(results []map[store.Key]string) error {
	for i, network := range v.supposed {
		now, err := v.learn(network, results[i])
		if err != nil {
			return err
		}
		v.mistaken = v.mistaken || len(now.values) > 0
	}
	v.supposed = nil
	if v.mistaken {
		return ErrDoubt
	}
	return nil
}

// Known returns a Sight of the same snapshot that supposes nothing.
func (v *Sight) Known() Sight { return Sight{moving: v.moving} }

// Moving reports whether owners are known to be in doubt, and whether that is known of
// any network.
func (v *Sight) Moving() (moving, known bool) {
	for _, now := range v.moving {
		moving = moving || len(now.values) > 0
	}
	return moving, len(v.moving) > 0
}

// findMoving finds the entries of the objects of a network that have other owners than
// before.
func findMoving(network string) store.LabelQuery {
	return store.LabelQuery{Property: catalog.ByMoving.Path[0].Name, Find: &query.Query{Collection: catalog.FollowUps,
		Where: query.Compare{Field: catalog.ByMoving, Op: query.Equal, Value: network},
		Order: query.Order{Field: query.Field{System: query.UpdateTime, Kind: query.Time}}, Limit: maxMoving + 1}}
}

// learn notes what findMoving has found.
func (v *Sight) learn(network string, found map[store.Key]string) (now moving, err error) {
	for key := range found {
		name, id, err := catalog.FollowedUp(key)
		if err != nil {
			return now, err
		}
		now.values = append(now.values, schema.ViaValue(name, id))
	}
	now.many = len(now.values) > maxMoving
	if v.moving == nil {
		v.moving = map[string]moving{}
	}
	v.moving[network] = now
	return now, nil
}

// Saw reports whether an object that has been removed met a condition of visibility then.
func Saw(condition query.Expr, t *schema.Type, id string, removed *catalog.Tombstone) bool {
	return query.IsAll(condition) || Meets(condition, id, t.OwnerField(), removed.Owners)
}

// Meets reports whether an object with an id and owners, the values of a field, meets a
// condition of visibility.
func Meets(condition query.Expr, id string, field query.Field, owners []string) bool {
	switch e := condition.(type) {
	case query.And:
		return !slices.ContainsFunc(e, func(part query.Expr) bool { return !Meets(part, id, field, owners) })
	case query.Or:
		return slices.ContainsFunc(e, func(part query.Expr) bool { return Meets(part, id, field, owners) })
	case query.In:
		if e.Field.Term == field.Term && field.Term != "" {
			return slices.ContainsFunc(owners, func(owner string) bool { return slices.Contains(e.Values, any(owner)) })
		}
	case query.Not: // of the owners in doubt
		of, decided := e.Of.(query.In)
		return decided && of.Field.Term == field.Term && field.Term != "" && !Meets(of, id, field, owners)
	}
	return byID(condition, id) == yes
}
