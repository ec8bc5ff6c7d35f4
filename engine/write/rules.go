package write

import (
	"context"
	"maps"
	"slices"
	"strings"

	"marquee/engine/catalog"
	"marquee/engine/message"
	"marquee/engine/schema/keyword"
	"marquee/engine/store"
)

// checkRules checks the rules of the schema vocabulary. The error is that of the
// context.
func (c *Change) checkRules(ctx context.Context) error {
	change := &keyword.Change{Before: c.Before, After: c.After, StateBefore: c.StateBefore, State: c.State, Parent: c.Type.Parent, System: c.Caller.System}
	for _, fault := range c.faults {
		if d := fault.Definition(); d == message.ValueType || d == message.ValueFormat {
			field, _ := fault.Param("field").(string)
			change.Unreadable = append(change.Unreadable, field)
		}
	}
	faults, err := c.Type.Check(ctx, change)
	for _, fault := range faults {
		c.refuse(fault)
	}
	return err
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
