package article

import (
	"context"
	"strings"
	"sync"
)

// Terms is the index whose vectors are of stemmed words: it needs no model and
// no service. Each language of a network is a vector space of its own, in which
// the sentence is analysed as the articles are.
type Terms struct {
	mu       sync.RWMutex
	networks map[string]*termNetwork
	// products has the scratch memory of searches.
	products sync.Pool
}

var _ Index = (*Terms)(nil)

// termNetwork is the articles of a network.
type termNetwork struct {
	corpora map[string]*corpus // by analysis
	places  map[string]place   // by id
}

// place is where an article is.
type place struct {
	analysis string
	slot     uint32
}

// NewTerms gives an empty index.
func NewTerms() *Terms { return &Terms{networks: map[string]*termNetwork{}} }

// Put adds an article, or replaces it. It fails with ErrFull only.
func (t *Terms) Put(article Article) error {
	entry, analysis := article.entry(), analysisOf(article.Language)
	terms, text := weigh(analyzerNamed(analysis).counts(article.whole())), fingerprint(article.Text)

	t.mu.Lock()
	defer t.mu.Unlock()
	in := t.networks[article.Network]
	if in == nil {
		in = &termNetwork{corpora: map[string]*corpus{}, places: map[string]place{}}
		t.networks[strings.Clone(article.Network)] = in
	}
	old, known := in.places[entry.ID]
	if known && old.analysis == analysis {
		in.corpora[analysis].replace(old.slot, entry, text, terms)
		return nil
	}
	to := in.corpora[analysis]
	if to == nil {
		to = newCorpus()
		in.corpora[analysis] = to
	}
	slot, err := to.insert(entry, text, terms)
	if err != nil {
		return err
	}
	if known {
		in.leave(old)
	}
	in.places[entry.ID] = place{analysis, slot}
	return nil
}

// Remove forgets an article, if it is there.
func (t *Terms) Remove(network, id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	in := t.networks[network]
	if in == nil {
		return
	}
	if at, known := in.places[id]; known {
		delete(in.places, id)
		in.leave(at)
	}
	if len(in.places) == 0 {
		delete(t.networks, network)
	}
}

// leave frees the place of an article, and the last one's corpus.
func (n *termNetwork) leave(at place) {
	from := n.corpora[at.analysis]
	from.remove(at.slot)
	if from.size == 0 {
		delete(n.corpora, at.analysis)
	}
}

// Search answers a query. It fails only when the context is done.
func (t *Terms) Search(ctx context.Context, network string, query Query) (Result, error) {
	sentences := map[string][]weighted{}
	found := best{limit: query.Limit}
	t.mu.RLock()
	defer t.mu.RUnlock()
	for lacking := t.lacking(network, sentences); len(lacking) > 0; lacking = t.lacking(network, sentences) {
		// Writers need not wait for the analysis of a sentence.
		t.mu.RUnlock()
		for _, analysis := range lacking {
			sentences[analysis] = weigh(analyzerNamed(analysis).counts(query.Sentence))
		}
		t.mu.RLock()
	}
	for analysis, sentence := range sentences {
		if err := ctx.Err(); err != nil {
			return Result{}, err
		}
		if in := t.networks[network]; in != nil && in.corpora[analysis] != nil {
			t.search(in.corpora[analysis], sentence, query, &found)
		}
	}
	return found.result(), nil
}

// lacking are the analyses that a network has and the sentences have not.
func (t *Terms) lacking(network string, sentences map[string][]weighted) []string {
	var lacking []string
	if in := t.networks[network]; in != nil {
		for analysis := range in.corpora {
			if _, there := sentences[analysis]; !there {
				lacking = append(lacking, analysis)
			}
		}
	}
	return lacking
}

// search offers the articles of a corpus that the query is for.
func (t *Terms) search(in *corpus, sentence []weighted, query Query, found *best) {
	scratch, _ := t.products.Get().(*[]int64)
	if scratch == nil {
		scratch = new([]int64)
	}
	defer t.products.Put(scratch)
	products := grown(*scratch, len(in.entries))
	*scratch = products

	length := in.products(sentence, products)
	all, same := magnitude(in.size), fingerprint(query.Sentence)
	for slot, product := range products {
		if product == 0 && query.Threshold > 0 {
			continue
		}
		entry := in.entries[slot]
		if entry == nil {
			continue
		}
		score := 1.0
		if same == 0 || in.texts[slot] != same {
			score = cosine(product, length, in.squares[slot].sum(all))
		}
		if score >= query.Threshold && (query.Filter == nil || query.Filter(entry)) {
			found.offer(Hit{ID: entry.ID, Score: score, Version: entry.Version})
		}
	}
}

// products computes the product of each article's vector with the sentence's,
// by slot, and gives the square of the sentence's length.
func (c *corpus) products(sentence []weighted, products []int64) int64 {
	all := magnitude(c.size)
	var length int64
	for _, term := range sentence {
		var list []posting
		if id, known := c.ids[term.term]; known {
			list = c.postings[id]
		}
		rare := rarity(all, magnitude(len(list)))
		weight := int64(term.weight) * rare
		length += weight * weight
		for _, p := range list {
			products[p.slot()] += weight * rare * int64(p.frequency())
		}
	}
	return length
}

// grown is a slice of zeros of a length, in the memory of another if it fits.
func grown(scratch []int64, length int) []int64 {
	if cap(scratch) < length {
		return make([]int64, length, length+length/4)
	}
	scratch = scratch[:length]
	clear(scratch)
	return scratch
}

// Flush has nothing to do.
func (t *Terms) Flush(ctx context.Context) error { return ctx.Err() }

// Stats tells how many articles there are.
func (t *Terms) Stats() Stats {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var stats Stats
	for _, in := range t.networks {
		stats.Articles += len(in.places)
	}
	return stats
}
