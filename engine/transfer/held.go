package transfer

import "hash/maphash"

// held is the set of objects with a waiting line. A later line of the same object
// has to wait, too, or the earlier one would overwrite it. It is a Bloom filter of
// fixed size: a false positive only delays a line.
type held struct {
	seed maphash.Seed
	bits []uint64
}

const heldBits = 1 << 23

func (h *held) clear() { h.bits = nil }

func (h *held) add(key string) {
	if h.bits == nil {
		h.seed, h.bits = maphash.MakeSeed(), make([]uint64, heldBits/64)
	}
	for _, bit := range h.places(key) {
		h.bits[bit/64] |= 1 << (bit % 64)
	}
}

func (h *held) has(key string) bool {
	if h.bits == nil {
		return false
	}
	for _, bit := range h.places(key) {
		if h.bits[bit/64]&(1<<(bit%64)) == 0 {
			return false
		}
	}
	return true
}

func (h *held) places(key string) [2]uint64 {
	hash := maphash.String(h.seed, key)
	return [2]uint64{hash % heldBits, hash >> 32 % heldBits}
}
