package review

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"

	"marquee/engine"
	"marquee/engine/query"
	"marquee/engine/store"
)

// noted is a note as it was found.
type noted struct {
	note
	version int64
}

// passNoted makes up for what the changes could not see of which there are
// notes. Where transactions run one after the other, that is nothing.
func (r *Reviewer) passNoted(ctx context.Context, e *engine.Engine, log *slog.Logger) error {
	for {
		notes, err := pending(ctx, e)
		if err != nil || len(notes) == 0 {
			return err
		}
		settled := notes
		if _, alone := e.Store.Revision(notesCollection); !alone {
			settled, err = r.settle(ctx, e, notes, log)
		}
		if err := errors.Join(err, crossOut(ctx, e, settled)); err != nil || len(notes) < chunk {
			return err
		}
	}
}

// pending are notes that nobody has crossed out.
func pending(ctx context.Context, e *engine.Engine) (map[store.Key]noted, error) {
	notes := map[store.Key]noted{}
	err := e.Store.Read(ctx, func(s store.Snapshot) error {
		clear(notes)
		q := query.Query{Collection: notesCollection, Where: query.Compare{Field: stateField, Op: query.Equal, Value: "ACTIVE"},
			Order: query.Order{Field: updateTimeField}, Limit: chunk}
		return s.Find(ctx, q, func(r *store.Record) error {
			n := noted{version: r.Version}
			err := json.Unmarshal(r.Document, &n.note)
			notes[r.Key] = n
			return err
		})
	})
	return notes, engine.Translate(err)
}

// settle reviews all that refer to the objects of notes, once every write has
// ended that was under way when an object changed: who began later has seen the
// change. It returns the notes that are dealt with.
func (r *Reviewer) settle(ctx context.Context, e *engine.Engine, notes map[store.Key]noted, log *slog.Logger) (map[store.Key]noted, error) {
	if err := e.Store.Settle(ctx); err != nil {
		return nil, engine.Translate(err)
	}
	settled := maps.Clone(notes)
	var all []error
	for key, n := range notes {
		for _, rule := range r.rules[n.Type] {
			err := rule.settle(ctx, e, n.note, log)
			if unreachable(err) {
				return nil, err
			}
			if err != nil {
				delete(settled, key)
				all = append(all, err)
			}
		}
	}
	return settled, errors.Join(all...)
}

// settle reviews all that refer to the object of a note. They are looked for
// where the latest commits are, which other servers of the store may lack.
func (r Rule) settle(ctx context.Context, e *engine.Engine, n note, log *slog.Logger) error {
	t, served := e.Registry().Type(r.Type)
	if !served {
		return nil
	}
	field, err := t.Field("index", r.Property)
	if err != nil {
		return err
	}
	latest := func(ctx context.Context, fn func(store.Snapshot) error) error {
		return e.Store.Write(ctx, func(tx store.Tx) error { return fn(tx) })
	}
	q := query.Query{Collection: r.Type, Network: n.Network, Where: refersTo(field, []string{n.ID}),
		Order: query.Order{Field: createTimeField}}
	return pages(ctx, latest, q, func(page []found) error {
		ids := make([]string, len(page))
		for i, object := range page {
			ids[i] = object.id
		}
		return review(ctx, e, place{r.Type, n.Network}, ids, log)
	})
}

// crossOut notes that notes are dealt with. One that was left anew meanwhile
// stays.
func crossOut(ctx context.Context, e *engine.Engine, notes map[store.Key]noted) error {
	if len(notes) == 0 {
		return nil
	}
	return engine.Translate(e.Store.Write(ctx, func(tx store.Tx) error {
		var writes []store.Write
		err := tx.Get(ctx, notesCollection, slices.Collect(maps.Keys(notes)), func(r *store.Record) error {
			if r.Version == notes[r.Key].version && r.State == "ACTIVE" {
				stored := store.Record{Version: r.Version, CreateTime: r.CreateTime}
				writes = append(writes, internal(r.Key, stored, "INACTIVE", slices.Clone(r.Document), e.Now().UTC()))
			}
			return nil
		})
		if err != nil || len(writes) == 0 {
			return err
		}
		return tx.Put(ctx, notesCollection, writes)
	}))
}
