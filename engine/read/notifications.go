package read

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"marquee/engine/access"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Notifications renders a page of NotificationMessages, newest first, in one snapshot:
// one for each warning that has appeared on an object created by the caller.
func (e *Reader) Notifications(ctx context.Context, caller *access.Caller, network string, paging query.Paging) (page Page, err error) {
	q := store.HistoryQuery{Network: network, Notices: true, Owner: caller.User, Offset: paging.Page * paging.PageSize}
	mark := "notifications\x00" + caller.User + "\x00" + network
	if paging.Cursor != "" {
		c, err := e.openCursor(paging.Cursor, mark)
		if err != nil {
			return Page{}, err
		}
		index, numbered := c.at.Key.(int64)
		if !numbered {
			return Page{}, message.CursorInvalid.Error(message.Params{"parameter": "cursor"})
		}
		paging.Page, q.After, q.AfterNotice = c.page, c.at.ID, int(index)
	}
	err = e.snapshot(store.LongRunning(ctx), func(s store.Snapshot) error {
		run := notifications{historyRun{v: changesView{e.newView(caller, network, nil)}, q: q}}
		page, err = run.render(ctx, s, paging, mark)
		return err
	})
	return page, translateCursor(err)
}

// notifications is one run of Notifications. Its query finds notices.
type notifications struct{ historyRun }

func (p *notifications) render(ctx context.Context, s store.Snapshot, paging query.Paging, mark string) (Page, error) {
	types, err := p.v.seenTypes(ctx, s)
	if err != nil {
		return Page{}, err
	}
	p.q.Collections = types.all()
	if err := p.start(paging, func() (int64, error) { return p.count(ctx, s, types) }); err != nil {
		return Page{}, err
	}
	more, err := fill(&p.PageWriter, paging.PageSize, source[*store.Change]{
		find: func(limit int, yield func(*store.Change) error) error {
			return p.find(ctx, s, types, limit, yield)
		},
		size: func(n *store.Change) int { return len(n.Notices) },
		keep: func(n *store.Change) *store.Change {
			kept := *n
			kept.Notices = slices.Clone(n.Notices)
			return &kept
		},
		show: func(notices []*store.Change) error { return p.show(ctx, s, notices) },
	})
	next := ""
	if more {
		next = p.v.e.sealCursor(mark, &query.Position{Key: int64(p.q.AfterNotice), ID: p.q.After}, paging.Page+1, cursorBlock)
	}
	return p.finish(next), err
}

// count returns the number of notices that the caller sees.
func (p *notifications) count(ctx context.Context, s store.Snapshot, types seenTypes) (int64, error) {
	whole, parts := p.q, historyRun{v: p.v, q: p.q}
	whole.Collections = types.whole
	total, err := s.HistoryCount(ctx, whole)
	if err != nil || len(types.parts) == 0 {
		return total, err
	}
	parts.q.Collections = slices.Sorted(maps.Keys(types.parts))
	parts.q.Offset, parts.q.After, parts.q.AfterNotice = 0, "", 0
	err = parts.find(ctx, s, types, math.MaxInt, func(*store.Change) error { total++; return nil })
	return total, err
}

func (p *notifications) show(ctx context.Context, s store.Snapshot, notices []*store.Change) error {
	for _, n := range notices {
		t, _ := p.v.registry.Type(n.Collection)
		p.v.wantChange(t, n)
	}
	if err := p.v.resolve(ctx, s); err != nil {
		return err
	}
	parts := shownParts{v: p.v, left: -1}
	for _, n := range notices {
		if err := parts.number(ctx, s, n); err != nil {
			return err
		}
		err := p.Add(func(dst []byte) ([]byte, error) {
			t, _ := p.v.registry.Type(n.Collection)
			w := renderer{v: p.v.view, out: dst, first: true}
			w.notice(t, n)
			return w.out, nil
		})
		if err != nil || p.truncated {
			return err
		}
		p.q.After, p.q.AfterNotice, p.q.Offset = n.Position, n.Notice, 0
	}
	return nil
}

// start writes the beginning of a page of messages, and counts them if that is asked for.
func (w *PageWriter) start(paging query.Paging, count func() (int64, error)) error {
	head := fmt.Appendf(nil, `{"page":%d,"pageSize":%d,`, paging.Page, paging.PageSize)
	if paging.Count {
		total, err := count()
		if err != nil {
			return err
		}
		head = fmt.Appendf(head, `"totalCount":%d,`, total)
	}
	w.Begin(append(head, `"results":[`...))
	return nil
}

// notice writes a NotificationMessage.
func (w *renderer) notice(t *schema.Type, n *store.Change) {
	warning := w.v.currentText(t, n.Notices)
	w.change(t, n, message.NotificationWarning.With(message.Params{"type": t.Served().Name, "id": n.ID, "warning": document.MemberText(warning, "code")}))
	w.name("warning")
	w.out = append(append(w.out, warning...), '}')
}
