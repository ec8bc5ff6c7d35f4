package write

import (
	"maps"
	"slices"
	"strings"

	"marquee/engine/message"
	"marquee/engine/store"
)

// uniqueness is the effect of a round on claims.
type uniqueness struct {
	w *Writing
	// owners are the changes that add the claims in wanted.
	owners map[store.Claim]*Change
	wanted []store.Claim
	// kept are existing values under keys that are about to be unique. If several
	// objects share one, the new schema is refused and not this write.
	kept    map[store.Claim]*Change
	dropped map[droppedClaim]bool
	// intervals are the claims of exclusive rules that the round adds, or would add.
	intervals []intervalClaim
}

// droppedClaim is a claim that its owner drops.
type droppedClaim struct {
	claim store.Claim
	owner string
}

func newUniqueness(w *Writing) *uniqueness {
	return &uniqueness{w: w, owners: map[store.Claim]*Change{}, dropped: map[droppedClaim]bool{}}
}

// checkUnique reports values that another object of the store or the batch has, and
// determines the claims to write.
func (u *uniqueness) checkUnique() error {
	w := u.w
	for _, c := range w.round {
		if unique := c.index.Claimed(); len(unique) > 0 && c.ID != "" {
			of := store.Place{Collection: c.Type.Name, Network: c.Network}
			before, err := c.index.Claims(w.ctx, unique, of, c.asStored, c.StateBefore)
			if err != nil {
				return err
			}
			after, err := c.index.Claims(w.ctx, unique, of, c.findable(), c.State)
			if err != nil {
				return err
			}
			maps.DeleteFunc(after, func(key string, _ store.Claim) bool { return c.unresolves(key) })
			u.compare(c, before, after)
		}
	}
	if err := u.checkIntervals(); err != nil || len(u.wanted)+len(u.kept) == 0 {
		return err
	}
	taken, err := w.tx.Claims(w.ctx, slices.Concat(u.wanted, slices.Collect(maps.Keys(u.kept))))
	if err != nil {
		return err
	}
	for _, claim := range u.wanted {
		if owner, ok := taken[claim]; ok && owner != u.owners[claim].ID && !u.dropped[droppedClaim{claim, owner}] && !w.numbering.skip(u.owners[claim], claim) {
			w.faults.Add(u.owners[claim].taken(claim.Property))
		}
	}
	for claim, c := range u.kept {
		if _, ok := taken[claim]; !ok && u.owners[claim] == nil {
			c.addClaims = append(c.addClaims, claim)
		}
	}
	return nil
}

// compare adds the claims of a change.
func (u *uniqueness) compare(c *Change, before, after map[string]store.Claim) {
	for key, claim := range after {
		switch {
		case c.index.Exclusive(key):
			if changed := before[key] != claim; changed || c.index.Fills(key) {
				u.intervals = append(u.intervals, intervalClaim{c, claim, !changed})
			}
		case before[key] != claim && u.owners[claim] != nil && (u.w.numbering.skip(c, claim) || u.w.numbering.skip(u.owners[claim], claim)):
		case before[key] != claim && u.owners[claim] != nil:
			u.w.faults.Add(c.taken(key))
		case before[key] != claim:
			u.owners[claim] = c
			u.wanted = append(u.wanted, claim)
			c.addClaims = append(c.addClaims, claim)
		case c.index.Fills(key):
			if u.kept == nil {
				u.kept = map[store.Claim]*Change{}
			}
			u.kept[claim] = c
		}
	}
	for key, claim := range before {
		if after[key] != claim {
			c.dropClaims = append(c.dropClaims, claim)
			u.dropped[droppedClaim{claim, c.ID}] = true
		}
	}
}

// unresolves reports whether a unique key depends on a reference whose target was not found.
// Its values are not compared with those of others: that would reveal a hidden target.
func (c *Change) unresolves(key string) bool {
	return slices.ContainsFunc(c.unresolved, func(pointer string) bool {
		return slices.ContainsFunc(c.index.Reads(key), func(path string) bool { return strings.HasPrefix(pointer+"/", pointerOf(path)+"/") })
	})
}

// taken returns the fault of an object whose values under a unique key another one has.
func (c *Change) taken(key string) message.Message {
	rule := c.index.Rules[key]
	if rule == nil {
		return c.Fault(message.ValueNotUnique, pointerOf(key), nil)
	}
	first := c.placeOf(rule.Properties[0], rule.Reads()...)
	if len(rule.Properties) == 1 {
		return c.Fault(message.ValueNotUnique, first, nil)
	}
	others := make([]string, len(rule.Properties)-1)
	for i, property := range rule.Properties[1:] {
		others[i] = pointerOf(property)
	}
	return c.Fault(message.ValuesNotUnique, first, message.Params{"others": strings.Join(others, ", ")})
}

// placeOf returns the pointer to a property with a fault that concerns others, too: to one
// that the caller does not see, if there is one.
func (c *Change) placeOf(property string, others ...string) string {
	for _, other := range others {
		if _, unseen := c.shapeSeen().Unseen(pointerOf(other)); unseen {
			return pointerOf(other)
		}
	}
	return pointerOf(property)
}

func pointerOf(path string) string { return "/" + strings.ReplaceAll(path, ".", "/") }
