package engine

import (
	"context"

	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Look runs fn on one snapshot, in which it reads objects of a network as the
// caller is shown them. Fn may run again.
func (e *Engine) Look(ctx context.Context, caller *Caller, network string, projection Projection, fn func(*Reading) error) error {
	return Translate(e.Store.Read(ctx, func(s store.Snapshot) error {
		return fn(&Reading{v: e.newView(caller, network, projection), s: s})
	}))
}

// Find yields the objects of a type for which a condition holds, oldest first.
// Those that the caller does not see are there, too. The record is lent.
func (r *Reading) Find(ctx context.Context, t *schema.Type, where query.Expr, yield func(*store.Record) error) error {
	return findAll(ctx, r.s, query.Query{Collection: t.Name, Network: home(t, r.v.network), Where: where, Order: oldestFirst}, 0, yield)
}

// Visible yields those of the objects of a type that the caller sees, in any
// order. The record is lent.
func (r *Reading) Visible(ctx context.Context, t *schema.Type, ids []string, yield func(*store.Record) error) error {
	visible := r.v.e.Access.Visible(r.v.caller, t, r.v.network)
	return visit(ctx, r.s, place{t.Name, home(t, r.v.network)}, ids, visible, yield)
}

// Scope tells whether the caller sees all objects of a type, and otherwise the
// ids of those that he sees.
func (r *Reading) Scope(ctx context.Context, t *schema.Type) (everything bool, ids map[string]bool, err error) {
	visible := r.v.e.Access.Visible(r.v.caller, t, r.v.network)
	if always(visible) || never(visible) {
		return always(visible), nil, nil
	}
	ids = map[string]bool{}
	err = r.Find(ctx, t, visible, func(record *store.Record) error {
		ids[record.ID] = true
		return nil
	})
	return false, ids, err
}

// Render renders records of a type as a list does, and tells each. The records
// are the caller's own copies.
func (r *Reading) Render(ctx context.Context, t *schema.Type, records []*store.Record, yield func(i int, text []byte)) error {
	if err := r.v.complete(ctx, r.s, t, records); err != nil {
		return err
	}
	for i, record := range records {
		text, err := r.v.append(nil, t, record)
		if err != nil {
			return err
		}
		yield(i, text)
	}
	return nil
}

// Keep is a copy of a lent record.
func Keep(r *store.Record) *store.Record { return keep(r) }
