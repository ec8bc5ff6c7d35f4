package migration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/history"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/walk"
)

// maxUndeclared is the maximum number of places that Undeclared counts for a type.
const maxUndeclared = 1000

// Undeclared returns the places of stored values that a type does not declare
// (document.Shape.Undeclared), or one of them, with the number of objects that have them. The
// place "" is that of all places but the first 1,000 that are met. Objects are read only if
// there may be such values.
func Undeclared(ctx context.Context, from store.Store, t *schema.Type, only string) (places map[string]int64, err error) {
	maybe := false
	err = from.Read(ctx, func(s store.Snapshot) error {
		outlines, _, err := rememberedOutlines(ctx, s)
		was := outlines[t.Name]
		maybe = was != nil && was.holdsUndeclared(outlineOf(t))
		return err
	})
	if err != nil || !maybe {
		return nil, store.Translate(err)
	}
	places = map[string]int64{}
	var counted store.Key
	walked := &walk.Changes{Collection: t.Name, Needed: func(r *store.Record) (bool, error) {
		if r.Key.Compare(counted) <= 0 {
			return false, nil // the page is read again
		}
		counted = r.Key
		object, err := document.DecodeObject(r.Document, document.Limits{Depth: 1000})
		if err != nil {
			return false, nil // which marquee check reports
		}
		found := map[string]bool{}
		t.Shape.Undeclared(object, func(at document.Pointer) {
			place := t.Shape.Place(at.String())
			if _, known := places[place]; only == "" && !known && len(places) >= maxUndeclared {
				place = ""
			}
			if place == only || only == "" {
				found[place] = true
			}
		})
		for place := range found {
			places[place]++
		}
		return false, nil
	}}
	_, err = walked.Run(ctx, from, endless())
	return places, store.Translate(err)
}

// endless is a time that a walk without a limit does not reach.
func endless() time.Time { return time.Now().AddDate(1, 0, 0) }

// PrunedPlace returns the place of a property whose values Prune may remove: its name in
// stored documents, or the place itself, which begins with a slash. The error says why they
// must stay.
func PrunedPlace(t *schema.Type, property string) (place string, err error) {
	if place = property; !strings.HasPrefix(property, "/") {
		place = "/" + document.EscapeToken(property)
	}
	top, _, within := strings.Cut(place[1:], "/")
	name := document.UnescapeToken(top)
	switch {
	case strings.Contains(place+"/", "//"):
		return "", fmt.Errorf("%q names no property: write its name, or a JSON Pointer with * for indexes, such as /lines/*/fax", property)
	case !within && (schema.CommonField(name) || name == t.IDProperty):
		return "", fmt.Errorf("%s is part of every object", property)
	case t.StoredName(name) != name, t.Shape.Declares(place), t.Served().Shape.Declares(place):
		return "", fmt.Errorf("the schema of %s declares %s, or stores values under this name: only values that no schema declares can be removed", t.Name, property)
	}
	return place, nil
}

// Prune removes the stored values at a place that the served schema of a type does not
// declare: from the objects, of which each gets a version with the cause that the operator
// made the change, and from the history. It works in small transactions beside reads and
// writes. When it is interrupted, Amend of any server goes on, unless a set that declares the
// place is served first.
func (m *Migrator) Prune(ctx context.Context, name, place string) error {
	m.pruning.Lock()
	defer m.pruning.Unlock()
	var err error = errLeaseLost
	for errors.Is(err, errLeaseLost) {
		err = m.alone(ctx, func(ctx context.Context, l *lease) error {
			t, served := m.Registry().Type(name)
			if !served || t.Shape.Declares(place) {
				return nil
			}
			return m.changeIndexings(ctx, l, []string{name}, func(_ string, n *catalog.Indexing) {
				if !slices.Contains(n.Prunes, place) {
					n.Prunes = append(n.Prunes, place)
				}
			})
		})
	}
	if err == nil {
		err = m.prune(ctx, name)
	}
	return store.Translate(err)
}

