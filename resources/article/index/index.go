// Package index finds the articles that a sentence is about: those whose vectors have
// the smallest angles to that of the sentence. Indexes are in memory and know neither
// stores nor requests; the package may import language only. Begin with Index, then
// Terms or Dense.
package index

import (
	"context"
	"hash/maphash"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"marquee/resources/article/language"
)

// Article is an article to be indexed.
type Article struct {
	Network string
	// Language is a BCP 47 tag. If it is empty, the language is detected; if there
	// is no analysis for it, words are only compared without accents.
	Language string
	// Title and Text determine the vector. An index does not keep them.
	Title, Text string
	Entry
}

// Entry has the properties of an article that a filter can use.
type Entry struct {
	ID              string
	URL             string
	Site            string
	EarningsAccount string
	// Version is the version of the indexed article.
	Version int64
	// Host is the host of URL in lower case and ASCII. Put sets it.
	Host string
}

// Query asks for the articles of a network that are closest to a sentence.
type Query struct {
	Sentence string
	// Threshold is the minimum score. At 0, all articles are hits.
	Threshold float64
	// Limit is the maximum number of hits returned.
	Limit int
	// Filter, if any, selects articles. It may be called concurrently, for every
	// article of the network, while the index is locked: it must not call the index,
	// and must not keep or change the entry.
	Filter func(*Entry) bool
}

// Hit is an article that was found.
type Hit struct {
	ID string
	// Score is the cosine of the angle between the vectors, or a calibration of it,
	// from 0 to 1, rounded to 9 decimals. The score of the whole text of the article,
	// with or without its title, is 1.
	Score float64
	// Version is the version of the entry.
	Version int64
}

// Result is the answer to a query.
type Result struct {
	// Hits are the best hits, by score and id.
	Hits []Hit
	// Total is the number of articles that reach the threshold.
	Total int
}

// Stats has the numbers of articles in an index.
type Stats struct {
	Articles int
	// Pending articles have no vectors yet.
	Pending int
	// Refused articles are not found until they change, because there was no room for
	// them, or because the
	// embeddings service refuses it.
	Refused int
}

// Index is an index of the articles of all networks: Terms or Dense. It is safe for
// concurrent use, except for concurrent changes of one article. A search finds all
// articles that were put before it.
type Index interface {
	// Put adds or replaces an article.
	Put(Article) error
	// Remove removes an article, if it is in the index.
	Remove(network, id string)
	// Search runs a query. It fails with an *UnavailableError or the error of the
	// context.
	Search(ctx context.Context, network string, query Query) (Result, error)
	// Flush computes the vectors of pending articles, so that no search has to wait
	// for them. It fails like Search.
	Flush(ctx context.Context) error
	Stats() Stats
}

// entry returns a copy of the entry with its host, which shares no memory with the
// article, since that may be part of a larger text.
func (a Article) entry() *Entry {
	entry := &Entry{
		ID: strings.Clone(a.ID), URL: strings.Clone(a.URL), Site: strings.Clone(a.Site),
		EarningsAccount: strings.Clone(a.EarningsAccount), Version: a.Version,
	}
	entry.Host = HostOf(entry.URL)
	return entry
}

// HostOf returns the host of a URL in lower case and ASCII, or "".
func HostOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	host := strings.TrimSuffix(strings.ToLower(parsed.Hostname()), ".")
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		return ascii
	}
	return host
}

// fullText returns the title and the text.
func (a Article) fullText() string {
	switch {
	case strings.TrimSpace(a.Title) == "":
		return a.Text
	case strings.TrimSpace(a.Text) == "":
		return a.Title
	}
	return a.Title + "\n" + a.Text
}

var textSeed = maphash.MakeSeed()

// fingerprint identifies a text by its letters and digits, ignoring case and the
// characters between words. It uses symbols if the text has nothing else, and is 0
// for a blank text.
func fingerprint(text string) uint64 {
	if print := fingerprintOf(text, isWord); print != 0 {
		return print
	}
	return fingerprintOf(text, func(r rune) bool { return !unicode.IsSpace(r) })
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// fingerprintOf returns the fingerprint of the words made of one kind of runes, or 0
// if there are none.
func fingerprintOf(text string, kind func(rune) bool) uint64 {
	var hash maphash.Hash
	hash.SetSeed(textSeed)
	word := func(from, to int) {
		hash.WriteString(strings.ToLower(text[from:to]))
		hash.WriteByte(' ')
	}
	begin, blank := -1, true
	for at, r := range text {
		switch is := kind(r); {
		case is && begin < 0:
			begin, blank = at, false
		case !is && begin >= 0:
			word(begin, at)
			begin = -1
		}
	}
	if begin >= 0 {
		word(begin, len(text))
	}
	if blank {
		return 0
	}
	return max(hash.Sum64(), 1)
}

// Domains is a set of domains.
type Domains map[string]bool

// DomainsOf returns a set of domains by their names.
func DomainsOf(names []string) Domains {
	domains := make(Domains, len(names))
	for _, name := range names {
		if domain := strings.TrimSuffix(strings.ToLower(name), "."); domain != "" {
			domains[domain] = true
		}
	}
	return domains
}

// Hold reports whether the entry is in one of the domains or their subdomains.
func (d Domains) Hold(e *Entry) bool {
	for host, more := e.Host, e.Host != ""; more; _, host, more = strings.Cut(host, ".") {
		if d[host] {
			return true
		}
	}
	return false
}

// inTitle is the additional count of a word for each occurrence in the title.
const inTitle = 2

// analysis returns the analysis for the language of the article, which is detected if
// it is not set.
func (a Article) analysis() string {
	if a.Language == "" {
		return language.Detect(a.fullText())
	}
	return language.Of(a.Language)
}

// maxCompared is the number of bytes of a text that searches compare, so that the
// memory for an article is limited. Most articles are shorter.
const maxCompared = 32 << 10

// beginning returns the part of a text that searches compare.
func beginning(text string) string {
	if len(text) <= maxCompared {
		return text
	}
	end := maxCompared
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// terms returns the weighted terms of the article.
func (a Article) terms(by *language.Analyzer) []weighted {
	counts := by.Counts(beginning(a.fullText()))
	for term, times := range by.Counts(a.Title) {
		if counts[term] > 0 {
			counts[term] += inTitle * times
		}
	}
	return weigh(by, counts)
}
