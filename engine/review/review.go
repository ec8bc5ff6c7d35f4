// Package review runs stored objects through the write path again when a time in them
// has passed, because their warnings and derived values may depend on it. It may import
// engine, document, message, query, store and walk; begin with Reviewer.
package review

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/store"
	"marquee/engine/walk"
)

// Reviewer reviews objects of some types. Any number of servers may run one.
type Reviewer struct {
	dues  []Due
	marks marks
}

// New returns a reviewer.
func New(dues []Due) *Reviewer { return &Reviewer{dues: dues} }

// Collections returns the collections that a reviewer needs.
func Collections() []store.Collection {
	return []store.Collection{
		{Name: marksCollection},
		{Name: notesCollection, Indexes: []store.Index{{Equal: []query.Field{stateField}, Order: updateTimeField}}},
	}
}

var (
	stateField      = query.Field{System: query.State, Kind: query.String}
	createTimeField = query.Field{System: query.CreateTime, Kind: query.Time}
	updateTimeField = query.Field{System: query.UpdateTime, Kind: query.Time}
)

// Run makes a pass immediately and after each interval, until the context ends. It logs
// errors; the next pass retries.
func (r *Reviewer) Run(ctx context.Context, e *engine.Engine, every time.Duration, log *slog.Logger) {
	pass := func() {
		if err := r.Pass(ctx, e, log); err != nil && ctx.Err() == nil {
			log.Warn("reviewing objects failed; retrying", slog.Any("error", message.Explained(err)))
		}
	}
	pass()
	walk.Every(ctx, every, pass)
}

// Pass makes one pass.
func (r *Reviewer) Pass(ctx context.Context, e *engine.Engine, log *slog.Logger) error {
	return errors.Join(r.passDue(ctx, e, log), takeOver(ctx, e))
}

// unreachable reports whether the store is at fault, so that a pass need not continue.
func unreachable(err error) bool {
	code, ok := store.CodeOf(err)
	return ok && code != store.CodeConflict && code != store.CodeTooLarge
}

// place is a type in a network.
type place struct{ collection, network string }

// chunk is the number of objects reviewed in a transaction.
const chunk = 200

// review runs objects through the write path. An object that cannot be written, for
// example because its schema has changed, does not affect the others; it will be
// reviewed when it is corrected.
func review(ctx context.Context, e *engine.Engine, at place, ids []string, log *slog.Logger) error {
	if len(ids) == 0 {
		return nil
	}
	err := e.Review(ctx, at.collection, at.network, ids)
	var refused *message.Error
	if !errors.As(err, &refused) || refused.Kind != message.Invalid && refused.Kind != message.TooLarge {
		return err
	}
	if len(ids) == 1 {
		log.Warn("an object cannot be reviewed, because it is invalid as stored", slog.String("network", at.network),
			slog.String("type", at.collection), slog.String("id", ids[0]), slog.Any("error", err))
		return nil
	}
	half := len(ids) / 2
	return errors.Join(review(ctx, e, at, ids[:half], log), review(ctx, e, at, ids[half:], log))
}

// found is an object that a query has found.
type found struct {
	id string
	// at is the time that the query orders by.
	at       string
	updated  time.Time
	revision int64
}

// pages runs a query and calls do with each chunk of objects, outside of a read.
func pages(ctx context.Context, e *engine.Engine, q query.Query, do func([]found) error) error {
	q.Limit = chunk
	for {
		var page []found
		err := e.Store.Read(ctx, func(s store.Snapshot) error {
			page = nil
			return s.Find(ctx, q, func(r *store.Record) error {
				page = append(page, found{r.ID, orderOf(q.Order.Field, r), r.UpdateTime, r.Revision})
				return nil
			})
		})
		if err != nil {
			return store.Translate(err)
		}
		if err := do(page); err != nil || len(page) < chunk {
			return err
		}
		last := page[len(page)-1]
		q.After = &query.Position{Key: last.at, ID: last.id}
	}
}

// orderOf returns the time that a query orders a record by.
func orderOf(field query.Field, r *store.Record) string {
	if field.System == query.CreateTime {
		return document.FormatTime(r.CreateTime)
	}
	start, _, there := document.Member(r.Document, 0, field.Path[0].Name)
	if !there {
		return ""
	}
	return document.Text(r.Document, start)
}
