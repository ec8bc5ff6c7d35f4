// Package review runs stored objects through the write path again, as they are,
// when what is to be said of them has changed without them: because a time has
// passed, or because what they refer to has changed.
package review

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/store"
)

// Reviewer knows which objects are to be reviewed, and when.
type Reviewer struct {
	dues  []Due
	rules map[string][]Rule
	marks marks
	// noted has an item when notes have been committed since the last pass.
	noted chan struct{}
}

// New makes a reviewer.
func New(dues []Due, rules []Rule) *Reviewer {
	r := &Reviewer{dues: dues, rules: map[string][]Rule{}, noted: make(chan struct{}, 1)}
	for _, rule := range rules {
		r.rules[rule.Target] = append(r.rules[rule.Target], rule)
	}
	return r
}

// Collections are what the store must have for it.
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

// Run makes a pass at once, and then one after each interval, until the context
// ends. What fails is logged, and tried again by the next pass. Any number of
// servers may do so at once.
func (r *Reviewer) Run(ctx context.Context, e *engine.Engine, every time.Duration, log *slog.Logger) {
	var wait sync.WaitGroup
	wait.Go(func() { repeat(ctx, every, nil, log, func() error { return r.passDue(ctx, e, log) }) })
	wait.Go(func() { repeat(ctx, every, r.noted, log, func() error { return r.passNoted(ctx, e, log) }) })
	wait.Wait()
}

// Pass makes one pass.
func (r *Reviewer) Pass(ctx context.Context, e *engine.Engine, log *slog.Logger) error {
	return errors.Join(r.passDue(ctx, e, log), r.passNoted(ctx, e, log))
}

// repeat calls a function at once, after each interval, and when it is woken.
func repeat(ctx context.Context, every time.Duration, woken <-chan struct{}, log *slog.Logger, pass func() error) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if err := pass(); err != nil && ctx.Err() == nil {
			log.Warn("objects cannot be reviewed at present; it will be tried again", slog.Any("error", explained(err)))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-woken:
		}
	}
}

// explained is an error with its cause, of which the text for clients does not
// tell.
func explained(err error) error {
	var known *message.Error
	if errors.As(err, &known) && known.Unwrap() != nil {
		return errors.Join(err, known.Unwrap())
	}
	return err
}

// unreachable tells a fault of the store, which whatever else is tried would
// meet, too.
func unreachable(err error) bool {
	code, ok := store.CodeOf(err)
	return ok && code != store.CodeConflict && code != store.CodeTooLarge
}

// place names the objects of a type in a network.
type place struct{ collection, network string }

// chunk is how many objects are reviewed in one transaction.
const chunk = 500

// review lets objects go through the write path again. One that its schema
// refuses as it is stored must not keep the others from it: whoever corrects it
// has it judged by that.
func review(ctx context.Context, e *engine.Engine, at place, ids []string, log *slog.Logger) error {
	if len(ids) == 0 {
		return nil
	}
	err := e.Review(ctx, at.collection, at.network, ids)
	var refused *message.Error
	if !errors.As(err, &refused) || refused.Kind != message.Invalid {
		return err
	}
	if len(ids) == 1 {
		log.Warn("an object is not what its schema demands, and is not reviewed", slog.String("network", at.network),
			slog.String("type", at.collection), slog.String("id", ids[0]), slog.Any("error", err))
		return nil
	}
	half := len(ids) / 2
	return errors.Join(review(ctx, e, at, ids[:half], log), review(ctx, e, at, ids[half:], log))
}

// found is what is told of an object that a query finds.
type found struct {
	id string
	// at is what the query orders by.
	at      string
	updated time.Time
}

// reading runs a function on a snapshot.
type reading func(ctx context.Context, fn func(store.Snapshot) error) error

// pages finds objects, chunk by chunk: none is read while another is dealt with.
func pages(ctx context.Context, read reading, q query.Query, do func([]found) error) error {
	q.Limit = chunk
	for {
		var page []found
		err := read(ctx, func(s store.Snapshot) error {
			page = nil
			return s.Find(ctx, q, func(r *store.Record) error {
				page = append(page, found{r.ID, orderOf(q.Order.Field, r), r.UpdateTime})
				return nil
			})
		})
		if err != nil {
			return engine.Translate(err)
		}
		if err := do(page); err != nil || len(page) < chunk {
			return err
		}
		last := page[len(page)-1]
		q.After = &query.Position{Key: last.at, ID: last.id}
	}
}

// orderOf is the time that a query orders a record by.
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