// finishPrunes goes on with what Prune of this or another server has begun, unless it is
// still at work here.
func (m *Migrator) finishPrunes(ctx context.Context) error {
	if !m.pruning.TryLock() {
		return nil
	}
	defer m.pruning.Unlock()
	var all map[string]catalog.StoredIndexing
	err := m.Store.Read(ctx, func(s store.Snapshot) (err error) {
		all, err = catalog.ReadAll(ctx, s)
		return err
	})
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err == nil && len(all[name].Prunes) > 0 {
			err = m.prune(ctx, name)
		}
	}
	return err
}

// prune removes the values at the places that the indexing of a type names.
func (m *Migrator) prune(ctx context.Context, name string) error {
	p := &prune{m: m}
	p.objects = walk.Changes{Collection: name, Needed: p.needed, Change: p.change}
	store.Step(ctx, "removing values of "+m.Registry().Path(name))
	for !p.complete {
		err := m.turn(ctx, p.some)
		if errors.Is(err, errPruneEnded) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// errPruneEnded is the error of a prune when the schema declares the places again, or another
// server has finished it.
var errPruneEnded = errors.New("migration: the values are no longer to be removed")

// prune is the state of Migrator.prune between its turns.
type prune struct {
	m      *Migrator
	t      *schema.Type
	places []string
	// objects are visited first, and then the history, up to after.
	objects               walk.Changes
	objectsDone, complete bool
	after                 string
}

// some does a part of the work.
func (p *prune) some(ctx context.Context, l *lease) error {
	t, served := p.m.Registry().Type(p.objects.Collection)
	var places []string
	err := p.m.Store.Read(ctx, func(s store.Snapshot) error {
		n, err := p.m.indexingOf(ctx, s, p.objects.Collection)
		if places = nil; n != nil && served && n.Format <= catalog.IndexingFormat {
			places = catalog.Filter(n.Prunes, func(place string) bool { return !t.Shape.Declares(place) })
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(places) == 0 {
		return errPruneEnded
	}
	if p.t = t; !slices.Equal(places, p.places) { // the objects that were visited may have values at the others
		p.places, p.objects.After, p.objectsDone, p.after = places, store.Key{}, false, ""
	}
	until := time.Now().Add(amendShare)
	if !p.objectsDone {
		if p.objectsDone, err = p.objects.Run(ctx, p.m.Store, until); err != nil || !p.objectsDone {
			return err
		}
	}
	if p.after == "" {
		store.Step(ctx, "removing values of "+p.t.Served().Name+" from the history")
	}
	end, err := p.history(ctx, until)
	if err != nil || !end {
		return err
	}
	if err := p.forget(ctx, l); err != nil {
		return err
	}
	if err := p.m.wipeNow(ctx); err != nil {
		if code, _ := store.CodeOf(err); code != store.CodeConflict { // a read still needs them; the store empties its log after it
			return err
		}
	}
	p.complete = true
	return p.m.changeIndexings(ctx, l, []string{p.t.Name}, func(_ string, n *catalog.Indexing) {
		n.Prunes = catalog.Filter(n.Prunes, func(place string) bool { return !slices.Contains(p.places, place) })
	})
}

// forget drops keys that no schema asks for any more, such as the claims of values that were
// unique: they hold the values, too.
func (p *prune) forget(ctx context.Context, l *lease) error {
	leftover := map[string]*catalog.Keys{}
	err := p.m.changeIndexings(ctx, l, []string{p.t.Name}, func(name string, n *catalog.Indexing) { leftover[name] = n.Leftover })
	if err != nil {
		return err
	}
	return p.m.dropLeftover(ctx, l, leftover)
}

// pruned removes the values from an object, and reports whether it had any.
func (p *prune) pruned(object map[string]any) (pruned []string) {
	for _, place := range p.places {
		if p.t.Shape.Prune(object, place) {
			pruned = append(pruned, place)
		}
	}
	return pruned
}

func (p *prune) needed(r *store.Record) (bool, error) {
	object, err := document.DecodeObject(r.Document, document.Limits{Depth: 1000})
	return err == nil && len(p.pruned(object)) > 0, nil // marquee check reports the others
}

// change removes the values from some objects. No hook and no rule is asked: clients see
// nothing of the values, so that nothing else can depend on them.
func (p *prune) change(ctx context.Context, network string, keys func() []store.Key) error {
	m, name := p.m, p.t.Name
	return m.Store.Write(ctx, func(tx store.Tx) error {
		n, err := m.indexingOf(ctx, tx, name)
		if err != nil {
			return err
		}
		if n == nil || !p.noted(n) {
			return errPruneEnded
		}
		now := m.Now().UTC().Truncate(time.Millisecond)
		var writes []store.Write
		var changes []store.Change
		err = tx.Get(ctx, name, keys(), func(r *store.Record) error {
			object, err := document.DecodeObject(r.Document, document.Limits{Depth: 1000})
			if err != nil {
				return err
			}
			before, _ := document.Clone(object).(map[string]any)
			pruned := p.pruned(object)
			if len(pruned) == 0 {
				return nil
			}
			write := store.Write{Record: *r.Clone(), Expected: r.Revision, Was: r.State}
			write.Document, write.UpdateTime = document.Append(nil, object), now
			write.Revision, write.Version = r.Revision+1, r.Version+1
			_, write.DropTerms = n.DiffTerms(object, before)
			writes = append(writes, write)
			changes = append(changes, store.Change{Time: now, Network: r.Network, Collection: name, ID: write.ID, Revision: write.Revision, Version: write.Version,
				Fields: history.Fields(p.t.Shape, nil, r.State, r.State, topNames(pruned)...), Cause: history.Encode(message.CauseOperator.With(nil))})
			return nil
		})
		if err != nil || len(writes) == 0 {
			return err
		}
		if err := tx.Put(ctx, name, writes); err != nil {
			return err
		}
		return tx.Append(ctx, changes)
	})
}

// noted reports whether all places are still to be pruned.
func (p *prune) noted(n *catalog.Indexing) bool {
	return n.Format <= catalog.IndexingFormat && !slices.ContainsFunc(p.places, func(place string) bool { return !slices.Contains(n.Prunes, place) })
}

// topNames returns the names of the properties of objects that have, or are, the values at places.
func topNames(places []string) (names []string) {
	for _, place := range places {
		names = append(names, document.UnescapeToken(strings.Split(place, "/")[1]))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// history removes the values from the history, until a time, and reports whether it has come
// to the end.
func (p *prune) history(ctx context.Context, until time.Time) (end bool, err error) {
	for time.Now().Before(until) {
		met, err := p.m.rewriteSome(ctx, p.t.Name, &p.after, func(fields []byte) (left []byte, changed bool, err error) {
			for _, place := range p.places {
				pruned := false
				if fields, pruned, err = history.Prune(p.t.Shape, fields, place); err != nil {
					return nil, false, err
				}
				changed = changed || pruned
			}
			return fields, changed, nil
		})
		if err != nil || met == 0 {
			return err == nil, err
		}
	}
	return false, nil
}

// holdsUndeclared reports whether objects may have values that a newer outline does not
// declare.
func (o *outline) holdsUndeclared(newer *outline) bool {
	u := undeclared{seen: map[[2]*outlineNode]bool{}}
	u.compare(o.root, newer.root, nil)
	return u.found
}

type undeclared struct {
	seen  map[[2]*outlineNode]bool
	found bool
}

func (u *undeclared) compare(old, newer *outlineNode, at document.Pointer) {
	pair := [2]*outlineNode{old, newer}
	switch {
	case u.found || old == nil || newer == anything || u.seen[pair]:
		return
	case newer == nil, len(u.seen) == maxCompared:
		u.found = true
		return
	}
	u.seen[pair] = true
	if old.open && !newer.open && newer.mayBe("object") {
		u.found = true
		return
	}
	eachPair(old, newer, at, u.compare)
}
