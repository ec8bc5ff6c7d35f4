package read

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"marquee/engine/access"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Listing is a request for a page of a list.
type Listing struct {
	query.List
	Projection Projection
	// Withheld reports whether the list has a condition on what is not for everybody, or is
	// ordered by it: objects that the caller sees only because they are public do not meet it.
	Withheld bool
	// Followed reports whether the caller follows the changes of what is listed.
	Followed bool
}

// Seen returns a type as it is for a caller in a network: without the properties that the
// caller does not see.
func (e *Reader) Seen(caller *access.Caller, t *schema.Type, network string) *schema.Type {
	return access.Seen(e.access, caller, t, network)
}

// Fields returns the fields of a type that lists can filter and order by.
func (e *Reader) Fields(t *schema.Type) query.Fields { return fields{t, e.hooks[t.Name].Hidden} }

type fields struct {
	*schema.Type
	hidden []string
}

// Field implements query.Fields.
func (f fields) Field(parameter, name string) (query.Field, error) {
	field, err := f.Type.Field(parameter, name)
	if err == nil && len(field.Path) > 0 && slices.Contains(f.hidden, field.Path[0].Name) {
		err = message.FieldNotQueryable.Error(message.Params{"parameter": parameter, "value": name, "type": f.Name})
	}
	return field, err
}

// List renders a page of a type, which Seen has returned, in one snapshot. It fails with
// ErrOvertaken if the type has been replaced since.
func (e *Reader) List(ctx context.Context, caller *access.Caller, t *schema.Type, network string, l Listing) (page Page, err error) {
	p := &list{t: t, l: l, mark: listMark(caller, t, network, &l), q: query.Query{Collection: t.Name, Network: t.NetworkOf(network), Order: l.Order,
		Where: l.Where, Offset: l.Page * l.PageSize}}
	if l.Cursor != "" {
		c, err := parseCursor(l.Cursor, p.mark)
		if err != nil {
			return Page{}, err
		}
		if p.q.After, err = e.resume(ctx, caller, c, t, &p.q); err != nil {
			return Page{}, err
		}
		p.l.Page, p.q.Offset = c.page, 0
	}
	err = e.snapshot(store.LongRunning(ctx), func(s store.Snapshot) error {
		return e.look(ctx, s, caller, network, l.Projection, func(v *view) error {
			run := *p // as this may run again
			page = Page{}
			run.v = v
			if v.seen(t) != t {
				return ErrOvertaken
			}
			visibleBy := v.visible
			if l.Withheld {
				visibleBy = v.visibleOtherwise
			}
			visible, err := visibleBy(ctx, s, t, network)
			if err != nil {
				return err
			}
			run.q.Where = query.Both(l.Where, visible)
			if page, err = run.render(ctx, s); err == nil && l.Followed {
				page.Doubt, err = v.hides(ctx, s, t, l.Where)
			}
			return err
		})
	})
	return page, store.Translate(err)
}

// ErrOvertaken is the error of a list whose conditions were parsed for a type that a reload has
// replaced, and must be parsed again: the caller may no longer see what they are on, and stored
// values may be encrypted since, or renamed, so that the conditions would not find them.
var ErrOvertaken = errors.New("engine: the schemas have been replaced since")

// list is one run of List.
type list struct {
	PageWriter
	t    *schema.Type
	l    Listing
	v    *view
	mark string
	// q finds the records that remain to be shown.
	q query.Query
}

func (p *list) render(ctx context.Context, s store.Snapshot) (Page, error) {
	if err := p.head(ctx, s); err != nil {
		return Page{}, err
	}
	more, err := fill(&p.PageWriter, p.l.PageSize, source[*store.Record]{
		find: func(limit int, yield func(*store.Record) error) error {
			p.q.Limit = limit
			return s.Find(ctx, p.q, yield)
		},
		size: func(r *store.Record) int { return len(r.Document) + len(r.Warnings) },
		keep: (*store.Record).Clone,
		show: func(records []*store.Record) error { return p.show(ctx, s, records) },
	})
	next := ""
	if more {
		next = makeCursor(p.mark, p.q.After, p.l.Page+1)
	}
	return p.finish(next), err
}

func (p *list) head(ctx context.Context, s store.Snapshot) error {
	head := []byte{'{'}
	if p.t.Paged || p.l.Named {
		head = fmt.Appendf(head, `"page":%d,"pageSize":%d,`, p.l.Page, p.l.PageSize)
	}
	if p.l.Count {
		n, err := s.Count(ctx, p.q)
		if err != nil {
			return err
		}
		head = fmt.Appendf(head, `"totalCount":%d,`, n)
	}
	p.Begin(append(head, `"results":[`...))
	return nil
}

// show adds records to the page. Those that no longer fit are found by q again.
func (p *list) show(ctx context.Context, s store.Snapshot, records []*store.Record) error {
	var last *store.Record
	err := p.v.complete(ctx, s, p.t, records, func(stored, shown *store.Record) error {
		err := p.Add(func(dst []byte) ([]byte, error) { return p.v.append(dst, p.t, shown) })
		if err != nil {
			return err
		}
		if p.truncated {
			return errFull
		}
		last = stored
		return nil
	})
	if last != nil {
		p.q.After, p.q.Offset = store.PositionOf(p.l.Order.Field, last), 0
	}
	if errors.Is(err, errFull) {
		return nil
	}
	return err
}
