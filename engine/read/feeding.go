package read

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"marquee/engine/access"
	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/history"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// feeding is one run of Changes.
type feeding struct {
	e      *Reader
	caller *access.Caller
	q      ChangesQuery
	positions
	// at is the position of the store up to which changes have been added, and size the
	// number of bytes of the events. Full reports that there is no room for more.
	at   string
	size int
	full bool
	Events
}

func (f *feeding) atOnce() int { return max(changesAtOnce, f.q.Limit) }

// read reads changes of all types, so that positions hold for the follower's and the store's. It
// reports whether more may follow.
func (f *feeding) read(ctx context.Context) (r remainder, more bool, err error) {
	if r, known := f.e.takeAhead(f.at); known {
		return r, true, nil
	}
	if f.q.Waiter != nil {
		if changes, next, known := f.q.Waiter.recent(f.at, f.atOnce()); known {
			r.changes, r.next = changes, next
			return r, store.Full(changes, f.atOnce()), nil
		}
	}
	r.read, r.forgotten = time.Now(), f.e.forgotten.Load()
	r.changes, r.next, err = f.e.Store.Changes(ctx, f.at, f.atOnce())
	if n := len(r.changes); n > 0 {
		r.next = r.changes[n-1].Position // which the follower has passed or will pass
	}
	if f.q.Waiter != nil && err == nil {
		f.q.Waiter.reached(r.next)
	}
	return r, store.Full(r.changes, f.atOnce()), err
}

// keepRest keeps the changes of the store behind the last event.
func (f *feeding) keepRest(r remainder) {
	i := slices.IndexFunc(r.changes, func(c store.Change) bool { return c.Position == f.at })
	r.after, r.changes = f.at, slices.Clone(r.changes[i+1:])
	f.e.keepAhead(r)
}

// concerns reports whether a change belongs to the feed.
func (f *feeding) concerns(c *store.Change) bool {
	if _, _, moved := catalog.MovedBetween(c, ""); c.FeedOnly && !moved {
		return false
	}
	t, served := f.e.Registry().Type(c.Collection)
	return served && Followed(t) && c.Network == f.q.Network && (f.q.ID == "" || c.ID == f.q.ID) &&
		(len(f.q.Types) == 0 || slices.ContainsFunc(f.q.Types, func(t *schema.Type) bool { return t.Name == c.Collection }))
}

// add adds the events of changes, as many at a time as need little memory.
func (f *feeding) add(ctx context.Context, changes []store.Change) error {
	var concerned []*store.Change
	for i := range changes {
		if f.concerns(&changes[i]) {
			concerned = append(concerned, &changes[i])
		}
	}
	ctx = store.WithEffort(ctx, store.Effort{Caller: store.EffortOf(ctx).Caller, Latest: true, Extensive: true})
	for atOnce := max(1, (f.q.Bytes-f.size)/leastEvent); len(concerned) > 0 && !f.full && !f.Doubt; {
		some := concerned[:min(atOnce, len(concerned))]
		var run feeding
		err := f.e.snapshot(ctx, func(s store.Snapshot) error {
			run = *f // as this may run again
			run.List = slices.Clip(run.List)
			return run.show(ctx, s, some)
		})
		if errors.Is(err, errTooMuch) {
			atOnce = len(some) / 2
			continue
		}
		if err != nil {
			return err
		}
		*f, concerned = run, concerned[len(some):]
	}
	return nil
}

