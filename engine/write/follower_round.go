package write

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"marquee/engine/catalog"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// round is one transaction that writes dependants of a changed object. Each run of it
// reads everything again.
type round struct {
	f    *follower
	ctx  context.Context
	key  store.Key
	runs int
	took time.Duration

	// w is nil when there was nothing to do.
	w *Writing
	// entry is the entry after the round, walk its current walk before.
	entry   followUp
	walk    dependence
	found   []dependant
	skipped bool
	// indexing is that of the objects of a walk of owners.
	indexing *catalog.Indexing
}

func (r *round) run(tx store.Tx) error {
	began := time.Now()
	if r.runs++; r.runs > 1 && r.walk.Type != "" {
		r.f.pace(r.walk.Type).Again()
	}
	r.w, r.found, r.skipped = nil, nil, false
	var record *store.Record
	err := tx.Get(r.ctx, followUpCollection, []store.Key{r.key}, func(stored *store.Record) error {
		record = stored.Clone()
		r.entry = followUp{}
		return json.Unmarshal(stored.Document, &r.entry)
	})
	if err != nil || record == nil || record.State != "ACTIVE" || !r.entry.Settled || len(r.entry.Walks) == 0 || r.f.left(&r.entry, record) {
		return err
	}
	r.walk = r.entry.Walks[0]
	w := r.f.e.background(r.ctx, r.entry.Network, r.entry.User)
	w.begin(tx)
	t, err := r.step(w)
	if err != nil {
		return err
	}
	// The entry is written first, so that another server which is at it, too, meets
	// that before it has done the same work.
	r.entry.Server = r.f.server
	write, err := r.entry.write(record, w.now)
	if err != nil {
		return err
	}
	if err := tx.Put(r.ctx, followUpCollection, []store.Write{write}); err != nil {
		return err
	}
	switch {
	case r.skipped:
	case r.walk.ofOwners():
		if err := (&owning{w, r.walk.Type, r.indexing.OwnerKeys()}).again(r.entry.Network, r.found); err != nil {
			return err
		}
	default:
		for _, d := range r.found {
			w.Upsert(t, r.entry.Network, d.ID, nil).size = d.size
		}
	}
	if err := w.run(); err != nil {
		return err
	}
	r.took, r.w = time.Since(began), w
	return w.conclude()
}

// step finds the objects of the round and advances the entry.
func (r *round) step(w *Writing) (*schema.Type, error) {
	t, served := w.registry.Type(r.walk.Type)
	if !served && !r.walk.ofOwners() {
		return nil, message.TypeUnknown.Error(message.Params{"type": r.walk.Type})
	}
	limit := r.f.pace(r.walk.Type).Size
	trouble := r.f.troubles[r.key]
	if trouble != nil {
		limit = min(limit, trouble.limit)
	}
	q := query.Query{Collection: r.walk.Type, Network: r.entry.Network, After: r.walk.position()}
	switch {
	case r.walk.ofOwners():
		all, err := w.e.allIndexings(r.ctx, w.tx)
		if err != nil {
			return nil, err
		}
		if r.indexing = all[r.walk.Type]; r.indexing == nil {
			r.indexing = &catalog.Indexing{}
		}
		q.Where = catalog.ByOwner(r.walk.Property, []any{schema.ViaValue(r.entry.Type, r.entry.ID)})
	case r.walk.Property == "":
		r.found = []dependant{{Position: query.Position{ID: r.entry.ID}}}
	default:
		field, err := t.Field("index", r.walk.Property)
		if err != nil {
			return nil, err
		}
		q.Network, q.Where = t.NetworkOf(r.entry.Network), refersTo(field, []string{r.entry.ID})
	}
	end := true
	if q.Where != nil {
		var err error
		if r.found, end, err = findDependants(r.ctx, w.tx, q, following{limit, followBytes}); err != nil {
			return nil, err
		}
	}
	r.entry.Done += len(r.found)
	if r.skipped = trouble != nil && len(r.found) == 1 && r.found[0].ID == trouble.skip; r.skipped {
		r.entry.Refused++
	}
	if end {
		r.entry.Walks = r.entry.Walks[1:]
		return t, nil
	}
	last := r.found[len(r.found)-1]
	r.entry.Walks[0].At, r.entry.Walks[0].After = last.Key.(string), last.ID
	return t, nil
}

// log logs the first and the last round of an entry with pending dependants.
func (r *round) log() {
	if !r.entry.Behind {
		return
	}
	if r.entry.Done == len(r.found) {
		r.f.log.Info("updating the objects that depend on a changed one", r.attributes()...)
	}
	if len(r.entry.Walks) == 0 {
		r.f.log.Info("the objects that depend on a changed one are up to date", r.attributes(slog.Int("objects", r.entry.Done),
			slog.Int("refused", r.entry.Refused), slog.String("after", r.f.now().Sub(r.entry.Since).String()))...)
	}
}

// attributes returns the log attributes of the entry, and more.
func (r *round) attributes(more ...any) []any {
	return append([]any{slog.String("network", r.entry.Network), slog.String("changed", r.entry.Type+" "+r.entry.ID),
		slog.String("type", r.walk.Type)}, more...)
}
