package location

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
)

// A posting is the rank of a location and the role of a key for it. With
// isContextWord, it is the number of a container instead.
type posting uint32

const (
	isName posting = 1 << iota
	isAlternate
	isNameWord
	isAlternateWord
	isContextWord

	roleBits = iota
)

func (p posting) location() uint32 { return uint32(p >> roleBits) }

// index finds the postings of a key, or of all keys with a prefix. The keys are
// sorted, and the postings of adjacent keys are adjacent.
type index struct {
	keys     []string
	starts   []uint32 // keys[i] has postings[starts[i]:starts[i+1]]
	postings []posting
	// first has the first letters of keys by script.
	first map[int][]string
}

// exact returns the postings of a key.
func (x *index) exact(key string) []posting {
	i, found := slices.BinarySearch(x.keys, key)
	if !found {
		return nil
	}
	return x.postings[x.starts[i]:x.starts[i+1]]
}

// prefix returns the postings of all keys with a prefix.
func (x *index) prefix(prefix string) []posting {
	first, _ := slices.BinarySearch(x.keys, prefix)
	return x.postings[x.starts[first]:x.starts[x.after(prefix)]]
}

// builder collects the content of an index.
type builder struct {
	numbers map[string]uint32
	keys    []string
	entries []entry
}

type entry struct {
	key uint32
	posting
}

// newBuilder returns a builder with the capacity that the names of a number of
// locations usually need.
func newBuilder(locations int) *builder {
	return &builder{
		numbers: make(map[string]uint32, 4*locations),
		keys:    make([]string, 0, 4*locations),
		entries: make([]entry, 0, 9*locations),
	}
}

// number returns the number of a key.
func (b *builder) number(key string) uint32 {
	number, known := b.numbers[key]
	if !known {
		number = uint32(len(b.keys)) // #nosec G115 -- memory bounds the number of keys far below 2^32
		b.numbers[key] = number
		b.keys = append(b.keys, key)
	}
	return number
}

func (b *builder) add(key uint32, location uint32, role posting) {
	b.entries = append(b.entries, entry{key, posting(location)<<roleBits | role})
}

// addName adds a folded name and its words.
func (b *builder) addName(name string, location uint32, whole, word posting) {
	if strings.IndexByte(name, ' ') < 0 {
		b.add(b.number(name), location, whole|word)
		return
	}
	b.add(b.number(name), location, whole)
	for w := range strings.FieldsSeq(name) {
		b.add(b.number(w), location, word)
	}
}

func (b *builder) index() index {
	x := index{
		keys:     make([]string, len(b.keys)),
		starts:   make([]uint32, len(b.keys)+1),
		postings: make([]posting, len(b.entries)),
	}
	places := make([]uint32, len(b.keys))
	for place, number := range sorted(b.keys) {
		x.keys[place] = b.keys[number]
		places[number] = uint32(place)
	}
	x.first = firstLetters(x.keys)
	for _, e := range b.entries {
		x.starts[places[e.key]+1]++
	}
	for i := range b.keys {
		x.starts[i+1] += x.starts[i]
	}
	next := slices.Clone(x.starts)
	for _, e := range b.entries {
		at := &next[places[e.key]]
		x.postings[*at] = e.posting
		*at++
	}
	return x
}

// sorted returns the numbers of the keys in the order of the keys. Most keys differ
// in the first eight bytes, which are compared as one number.
func sorted(keys []string) []uint32 {
	type head struct {
		bytes  uint64
		number uint32
	}
	heads := make([]head, len(keys))
	for i, key := range keys {
		var bytes [8]byte
		copy(bytes[:], key)
		heads[i] = head{binary.BigEndian.Uint64(bytes[:]), uint32(i)}
	}
	slices.SortFunc(heads, func(a, b head) int {
		if a.bytes != b.bytes {
			return cmp.Compare(a.bytes, b.bytes)
		}
		return strings.Compare(keys[a.number], keys[b.number])
	})
	numbers := make([]uint32, len(keys))
	for i, h := range heads {
		numbers[i] = h.number
	}
	return numbers
}

// set is a bit set of locations.
type set []uint64

func newSet(size int) set { return make(set, (size+63)/64) }

func (s set) add(location uint32) { s[location/64] |= 1 << (location % 64) }

// addAll adds the locations of postings with a role. It avoids a branch, which would
// be mispredicted often.
func (s set) addAll(postings []posting, role posting) {
	shift := bits.TrailingZeros32(uint32(role))
	for _, p := range postings {
		location := p.location()
		s[location/64] |= uint64(p>>shift&1) << (location % 64)
	}
}

// keep removes the locations that are not in the other set.
func (s set) keep(other set) {
	for i := range s {
		s[i] &= other[i]
	}
}

// join adds the locations of the other set.
func (s set) join(other set) {
	for i := range s {
		s[i] |= other[i]
	}
}

// countIn returns the number of locations in both sets.
func (s set) countIn(other set) int {
	n := 0
	for i, word := range s {
		n += bits.OnesCount64(word & other[i])
	}
	return n
}

func (s set) count() int {
	n := 0
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}
