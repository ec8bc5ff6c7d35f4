package read

import (
	"context"
	"errors"
	"math"

	"marquee/engine/access"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// view renders stored documents for one caller.
type view struct {
	e          *Reader
	registry   *schema.Registry
	caller     *access.Caller
	network    string
	projection Projection

	// sight is what the caller sees in the snapshot of the view.
	sight access.Sight
	references
	texts
	// secrets caches whether the caller is shown the secrets of a type, and types the types
	// as the caller sees them.
	secrets map[*schema.Type]bool
	types   map[string]*schema.Type
	// withoutSecrets reports whether no secrets are shown, whatever the caller may read.
	withoutSecrets bool
	// public are the ids of the objects, of those that are rendered next, that the caller sees
	// only because they are public.
	public map[string]bool
	// atOnce is the number of records that are completed at once.
	atOnce int
}

func (e *Reader) newView(caller *access.Caller, network string, projection Projection) *view {
	v := &view{e: e, registry: e.Registry(), caller: caller, network: network, projection: projection,
		references: newReferences(), atOnce: math.MaxInt}
	return v.worker()
}

// worker returns a view for another goroutine, with the references resolved so far.
func (v *view) worker() *view {
	own := *v
	own.sight = access.Sight{}
	own.secrets, own.types = map[*schema.Type]bool{}, map[string]*schema.Type{}
	own.texts = texts{v.registry, map[string][]byte{}}
	return &own
}

// append renders a record and appends it to dst.
func (v *view) append(dst []byte, t *schema.Type, r *store.Record) ([]byte, error) {
	w := renderer{v: v, t: v.seen(t), record: r, out: dst, start: len(dst), sealed: v.e.Sealer.Holds(r.Document)}
	err := w.object()
	return w.out, err
}

// visible returns the condition that objects of a type must meet for the caller to see
// them.
func (v *view) visible(ctx context.Context, s store.Snapshot, t *schema.Type, network string) (query.Expr, error) {
	return v.sight.Shown(ctx, s, v.e.access, v.caller, v.served(t), network)
}

// visibleOtherwise is visible without the objects that the caller sees only because they are
// public.
func (v *view) visibleOtherwise(ctx context.Context, s store.Snapshot, t *schema.Type, network string) (query.Expr, error) {
	return v.sight.Visible(ctx, s, v.e.access, v.caller, v.served(t), network)
}

// hides reports whether objects of a type that meet a condition are left out because their
// owners are in doubt, as far as the conditions of visibility have found out.
func (v *view) hides(ctx context.Context, s store.Snapshot, t *schema.Type, where query.Expr) (hides bool, err error) {
	hidden := v.sight.Hidden(v.e.access, v.caller, v.served(t), v.network)
	if query.IsNone(hidden) {
		return false, nil
	}
	q := query.Query{Collection: t.Name, Network: t.NetworkOf(v.network), Where: query.Both(where, hidden), Order: store.OldestFirst, Limit: 1}
	err = s.Find(ctx, q, func(*store.Record) error {
		hides = true
		return nil
	})
	return hides, err
}

// served returns a type as it is served now, which decides what the caller sees, and not the type
// with which the request began: what is shown may have been stored since.
func (v *view) served(t *schema.Type) *schema.Type {
	if served, still := v.registry.Type(t.Name); still {
		return served
	}
	return t
}

// look runs a function with a view of a snapshot. The view supposes that no owners are in
// doubt, which is read with the names or at the end, because a round trip for it alone
// takes long on some stores. If it was wrong, the function runs again.
func (e *Reader) look(ctx context.Context, s store.Snapshot, caller *access.Caller, network string, projection Projection, run func(*view) error) error {
	var sight access.Sight
	if !e.moving.Load() {
		sight.Suppose()
	}
	for {
		v := e.newView(caller, network, projection)
		v.sight = sight
		err := run(v)
		if _, failed := store.CodeOf(err); failed {
			return err
		}
		wrong := v.confirm(ctx, s)
		if moving, known := v.sight.Moving(); known {
			e.moving.Store(moving)
		}
		switch {
		case errors.Is(wrong, access.ErrDoubt):
			sight = v.sight.Known()
		case err != nil:
			return err
		default:
			return wrong
		}
	}
}

// confirm finds out whether what is still supposed is true.
func (v *view) confirm(ctx context.Context, s store.Snapshot) (err error) {
	var results []map[store.Key]string
	if unconfirmed := v.sight.Unconfirmed(); len(unconfirmed) > 0 {
		if results, err = s.Labels(ctx, unconfirmed...); err != nil {
			return err
		}
	}
	return v.sight.Confirm(results)
}

// findPublic finds which records of a type the caller sees only because they are public. They
// are shown as anybody sees them: without who wrote them, and what the service remarks.
func (v *view) findPublic(ctx context.Context, s store.Snapshot, t *schema.Type, records []*store.Record) error {
	v.public = nil
	if v.caller.Anonymous || v.served(t).Public == nil || !v.projection.has("createUser") && !v.projection.has("updateUser") && !v.projection.has("validationWarnings") {
		return nil
	}
	visible, err := v.visibleOtherwise(ctx, s, t, v.network)
	if err != nil || query.IsAll(visible) {
		return err
	}
	ids := make([]string, len(records))
	v.public = make(map[string]bool, len(records))
	for i, r := range records {
		ids[i], v.public[r.ID] = r.ID, true
	}
	return access.GetVisible(ctx, s, store.Place{Collection: t.Name, Network: v.network}, ids, visible, func(r *store.Record) error {
		delete(v.public, r.ID)
		return nil
	})
}

// withholds reports whether a record is shown as anybody sees it.
func (v *view) withholds(r *store.Record) bool { return v.caller.Anonymous || v.public[r.ID] }

// knows reports whether a type exists for the caller in a network.
func (v *view) knows(t *schema.Type, network string) bool {
	if v.caller.Anonymous {
		return t.Public != nil && network == v.caller.Public
	}
	return !t.Secluded() || v.e.access.Knows(v.caller, t, network)
}

// seen returns a type as the caller sees it.
func (v *view) seen(t *schema.Type) *schema.Type {
	seen := v.types[t.Name]
	if seen == nil {
		seen = access.Seen(v.e.access, v.caller, v.served(t), v.network)
		v.types[t.Name] = seen
	}
	return seen
}

// hide returns what hides parts of the records of a type from the caller, nil if nothing
// is hidden.
func (v *view) hide(t *schema.Type) func(*access.Caller, *store.Record) error {
	return access.HideUnseen(v.seen(t), v.e.hooks[t.Name].Hide())
}

func (v *view) showsSecrets(t *schema.Type) bool {
	shown, known := v.secrets[t]
	if !known {
		shown = !v.withoutSecrets && v.e.access.MayReadSecrets(v.caller, t, v.network)
		v.secrets[t] = shown
	}
	return shown
}
