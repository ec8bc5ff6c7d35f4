package write

import (
	"maps"
	"slices"

	"marquee/engine/catalog"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// readIndexings reads what the objects of the round are indexed by.
func (w *Writing) readIndexings() error {
	types := map[string]*schema.Type{}
	for _, c := range w.round {
		if w.indexings[c.Type.Name] == nil {
			types[c.Type.Name] = c.Type
		}
	}
	if len(types) == 0 {
		return nil
	}
	var keys []store.Key
	for _, name := range slices.Sorted(maps.Keys(types)) {
		keys = append(keys, store.Key{ID: name})
	}
	err := w.tx.Get(w.ctx, catalog.TypeCollection, keys, func(r *store.Record) (err error) {
		w.indexings[r.ID], err = w.e.ReadIndexing(r)
		return err
	})
	if err != nil {
		return err
	}
	for name, t := range types {
		n := w.indexings[name]
		if n == nil {
			w.indexings[name] = w.e.WantedIndexing(t)
		} else if n.Format > catalog.IndexingFormat {
			return outdated(name)
		}
	}
	return nil
}
