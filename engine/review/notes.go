package review

import (
	"context"
	"encoding/json"
	"slices"

	"marquee/engine"
	"marquee/engine/query"
	"marquee/engine/store"
)

// notesCollection has the notes of an earlier version, which preceded the engine's
// queue of follow-ups: one for each object with outstanding dependants, ACTIVE until
// they were written.
const notesCollection = "review_notes"

// note identifies a changed object.
type note struct {
	ID      string `json:"id"`
	Network string `json:"network"`
	Type    string `json:"type"`
}

// takeOver moves notes to the queue. Servers of that version may still be running.
func takeOver(ctx context.Context, e *engine.Engine) error {
	for {
		var notes []note
		var records []store.Record
		err := e.Store.Read(ctx, func(s store.Snapshot) error {
			notes, records = nil, nil
			q := query.Query{Collection: notesCollection, Where: query.Compare{Field: stateField, Op: query.Equal, Value: "ACTIVE"},
				Order: query.Order{Field: updateTimeField}, Limit: chunk}
			return s.Find(ctx, q, func(r *store.Record) error {
				var n note
				err := json.Unmarshal(r.Document, &n)
				notes = append(notes, n)
				records = append(records, *r.Clone())
				return err
			})
		})
		if err != nil || len(notes) == 0 {
			return store.Translate(err)
		}
		for _, n := range notes {
			if err := e.FollowAgain(ctx, n.Type, n.Network, []string{n.ID}); err != nil {
				return err
			}
		}
		if err := crossOut(ctx, e, records); err != nil {
			return err
		}
	}
}

// crossOut marks notes as moved, unless they have changed meanwhile.
func crossOut(ctx context.Context, e *engine.Engine, notes []store.Record) error {
	met, keys := map[store.Key]int64{}, make([]store.Key, len(notes))
	for i, r := range notes {
		met[r.Key], keys[i] = r.Revision, r.Key
	}
	return store.Translate(e.Store.Write(ctx, func(tx store.Tx) error {
		var writes []store.Write
		err := tx.Get(ctx, notesCollection, keys, func(r *store.Record) error {
			if r.Revision == met[r.Key] && r.State == "ACTIVE" {
				writes = append(writes, store.InternalWrite(*r, "INACTIVE", slices.Clone(r.Document), e.Now()))
			}
			return nil
		})
		if err != nil || len(writes) == 0 {
			return err
		}
		return tx.Put(ctx, notesCollection, writes)
	}))
}
