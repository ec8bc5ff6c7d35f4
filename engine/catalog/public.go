package catalog

import (
	"context"
	"slices"

	"marquee/engine/schema"
	"marquee/engine/store"
)

// PublicTerms returns the terms of an object in a state by which anybody finds it, one for
// each key whose condition it meets. An object that is HIDDEN has none, and neither has one
// whose condition reads what is a secret by any server's schema. The error is that of the
// context.
func (n *Indexing) PublicTerms(ctx context.Context, object map[string]any, state string) ([]store.Term, error) {
	return n.publicTerms(ctx, object, state, n.Seals)
}

func (n *Indexing) publicTerms(ctx context.Context, object map[string]any, state string, seals func(path string) bool) (terms []store.Term, err error) {
	if object == nil || state == "HIDDEN" {
		return nil, nil
	}
	for key, rule := range n.Public {
		if !n.maintains(key) || slices.ContainsFunc(rule.Reads(), seals) {
			continue
		}
		if is, err := rule.Meets(ctx, object, state); err != nil {
			return nil, err
		} else if is {
			terms = append(terms, store.Term{Key: key, Value: schema.PublicValue})
		}
	}
	return terms, nil
}

// DiffPublic returns the terms of PublicTerms that a write adds and drops. As DiffTerms
// does, it adds unchanged terms where the object may lack them. Before is nil for a new
// object. The error is that of the context.
func (n *Indexing) DiffPublic(ctx context.Context, after map[string]any, state string, before map[string]any, stateBefore string) (add, drop []store.Term, err error) {
	if len(n.Public) == 0 {
		return nil, nil, nil
	}
	now, err := n.PublicTerms(ctx, after, state)
	if err != nil {
		return nil, nil, err
	}
	// The object may have terms from before what they depend on became a secret.
	was, err := n.publicTerms(ctx, before, stateBefore, func(string) bool { return false })
	if err != nil {
		return nil, nil, err
	}
	for _, term := range now {
		if n.FillsTerms(term.Key) || !slices.Contains(was, term) {
			add = append(add, term)
		}
	}
	return add, slices.DeleteFunc(was, func(term store.Term) bool { return slices.Contains(now, term) }), nil
}

// WrongPublic returns the terms by which anybody finds an object and which it should not
// have. Held are all of its ordered terms.
func (n *Indexing) WrongPublic(ctx context.Context, held []store.Term, object map[string]any, state string) ([]store.Term, error) {
	if len(n.Public) == 0 {
		return nil, nil
	}
	wanted, err := n.PublicTerms(ctx, object, state)
	return slices.DeleteFunc(slices.Clone(held), func(term store.Term) bool {
		return n.Public[term.Key] == nil || slices.Contains(wanted, term)
	}), err
}
