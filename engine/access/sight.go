package access

import (
	"context"
	"encoding/json"
	"slices"

	"marquee/engine/catalog"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// maxMoving is the number of changed objects up to which a query excludes the objects
// that belong to them. While there are more in a network, nothing is shown there of the
// types whose owners depend on other objects.
const maxMoving = 100

// Sight decides what a caller sees in one snapshot. The zero value is ready.
type Sight struct{ moving map[string]moving }

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
	if !known {
		var err error
		if now, err = readMoving(ctx, s, network); err != nil {
			return nil, err
		}
		if v.moving == nil {
			v.moving = map[string]moving{}
		}
		v.moving[network] = now
	}
	switch {
	case now.many:
		return query.None, nil
	case len(now.values) == 0:
		return visible, nil
	}
	return query.And{visible, query.Not{Of: query.In{Field: t.OwnerField(), Values: now.values}}}, nil
}

func readMoving(ctx context.Context, s store.Snapshot, network string) (now moving, err error) {
	q := query.Query{Collection: catalog.FollowUps, Where: query.Compare{Field: catalog.ByMoving, Op: query.Equal, Value: network},
		Order: query.Order{Field: query.Field{System: query.UpdateTime, Kind: query.Time}}, Limit: maxMoving + 1}
	err = s.Find(ctx, q, func(r *store.Record) error {
		var changed struct{ Type, ID string }
		if err := json.Unmarshal(r.Document, &changed); err != nil {
			return err
		}
		now.values = append(now.values, schema.ViaValue(changed.Type, changed.ID))
		return nil
	})
	now.many = len(now.values) > maxMoving
	return now, err
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
	}
	return byID(condition, id) == yes
}
