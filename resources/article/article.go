// Package article finds articles by a sentence: those whose vectors have the
// smallest angle to the sentence's. An index is kept in memory and told of
// every change; it knows neither stores nor requests.
package article

import (
	"context"
	"net/url"
	"strings"
)

// Article is what an index is told of an article.
type Article struct {
	Network string
	// Language is a tag of BCP 47. With none, or one that is not known, words
	// are compared as they are written.
	Language string
	// Text is all that the vector is made of: title and text. An index does
	// not keep it.
	Text string
	Entry
}

// Entry is what a search can be narrowed by.
type Entry struct {
	ID              string
	URL             string
	Site            string
	EarningsAccount string
	// Host is the lower-case host of URL. Put sets it.
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
	// decimals; it is 1 for the article's own text.
	Score float64
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
		EarningsAccount: strings.Clone(a.EarningsAccount),
	}
	if parsed, err := url.Parse(entry.URL); err == nil {
		entry.Host = strings.TrimSuffix(strings.ToLower(parsed.Hostname()), ".")
	}
	return entry
}

// InDomain reports whether the entry is on a domain or below it.
func (e *Entry) InDomain(domain string) bool {
	domain = strings.TrimSuffix(strings.ToLower(domain), ".")
	above, below := strings.CutSuffix(e.Host, domain)
	return domain != "" && below && (above == "" || strings.HasSuffix(above, "."))
}
