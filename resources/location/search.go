package location

import (
	"math/bits"
	"slices"
	"strings"
)

// A text of more than MaxQueryBytes finds nothing. One of more than MaxQueryWords
// words finds only names that it equals or begins.
const (
	MaxQueryBytes = 1024
	MaxQueryWords = 10
)

// Hit is a location that a search found.
type Hit struct {
	ID      int64  `json:"id"`
	Type    Type   `json:"type"`
	Name    string `json:"name"`
	Context string `json:"context"`
}

// Result is a page of hits.
type Result struct {
	// TotalHits is the number of hits on all pages.
	TotalHits int
	// PageStart and PageEnd are the positions of the first and last of Hits among
	// all hits, counted from 1. Both are 0 if Hits is empty.
	PageStart, PageEnd int
	Hits               []Hit
	// Types has the number of hits on all pages for every type.
	Types map[Type]int
}

// Search finds locations by text, ignoring case, accents and punctuation. It orders
// them by the first of these groups that they belong to, and within a group by
// population (see ranksOf) and id:
//
//   - The name equals the text, or an alternate name does and the location is a city
//     or country of more than a million people.
//   - The text begins with the name, and continues with words of the region and
//     country: "paris, texas", "london uk".
//   - An alternate name equals the text.
//   - The text begins with an alternate name, and continues as above.
//   - The name begins with the text.
//   - An alternate name begins with the text.
//   - The words of the text are beginnings of words of the name, in any order.
//   - The words of the text are beginnings of words of names and context, at least
//     one of them of a name.
//   - The text would find the location if it had no typing error: one in the whole
//     name, or one in each word of five letters or more.
//
// A text without letters and digits finds nothing. The hits are those after the first
// skip ones, at most size of them.
func (g *Gazetteer) Search(text string, skip, size int) Result {
	groups := g.groups(text)
	result := Result{Hits: []Hit{}, Types: map[Type]int{}}
	for _, t := range Types {
		result.Types[t] = 0
	}
	for _, group := range groups {
		result.TotalHits += group.count()
		for t, of := range g.byType {
			result.Types[t] += group.countIn(of)
		}
	}
	if skip < 0 || size < 1 || skip >= result.TotalHits {
		return result
	}
	left := skip
	for _, group := range groups {
		if n := group.count(); left >= n {
			left -= n
			continue
		}
		result.Hits = g.appendHits(result.Hits, group, left, size)
		left = 0
		if len(result.Hits) == size {
			break
		}
	}
	if len(result.Hits) > 0 {
		result.PageStart = skip + 1
		result.PageEnd = skip + len(result.Hits)
	}
	return result
}

// appendHits appends hits of a group, without the first ones, up to a total size.
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

// groups returns the groups of Search. Each location is only in the first that it
// belongs to.
func (g *Gazetteer) groups(text string) []set {
	if len(text) > MaxQueryBytes {
		return nil
	}
	whole := forms(text)
	if whole == nil {
		return nil
	}
	name, other := g.newSet(), g.newSet()
	nameBegins, otherBegins := g.newSet(), g.newSet()
	nearName, nearOther := g.newSet(), g.newSet()
	for i, form := range whole {
		if i == 0 {
			g.addNamed(name, other, g.index.exact(form))
		} else {
			// A name written without its apostrophe counts as an alternate.
			found := g.index.exact(form)
			other.addAll(found, isName)
			other.addAll(found, isAlternate)
		}
		found := g.index.prefix(form)
		nameBegins.addAll(found, isName)
		otherBegins.addAll(found, isAlternate)
		g.addNamed(nearName, nearOther, g.index.near(form))
	}
	groups := []set{name}
	words := strings.Fields(whole[0])
	few := len(words) <= MaxQueryWords
	if few {
		nameWithin, otherWithin := g.within(words)
		groups = append(groups, nameWithin, other, otherWithin)
	} else {
		groups = append(groups, other)
	}
	groups = append(groups, nameBegins, otherBegins)
	if needed := wordsOf(words); len(needed) <= MaxQueryWords {
		inName, anywhere := g.byWords(needed, false)
		groups = append(groups, inName, anywhere)
	}
	groups = append(groups, nearName, nearOther)
	if few && slices.ContainsFunc(words, correctable) {
		inName, anywhere := g.byWords(words, true)
		groups = append(groups, inName, anywhere)
	}
	all := g.newSet()
	for _, group := range groups {
		for i := range group {
			group[i] &^= all[i]
			all[i] |= group[i]
		}
	}
	return groups
}

func (g *Gazetteer) newSet() set { return make(set, len(g.large)) }

// addNamed adds the locations with a name to name, and those with it as an alternate
// to other, or to name if they are large.
func (g *Gazetteer) addNamed(name, other set, found []posting) {
	name.addAll(found, isName)
	other.addAll(found, isAlternate)
	for i := range name {
		name[i] |= other[i] & g.large[i]
	}
}

// within finds the locations whose name is made of the first words, and whose
// containers have the other words in their names.
func (g *Gazetteer) within(words []string) (name, other set) {
	name, other = g.newSet(), g.newSet()
	around := make([]set, len(words)) // in containers with the words from i on
	for i := len(words) - 1; i > 0; i-- {
		around[i] = g.newSet()
		g.addContext(around[i], g.index.exact(words[i]))
		if i+1 < len(words) {
			around[i].keep(around[i+1])
		}
		named, otherwise := g.newSet(), g.newSet()
		g.addNamed(named, otherwise, g.index.exact(strings.Join(words[:i], " ")))
		named.keep(around[i])
		otherwise.keep(around[i])
		name.join(named)
		other.join(otherwise)
	}
	return name, other
}

// addContext adds the locations in containers. A container may occur in many postings,
// because it has names in many languages.
func (g *Gazetteer) addContext(to set, found []posting) {
	places := newSet(len(g.containers))
	for _, p := range found {
		if p&isContextWord != 0 {
			places.add(p.location())
		}
	}
	for i, word := range places {
		for ; word != 0; word &= word - 1 {
			for _, location := range g.containers[i*64+bits.TrailingZeros64(word)] {
				to.add(location)
			}
		}
	}
}

// byWords finds the locations in whose name all words occur as beginnings of words,
// and those in whose names and context they do, optionally with typing errors.
func (g *Gazetteer) byWords(words []string, typos bool) (inName, anywhere set) {
	inName, anywhere = g.newSet(), g.newSet()
	named, one, more := g.newSet(), g.newSet(), g.newSet()
	for n, word := range words {
		clear(one)
		clear(more)
		found := [][]posting{g.index.prefix(word)}
		if typos {
			found = append(found, g.index.near(word))
		}
		for _, postings := range found {
			one.addAll(postings, isNameWord)
			more.addAll(postings, isAlternateWord)
		}
		more.join(one)
		named.join(more)
		for _, postings := range found {
			g.addContext(more, postings)
		}
		if n == 0 {
			copy(inName, one)
			copy(anywhere, more)
			continue
		}
		inName.keep(one)
		anywhere.keep(more)
	}
	anywhere.keep(named)
	return inName, anywhere
}

// wordsOf drops words that are beginnings of others, and therefore redundant.
func wordsOf(words []string) []string {
	words = slices.Clone(words)
	slices.Sort(words)
	var needed []string
	for i, word := range words {
		if i+1 == len(words) || !strings.HasPrefix(words[i+1], word) {
			needed = append(needed, word)
		}
	}
	return needed
}
