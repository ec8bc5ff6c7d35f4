package index

import (
	"errors"
	"slices"
	"strings"
)

// ErrFull reports that there is no room for an article: the index uses as much memory
// as it may, or a network has the maximum number of articles of a language.
var ErrFull = errors.New("article: the index is full")

// maxSlots is the number of slots that a posting can distinguish.
const maxSlots = 1 << 24

// posting is the slot of an article that has a term, and the frequency of the term.
// The postings of a term are in the order of slots.
type posting uint32

func newPosting(slot uint32, frequency uint8) posting {
	return posting(slot)<<8 | posting(frequency)
}

func (p posting) slot() uint32     { return uint32(p) >> 8 }
func (p posting) frequency() uint8 { return uint8(p) } // #nosec G115 -- the frequency is the lowest byte

// corpus is the inverted index of the articles of a network and language. It reuses
// the numbers of removed articles and terms.
type corpus struct {
	ids       map[string]uint32 // of terms
	names     []string          // by term
	postings  [][]posting       // by term
	freeTerms []uint32
	families  map[string][]uint32 // of terms with the same beginning

	entries      []*Entry       // by slot; nil is free
	fingerprints []fingerprints // by slot
	squares      []squares      // by slot
	terms        [][]uint32     // by slot
	freeSlots    []uint32
	size         int
	// used is about how much memory the whole index uses.
	used *int64
}

// About how much memory is used for an article, a distinct term besides its text, and
// a term of an article: of 100,000 articles, 330 MB.
const (
	bytesOfEntry   = 300
	bytesOfTerm    = 200
	bytesOfPosting = 11
)

// fingerprints are those of the text of an article and of its full text.
type fingerprints struct{ text, whole uint64 }

func (a Article) fingerprints() fingerprints {
	text := fingerprint(a.Text)
	if strings.TrimSpace(a.Title) == "" {
		return fingerprints{text, text}
	}
	return fingerprints{text, fingerprint(a.fullText())}
}

// has reports whether a sentence with the fingerprint equals one of the texts.
func (p fingerprints) has(print uint64) bool {
	return print != 0 && (print == p.text || print == p.whole)
}

func newCorpus(used *int64) *corpus {
	return &corpus{ids: map[string]uint32{}, families: map[string][]uint32{}, used: used}
}

// insert adds an article, and returns its slot.
func (c *corpus) insert(entry *Entry, prints fingerprints, terms []weighted) (uint32, error) {
	slot := uint32(len(c.entries)) // #nosec G115 -- maxSlots bounds the number
	if free := len(c.freeSlots); free > 0 {
		slot, c.freeSlots = c.freeSlots[free-1], c.freeSlots[:free-1]
	} else if slot == maxSlots {
		return 0, ErrFull
	} else {
		c.entries = append(c.entries, nil)
		c.fingerprints = append(c.fingerprints, fingerprints{})
		c.squares = append(c.squares, squares{})
		c.terms = append(c.terms, nil)
	}
	c.size++
	*c.used += bytesOfEntry
	c.replace(slot, entry, prints, terms)
	return slot, nil
}

// remove removes the article in a slot.
func (c *corpus) remove(slot uint32) {
	c.replace(slot, nil, fingerprints{}, nil)
	c.freeSlots = append(c.freeSlots, slot)
	c.size--
	*c.used -= bytesOfEntry
}

// replace replaces the article in a slot. It changes only the postings of terms that
// the article gains or loses.
func (c *corpus) replace(slot uint32, entry *Entry, prints fingerprints, terms []weighted) {
	c.entries[slot], c.fingerprints[slot] = entry, prints
	// The length is computed at the end. Until then it must not include any term.
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

// id returns the number of a term, which it adds if necessary.
func (c *corpus) id(term string) uint32 {
	id, known := c.ids[term]
	if known {
		return id
	}
	if free := len(c.freeTerms); free > 0 {
		id, c.freeTerms = c.freeTerms[free-1], c.freeTerms[:free-1]
		c.names[id] = term
	} else {
		id = uint32(len(c.names)) // #nosec G115 -- memory bounds the number of terms far below 2^32
		c.names = append(c.names, term)
		c.postings = append(c.postings, nil)
	}
	c.ids[term] = id
	*c.used += bytesOfTerm + int64(len(term))
	if family := family(term); family != "" {
		c.families[family] = append(c.families[family], id)
	}
	return id
}

// gain adds a posting, or replaces that of its slot.
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
	*c.used += bytesOfPosting
	c.shift(id, len(list))
}

// lose removes the posting of a slot, and the term with its last posting.
func (c *corpus) lose(id, slot uint32) {
	list := c.postings[id]
	before := len(list)
	*c.used -= bytesOfPosting
	at, _ := slices.BinarySearch(list, newPosting(slot, 0))
	list = slices.Delete(list, at, at+1)
	if cap(list) > 32 && len(list) < cap(list)/4 {
		list = slices.Clone(list)
	}
	c.postings[id] = list
	if len(list) == 0 {
		c.leaveFamily(id)
		*c.used -= bytesOfTerm + int64(len(c.names[id]))
		delete(c.ids, c.names[id])
		c.names[id], c.postings[id] = "", nil
		c.freeTerms = append(c.freeTerms, id)
		return
	}
	c.shift(id, before)
}

// leaveFamily removes a term from its family, and the family with its last term.
func (c *corpus) leaveFamily(id uint32) {
	family := family(c.names[id])
	terms := c.families[family]
	at := slices.Index(terms, id)
	if at < 0 {
		return
	}
	if terms = slices.Delete(terms, at, at+1); len(terms) == 0 {
		delete(c.families, family)
		return
	}
	c.families[family] = terms
}

// shift corrects the lengths of all vectors with a term after its number of articles
// has changed.
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
