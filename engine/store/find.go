package store

import (
	"context"

	"marquee/engine/document"
	"marquee/engine/query"
)

// OldestFirst is the order of the indexes of references: the objects that refer to
// one are read in this order without sorting.
var OldestFirst = query.Order{Field: query.Field{System: query.CreateTime, Kind: query.Time}}

// FindPage is the number of records that a query of FindAll reads.
const FindPage = 1000

// FindAll yields up to limit records that a query matches, in as many queries as it
// takes. Limit 0 is no limit.
func FindAll(ctx context.Context, s Snapshot, q query.Query, limit int, yield func(r *Record) error) error {
	for found := 0; limit == 0 || found < limit; {
		q.Limit = FindPage
		if limit > 0 {
			q.Limit = min(FindPage, limit-found)
		}
		n := 0
		err := s.Find(ctx, q, func(r *Record) error {
			n++
			q.After = PositionOf(q.Order.Field, r)
			return yield(r)
		})
		if found += n; err != nil || n < q.Limit {
			return err
		}
	}
	return nil
}

// PositionOf returns the position of a record in an order.
func PositionOf(field query.Field, r *Record) *query.Position {
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

// valueAt returns the value at a path of a stored document, nil where there is none.
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

// Found is an object that was looked up: as it is stored, or as the transaction
// will store it.
type Found struct {
	// Object is the document and must not be changed. The secrets of stored
	// objects are encrypted.
	Object map[string]any
	State  string
}
