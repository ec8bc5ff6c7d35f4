package storetest

import (
	"bytes"
	"cmp"
	"math/big"
	"slices"
	"strings"

	"marquee/engine/document"
	"marquee/engine/query"
	"marquee/engine/store"
)

// model defines the conditions of package query as plainly as possible; the
// results of stores are compared with it.
type model struct {
	record *store.Record
	object map[string]any
	// terms are those of the record; unknown for a record that a store
	// returned.
	terms []store.Term
}

func newModel(r *store.Record, terms []store.Term) (*model, error) {
	object, err := document.DecodeObject(r.Document, document.Limits{Depth: 1000})
	return &model{record: r, object: object, terms: terms}, err
}

// values returns the values of a field that are present.
func (m *model) values(f query.Field) []any {
	r := m.record
	switch f.System {
	case query.ID:
		return []any{r.ID}
	case query.Network:
		return []any{r.Network}
	case query.State:
		return []any{r.State}
	case query.CreateTime:
		return []any{document.FormatTime(r.CreateTime)}
	case query.UpdateTime:
		return []any{document.FormatTime(r.UpdateTime)}
	case query.CreateUser:
		return []any{r.CreateUser}
	case query.UpdateUser:
		return []any{r.UpdateUser}
	case query.Warnings:
		if len(r.Warnings) == 0 {
			return nil
		}
		return []any{string(r.Warnings)}
	}
	values := []any{m.object}
	for _, step := range f.Path {
		var members []any
		for _, value := range values {
			object, ok := value.(map[string]any)
			if !ok {
				continue
			}
			if items, ok := object[step.Name].([]any); ok && step.Array {
				members = append(members, items...)
			} else {
				members = append(members, object[step.Name])
			}
		}
		values = members
	}
	return slices.DeleteFunc(values, func(value any) bool { return value == nil })
}

// matches reports whether the record meets a condition.
func (m *model) matches(e query.Expr) bool {
	switch e := e.(type) {
	case nil:
		return true
	case query.And:
		return !slices.ContainsFunc(e, func(e query.Expr) bool { return !m.matches(e) })
	case query.Or:
		return slices.ContainsFunc(e, m.matches)
	case query.Not:
		return !m.matches(e.Of)
	case query.Compare:
		if e.Op == query.NotEqual {
			return !m.any(e.Field, e.Value, query.Equal)
		}
		return m.any(e.Field, e.Value, e.Op)
	case query.In:
		return slices.ContainsFunc(e.Values, func(value any) bool { return m.any(e.Field, value, query.Equal) })
	case query.Null:
		return len(m.values(e.Field)) == 0
	case query.Contains:
		return slices.ContainsFunc(m.values(e.Field), func(value any) bool {
			s, ok := value.(string)
			return ok && strings.Contains(strings.ToLower(s), strings.ToLower(e.Text))
		})
	case query.Term:
		return slices.ContainsFunc(m.terms, func(t store.Term) bool {
			return t.Key == e.Key && (t.Value == e.Value || e.Prefix && strings.HasPrefix(t.Value, e.Value))
		})
	}
	panic("storetest: unknown condition")
}

func (m *model) any(f query.Field, value any, op query.Operator) bool {
	return slices.ContainsFunc(m.values(f), func(have any) bool {
		order, comparable := compare(have, value)
		if !comparable {
			return false
		}
		switch op {
		case query.Less:
			return order < 0
		case query.LessOrEqual:
			return order <= 0
		case query.Greater:
			return order > 0
		case query.GreaterOrEqual:
			return order >= 0
		}
		return order == 0
	})
}

// compare orders two values of one kind: strings by bytes, numbers by value,
// whatever their type.
func compare(a, b any) (order int, comparable bool) {
	switch x := a.(type) {
	case string:
		y, ok := b.(string)
		return bytes.Compare([]byte(x), []byte(y)), ok
	case bool:
		y, ok := b.(bool)
		return cmp.Compare(rank(x), rank(y)), ok
	}
	x, y := exact(a), exact(b)
	if x == nil || y == nil {
		return 0, false
	}
	return x.Cmp(y), true
}

func rank(b bool) int {
	if b {
		return 1
	}
	return 0
}

func exact(value any) *big.Rat {
	switch v := value.(type) {
	case int64:
		return new(big.Rat).SetInt64(v)
	case float64:
		return new(big.Rat).SetFloat64(v)
	}
	return nil
}

// position returns the place of the record in an order.
func (m *model) position(f query.Field) query.Position {
	p := query.Position{ID: m.record.ID}
	if values := m.values(f); len(values) > 0 && f.System != query.ID {
		p.Key = values[0]
	}
	return p
}

// precedes compares two places in an order. Absent values come first, and ids
// break ties in the same direction.
func precedes(a, b query.Position, descending bool) int {
	order := cmp.Or(rank(a.Key != nil)-rank(b.Key != nil), strings.Compare(a.ID, b.ID))
	if a.Key != nil && b.Key != nil {
		if byKey, _ := compare(a.Key, b.Key); byKey != 0 {
			order = byKey
		}
	}
	if descending {
		return -order
	}
	return order
}
