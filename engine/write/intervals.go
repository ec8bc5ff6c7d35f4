package write

import (
	"slices"

	"marquee/engine/access"
	"marquee/engine/catalog"
	"marquee/engine/message"
	"marquee/engine/schema/keyword"
	"marquee/engine/store"
)

// intervalClaim is the claim of an interval by a change. Kept ones are those of unchanged
// objects under a rule that is about to hold: if they overlap others, the new schema is
// refused and not this write.
type intervalClaim struct {
	c     *Change
	claim store.Claim
	kept  bool
}

// overlap is an interval that meets that of another object: one of the round, or a stored
// one.
type overlap struct {
	intervalClaim
	other string
	sent  *Change
}

// checkIntervals reports intervals that overlap that of another object of the store or the
// batch, and adds the others to the claims to write. It locks what transactions have in
// common that add intervals of the same values, as neither sees those of the other.
func (u *uniqueness) checkIntervals() error {
	w := u.w
	// What is wanted comes before what is kept.
	rank := map[bool]int{false: 0, true: 1}
	slices.SortStableFunc(u.intervals, func(a, b intervalClaim) int { return rank[a.kept] - rank[b.kept] })
	var added catalog.Intervals
	var overlaps []overlap
	for _, i := range u.intervals {
		_, owner, err := catalog.Overlapping(w.ctx, w.tx, i.claim, func(claim store.Claim, owner string) bool {
			return owner == i.c.ID || u.dropped[droppedClaim{claim, owner}]
		})
		if err != nil {
			return err
		}
		if owner != "" {
			overlaps = append(overlaps, overlap{i, owner, nil})
			continue
		}
		if _, other := added.Add(i.claim, i.c.ID); other != "" {
			sent, _ := w.Change(i.claim.Collection, i.claim.Network, other)
			overlaps = append(overlaps, overlap{i, other, sent})
			continue
		}
		i.c.addClaims = append(i.c.addClaims, i.claim)
	}
	overlaps = slices.DeleteFunc(overlaps, func(o overlap) bool { return o.kept })
	if len(overlaps) > 0 {
		return u.addOverlaps(overlaps)
	}
	if w.faults.Len() > 0 {
		return nil
	}
	return w.e.LockIntervals(w.ctx, w.tx, &added)
}

// addOverlaps adds the faults of intervals that overlap. They name the other object if the
// caller has sent it or sees it.
func (u *uniqueness) addOverlaps(overlaps []overlap) error {
	w := u.w
	stored := map[store.Place][]string{}
	for _, o := range overlaps {
		if o.sent == nil || o.sent.Internal() {
			at := store.Place{Collection: o.claim.Collection, Network: o.claim.Network}
			stored[at] = append(stored[at], o.other)
		}
	}
	seen := map[objectKey]bool{}
	for at, ids := range stored {
		t, served := w.registry.Type(at.Collection)
		if !served {
			continue
		}
		visible, err := w.auth.visible(t, w.batch.Network)
		if err != nil {
			return err
		}
		slices.Sort(ids)
		err = access.GetVisible(w.ctx, w.tx, at, slices.Compact(ids), visible, func(r *store.Record) error {
			seen[objectKey{at.Collection, r.Network, r.ID}] = true
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, o := range overlaps {
		rule := o.c.index.Rules[o.claim.Property]
		params := message.Params{"other": "/" + rule.To}
		if o.sent != nil && !o.sent.Internal() || seen[objectKey{o.claim.Collection, o.claim.Network, o.other}] {
			params["id"] = o.other
		}
		at := o.c.placeOf(rule.From, rule.Reads()...)
		w.faults.Add(o.c.Fault(keyword.IntervalOverlaps, at, params))
	}
	return nil
}
