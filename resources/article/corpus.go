package article

import (
	"errors"
	"slices"
)

// ErrFull says that a network has as many articles of a language as an index
// can hold.
var ErrFull = errors.New("article: no more than 16,777,216 articles of a language in a network")

// maxSlots is how many slots fit into a posting beside the frequency.
const maxSlots = 1 << 24

// posting says that the article in a slot has a term, and how frequently:
// postings of a term are in the order of slots.
type posting uint32

func newPosting(slot uint32, frequency uint8) posting {
	return posting(slot)<<8 | posting(frequency)
}

func (p posting) slot() uint32     { return uint32(p) >> 8 }
func (p posting) frequency() uint8 { return uint8(p) }

// corpus is the inverted index of the articles of a network and language. What
// is free is used again.
type corpus struct {
	ids       map[string]uint32 // of terms
	names     []string          // by term
	postings  [][]posting       // by term
	freeTerms []uint32

	entries   []*Entry   // by slot; nil is free
	texts     []uint64   // by slot: the fingerprint of the text without its title
	squares   []squares  // by slot
	terms     [][]uint32 // by slot
	freeSlots []uint32
	size      int
}

func newCorpus() *corpus { return &corpus{ids: map[string]uint32{}} }

// insert gives an article a slot.
func (c *corpus) insert(entry *Entry, text uint64, terms []weighted) (uint32, error) {
	slot := uint32(len(c.entries))
	if free := len(c.freeSlots); free > 0 {
		slot, c.freeSlots = c.freeSlots[free-1], c.freeSlots[:free-1]
	} else if slot == maxSlots {
		return 0, ErrFull
	} else {
		c.entries = append(c.entries, nil)
		c.texts = append(c.texts, 0)
		c.squares = append(c.squares, squares{})
		c.terms = append(c.terms, nil)
	}
	c.size++
	c.replace(slot, entry, text, terms)
	return slot, nil
}

// remove frees a slot.
func (c *corpus) remove(slot uint32) {
	c.replace(slot, nil, 0, nil)
	c.freeSlots = append(c.freeSlots, slot)
	c.size--
}

// replace lets the article in a slot have these terms and no others. Only the
// postings of terms that it gains or loses change.
func (c *corpus) replace(slot uint32, entry *Entry, text uint64, terms []weighted) {
	c.entries[slot], c.texts[slot] = entry, text
	// The length is computed anew at the end; meanwhile it must be of no term.
	c.squares[slot] = squares{}
	ids := make([]uint32, len(terms))
	for i, term := range terms {
		ids[i] = c.id(term.term)
	}
	if len(c.terms[slot]) > 0 {
		stays := make(map[uint32]bool, len(ids))
		for _, id := range ids {
			stays[id] = true
		}
		for _, id := range c.terms[slot] {
			if !stays[id] {
				c.lose(id, slot)
			}
		}
	}
	var sums squares
	for i, id := range ids {
		c.gain(id, newPosting(slot, terms[i].weight))
		sums.add(terms[i].weight, magnitude(len(c.postings[id])))
	}
	c.squares[slot] = sums
	c.terms[slot] = ids
}

// id finds or makes the number of a term.
func (c *corpus) id(term string) uint32 {
	id, known := c.ids[term]
	if known {
		return id
	}
	if free := len(c.freeTerms); free > 0 {
		id, c.freeTerms = c.freeTerms[free-1], c.freeTerms[:free-1]
		c.names[id] = term
	} else {
		id = uint32(len(c.names))
		c.names = append(c.names, term)
		c.postings = append(c.postings, nil)
	}
	c.ids[term] = id
	return id
}

// gain adds a posting, or replaces the one of its slot.
func (c *corpus) gain(id uint32, added posting) {
	list := c.postings[id]
	if last := len(list); last == 0 || list[last-1].slot() < added.slot() {
		c.postings[id] = append(list, added)
	} else {
		at, _ := slices.BinarySearch(list, newPosting(added.slot(), 0))
		if list[at].slot() == added.slot() {
			list[at] = added
			return
		}
		c.postings[id] = slices.Insert(list, at, added)
	}
	c.shift(id, len(list))
}

// lose removes the posting of a slot, and the term with its last one.
func (c *corpus) lose(id, slot uint32) {
	list := c.postings[id]
	before := len(list)
	at, _ := slices.BinarySearch(list, newPosting(slot, 0))
	list = slices.Delete(list, at, at+1)
	if cap(list) > 32 && len(list) < cap(list)/4 {
		list = slices.Clone(list)
	}
	c.postings[id] = list
	if len(list) == 0 {
		delete(c.ids, c.names[id])
		c.names[id], c.postings[id] = "", nil
		c.freeTerms = append(c.freeTerms, id)
		return
	}
	c.shift(id, before)
}

// shift corrects the lengths of all vectors with a term that fewer articles
// had before, or more.
func (c *corpus) shift(id uint32, before int) {
	list := c.postings[id]
	old, now := magnitude(before), magnitude(len(list))
	if old == now {
		return
	}
	for _, p := range list {
		square := int64(p.frequency()) * int64(p.frequency())
		sums := &c.squares[p.slot()]
		sums.wm += square * (now - old)
		sums.wmm += square * (now*now - old*old)
	}
}
