package write

import (
	"context"
	"slices"

	"marquee/engine/document"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Dependants are the objects of a type that refer to an object of another type in the
// same network and take values from it. When it changes, they run through the write
// path as they are, so that their hooks compute these values again.
//
// Up to MaxFollowing of them are written in the transaction of the change. The rest
// follow from a queue that the transaction writes (followUp).
//
// Where transactions run side by side, another one may make an object refer to the
// changed one without either seeing the other. Locking the target would block everyone
// who refers to it, so each change leaves a queue entry on such a store: its
// dependants are visited once more when the transactions under way have ended.
type Dependants struct {
	// Type is the type of the dependants, Property the dotted path of their reference,
	// which must be indexed.
	Type, Property string
	// New reports that a new object matters, too, as dependants may name an id before
	// it exists. Where Property is a reference, they cannot.
	New bool
	// Matters reports whether a change of the object concerns its dependants.
	Matters func(c *Change) bool
}

// A transaction writes at most MaxFollowing dependants, of MaxFollowingBytes together.
const (
	MaxFollowing      = 1000
	MaxFollowingBytes = 16 << 20
)

// following is what is left of MaxFollowing and MaxFollowingBytes.
type following struct{ objects, bytes int }

// Revisit runs the hooks of stored objects again because of what the transaction
// changes: in the transaction or, when there are too many, from the queue.
func (w *Writing) Revisit(t *schema.Type, network string, ids []string) {
	for _, id := range ids {
		if w.queuedByKey[objectKey{t.Name, t.NetworkOf(network), id}] != nil {
			continue
		}
		if w.left.objects > 0 {
			w.left.objects--
			w.Upsert(t, network, id, nil)
			continue
		}
		w.followUps.add(t.Name, t.NetworkOf(network), id, dependence{Type: t.Name}, true)
	}
}

// targetsAtOnce is the number of targets in one query for dependants that refer to
// them in arrays. For other references each target has a query of its own, which is a
// range of the index; with several, a store would rather read all objects.
const targetsAtOnce = 200

// follow revisits the dependants of changed objects.
func (w *Writing) follow(changed []*Change) error {
	for _, a := range affectedBy(changed, w.e.hooks) {
		if err := w.followAll(a); err != nil {
			return err
		}
	}
	return w.putFollowUps()
}

// affected are changed objects with the same kind of dependants.
type affected struct {
	*Dependants
	target, network string
	ids             []string
}

// affectedBy returns the changed objects whose dependants must be found.
func affectedBy(changed []*Change, hooks map[string]Hooks) (all []*affected) {
	for _, c := range changed {
		for i := range hooks[c.Type.Name].Dependants {
			d := &hooks[c.Type.Name].Dependants[i]
			if c.Created() && !d.New || !d.Matters(c) {
				continue
			}
			n := slices.IndexFunc(all, func(a *affected) bool {
				return a.Dependants == d && a.target == c.Type.Name && a.network == c.Network
			})
			if n < 0 {
				n, all = len(all), append(all, &affected{Dependants: d, target: c.Type.Name, network: c.Network})
			}
			all[n].ids = append(all[n].ids, c.ID)
		}
	}
	return all
}

// followAll finds the dependants of objects, writes as many as there is room for, and
// leaves the rest to the queue.
func (w *Writing) followAll(a *affected) error {
	t, served := w.registry.Type(a.Type)
	if !served {
		return nil
	}
	field, err := t.Field("index", a.Property)
	if err != nil {
		return err
	}
	n := 1
	if field.Multiple() {
		n = targetsAtOnce
	}
	for ids := range slices.Chunk(a.ids, n) {
		left := w.left
		q := query.Query{Collection: t.Name, Network: t.NetworkOf(a.network), Where: refersTo(field, ids)}
		found, all, err := findDependants(w.ctx, w.tx, q, following{left.objects + 1, max(left.bytes, 1)})
		if err != nil {
			return err
		}
		behind := !all || sizeOf(found) > left.bytes
		if behind {
			// Those that remain are not looked for again by each further object.
			w.left = following{}
		} else {
			w.left = following{left.objects - len(found), left.bytes - sizeOf(found)}
			for _, dependant := range found {
				w.Upsert(t, a.network, dependant.ID, nil).size = dependant.size
			}
		}
		w.followUps.addAll(a.target, a.network, ids, dependence{Type: a.Type, Property: a.Property}, behind)
	}
	return nil
}

// dependant is an object that a walk has found.
type dependant struct {
	query.Position
	size int
}

func sizeOf(found []dependant) (bytes int) {
	for _, d := range found {
		bytes += d.size
	}
	return bytes
}

// dependantsPage is the number of dependants read at a time.
const dependantsPage = 250

// findDependants finds the stored objects of a query, oldest first, until there are enough
// of them. It reports whether there are no more.
func findDependants(ctx context.Context, s store.Snapshot, q query.Query, enough following) (found []dependant, end bool, err error) {
	q.Order = store.OldestFirst
	for bytes := 0; len(found) < enough.objects && bytes < enough.bytes; {
		q.Limit = min(dependantsPage, enough.objects-len(found))
		n := 0
		more := false
		err := s.Find(ctx, q, func(r *store.Record) error {
			if n++; bytes >= enough.bytes {
				more = true
				return nil
			}
			position := store.PositionOf(q.Order.Field, r)
			found, q.After = append(found, dependant{*position, len(r.Document)}), position
			bytes += len(r.Document)
			return nil
		})
		if err != nil || n < q.Limit && !more {
			return found, true, err
		}
	}
	return found, false, nil
}

// refersTo returns the condition that a field refers to one of some objects.
func refersTo(field query.Field, ids []string) query.Expr {
	if len(ids) == 1 {
		return query.Compare{Field: field, Op: query.Equal, Value: ids[0]}
	}
	return query.In{Field: field, Values: document.Array(ids)}
}