// show adds the events of changes in a snapshot.
func (f *feeding) show(ctx context.Context, s store.Snapshot, changes []*store.Change) error {
	v := changesView{f.e.newView(f.caller, f.q.Network, nil)}
	v.withoutSecrets = true
	seen, err := v.see(ctx, s, changes)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(changes, func(c *store.Change) bool { return seen.doubtful[objectOf(c)] }); i >= 0 {
		changes, f.Doubt = changes[:i], true
	}
	var shown []*shownChange
	for i, room := 0, f.q.Limit-len(f.List); i < len(changes) && room > 0; i++ {
		shows, err := v.showChange(seen, changes[i])
		if err != nil {
			return err
		}
		if shows.kind == left && !f.shown(changes[i]) {
			shows.kind = ""
		}
		if shown = append(shown, shows); shows.kind != "" {
			room--
		}
	}
	objects, err := f.objects(ctx, s, v, seen, shown)
	if err != nil {
		return err
	}
	for _, c := range shown {
		if c.kind != "" && c.kind != left {
			v.wantChange(c.t, c.Change)
		}
	}
	if err := v.resolve(ctx, s); err != nil {
		return err
	}
	if err := v.number(ctx, s, shown); err != nil {
		return err
	}
	for _, c := range shown {
		if c.kind != "" {
			text, err := f.event(v, c, objects[objectOf(c.Change)])
			if err != nil {
				return err
			}
			f.List = append(f.List, text)
			f.size += len(text.JSON)
		}
		f.at = c.at
		if f.full = len(f.List) >= f.q.Limit || f.size >= f.q.Bytes; f.full {
			return nil
		}
	}
	return nil
}

func objectOf(c *store.Change) changed { return changed{c.Collection, c.ID} }

// left is the kind of an event for callers who no longer see the object.
const left history.Kind = "left"

// shownChange is a change with the kind that it has for the caller, "" for one that is not
// shown.
type shownChange struct {
	*store.Change
	t    *schema.Type
	at   string
	kind history.Kind
	// gained reports that the caller sees the object because of its new owners.
	gained bool
}

// showChange decides what the caller is shown of a change.
func (v changesView) showChange(seen *seenObjects, c *store.Change) (*shownChange, error) {
	t, served := v.registry.Type(c.Collection)
	own := *c // as its numbers may be replaced
	shown := &shownChange{Change: &own, t: t, at: c.Position}
	if !served {
		return shown, nil
	}
	sees := seen.now[objectOf(c)]
	if from, to, moved := catalog.MovedBetween(c, t.OwnerField().Term); moved {
		visible := v.e.access.Visible(v.caller, t, v.network)
		meets := func(owners []string) bool { return access.Meets(visible, c.ID, t.OwnerField(), owners) }
		switch before, after := meets(from), meets(to); {
		case !sees && before:
			shown.kind = left
		case sees && !before && after:
			shown.kind, shown.gained = history.Changed, true
		}
		return shown, nil
	}
	if !sees {
		return shown, nil
	}
	shows, err := (&shownParts{v: v}).shows(c)
	if shows {
		shown.kind = history.KindOf(*c)
	}
	return shown, err
}

// number gives changes of objects of which parts are hidden the numbers that they have in the
// history (shownParts). It takes a walk over the history of each of these objects.
func (v changesView) number(ctx context.Context, s store.Snapshot, shown []*shownChange) error {
	byObject := map[changed][]*store.Change{}
	for _, c := range shown {
		if c.kind != "" && c.kind != left && v.hidesParts(c.Collection) {
			byObject[objectOf(c.Change)] = append(byObject[objectOf(c.Change)], c.Change)
		}
	}
	for of, changes := range byObject {
		byVersion := func(a, b *store.Change) int { return cmp.Compare(a.Version, b.Version) }
		slices.SortFunc(changes, byVersion)
		counts := make([]int64, len(changes)) // of the versions up to each, and after the one before
		parts := &shownParts{v: v}
		err := parts.walk(ctx, s, store.HistoryQuery{Network: v.network, Collection: of.collection, ID: of.id}, func(c *store.Change) error {
			if i, _ := slices.BinarySearchFunc(changes, c, byVersion); i < len(counts) {
				counts[i]++
			}
			return nil
		})
		if err != nil {
			return err
		}
		n := parts.base
		for i, c := range changes {
			n += counts[i]
			c.Version, c.Revision = n, n
		}
	}
	return nil
}

// seenObjects are objects that a caller sees, and those that the caller may see or not as soon
// as their owners are certain.
type seenObjects struct {
	types         seenTypes
	now, doubtful map[changed]bool
}

