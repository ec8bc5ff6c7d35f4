package read

import (
	"bytes"
	"context"
	"slices"

	"marquee/engine/access"
	"marquee/engine/document"
	"marquee/engine/history"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// View calls fn with one snapshot, in which it reads objects of a network as they are
// shown to the caller. Fn may run again.
func (e *Reader) View(ctx context.Context, caller *access.Caller, network string, projection Projection, fn func(*Reading) error) error {
	return store.Translate(e.snapshot(ctx, func(s store.Snapshot) error {
		return fn(&Reading{v: e.newView(caller, network, projection), s: s})
	}))
}

// Find yields the objects of a type that meet a condition, oldest first, including
// those not visible to the caller. A record is valid until yield returns.
func (r *Reading) Find(ctx context.Context, t *schema.Type, where query.Expr, yield func(*store.Record) error) error {
	return store.FindAll(ctx, r.s, query.Query{Collection: t.Name, Network: t.NetworkOf(r.v.network), Where: where, Order: store.OldestFirst}, 0, yield)
}

// Visible yields the objects of a type that the caller sees, in any order. A record is
// valid until yield returns.
func (r *Reading) Visible(ctx context.Context, t *schema.Type, ids []string, yield func(*store.Record) error) error {
	visible, err := r.v.visible(ctx, r.s, t, r.v.network)
	if err != nil {
		return err
	}
	return access.GetVisible(ctx, r.s, store.Place{Collection: t.Name, Network: t.NetworkOf(r.v.network)}, ids, visible, yield)
}

// Scope reports whether the caller sees all objects of a type, and otherwise returns
// the ids of the visible ones.
func (r *Reading) Scope(ctx context.Context, t *schema.Type) (everything bool, ids map[string]bool, err error) {
	visible, err := r.v.visible(ctx, r.s, t, r.v.network)
	if err != nil || query.IsAll(visible) || query.IsNone(visible) {
		return err == nil && query.IsAll(visible), nil, err
	}
	ids = map[string]bool{}
	err = r.Find(ctx, t, visible, func(record *store.Record) error {
		ids[record.ID] = true
		return nil
	})
	return false, ids, err
}

// Render renders records of a type as a list does, and yields each.
func (r *Reading) Render(ctx context.Context, t *schema.Type, records []*store.Record, yield func(i int, text []byte) error) error {
	i := 0
	return r.v.complete(ctx, r.s, t, records, func(_, shown *store.Record) error {
		text, err := r.v.append(nil, t, shown)
		if err != nil {
			return err
		}
		i++
		return yield(i-1, text)
	})
}

// Reading is one run of the read path, for hooks.
type Reading struct {
	v *view
	s store.Snapshot
	// Single reports whether one object was requested, and not a list.
	Single bool
	// room is the number of bytes that may still be read and added, if bounded.
	room    int
	bounded bool
}

// take counts bytes that are read for records or added to them. When they are too
// many, fewer records are derived together.
func (r *Reading) take(n int) error {
	if r.room -= n; r.bounded && r.room < 0 {
		return errTooMuch
	}
	return nil
}

// Caller returns the caller of the read.
func (r *Reading) Caller() *access.Caller { return r.v.caller }

// Shows reports whether the result includes a top-level property.
func (r *Reading) Shows(property string) bool { return r.v.projection.has(property) }

// Requested reports whether the caller has named a top-level property in the parameter
// fields.
func (r *Reading) Requested(property string) bool {
	return r.v.projection != nil && r.v.projection.has(property)
}

// Type finds a type by its name.
func (r *Reading) Type(name string) (*schema.Type, bool) { return r.v.registry.Type(name) }

// Warn adds a warning to those that are shown of a record, and not to those stored.
func (r *Reading) Warn(record *store.Record, warning message.Message) {
	text := history.Encode(warning)
	if shown := bytes.TrimSuffix(record.Warnings, []byte("]")); len(shown) > 1 {
		text = append(append(slices.Clip(shown), ','), text...)
	} else {
		text = append([]byte{'['}, text...)
	}
	record.Warnings = append(text, ']')
}

// Snapshot returns the snapshot, which must not be kept.
func (r *Reading) Snapshot() store.Snapshot { return r.s }

// Lookup reads objects of a type in a network by their ids with one query, including
// those not visible to the caller.
func (r *Reading) Lookup(ctx context.Context, collection, network string, ids []string) (map[string]store.Found, error) {
	t, served := r.v.registry.Type(collection)
	if !served || len(ids) == 0 {
		return nil, nil
	}
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	seen := make(map[string]store.Found, len(ids))
	err := r.s.Get(ctx, collection, store.KeysIn(t.NetworkOf(network), ids), func(record *store.Record) error {
		if err := r.take(len(record.Document)); err != nil {
			return err
		}
		object, err := document.DecodeObject(record.Document, document.Limits{Depth: 1000})
		seen[record.ID] = store.Found{Object: object, State: record.State}
		return err
	})
	return seen, err
}

// Set sets properties of the document of a record; nil removes one.
func (r *Reading) Set(record *store.Record, properties map[string]any) error {
	if err := set(record, properties); err != nil {
		return err
	}
	return r.take(len(record.Document))
}

func set(record *store.Record, properties map[string]any) error {
	object, err := document.DecodeObject(record.Document, document.Limits{Depth: 1000})
	if err != nil {
		return err
	}
	for name, value := range properties {
		if object[name] = value; value == nil {
			delete(object, name)
		}
	}
	record.Document = document.Append(nil, object)
	return nil
}
