package engine

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// checkOutdated refuses to write objects of a type of which another server
// serves a schema that finds them by more than the one here: what they are
// found by would be missing. A store that belongs to this process alone is
// known to have no such server.
func (w *Writing) checkOutdated() error {
	if _, own := w.e.Store.Revision(typeCollection); own {
		return nil
	}
	types := map[string]*schema.Type{}
	for _, c := range w.round {
		if !w.checked[c.Type.Name] {
			types[c.Type.Name] = c.Type
		}
	}
	var keys []store.Key
	for _, name := range slices.Sorted(maps.Keys(types)) {
		w.checked[name] = true
		keys = append(keys, store.Key{ID: name})
	}
	if len(keys) == 0 {
		return nil
	}
	return w.tx.Get(w.ctx, typeCollection, keys, func(r *store.Record) error {
		var noted findable
		if err := json.Unmarshal(r.Document, &noted); err != nil {
			return err
		}
		t := types[r.ID]
		have := findableOf(t)
		if pending, ok := w.e.pending[t.Name]; ok {
			have.add(findableOf(pending.t))
		}
		if have.covers(noted) && (noted.Filling == nil || have.covers(*noted.Filling)) {
			return nil
		}
		outdated := message.SchemaOutdated.Error(message.Params{"type": t.Name})
		outdated.RetryAfter = 5 * time.Second
		return outdated
	})
}

// covers reports whether objects that are found by f are found by all of
// another, too.
func (f findable) covers(other findable) bool {
	return containsAll(f.Terms, other.Terms) && containsAll(f.Search, other.Search) && containsAll(f.Unique, other.Unique)
}

// add makes f the union with another.
func (f *findable) add(other findable) {
	f.Terms, f.Search, f.Unique = append(f.Terms, other.Terms...), append(f.Search, other.Search...), append(f.Unique, other.Unique...)
}

func containsAll(list, wanted []string) bool {
	return !slices.ContainsFunc(wanted, func(one string) bool { return !slices.Contains(list, one) })
}
