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

// Due declares that the objects of a type are reviewed when the time in a property has
// passed. The property must be sortable.
type Due struct{ Type, Property string }

// overlap is the time that a pass goes back beyond the previous one. It exceeds the duration
// of a transaction that validates an object before its time and commits afterwards, the
// lag of a secondary, and the difference between the clocks of servers.
const overlap = 5 * time.Minute

// passDue reviews the objects that have become due since the last pass. After an error
// in one network it continues with the others; the next pass retries.
func (r *Reviewer) passDue(ctx context.Context, e *engine.Engine, log *slog.Logger) error {
	r.marks.Lock()
	defer r.marks.Unlock()
	if err := r.marks.load(ctx, e); err != nil {
		return err
	}
	now := e.Now().UTC()
	var all []error
	err := pages(ctx, e, query.Query{Collection: "networks", Order: query.Order{Field: createTimeField}}, func(networks []found) error {
		for _, network := range networks {
			for _, due := range r.dues {
				at := place{due.Type, network.id}
				err := r.reviewDue(ctx, e, due, at, now, log)
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

// reviewDue reviews the objects in a network that have become due since the last pass.
// It skips those that were written after that time, and those that the last pass
// reviewed in their current revision.
func (r *Reviewer) reviewDue(ctx context.Context, e *engine.Engine, d Due, at place, now time.Time, log *slog.Logger) error {
	t, served := e.Registry().Type(d.Type)
	if !served {
		return nil
	}
	field, err := t.SortField(d.Property)
	if err != nil {
		return err
	}
	q := query.Query{Collection: d.Type, Network: at.network, Order: query.Order{Field: field}, After: &query.Position{Key: r.marks.from(at, now)},
		Where: query.Compare{Field: field, Op: query.LessOrEqual, Value: document.FormatTime(now)}}
	before, reviewed := r.marks.reviewed[at], map[string]int64{}
	err = pages(ctx, e, q, func(page []found) error {
		var ids []string
		for _, object := range page {
			if document.FormatTime(object.updated) >= object.at {
				continue
			}
			if object.at > document.FormatTime(now.Add(-overlap)) { // the next pass will find it again
				reviewed[object.id] = object.revision
			}
			if before[object.id] != object.revision {
				ids = append(ids, object.id)
			}
		}
		return review(ctx, e, at, ids, log)
	})
	if err == nil {
		r.marks.reviewed[at] = reviewed
	}
	return err
}
