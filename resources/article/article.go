// Package article finds articles by a sentence: those whose vectors have the
// smallest angle to the sentence's. An index is kept in memory and told of
// every change; it knows neither stores nor requests.
package article

import (
	"context"
	"hash/maphash"
	"net/url"
	"strings"

	"golang.org/x/net/idna"
)

// Article is what an index is told of an article.
type Article struct {
	Network string
	// Language is a tag of BCP 47. With none, or one that is not known, words
	// are compared as they are written.
	Language string
	// Title and Text are what the vector is made of, one behind the other. An
	// index does not keep them.
	Title, Text string
	Entry
}

// Entry is what a search can be narrowed by.
type Entry struct {
	ID              string
	URL             string
	Site            string
	EarningsAccount string
	// Version is that of the article which the vector was made of.
	Version int64
	// Host is the host of URL, in lower case and ASCII. Put sets it.
	Host string
}

// Query asks for the articles of a network that are closest to a sentence.
type Query struct {
	Sentence string
	// Threshold is the lowest score that counts; at 0 all articles do.
	Threshold float64
	// Limit is how many hits are wanted.
	Limit int
	// Filter, if any, says which articles count. It may be called for each
	// article of the network, from several goroutines, while the index is
	// locked: it must not call the index, or keep or change the entry.
	Filter func(*Entry) bool
}

// Hit is an article that was found.
type Hit struct {
	ID string
	// Score is the cosine of the angle between the vectors, from 0 to 1, to 9
	// decimals. It is 1 for what the article says, with and without its title.
	Score float64
	// Version is that of the entry.
	Version int64
}

// Result is the answer to a query.
type Result struct {
	// Hits are the best, best first and those alike by id.
	Hits []Hit
	// Total is how many articles reach the threshold.
	Total int
}

// Stats tells how full an index is.
type Stats struct {
	Articles int
	// Pending articles have no vector yet.
	Pending int
	// Refused articles are never found until their text changes, as the
	// embeddings service refuses the text.
	Refused int
}

// Index holds the articles of all networks: Terms or Dense. It may be used
// concurrently, but the changes of one article are made one after another. What
// has been put is found by the next search.
type Index interface {
	// Put adds an article, or replaces it.
	Put(Article) error
	// Remove forgets an article, if it is there.
	Remove(network, id string)
	// Search answers a query, or fails with an *UnavailableError, or with
	// the error of the context.
	Search(ctx context.Context, network string, query Query) (Result, error)
	// Flush makes the vectors that pending articles lack, so that no search
	// has to wait for them, and fails as Search does.
	Flush(ctx context.Context) error
	Stats() Stats
}

// entry is a copy that shares no memory with the article, which may be part of
// something larger.
func (a Article) entry() *Entry {
	entry := &Entry{
		ID: strings.Clone(a.ID), URL: strings.Clone(a.URL), Site: strings.Clone(a.Site),
		EarningsAccount: strings.Clone(a.EarningsAccount), Version: a.Version,
	}
	entry.Host = HostOf(entry.URL)
	return entry
}

// HostOf is the host that a URL names, in lower case and ASCII; "" for none.
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

// whole is all that an article says.
func (a Article) whole() string {
	switch {
	case strings.TrimSpace(a.Title) == "":
		return a.Text
	case strings.TrimSpace(a.Text) == "":
		return a.Title
	}
	return a.Title + "\n" + a.Text
}

var textSeed = maphash.MakeSeed()

// fingerprint tells texts apart, whatever the space between their words; it is
// 0 for a blank one.
func fingerprint(text string) uint64 {
	var hash maphash.Hash
	hash.SetSeed(textSeed)
	blank := true
	for word := range strings.FieldsSeq(text) {
		hash.WriteString(word)
		hash.WriteByte(' ')
		blank = false
	}
	if blank {
		return 0
	}
	return max(hash.Sum64(), 1)
}

// InDomain reports whether the entry is on a domain or below it.
func (e *Entry) InDomain(domain string) bool {
	domain = strings.TrimSuffix(strings.ToLower(domain), ".")
	above, below := strings.CutSuffix(e.Host, domain)
	return domain != "" && below && (above == "" || strings.HasSuffix(above, "."))
}
