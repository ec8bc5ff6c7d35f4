package engine

import (
	"slices"
	"strings"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// checkRules holds a change against the rules that the vocabulary knows.
func (c *Change) checkRules() {
	if c.Before != nil {
		c.checkFrozen()
		for name, member := range c.Type.Shape.Properties {
			c.checkMember(name, member)
		}
	}
	for _, rule := range c.Type.Compare {
		c.checkCompare(rule)
	}
}

func (c *Change) checkFrozen() {
	frozen, is := c.Type.Frozen, false
	if frozen != nil {
		inState(c.Before, c.StateBefore, func() { is = frozen.Matches(c.Before) })
	}
	if !is {
		return
	}
	changes := document.Diff(c.Before, c.After)
	if c.State != c.StateBefore {
		changes = append(changes, document.FieldChange{Field: "objectState"})
	}
	for _, change := range changes {
		if !slices.Contains(frozen.Except, change.Field) {
			c.faults = append(c.faults, c.Fault(frozen.Fault, "/"+change.Field, nil))
		}
	}
}

func (c *Change) checkMember(name string, member *document.Shape) {
	if !member.Immutable && member.Transitions == nil {
		return
	}
	from, was := c.Before[name]
	to, set := c.After[name]
	if !was || document.Equal(from, to) {
		return
	}
	if member.Immutable {
		c.faults = append(c.faults, c.Fault(message.PropertyImmutable, "/"+name, nil))
		return
	}
	before, _ := from.(string)
	after, _ := to.(string)
	if !slices.Contains(member.Transitions[before], after) {
		if !set {
			to = "null"
		}
		c.faults = append(c.faults, c.Fault(message.TransitionForbidden, "/"+name, message.Params{"from": from, "to": to}))
	}
}

func (c *Change) checkCompare(rule schema.Compare) {
	if holds, known := rule.Holds(c.After); holds || !known {
		return
	}
	relation := "less than"
	if rule.Op == "<=" {
		relation = "at most"
	}
	c.faults = append(c.faults, c.Fault(rule.Fault, "/"+rule.Left[0], message.Params{"relation": relation, "other": "/" + rule.Right[0]}))
}

// claimDiff is how the unique values of a change differ from the stored ones.
type claimDiff struct{ add, drop []store.Claim }

// checkUnique finds values that another object has, in the store or in the
// batch, and returns the claims to be written.
func (w *Writing) checkUnique() (map[*Change]claimDiff, error) {
	diffs := map[*Change]claimDiff{}
	owners := map[store.Claim]*Change{}
	dropped := map[store.Claim]bool{}
	var wanted []store.Claim
	for _, c := range w.round {
		if len(c.Type.Unique)+len(c.pending.unique) == 0 || c.ID == "" {
			continue
		}
		before, after := c.claims(c.Before), c.claims(c.After)
		var diff claimDiff
		for property, claim := range after {
			if before[property] == claim {
				continue
			}
			diff.add = append(diff.add, claim)
			if owners[claim] != nil {
				w.faults.Add(c.Fault(message.ValueNotUnique, pointerOf(property), nil))
				continue
			}
			owners[claim] = c
			wanted = append(wanted, claim)
		}
		for property, claim := range before {
			if after[property] != claim {
				diff.drop = append(diff.drop, claim)
				dropped[claim] = true
			}
		}
		diffs[c] = diff
	}
	if len(wanted) == 0 {
		return diffs, nil
	}
	taken, err := w.tx.Claims(w.ctx, wanted)
	if err != nil {
		return nil, err
	}
	for _, claim := range wanted {
		if owner, ok := taken[claim]; ok && owner != owners[claim].ID && !dropped[claim] {
			w.faults.Add(owners[claim].Fault(message.ValueNotUnique, pointerOf(claim.Property), nil))
		}
	}
	return diffs, nil
}

func pointerOf(path string) string { return "/" + strings.ReplaceAll(path, ".", "/") }

// claims are those of the type, and those that a registry holds which is about
// to be served.
func (c *Change) claims(object map[string]any) map[string]store.Claim {
	claims := claimsOf(c.Type, c.Network, object)
	for _, property := range c.pending.unique {
		if claim, set := claimsOf(c.pending.t, c.Network, object)[property]; set {
			claims[property] = claim
		}
	}
	return claims
}

func claimsOf(t *schema.Type, network string, object map[string]any) map[string]store.Claim {
	claims := map[string]store.Claim{}
	for _, property := range t.Unique {
		var value any = object
		for _, name := range strings.Split(property, ".") {
			members, _ := value.(map[string]any)
			value = members[name]
		}
		if value != nil {
			claims[property] = store.Claim{Collection: t.Name, Network: network, Property: property, Value: string(document.Append(nil, value))}
		}
	}
	return claims
}

// termsOf lists the terms of a document: the values of its multi-valued
// indexed properties, and its words.
func termsOf(t *schema.Type, object map[string]any) map[store.Term]struct{} {
	terms := map[store.Term]struct{}{}
	if object == nil {
		return terms
	}
	for _, field := range t.TermFields() {
		eachValue(object, field.Path, func(value string) { terms[store.Term{Key: field.Term, Value: value}] = struct{}{} })
	}
	for _, path := range t.SearchPaths() {
		eachValue(object, path, func(value string) {
			for _, word := range query.Words(value) {
				terms[store.Term{Key: query.SearchKey, Value: word}] = struct{}{}
			}
		})
	}
	return terms
}

func eachValue(value any, path []query.Step, found func(string)) {
	if items, ok := value.([]any); ok {
		for _, item := range items {
			eachValue(item, path, found)
		}
		return
	}
	if len(path) == 0 {
		if s, ok := value.(string); ok {
			found(s)
		}
		return
	}
	if members, ok := value.(map[string]any); ok {
		eachValue(members[path[0].Name], path[1:], found)
	}
}

func diffTerms(after, before map[store.Term]struct{}) (add, drop []store.Term) {
	for term := range after {
		if _, kept := before[term]; !kept {
			add = append(add, term)
		}
	}
	for term := range before {
		if _, kept := after[term]; !kept {
			drop = append(drop, term)
		}
	}
	return add, drop
}
