package read

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"marquee/engine/access"
	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/history"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// HistoryPage asks for a page of the history of a network, of a type when it is not
// nil, and of one object when the id is not "".
type HistoryPage struct {
	Network string
	Type    *schema.Type
	ID      string
	query.Paging
}

// History renders a page of AuditMessages, newest first, in one snapshot. It shows
// only what the caller sees of the objects themselves.
func (e *Reader) History(ctx context.Context, caller *access.Caller, h HistoryPage) (page Page, err error) {
	if err := e.access.MayReadHistory(caller, h.Type, h.Network, h.ID); err != nil {
		return Page{}, err
	}
	q := store.HistoryQuery{Network: h.Network, ID: h.ID, Offset: h.Page * h.PageSize}
	if h.Type != nil {
		q.Collection, q.Network = h.Type.Name, h.Type.NetworkOf(h.Network)
		if h.Type.Global && h.ID == "" {
			// The history of a global type belongs to no network: callers may read only
			// that of an object they see.
			return Page{}, message.ParameterMissing.Error(message.Params{"parameter": "id"})
		}
	}
	mark := strings.Join([]string{"audit", caller.User, h.Network, q.Collection, h.ID}, "\x00")
	if h.Cursor != "" {
		c, err := e.openCursor(h.Cursor, mark)
		if err != nil {
			return Page{}, err
		}
		h.Page, q.After = c.page, c.at.ID
	}
	err = e.snapshot(store.LongRunning(ctx), func(s store.Snapshot) error {
		run := historyRun{v: changesView{e.newView(caller, h.Network, nil)}, q: q}
		if h.Type != nil {
			if _, served := run.v.registry.Type(h.Type.Name); !served {
				return message.TypeUnknown.Error(message.Params{"type": h.Type.Served().Name})
			}
		}
		if h.Type != nil && h.ID != "" {
			if err := run.v.mustSee(ctx, s, h.Type, h.ID); err != nil {
				return err
			}
		}
		page, err = run.render(ctx, s, h.Paging, mark)
		return err
	})
	return page, translateCursor(err)
}

// mustSee returns an error of kind NotFound unless the caller sees the object, or saw it
// when it was removed, and it belongs to the network.
func (v changesView) mustSee(ctx context.Context, s store.Snapshot, t *schema.Type, id string) error {
	t = v.served(t)
	readable, err := v.readable(ctx, s, t)
	if err != nil {
		return err
	}
	found, network := false, t.NetworkOf(v.network)
	err = access.GetVisible(ctx, s, store.Place{Collection: t.Name, Network: network}, []string{id}, readable,
		func(*store.Record) error { found = true; return nil })
	if err == nil && !found {
		found, err = sawRemoved(ctx, s, t, network, id, readable)
	}
	if err == nil && !found {
		err = message.ObjectNotFound.Error(message.Params{"type": t.Name, "id": id})
	}
	return err
}

// sawRemoved reports whether an object has been removed that met a condition.
func sawRemoved(ctx context.Context, s store.Snapshot, t *schema.Type, network, id string, readable query.Expr) (bool, error) {
	key := store.Key{Network: network, ID: id}
	removed, err := catalog.ReadRemoved(ctx, s, t.Name, []store.Key{key})
	if err != nil || removed[key] == nil {
		return false, err
	}
	return access.Saw(readable, t, id, removed[key]), nil
}

// translateCursor is store.Translate for reads from a position that a client has sent.
func translateCursor(err error) error {
	if code, _ := store.CodeOf(err); code == store.CodeBadPosition {
		return message.CursorInvalid.Error(message.Params{"parameter": "cursor"})
	}
	return store.Translate(err)
}

// historyRun is one run of History.
type historyRun struct {
	PageWriter
	v changesView
	// q finds the changes that remain to be shown.
	q store.HistoryQuery
	// parts decides which changes of the object are shown, and numbers them; nil if the
	// caller sees them all.
	parts *shownParts
}

func (p *historyRun) render(ctx context.Context, s store.Snapshot, paging query.Paging, mark string) (Page, error) {
	var types seenTypes
	count := func() (int64, error) { return s.HistoryCount(ctx, p.q) }
	if p.q.ID != "" { // and the caller sees the object
		if p.v.hidesParts(p.q.Collection) {
			p.parts = &shownParts{v: p.v}
			total, err := p.parts.begin(ctx, s, &p.q) // which also numbers the changes
			if err != nil {
				return Page{}, err
			}
			count = func() (int64, error) { return total, nil }
		}
	} else {
		var err error
		if types, err = p.v.seenTypes(ctx, s); err != nil {
			return Page{}, err
		}
		p.q.Collections = types.all()
		count = func() (int64, error) { return types.countHistory(ctx, s, p.q) }
		if slices.ContainsFunc(types.all(), p.v.hidesChanges) {
			p.parts = &shownParts{v: p.v, left: -1}
			count = func() (int64, error) { return p.count(ctx, s, types) }
		}
	}
	if err := p.start(paging, count); err != nil {
		return Page{}, err
	}
	more, err := fill(&p.PageWriter, paging.PageSize, source[*store.Change]{
		find: func(limit int, yield func(*store.Change) error) error {
			return p.find(ctx, s, types, limit, yield)
		},
		size: func(c *store.Change) int { return len(c.Fields) + len(c.Cause) + len(c.Notices) },
		keep: func(c *store.Change) *store.Change {
			kept := *c
			kept.Fields, kept.Cause, kept.Notices = slices.Clone(c.Fields), slices.Clone(c.Cause), nil
			return &kept
		},
		show: func(changes []*store.Change) error { return p.show(ctx, s, changes) },
	})
	next := ""
	if more {
		next = p.v.e.sealCursor(mark, &query.Position{ID: p.q.After}, paging.Page+1, cursorBlock)
	}
	return p.finish(next), err
}

