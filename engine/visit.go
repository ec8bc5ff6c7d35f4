package engine

import (
	"context"
	"slices"

	"marquee/engine/query"
	"marquee/engine/store"
)

// visit yields those of the objects that exist and meet the condition of
// visibility.
func visit(ctx context.Context, s store.Snapshot, where place, ids []string, visible query.Expr, yield func(*store.Record) error) error {
	ids, open := decide(ids, visible)
	if len(open) > 0 {
		if err := visitVisible(ctx, s, where, open, visible, yield); err != nil {
			return err
		}
	}
	return s.Get(ctx, where.collection, keysIn(where.network, ids), yield)
}

// visitVisible asks the store for those of the objects that meet a condition.
func visitVisible(ctx context.Context, s store.Snapshot, where place, ids []string, visible query.Expr, yield func(*store.Record) error) error {
	for len(ids) > 0 {
		n := min(len(ids), 500)
		err := s.Find(ctx, query.Query{Collection: where.collection, Network: where.network,
			Where: query.And{idsIn(ids[:n]), visible}, Order: query.Order{Field: idField}, Limit: n}, yield)
		if err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

func keysIn(network string, ids []string) []store.Key {
	keys := make([]store.Key, len(ids))
	for i, id := range ids {
		keys[i] = store.Key{Network: network, ID: id}
	}
	return keys
}

// decide splits ids into those that meet a condition whatever the object is,
// and those for which the store must be asked; the others do not meet it.
func decide(ids []string, condition query.Expr) (meet, open []string) {
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

// byID tells what the id alone says about a condition.
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

func idsIn(ids []string) query.In {
	in := query.In{Field: idField, Values: make([]any, len(ids))}
	for i, id := range ids {
		in.Values[i] = id
	}
	return in
}
