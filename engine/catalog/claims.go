package catalog

import (
	"context"
	"slices"
	"strings"

	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/schema/keyword"
	"marquee/engine/store"
)

// Claimed returns the unique keys that writes maintain.
func (n *Indexing) Claimed() []string {
	unique := n.Unique
	if !n.Filling.Empty() {
		unique = slices.Concat(n.Unique, n.Filling.Unique)
	}
	if len(n.Declared) > 0 {
		unique = Filter(unique, func(key string) bool { return !n.ReadsSealed(key) })
	}
	return unique
}

// ReadsSealed reports whether a unique key depends on a value that is or contains a secret
// by any server's schema.
func (n *Indexing) ReadsSealed(key string) bool {
	reads := n.Reads(key)
	for place, form := range n.Declared {
		dotted := dottedPlace(place)
		if form == SealedForm && slices.ContainsFunc(reads, func(path string) bool { return strings.HasPrefix(dotted, path+".") }) {
			return true
		}
	}
	return slices.ContainsFunc(reads, n.Seals)
}

// Reads returns the paths of the values that the claims under a unique key depend on.
func (n *Indexing) Reads(key string) []string {
	if rule := n.Rules[key]; rule != nil {
		return rule.Reads()
	}
	property, _, _ := strings.Cut(key, ":") // which a form follows
	return []string{property}
}

// Claims returns the claims of an object in a state under unique keys, by key, without
// those of forms. The error is that of the context.
func (n *Indexing) Claims(ctx context.Context, keys []string, of store.Place, object map[string]any, state string) (map[string]store.Claim, error) {
	claims := map[string]store.Claim{}
	if object == nil {
		return claims, nil
	}
	for _, key := range keys {
		claim := store.Claim{Collection: of.Collection, Network: of.Network, Property: key}
		if rule := n.Rules[key]; rule != nil {
			value, claimed, err := rule.Value(ctx, object, state)
			if err != nil {
				return nil, err
			}
			if claim.Value = value; claimed {
				claims[key] = claim
			}
		} else if value := document.ValueAt(object, key); value != nil {
			claim.Value = string(document.Append(nil, value))
			claims[key] = claim
		}
	}
	return claims, nil
}

// Exclusive reports whether the claims under a unique key are those of intervals.
func (n *Indexing) Exclusive(key string) bool {
	rule := n.Rules[key]
	return rule != nil && rule.Exclusive()
}

// Clash reports whether two objects cannot both have the claims.
func (n *Indexing) Clash(a, b store.Claim) bool {
	return a == b || a.Property == b.Property && n.Exclusive(a.Property) && keyword.IntervalOf(a.Value).Meets(keyword.IntervalOf(b.Value))
}

// compileRules compiles the conditions of rules that were stored.
func (n *Indexing) compileRules() (err error) {
	for _, rules := range []map[string]*keyword.ClaimRule{n.Rules, n.Public} {
		for _, rule := range rules {
			if len(rule.When) > 0 && rule.Meets == nil {
				if rule.Meets, err = schema.CompileCondition(rule.When); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Describe describes a unique key of a type in messages to the author of its schema.
func (n *Indexing) Describe(t *schema.Type, key string) string {
	name := func(path string) string { return document.RenamedPath(path, t.ServedName) }
	if rule := n.Rules[key]; rule != nil {
		return rule.Describe(name)
	}
	property, form, is := strings.Cut(key, ":")
	if property = name(property); is {
		return property + ":" + form
	}
	return property
}