// count returns the number of changes that the caller sees, by finding them all.
func (p *historyRun) count(ctx context.Context, s store.Snapshot, types seenTypes) (total int64, err error) {
	all := historyRun{v: p.v, q: p.q, parts: p.parts}
	all.q.Offset, all.q.After = 0, ""
	err = all.find(ctx, s, types, math.MaxInt, func(*store.Change) error { total++; return nil })
	return total, err
}

// find yields up to limit of the changes, or the notices, that remain to be shown.
func (p *historyRun) find(ctx context.Context, s store.Snapshot, types seenTypes, limit int, yield func(*store.Change) error) error {
	q := p.q
	read := func(limit int, yield func(*store.Change) error) error {
		q.Limit = limit
		return s.History(ctx, q, yield)
	}
	if p.parts != nil {
		read = func(limit int, yield func(*store.Change) error) error {
			return p.parts.find(ctx, s, q, limit, yield)
		}
	}
	if len(types.parts) == 0 {
		return read(limit, yield)
	}
	q.Offset = 0
	return seenChanges{types, q.Network, read, func(c *store.Change) { q.After, q.AfterNotice = c.Position, c.Notice }}.find(ctx, s, p.q.Offset, limit, yield)
}

func (p *historyRun) show(ctx context.Context, s store.Snapshot, changes []*store.Change) error {
	for _, c := range changes {
		t, _ := p.v.registry.Type(c.Collection)
		p.v.wantChange(t, c)
	}
	if err := p.v.resolve(ctx, s); err != nil {
		return err
	}
	for _, c := range changes {
		t, _ := p.v.registry.Type(c.Collection)
		text := p.v.registry.Shown(history.Message(*c))
		fields, err := p.v.shownFields(t, *c)
		if err != nil {
			return err
		}
		c.Fields = fields
		if err := p.parts.number(ctx, s, c); err != nil {
			return err
		}
		err = p.Add(func(dst []byte) ([]byte, error) {
			w := renderer{v: p.v.view, out: dst, first: true}
			w.entry(t, c, text)
			return w.out, nil
		})
		if err != nil || p.truncated {
			return err
		}
		p.parts.next()
		p.q.After, p.q.Offset = c.Position, 0
	}
	return nil
}

// readable returns the condition under which the history of an object can be read in the
// network.
func (v changesView) readable(ctx context.Context, s store.Snapshot, t *schema.Type) (query.Expr, error) {
	visible, err := v.visibleOtherwise(ctx, s, t, v.network)
	if err != nil || !t.Global {
		return visible, err
	}
	return query.Both(v.e.access.Within(v.caller, t, v.network), visible), nil
}

// wantChange notes the objects that a message about a change refers to.
func (v changesView) wantChange(t *schema.Type, c *store.Change) {
	v.want("users", "", c.User)
	if t.Parent != "" {
		v.want(t.Name, c.Network, c.ID)
	}
}

// entry writes an AuditMessage.
func (w *renderer) entry(t *schema.Type, c *store.Change, text message.Message) {
	w.change(t, c, text)
	w.cause(t, c)
	w.name("changes")
	w.out = append(append(w.out, c.Fields...), '}')
}

// change writes the beginning of a message about a change: its time, object and user.
func (w *renderer) change(t *schema.Type, c *store.Change, m message.Message) {
	text, err := m.MarshalJSON()
	if err != nil {
		panic(err)
	}
	w.out = append(append(w.out, text[:len(text)-1]...), ',')
	w.text("time", document.FormatTime(c.Time))
	w.name("object")
	w.reference(t.Name, c.Network, c.ID, Projection{"id": nil, "url": nil})
	w.name("version")
	w.out = strconv.AppendInt(w.out, c.Version, 10)
	w.name("revision")
	w.out = strconv.AppendInt(w.out, c.Revision, 10)
	w.author(c)
}

// author writes the user who made a change.
func (w *renderer) author(c *store.Change) {
	if c.User != "" {
		w.name("user")
		w.reference("users", "", c.User, nil)
	}
}

// cause writes why the service made a change.
func (w *renderer) cause(t *schema.Type, c *store.Change) {
	if len(c.Cause) > 0 {
		w.name("cause")
		w.out = append(w.out, w.v.currentText(t, c.Cause)...)
	}
}
