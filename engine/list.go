package engine

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Listing is what a list asks for.
type Listing struct {
	query.List
	Projection Projection
}

// Fields are the fields of a type that its lists can ask for.
func (e *Engine) Fields(t *schema.Type) query.Fields { return fields{t, e.Hooks[t.Name].Hidden} }

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

// maxPieceBytes is how much of a page is kept in memory at once.
const maxPieceBytes = 8 << 20

// List writes a page of a type to emit, in one piece or, where the page is
// very large, in several. An error before the first piece is an error of the
// request; one behind it ends the page early. No snapshot is held while a
// piece is emitted, so that a slow client keeps nobody waiting; each further
// piece begins behind the last object of the one before.
func (e *Engine) List(ctx context.Context, caller *Caller, t *schema.Type, network string, l Listing, emit func([]byte) error) error {
	visible := e.Access.Visible(caller, t, network)
	p := &page{t: t, l: l, v: e.newView(caller, network, l.Projection), mark: listMark(t, network, &l),
		q: query.Query{Collection: t.Name, Network: home(t, network), Order: l.Order,
			Where: conjunction(l.Where, visible), Offset: l.Page * l.PageSize}}
	if l.Cursor != "" {
		number, err := parseCursor(l.Cursor, p.mark, &p.q)
		if err != nil {
			return err
		}
		p.l.Page = number
	}
	for !p.ended {
		var next page
		if err := e.Store.Read(ctx, func(s store.Snapshot) error {
			next = *p // as the store may run this again
			return next.piece(ctx, s)
		}); err != nil {
			return Translate(err)
		}
		*p = next
		if err := emit(p.out); err != nil {
			return err
		}
	}
	return nil
}

func conjunction(where, visible query.Expr) query.Expr {
	switch {
	case where == nil, never(visible):
		return visible
	case always(visible):
		return where
	}
	return query.And{where, visible}
}

// page writes one page, in pieces.
type page struct {
	t    *schema.Type
	l    Listing
	v    *view
	mark string
	// q finds what is still to be written.
	q query.Query

	out                []byte
	records            []*store.Record
	written            int
	begun, more, ended bool
}

// piece writes the next piece into out.
func (p *page) piece(ctx context.Context, s store.Snapshot) error {
	p.out = p.out[:0]
	if !p.begun {
		if err := p.head(ctx, s); err != nil {
			return err
		}
		p.begun = true
	}
	last, cut, err := p.find(ctx, s)
	if err != nil {
		return err
	}
	if err := p.flush(ctx, s); err != nil {
		return err
	}
	if cut {
		p.q.After, p.q.Offset = positionOf(p.l.Order.Field, last), 0
		return nil
	}
	p.ended = true
	p.out = append(p.out, ']')
	if p.more {
		p.out = append(p.out, `,"nextCursor":`...)
		p.out = document.AppendString(p.out, makeCursor(p.mark, positionOf(p.l.Order.Field, last), p.l.Page+1))
	}
	p.out = append(p.out, '}')
	return nil
}

func (p *page) head(ctx context.Context, s store.Snapshot) error {
	p.out = append(p.out, '{')
	if p.t.Paged {
		p.out = append(p.out, `"page":`+strconv.Itoa(p.l.Page)+`,"pageSize":`+strconv.Itoa(p.l.PageSize)+`,`...)
	}
	if p.l.Count {
		n, err := s.Count(ctx, p.q)
		if err != nil {
			return err
		}
		p.out = append(p.out, `"totalCount":`+strconv.FormatInt(n, 10)+`,`...)
	}
	p.out = append(p.out, `"results":[`...)
	return nil
}

// errFull ends a Find.
var errFull = errors.New("engine: the piece is full")

// find reads the records of a piece. It looks for one more than the page
// takes, to know whether there is a next page; cut says that the page goes on
// in another piece.
func (p *page) find(ctx context.Context, s store.Snapshot) (last *store.Record, cut bool, err error) {
	size, left := 0, p.l.PageSize-p.written
	p.q.Limit = left + 1
	err = s.Find(ctx, p.q, func(r *store.Record) error {
		if len(p.records) == left {
			p.more = true
			return errFull
		}
		if size += len(r.Document); size > maxPieceBytes && last != nil {
			cut = true
			return errFull
		}
		last = keep(r)
		p.records = append(p.records, last)
		return nil
	})
	if errors.Is(err, errFull) {
		err = nil
	}
	return last, cut, err
}

// flush renders the records that have been read.
func (p *page) flush(ctx context.Context, s store.Snapshot) error {
	if err := p.v.complete(ctx, s, p.t, p.records); err != nil {
		return err
	}
	for _, r := range p.records {
		if p.written++; p.written > 1 {
			p.out = append(p.out, ',')
		}
		var err error
		if p.out, err = p.v.append(p.out, p.t, r); err != nil {
			return err
		}
	}
	p.records = p.records[:0]
	return nil
}

// positionOf is where a record stands in an order.
func positionOf(field query.Field, r *store.Record) *query.Position {
	position := &query.Position{ID: r.ID}
	switch field.System {
	case query.NotSystem:
		position.Key = valueAt(r.Document, field.Path)
	case query.CreateTime:
		position.Key = document.FormatTime(r.CreateTime)
	case query.UpdateTime:
		position.Key = document.FormatTime(r.UpdateTime)
	case query.CreateUser:
		position.Key = r.CreateUser
	case query.UpdateUser:
		position.Key = r.UpdateUser
	case query.State:
		position.Key = r.State
	case query.Network:
		position.Key = r.Network
	}
	return position
}

// valueAt reads the value at a path of a stored document.
func valueAt(doc []byte, path []query.Step) any {
	start := 0
	for _, step := range path {
		var ok bool
		if start, _, ok = document.Member(doc, start, step.Name); !ok {
			return nil
		}
	}
	value, err := document.Decode(doc[start:document.Skip(doc, start)], document.Limits{})
	if err != nil {
		return nil
	}
	return value
}

// listMark ties a cursor to its list.
func listMark(t *schema.Type, network string, l *Listing) string {
	digest := sha256.Sum256([]byte(t.Name + "\x00" + network + "\x00" + l.Mark))
	return hex.EncodeToString(digest[:8])
}

// makeCursor is what nextCursor holds: the query that it belongs to, and where
// the page before it ended.
func makeCursor(mark string, at *query.Position, page int) string {
	text := document.Append(nil, map[string]any{"q": mark, "k": at.Key, "i": at.ID, "p": int64(page)})
	return base64.RawURLEncoding.EncodeToString(text)
}

func parseCursor(text, mark string, q *query.Query) (page int, err error) {
	invalid := message.CursorInvalid.Error(message.Params{"parameter": "cursor"})
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(decoded) > 1<<16 {
		return 0, invalid
	}
	members, err := document.DecodeObject(decoded, document.Limits{Depth: 2})
	if err != nil || members["q"] != mark {
		return 0, invalid
	}
	id, ok := members["i"].(string)
	number, numbered := members["p"].(int64)
	if !ok || !numbered || number < 0 || number > query.MaxPage {
		return 0, invalid
	}
	switch key := members["k"].(type) {
	case []any, map[string]any:
		return 0, invalid
	default:
		q.After = &query.Position{Key: key, ID: id}
	}
	q.Offset = 0
	return int(number), nil
}