// see finds out which changed objects the caller sees.
func (v changesView) see(ctx context.Context, s store.Snapshot, changes []*store.Change) (*seenObjects, error) {
	var objects []changed
	for _, c := range changes {
		objects = append(objects, objectOf(c))
	}
	among := func(types seenTypes) (map[changed]bool, error) {
		known := types.all()
		return types.among(ctx, s, v.network, slices.DeleteFunc(slices.Clone(objects), func(o changed) bool { return !slices.Contains(known, o.collection) }))
	}
	types, err := v.seenTypes(ctx, s)
	if err != nil {
		return nil, err
	}
	seen := &seenObjects{types: types}
	if seen.now, err = among(types); err != nil {
		return nil, err
	}
	if moving, _ := v.sight.Moving(); !moving {
		return seen, nil
	}
	otherwise, err := v.typesBy(func(t *schema.Type) (query.Expr, error) { return v.e.access.Visible(v.caller, t, v.network), nil })
	if err != nil {
		return nil, err
	}
	seen.doubtful, err = among(otherwise)
	for object := range seen.now {
		delete(seen.doubtful, object)
	}
	return seen, err
}

// objects renders the objects that events have. It returns errTooMuch for several changes
// whose objects need too much memory together.
func (f *feeding) objects(ctx context.Context, s store.Snapshot, v changesView, seen *seenObjects, changes []*shownChange) (map[changed][]byte, error) {
	ids := map[*schema.Type][]string{}
	for _, c := range changes {
		if f.q.Include != IncludeNone && (c.gained || f.q.Include == IncludeObject && c.kind != "" && c.kind != left && c.kind != history.Deleted) {
			ids[c.t] = append(ids[c.t], c.ID)
		}
	}
	rendered, size := map[changed][]byte{}, 0
	for t, some := range ids {
		slices.Sort(some)
		var records []*store.Record
		err := access.GetVisible(ctx, s, store.Place{Collection: t.Name, Network: f.q.Network}, slices.Compact(some), seen.types.parts[t.Name], func(r *store.Record) error {
			if size += len(r.Document) + len(r.Warnings); size > maxPieceBytes && len(changes) > 1 {
				return errTooMuch
			}
			records = append(records, r.Clone())
			return nil
		})
		if err != nil {
			return nil, err
		}
		err = v.complete(ctx, s, t, records, func(stored, shown *store.Record) error {
			text, err := v.append(nil, t, shown)
			rendered[changed{t.Name, stored.ID}] = text
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return rendered, nil
}

// event renders an event.
func (f *feeding) event(v changesView, c *shownChange, object []byte) (Event, error) {
	position := f.seal(c.at, eventBlock)
	w := renderer{v: v.view, out: []byte{'{'}, first: true}
	w.text("position", position)
	w.text("type", c.t.Served().Name)
	w.text("id", c.ID)
	w.text("kind", string(c.kind))
	if c.kind == left {
		return Event{position, append(w.out, '}')}, nil
	}
	if parent, known := v.parents[referenceKey{c.t.Name, c.Network, c.ID}]; known || c.t.Parent == "" {
		w.text("url", Path(c.t, c.Network, parent, c.ID))
	}
	w.name("version")
	w.out = strconv.AppendInt(w.out, c.Version, 10)
	w.name("revision")
	w.out = strconv.AppendInt(w.out, c.Revision, 10)
	w.text("time", document.FormatTime(c.Time))
	if !c.gained {
		w.author(c.Change)
		w.cause(c.t, c.Change)
	}
	if f.q.Include == IncludeChanges && !c.gained {
		fields, err := v.shownFields(c.t, *c.Change)
		if err != nil {
			return Event{}, err
		}
		w.name("changes")
		w.out = append(w.out, fields...)
	}
	if object != nil && (c.gained || f.q.Include == IncludeObject) {
		w.name("object")
		w.out = append(w.out, object...)
	}
	return Event{position, append(w.out, '}')}, nil
}
