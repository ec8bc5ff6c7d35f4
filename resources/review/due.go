package review

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/query"
)

// Due says that objects of a type are to be reviewed when a time that they name
// has passed. Lists must be able to order by the property.
type Due struct{ Type, Property string }

// overlap is how far a pass goes back behind the one before: longer than a
// transaction takes that judged an object before its time and is committed
// after it, longer than a secondary that is read from may lag, and more than
// the clocks of servers differ by.
const overlap = 5 * time.Minute

// passDue reviews what has become due since the last pass. One that fails in a
// network is made up for by the next, and keeps no other network from it.
func (r *Reviewer) passDue(ctx context.Context, e *engine.Engine, log *slog.Logger) error {
	r.marks.Lock()
	defer r.marks.Unlock()
	if err := r.marks.load(ctx, e); err != nil {
		return err
	}
	now := e.Now().UTC()
	var all []error
	err := pages(ctx, e.Store.Read, query.Query{Collection: "networks", Order: query.Order{Field: createTimeField}}, func(networks []found) error {
		for _, network := range networks {
			for _, due := range r.dues {
				at := place{due.Type, network.id}
				err := due.review(ctx, e, at, r.marks.from(at, now), now, log)
				if err == nil {
					r.marks.reached[at] = now
				}
				if unreachable(err) {
					return err
				}
				all = append(all, err)
			}
		}
		return nil
	})
	if err == nil {
		err = r.marks.keep(ctx, e, now)
	}
	return errors.Join(append(all, err)...)
}

// review reviews what has become due in a network since a time, "" for all. An
// object that was written since it was due has been judged by that.
func (d Due) review(ctx context.Context, e *engine.Engine, at place, since string, now time.Time, log *slog.Logger) error {
	t, served := e.Registry().Type(d.Type)
	if !served {
		return nil
	}
	field, err := t.SortField(d.Property)
	if err != nil {
		return err
	}
	q := query.Query{Collection: d.Type, Network: at.network, Order: query.Order{Field: field}, After: &query.Position{Key: since},
		Where: query.Compare{Field: field, Op: query.LessOrEqual, Value: document.FormatTime(now)}}
	return pages(ctx, e.Store.Read, q, func(page []found) error {
		var ids []string
		for _, object := range page {
			if document.FormatTime(object.updated) < object.at {
				ids = append(ids, object.id)
			}
		}
		return review(ctx, e, at, ids, log)
	})
}
