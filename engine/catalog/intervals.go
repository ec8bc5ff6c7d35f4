package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"marquee/engine/schema/keyword"
	"marquee/engine/store"
)

// Intervals are claims of exclusive rules that a transaction adds. None overlap.
type Intervals struct {
	// by holds those of the same values in the order of their beginnings. Its key is a
	// claim with what identifies the values in place of its own value.
	by map[store.Claim][]claimedInterval
}

type claimedInterval struct {
	keyword.Interval
	claim store.Claim
	owner string
}

// Add adds a claim, unless its interval meets one that was added before, which it returns
// with its owner.
func (s *Intervals) Add(claim store.Claim, id string) (met store.Claim, owner string) {
	adding := claimedInterval{keyword.IntervalOf(claim.Value), claim, id}
	key := claim
	key.Value = adding.Of
	same := s.by[key]
	i, _ := slices.BinarySearchFunc(same, adding, func(a, b claimedInterval) int { return strings.Compare(a.From, b.From) })
	for _, near := range same[max(i-1, 0):min(i+1, len(same))] {
		if near.Meets(adding.Interval) {
			return near.claim, near.owner
		}
	}
	if s.by == nil {
		s.by = map[store.Claim][]claimedInterval{}
	}
	s.by[key] = slices.Insert(same, i, adding)
	return met, ""
}

// intervalPage is the number of claims that are read at once to find one that is not
// skipped.
const intervalPage = 100

// Overlapping returns a stored claim whose interval meets that of a claim, with its owner,
// among those that skip does not report; "" is none. Stored intervals of the same values
// do not overlap, so that only those between the ends of the interval are read.
func Overlapping(ctx context.Context, s store.Snapshot, claim store.Claim, skip func(claim store.Claim, owner string) bool) (met store.Claim, owner string, err error) {
	wanted := keyword.IntervalOf(claim.Value)
	after := claim
	after.Value = wanted.Before()
	meets := func(other store.Claim) bool { return keyword.IntervalOf(other.Value).Meets(wanted) }
	for limit := 2; ; limit = intervalPage {
		n, beyond := 0, false
		err := s.ClaimsAfter(ctx, store.ClaimRange{After: after, Prefix: wanted.Of + " ", Limit: limit, Concerns: meets}, func(stored store.Claim, of string) error {
			n++
			after = stored
			switch {
			case owner != "" || beyond || skip(stored, of):
			case meets(stored):
				met, owner = stored, of
			default:
				beyond = true
			}
			return nil
		})
		if err != nil || owner != "" || beyond || n < limit {
			return met, owner, err
		}
	}
}

// IntervalLocks is the collection of the records that transactions lock which add intervals
// of the same values: neither would see those of the other. There are at most 65,536, and
// intervals of different values rarely share one.
var IntervalLocks = store.Collection{Name: "engine_interval_locks"}

// LockIntervals makes transactions conflict that add intervals of the same values.
func (c *Catalog) LockIntervals(ctx context.Context, tx store.Tx, added *Intervals) error {
	if c.Store.Serial() || len(added.by) == 0 {
		return nil
	}
	var keys []store.Key
	for of := range added.by {
		digest := sha256.Sum256([]byte(of.Collection + "\n" + of.Network + "\n" + of.Property + "\n" + of.Value))
		keys = append(keys, store.Key{ID: hex.EncodeToString(digest[:2])})
	}
	slices.SortFunc(keys, func(a, b store.Key) int { return strings.Compare(a.ID, b.ID) })
	keys = slices.Compact(keys)
	return c.lockRecords(ctx, tx, IntervalLocks.Name, keys)
}
