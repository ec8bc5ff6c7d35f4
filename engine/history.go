package engine

import (
	"context"
	"strconv"
	"strings"

	"marquee/engine/audit"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// HistoryPage asks for a page of the history: of a network, of a type when it
// is not nil, of one object when the id is not "".
type HistoryPage struct {
	Network        string
	Type           *schema.Type
	ID             string
	Page, PageSize int
}

// History renders a page of AuditMessages, newest first. It shows what the
// caller may see of the objects themselves.
func (e *Engine) History(ctx context.Context, caller *Caller, h HistoryPage) ([]byte, error) {
	if err := e.Access.MayReadHistory(caller, h.Type, h.Network); err != nil {
		return nil, err
	}
	q := store.HistoryQuery{Network: h.Network, ID: h.ID, Offset: h.Page * h.PageSize, Limit: h.PageSize}
	if h.Type != nil {
		q.Collection, q.Network = h.Type.Name, home(h.Type, h.Network)
		if h.Type.Global && h.ID == "" {
			// The history of a global type is not of one network: only that of an
			// object that the caller sees is his to read.
			return nil, message.ParameterMissing.Error(message.Params{"parameter": "id"})
		}
	}
	v := e.newView(caller, h.Network, nil)
	q.Collections = v.historyTypes()
	var out []byte
	err := e.Store.Read(ctx, func(s store.Snapshot) error {
		if h.Type != nil && h.ID != "" {
			found := false
			err := visit(ctx, s, place{h.Type.Name, q.Network}, []string{h.ID}, e.Access.Visible(caller, h.Type, h.Network),
				func(*store.Record) error { found = true; return nil })
			if err != nil {
				return err
			}
			if !found {
				return message.ObjectNotFound.Error(message.Params{"type": h.Type.Name, "id": h.ID})
			}
		}
		n, err := s.HistoryCount(ctx, q)
		if err != nil {
			return err
		}
		out = pageStart(h.Page, h.PageSize, n)
		changes, err := s.History(ctx, q)
		if err != nil {
			return err
		}
		for _, c := range changes {
			t, _ := v.registry.Type(c.Collection)
			v.wantChange(t, &c)
		}
		if err := v.resolve(ctx, s); err != nil {
			return err
		}
		for i, c := range changes {
			t, _ := v.registry.Type(c.Collection)
			if c.Fields, err = v.shownFields(t, c); err != nil {
				return err
			}
			if i > 0 {
				out = append(out, ',')
			}
			w := renderer{v: v, out: out, first: true}
			w.entry(t, c)
			out = w.out
		}
		return nil
	})
	return append(out, "]}"...), Translate(err)
}

// wantChange notes what is shown of a change besides itself.
func (v *view) wantChange(t *schema.Type, c *store.Change) {
	v.want("users", "", c.User)
	if t.Parent != "" {
		v.want(t.Name, c.Network, c.ID)
	}
}

// historyTypes lists the types whose history the caller may see at all.
func (v *view) historyTypes() []string {
	names := []string{}
	for _, t := range v.registry.Types() {
		if !never(v.e.Access.Visible(v.caller, t, v.network)) {
			names = append(names, t.Name)
		}
	}
	return names
}

// shownFields lets the type's hook hide in the history what it hides in the
// object.
func (v *view) shownFields(t *schema.Type, c store.Change) ([]byte, error) {
	shown := v.e.Hooks[t.Name].Shown
	if shown == nil {
		return c.Fields, nil
	}
	decoded, err := document.Decode(c.Fields, document.Limits{Depth: 1000})
	if err != nil {
		return nil, err
	}
	entries, _ := decoded.([]any)
	for _, entry := range entries {
		members, _ := entry.(map[string]any)
		pointer, _ := members["field"].(string)
		name := strings.TrimPrefix(pointer, "/")
		for _, side := range []string{"from", "to"} {
			value, there := members[side]
			if !there {
				continue
			}
			record := store.Record{Key: store.Key{Network: c.Network, ID: c.ID}, Document: document.Append(nil, map[string]any{name: value})}
			if err := shown(v.caller, &record); err != nil {
				return nil, err
			}
			object, err := document.DecodeObject(record.Document, document.Limits{Depth: 1000})
			if err != nil {
				return nil, err
			}
			members[side] = object[name]
		}
	}
	return document.Append(nil, entries), nil
}

// entry writes one AuditMessage, with who, when and what beside it.
func (w *renderer) entry(t *schema.Type, c store.Change) {
	w.change(t, &c, audit.Message(c))
	w.name("changes")
	w.out = append(append(w.out, c.Fields...), '}')
}

// change writes the beginning of a message about a change: who, when, and of
// which object.
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
	if c.User != "" {
		w.name("user")
		w.reference("users", "", c.User, nil)
	}
}
