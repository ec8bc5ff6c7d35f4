package mongo

import "marquee/engine/store"

// object is a record of a collection.
type object struct {
	collection string
	key        store.Key
}

// footprint is what a call has read and would lock or write.
type footprint struct {
	objects map[object]access
	claims  map[store.Claim]access
}

// access is how a call uses a record or a claim.
type access int

const (
	reads access = iota + 1
	locks
	writes
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

// meets reports whether the call uses something that is locked or written in
// another footprint.
func (f *footprint) meets(other *footprint) bool {
	for o := range f.objects {
		if other.objects[o] >= locks {
			return true
		}
	}
	for c := range f.claims {
		if other.claims[c] == writes {
			return true
		}
	}
	return false
}
