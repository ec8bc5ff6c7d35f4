package write

import (
	"context"
	"maps"
	"slices"
	"strings"

	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/schema/keyword"
	"marquee/engine/store"
)

// checkRules checks the rules of the schema vocabulary. The error is that of the
// context.
func (c *Change) checkRules(ctx context.Context) error {
	unreadable := c.unreadable()
	if c.Before != nil {
		if err := c.checkFrozen(ctx); err != nil {
			return err
		}
	}
	for _, fault := range c.Type.Check(&keyword.Change{Before: c.Before, After: c.After, Parent: c.Type.Parent}) {
		c.refuse(fault)
	}
	for _, rule := range c.Type.Compare {
		if !slices.ContainsFunc(slices.Concat(rule.Left, rule.Right), func(name string) bool { return slices.Contains(unreadable, any("/"+name)) }) {
			c.checkCompare(rule)
		}
	}
	return nil
}

// unreadable returns the places of values that cannot be compared, because they are
// not of the type or in the format of their property.
func (c *Change) unreadable() (places []any) {
	for _, fault := range c.faults {
		if d := fault.Definition(); d == message.ValueType || d == message.ValueFormat {
			places = append(places, fault.Params()["field"])
		}
	}
	return places
}

func (c *Change) checkFrozen(ctx context.Context) (err error) {
	frozen, is := c.Type.Frozen, false
	if frozen != nil {
		inState(c.Before, c.StateBefore, func() { is, err = frozen.Matches(ctx, c.Before) })
	}
	if !is {
		return err
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
	return nil
}

// relations are the texts of comparison operators in messages.
var relations = map[string]string{"<": "less than", "<=": "at most", ">": "greater than", ">=": "at least"}

func (c *Change) checkCompare(rule schema.Compare) {
	if holds, known := rule.Holds(c.After); holds || !known {
		return
	}
	c.faults = append(c.faults, c.Fault(rule.Fault, "/"+rule.Left[0], message.Params{"relation": relations[rule.Op], "other": "/" + rule.Right[0]}))
}

// claimDiff is the change of an object's claims.
type claimDiff struct{ add, drop []store.Claim }

// checkUnique reports values that another object of the store or the batch has, and
// returns the claims to write.
func (w *Writing) checkUnique() (map[*Change]claimDiff, error) {
	u := uniqueness{diffs: map[*Change]claimDiff{}, owners: map[store.Claim]*Change{}, dropped: map[store.Claim]bool{}}
	for _, c := range w.round {
		if unique := c.index.Claimed(); len(unique) > 0 && c.ID != "" {
			u.compare(w, c, catalog.ClaimsOf(c.Type, unique, c.Network, c.Before), catalog.ClaimsOf(c.Type, unique, c.Network, c.findable()))
		}
	}
	if len(u.wanted)+len(u.kept) == 0 {
		return u.diffs, nil
	}
	taken, err := w.tx.Claims(w.ctx, slices.Concat(u.wanted, slices.Collect(maps.Keys(u.kept))))
	if err != nil {
		return nil, err
	}
	for _, claim := range u.wanted {
		if owner, ok := taken[claim]; ok && owner != u.owners[claim].ID && !u.dropped[claim] {
			w.faults.Add(u.owners[claim].Fault(message.ValueNotUnique, pointerOf(claim.Property), nil))
		}
	}
	for claim, c := range u.kept {
		if _, ok := taken[claim]; !ok && u.owners[claim] == nil {
			u.add(c, claim)
		}
	}
	return u.diffs, nil
}

// uniqueness is the effect of a round on claims.
type uniqueness struct {
	diffs map[*Change]claimDiff
	// owners are the changes that add the claims in wanted.
	owners map[store.Claim]*Change
	wanted []store.Claim
	// kept are existing values of properties that are about to be unique. If several
	// objects share one, the new schema is refused and not this write.
	kept    map[store.Claim]*Change
	dropped map[store.Claim]bool
}

func (u *uniqueness) add(c *Change, claim store.Claim) {
	diff := u.diffs[c]
	diff.add = append(diff.add, claim)
	u.diffs[c] = diff
}

// compare adds the claims of a change.
func (u *uniqueness) compare(w *Writing, c *Change, before, after map[string]store.Claim) {
	for property, claim := range after {
		switch {
		case before[property] != claim && u.owners[claim] != nil:
			w.faults.Add(c.Fault(message.ValueNotUnique, pointerOf(property), nil))
		case before[property] != claim:
			u.owners[claim] = c
			u.wanted = append(u.wanted, claim)
			u.add(c, claim)
		case c.index.Fills(property):
			if u.kept == nil {
				u.kept = map[store.Claim]*Change{}
			}
			u.kept[claim] = c
		}
	}
	for property, claim := range before {
		if after[property] != claim {
			diff := u.diffs[c]
			diff.drop = append(diff.drop, claim)
			u.diffs[c] = diff
			u.dropped[claim] = true
		}
	}
}

func pointerOf(path string) string { return "/" + strings.ReplaceAll(path, ".", "/") }
