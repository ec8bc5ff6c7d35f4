package location

import (
	"math/bits"
	"slices"
	"strings"
)

// Text of more than MaxQueryBytes finds nothing, and text of more words than
// MaxQueryWords only what it is the beginning of.
const (
	MaxQueryBytes = 1024
	MaxQueryWords = 10
)

// Hit is a location that was found.
type Hit struct {
	ID      int64  `json:"id"`
	Type    Type   `json:"type"`
	Name    string `json:"name"`
	Context string `json:"context"`
}

// Result is a page of what a search found.
type Result struct {
	// TotalHits counts the hits of all pages.
	TotalHits int
	// PageStart and PageEnd are the places of the first and the last of Hits
	// among all, counted from 1; both are 0 where Hits is empty.
	PageStart, PageEnd int
	Hits               []Hit
	// Types counts the hits of all pages by type; every type has an entry.
	Types map[Type]int
}

// Search finds locations by text, without regard to case, accents and
// punctuation. In this order, and by population and id within each, come those
//
//   - whose name is the text,
//   - with an alternate name that is the text,
//   - whose name begins with the text,
//   - with an alternate name that begins with the text,
//   - in whose name words begin with the words of the text, in any order, and
//   - in whose names and context words begin so, at least one of them in a
//     name: "paris, texas", "oslo norway".
//
// Text without letters and digits finds nothing. The page is counted from 0;
// a page behind the last one, or of no size, has no hits.
func (g *Gazetteer) Search(text string, page, pageSize int) Result {
	groups := g.groups(text)
	result := Result{Hits: []Hit{}, Types: map[Type]int{City: 0, Region: 0}}
	for _, group := range groups {
		result.TotalHits += group.count()
		for i, word := range group {
			result.Types[Region] += bits.OnesCount64(word & g.regions[i])
		}
	}
	result.Types[City] = result.TotalHits - result.Types[Region]
	if page < 0 || pageSize < 1 || page > result.TotalHits/pageSize {
		return result
	}
	skip := page * pageSize
	for _, group := range groups {
		if n := group.count(); skip >= n {
			skip -= n
			continue
		}
		result.Hits = g.appendHits(result.Hits, group, skip, pageSize)
		skip = 0
		if len(result.Hits) == pageSize {
			break
		}
	}
	if len(result.Hits) > 0 {
		result.PageStart = page*pageSize + 1
		result.PageEnd = page*pageSize + len(result.Hits)
	}
	return result
}

// appendHits adds the best of a group behind the first ones, up to a size.
func (g *Gazetteer) appendHits(hits []Hit, group set, skip, size int) []Hit {
	for i, word := range group {
		if n := bits.OnesCount64(word); skip >= n {
			skip -= n
			continue
		}
		for ; word != 0; word &= word - 1 {
			if skip > 0 {
				skip--
				continue
			}
			if len(hits) == size {
				return hits
			}
			l := &g.locations[i*64+bits.TrailingZeros64(word)]
			hits = append(hits, Hit{ID: l.ID, Type: l.Type, Name: l.Name, Context: l.Context()})
		}
	}
	return hits
}

// groups are what a text finds in the order of Search, each location in the
// first of its groups alone.
func (g *Gazetteer) groups(text string) []set {
	if len(text) > MaxQueryBytes {
		return nil
	}
	whole := forms(text)
	if whole == nil {
		return nil
	}
	size := len(g.regions)
	byName, byAlternate := make(set, size), make(set, size)
	nameBegins, alternateBegins := make(set, size), make(set, size)
	for _, form := range whole {
		found := g.index.exact(form)
		byName.addAll(found, isName)
		byAlternate.addAll(found, isAlternate)
		found = g.index.prefix(form)
		nameBegins.addAll(found, isName)
		alternateBegins.addAll(found, isAlternate)
	}
	groups := []set{byName, byAlternate, nameBegins, alternateBegins}
	if words := wordsOf(whole[0]); len(words) <= MaxQueryWords {
		inName, anywhere := g.byWords(words)
		groups = append(groups, inName, anywhere)
	}
	all := make(set, size)
	for _, group := range groups {
		for i := range group {
			group[i] &^= all[i]
			all[i] |= group[i]
		}
	}
	return groups
}

// byWords finds the locations with words that begin with all of these in the
// name, and those with them in names and context.
func (g *Gazetteer) byWords(words []string) (inName, anywhere set) {
	size := len(g.regions)
	inName, anywhere, named := make(set, size), make(set, size), make(set, size)
	one, more := make(set, size), make(set, size)
	for n, word := range words {
		found := g.index.prefix(word)
		clear(one)
		one.addAll(found, isNameWord)
		copy(more, one)
		more.addAll(found, isAlternateWord)
		for i := range named {
			named[i] |= more[i]
		}
		more.addAll(found, isContextWord)
		if n == 0 {
			copy(inName, one)
			copy(anywhere, more)
			continue
		}
		for i := range one {
			inName[i] &= one[i]
			anywhere[i] &= more[i]
		}
	}
	for i := range anywhere {
		anywhere[i] &= named[i]
	}
	return inName, anywhere
}

// wordsOf splits folded text; a word that another one begins with says
// nothing besides it.
func wordsOf(text string) []string {
	words := strings.Fields(text)
	slices.Sort(words)
	var needed []string
	for i, word := range words {
		if i+1 == len(words) || !strings.HasPrefix(words[i+1], word) {
			needed = append(needed, word)
		}
	}
	return needed
}
