package mongo

import (
	"maps"
	"slices"

	"marquee/engine/store"
)

// object is a record of a collection.
type object struct {
	collection string
	key        store.Key
}

// footprint is what a call has read and would lock or write.
type footprint struct {
	objects map[object]access
	claims  map[store.Claim]access
	// ranges are the claims that were looked for.
	ranges []store.ClaimRange
}

// concerns reports whether a claim would matter to the reader of a range.
func concerns(r store.ClaimRange, c store.Claim) bool {
	return c.Collection == r.After.Collection && c.Network == r.After.Network && c.Property == r.After.Property && (r.Concerns == nil || r.Concerns(c))
}

// access is how a call uses a record or a claim.
type access int

const (
	reads access = iota + 1
	locks
	writes
	creates
)

func (f *footprint) object(o object, how access) {
	if f.objects == nil {
		f.objects = map[object]access{}
	}
	f.objects[o] = max(f.objects[o], how)
}

func (f *footprint) claim(c store.Claim, how access) {
	if f.claims == nil {
		f.claims = map[store.Claim]access{}
	}
	f.claims[c] = max(f.claims[c], how)
}

// add adds what another call locks or writes.
func (f *footprint) add(other *footprint) {
	for o, how := range other.objects {
		if how >= locks {
			f.object(o, how)
		}
	}
	for c, how := range other.claims {
		if how == writes {
			f.claim(c, how)
		}
	}
}

// meets reports whether the call uses something that is locked or written in another
// footprint. Both can lock the same record: what either relies on, it has read by keys or in
// a range, and a lock keeps out others than the calls of the group.
func (f *footprint) meets(other *footprint) bool {
	for o, how := range f.objects {
		if is := other.objects[o]; is >= writes || is == locks && how != locks {
			return true
		}
	}
	for c := range f.claims {
		if other.claims[c] == writes {
			return true
		}
	}
	return len(f.ranges) > 0 && other.claimsWithin(f.ranges)
}

// claimsWithin reports whether a claim that is written matters to the reader of a range.
func (f *footprint) claimsWithin(ranges []store.ClaimRange) bool {
	for c, how := range f.claims {
		if how == writes && slices.ContainsFunc(ranges, func(r store.ClaimRange) bool { return concerns(r, c) }) {
			return true
		}
	}
	return false
}

// shares reports whether the call locks a record that others lock, too. held has how many calls
// lock each.
func (f *footprint) shares(held map[object]int) bool {
	for o, how := range f.objects {
		if how == locks && held[o] > 1 {
			return true
		}
	}
	return false
}

// forgetCreated leaves out what the call would have created: if another one does, this one finds
// it in its next run, and perhaps only locks it.
func (f *footprint) forgetCreated() {
	maps.DeleteFunc(f.objects, func(_ object, how access) bool { return how == creates })
}
