package engine

import (
	"bytes"
	"context"
	"strconv"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// appeared are those messages of an array that another does not have, as an
// array; nil when there are none.
func appeared(before, after []byte) []byte {
	if len(before) == 0 {
		return after
	}
	known := map[string]bool{}
	eachItem(before, func(text []byte) { known[string(text)] = true })
	var added []byte
	eachItem(after, func(text []byte) {
		if !known[string(text)] {
			added = append(append(added, ','), text...)
		}
	})
	if added == nil {
		return nil
	}
	added[0] = '['
	return append(added, ']')
}

// eachItem walks an array in canonical form, which may be nothing at all.
func eachItem(array []byte, visit func(item []byte)) {
	for i := 1; i < len(array) && array[i] != ']'; i++ {
		end := document.Skip(array, i)
		visit(array[i:end])
		i = end
	}
}

// Notifications renders a page of NotificationMessages, newest first: one for
// each warning that has appeared on an object which the caller created.
func (e *Engine) Notifications(ctx context.Context, caller *Caller, network string, page, pageSize int) ([]byte, error) {
	v := e.newView(caller, network, nil)
	q := store.NoticeQuery{Network: network, Owner: caller.User, Collections: v.historyTypes(), Offset: page * pageSize, Limit: pageSize}
	var out []byte
	err := e.Store.Read(ctx, func(s store.Snapshot) error {
		n, err := s.NoticeCount(ctx, q)
		if err != nil {
			return err
		}
		notices, err := s.Notices(ctx, q)
		if err != nil {
			return err
		}
		for _, notice := range notices {
			t, _ := v.registry.Type(notice.Collection)
			v.wantChange(t, &notice.Change)
		}
		if err := v.resolve(ctx, s); err != nil {
			return err
		}
		out = pageStart(page, pageSize, n)
		for i, notice := range notices {
			if i > 0 {
				out = append(out, ',')
			}
			t, _ := v.registry.Type(notice.Collection)
			w := renderer{v: v, out: out, first: true}
			w.notice(t, &notice)
			out = w.out
		}
		return nil
	})
	return append(out, "]}"...), Translate(err)
}

// pageStart is what stands before the results of a page.
func pageStart(page, pageSize int, total int64) []byte {
	out := []byte(`{"page":` + strconv.Itoa(page) + `,"pageSize":` + strconv.Itoa(pageSize) + `,"totalCount":`)
	return append(strconv.AppendInt(out, total, 10), `,"results":[`...)
}

// notice writes one NotificationMessage, with the warning beside it.
func (w *renderer) notice(t *schema.Type, n *store.Notice) {
	warning := bytes.TrimSuffix(bytes.TrimPrefix(w.v.current(append(append([]byte{'['}, n.Text...), ']')), []byte("[")), []byte("]"))
	if len(warning) == 0 { // of a code that is known no longer
		warning = n.Text
	}
	w.change(t, &n.Change, message.NotificationWarning.With(message.Params{"type": t.Name, "id": n.ID, "warning": textOf(warning, "code")}))
	w.name("warning")
	w.out = append(append(w.out, warning...), '}')
}
