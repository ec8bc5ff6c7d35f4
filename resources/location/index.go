package location

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
)

// A posting is a location, as its rank, and what a key is to it.
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

// index finds the postings of a key, or of all keys with a prefix: the keys
// are sorted, and the postings of neighbouring keys lie side by side.
type index struct {
	keys     []string
	starts   []uint32 // keys[i] has postings[starts[i]:starts[i+1]]
	postings []posting
}

// exact are the postings of a key.
func (x *index) exact(key string) []posting {
	i, found := slices.BinarySearch(x.keys, key)
	if !found {
		return nil
	}
	return x.postings[x.starts[i]:x.starts[i+1]]
}

// prefix are the postings of all keys that begin so.
func (x *index) prefix(prefix string) []posting {
	first, _ := slices.BinarySearch(x.keys, prefix)
	n, _ := slices.BinarySearchFunc(x.keys[first:], prefix, func(key, prefix string) int {
		if strings.HasPrefix(key, prefix) {
			return -1
		}
		return 1
	})
	return x.postings[x.starts[first]:x.starts[first+n]]
}

// builder collects what becomes an index.
type builder struct {
	numbers map[string]uint32
	keys    []string
	entries []entry
}

type entry struct {
	key uint32
	posting
}

// newBuilder makes room for what the names of so many locations usually take.
func newBuilder(locations int) *builder {
	return &builder{
		numbers: make(map[string]uint32, 4*locations),
		keys:    make([]string, 0, 4*locations),
		entries: make([]entry, 0, 9*locations),
	}
}

// number is the key's, given when it is first seen.
func (b *builder) number(key string) uint32 {
	number, known := b.numbers[key]
	if !known {
		number = uint32(len(b.keys))
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

// sorted are the numbers of the keys in the keys' order. Most of them differ
// in the first eight bytes, which compare as one number.
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

// set is a set of locations, a bit each.
type set []uint64

func newSet(size int) set { return make(set, (size+63)/64) }

func (s set) add(location uint32) { s[location/64] |= 1 << (location % 64) }

// addAll adds the locations to which the keys have a role. Whether one has is
// as good as random, so there is no branch to mispredict.
func (s set) addAll(postings []posting, role posting) {
	shift := bits.TrailingZeros32(uint32(role))
	for _, p := range postings {
		location := p.location()
		s[location/64] |= uint64(p>>shift&1) << (location % 64)
	}
}

func (s set) count() int {
	n := 0
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}
