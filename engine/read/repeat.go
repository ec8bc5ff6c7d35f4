package read

import (
	"context"
	"errors"

	"marquee/engine/access"
	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/written"
)

// Repeat renders the objects that an earlier call has written, a single one or a list, in their
// order and some at a time, as the caller sees them now, with some properties or, if none are
// named, all of them. One that is gone, or that the caller does not see, has its id alone, and
// no version and path.
func (e *Reader) Repeat(ctx context.Context, caller *access.Caller, network string, objects []written.Key, single bool, answer Answer, properties ...string) error {
	var projection Projection
	if len(properties) > 0 {
		projection = projectionOf(properties)
	}
	err := e.snapshot(store.Latest(ctx), func(s store.Snapshot) error {
		return e.look(ctx, s, caller, network, projection, func(v *view) error {
			if err := answer.Begin(); err != nil {
				return err
			}
			for left := objects; len(left) > 0; {
				some := ofOneType(left[:min(v.atOnce, len(left))])
				err := v.repeat(ctx, s, some, single, answer)
				if errors.Is(err, errTooMuch) {
					v.atOnce = len(some) / 2
					continue
				}
				if err != nil {
					return err
				}
				left = left[len(some):]
			}
			return answer.End()
		})
	})
	return store.Translate(err)
}

// ofOneType returns the first objects that have the same type and network.
func ofOneType(objects []written.Key) []written.Key {
	for i, o := range objects {
		if o.Collection != objects[0].Collection || o.Network != objects[0].Network {
			return objects[:i]
		}
	}
	return objects
}

// repeat adds objects of one type to an answer. It returns errTooMuch for several objects that
// need too much memory together.
func (v *view) repeat(ctx context.Context, s store.Snapshot, objects []written.Key, single bool, answer Answer) error {
	rendered := map[string]*Object{}
	if t, served := v.registry.Type(objects[0].Collection); served {
		records, err := v.recordsOf(ctx, s, t, objects)
		if err != nil {
			return err
		}
		shown := v.copies(t, records)
		if err := v.completeTogether(ctx, s, t, shown, single); err != nil {
			return err
		}
		for i, r := range records {
			body, err := v.append(make([]byte, 0, len(r.Document)+1024), t, shown[i])
			if err != nil {
				return err
			}
			if rendered[r.ID], err = v.object(t, r, body); err != nil {
				return err
			}
		}
	}
	for _, o := range objects {
		object := rendered[o.ID]
		if object == nil {
			object = &Object{ID: o.ID, JSON: document.Append(nil, map[string]any{"id": o.ID})}
		}
		if err := answer.Add(object); err != nil {
			return err
		}
	}
	return nil
}

// recordsOf reads those objects of one type that the caller sees.
func (v *view) recordsOf(ctx context.Context, s store.Snapshot, t *schema.Type, objects []written.Key) (records []*store.Record, err error) {
	visible, err := v.visible(ctx, s, t, v.network)
	if err != nil {
		return nil, err
	}
	ids, bytes := make([]string, len(objects)), 0
	for i, o := range objects {
		ids[i] = o.ID
	}
	err = access.GetVisible(ctx, s, store.Place{Collection: t.Name, Network: objects[0].Network}, ids, visible, func(r *store.Record) error {
		if bytes += len(r.Document); bytes > maxPieceBytes && len(objects) > 1 {
			return errTooMuch
		}
		records = append(records, r.Clone())
		return nil
	})
	return records, err
}
