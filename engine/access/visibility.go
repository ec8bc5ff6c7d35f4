package access

import (
	"context"
	"slices"

	"marquee/engine/document"
	"marquee/engine/query"
	"marquee/engine/store"
)

// GetVisible yields the objects with the given ids that exist and are visible.
func GetVisible(ctx context.Context, s store.Snapshot, where store.Place, ids []string, visible query.Expr, yield func(*store.Record) error) error {
	ids, open := DecideByID(ids, visible)
	if len(open) > 0 {
		if err := FindVisible(ctx, s, where, open, visible, yield); err != nil {
			return err
		}
	}
	return s.Get(ctx, where.Collection, store.KeysIn(where.Network, ids), yield)
}

// FindVisible yields the objects with the given ids that meet a condition which only
// the store can decide.
func FindVisible(ctx context.Context, s store.Snapshot, where store.Place, ids []string, visible query.Expr, yield func(*store.Record) error) error {
	for len(ids) > 0 {
		n := min(len(ids), 500)
		err := s.Find(ctx, query.Query{Collection: where.Collection, Network: where.Network,
			Where: query.And{query.In{Field: idField, Values: document.Array(ids[:n])}, visible}, Order: query.Order{Field: idField}, Limit: n}, yield)
		if err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

// DecideByID splits ids into those that meet a condition whatever the object holds,
// and those that the store must decide; the rest do not meet it.
func DecideByID(ids []string, condition query.Expr) (meet, open []string) {
	if query.IsAll(condition) {
		return ids, nil
	}
	for _, id := range ids {
		switch byID(condition, id) {
		case yes:
			meet = append(meet, id)
		case unknown:
			open = append(open, id)
		}
	}
	return meet, open
}

type verdict int

const (
	no verdict = iota
	unknown
	yes
)

// byID evaluates a condition for an object of which only the id is known.
func byID(condition query.Expr, id string) verdict {
	switch e := condition.(type) {
	case query.And:
		all := yes
		for _, part := range e {
			all = min(all, byID(part, id))
		}
		return all
	case query.Or:
		any := no
		for _, part := range e {
			any = max(any, byID(part, id))
		}
		return any
	case query.Compare:
		if e.Field.System == query.ID && e.Op == query.Equal {
			return verdictOf(e.Value == id)
		}
	case query.In:
		if e.Field.System == query.ID {
			return verdictOf(slices.Contains(e.Values, any(id)))
		}
	}
	return unknown
}

func verdictOf(meets bool) verdict {
	if meets {
		return yes
	}
	return no
}

var idField = query.Field{System: query.ID, Kind: query.String}
