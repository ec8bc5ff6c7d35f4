package read

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// The memory for completing records of a list is bounded by completing fewer of them
// together: what a hook reads and adds, and the number and bytes of the names of
// referenced objects. References of a single object beyond these bounds have no names.
const (
	maxDerivedBytes = 4 << 20
	maxNames        = 2 * maxWholeReferences
	maxNameBytes    = 4 << 20
	// namesAtOnce is the size of the first query for names, whose lengths are not yet
	// known.
	namesAtOnce = 1000
)

// errTooMuch reports that completing the records together takes too much memory.
var errTooMuch = errors.New("engine: too many records at once")

// complete reads everything that the records of a list are rendered with, and
// yields each as stored and as shown. It works on as many records at once as
// need little memory.
func (v *view) complete(ctx context.Context, s store.Snapshot, t *schema.Type, records []*store.Record, yield func(stored, shown *store.Record) error) error {
	for len(records) > 0 {
		some := records[:min(v.atOnce, len(records))]
		shown := v.copies(t, some)
		err := v.completeTogether(ctx, s, t, shown, false)
		if errors.Is(err, errTooMuch) {
			v.atOnce = len(some) / 2
			continue
		}
		if err != nil {
			return err
		}
		for i, r := range some {
			if err := yield(r, shown[i]); err != nil {
				return err
			}
		}
		records = records[len(some):]
	}
	return nil
}

// copies returns what the hooks of a type may change of stored records: they
// replace a document as a whole.
func (v *view) copies(t *schema.Type, records []*store.Record) []*store.Record {
	if hooks := v.e.hooks[t.Name]; hooks.BeforeRender == nil && hooks.Derive == nil && len(t.Former()) == 0 {
		return records
	}
	copies, shown := make([]store.Record, len(records)), make([]*store.Record, len(records))
	for i, r := range records {
		copies[i] = *r
		shown[i] = &copies[i]
	}
	return shown
}

// completeTogether reads everything that records are rendered with. It returns
// errTooMuch for several records that need too much memory together.
func (v *view) completeTogether(ctx context.Context, s store.Snapshot, t *schema.Type, records []*store.Record, single bool) error {
	v.forget()
	for _, r := range records {
		if err := rename(t, r); err != nil {
			return err
		}
		if err := v.beforeRender(t, r); err != nil {
			return err
		}
	}
	if err := v.derive(ctx, s, t, records, single); err != nil {
		return err
	}
	if err := v.findPublic(ctx, s, t, records); err != nil {
		return err
	}
	for _, r := range records {
		if err := v.collect(t, r); err != nil {
			return err
		}
	}
	return v.resolveFor(ctx, s, len(records))
}

// resolveFor reads the names that some records need. It returns errTooMuch for several
// records with too many or too long names.
func (v *view) resolveFor(ctx context.Context, s store.Snapshot, records int) error {
	if records > 1 && v.wantedCount > maxNames {
		return errTooMuch
	}
	if err := v.resolve(ctx, s); err != nil {
		return err
	}
	if records > 1 && v.labelBytes > maxNameBytes {
		return errTooMuch
	}
	return nil
}

// rename gives a record the values that take the places of former ones, which it may have
// until the service has written it again.
func rename(t *schema.Type, r *store.Record) error {
	if !slices.ContainsFunc(t.Former(), func(former []byte) bool { return bytes.Contains(r.Document, former) }) {
		return nil
	}
	object, err := document.DecodeObject(r.Document, document.Limits{Depth: 1000})
	if err != nil {
		return err
	}
	if renamed, differs := t.Shape.Current(object); differs {
		r.Document = document.Append(nil, renamed)
	}
	return nil
}

// beforeRender runs the type's BeforeRender hook.
func (v *view) beforeRender(t *schema.Type, r *store.Record) error {
	if shown := v.e.hooks[t.Name].BeforeRender; shown != nil {
		return shown(v.caller, r)
	}
	return nil
}

// derive runs the type's Derive hook.
func (v *view) derive(ctx context.Context, s store.Snapshot, t *schema.Type, records []*store.Record, single bool) error {
	if derived := v.e.hooks[t.Name].Derive; derived != nil && len(records) > 0 {
		return derived(ctx, &Reading{v: v, s: s, Single: single, room: maxDerivedBytes, bounded: len(records) > 1}, records)
	}
	return nil
}

// collect finds the references of a record.
func (v *view) collect(t *schema.Type, r *store.Record) error {
	for _, user := range []struct{ name, id string }{{"createUser", r.CreateUser}, {"updateUser", r.UpdateUser}} {
		if v.projection.has(user.name) && !v.withholds(r) {
			v.want("users", "", user.id)
		}
	}
	if !t.Global && v.projection.has("network") {
		v.want("networks", "", r.Network)
	}
	if t.Shape.Plain {
		return nil
	}
	w := renderer{v: v, t: v.seen(t), record: r, collecting: true}
	return w.document()
}
