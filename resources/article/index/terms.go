package index

import (
	"context"
	"strings"
	"sync"

	"marquee/resources/article/language"
)

// Terms is an index whose vectors are made of stemmed words; it needs no model and no
// service. Each language of a network has its own vector space, in which the sentence
// is analysed like the articles.
type Terms struct {
	mu       sync.RWMutex
	networks map[string]*termNetwork
	// overlaps pools the memory of searches.
	overlaps sync.Pool
	// used is about how much memory the index uses, limit the most that it should, 0 for
	// any, and left the number of articles for which there was no room.
	used, limit int64
	left        int
}

var _ Index = (*Terms)(nil)

// termNetwork has the articles of a network.
type termNetwork struct {
	corpora map[string]*corpus // by analysis
	places  map[string]place   // by id
}

// place is the corpus and the slot of an article.
type place struct {
	analysis string
	slot     uint32
}

// NewTerms returns an empty index that uses about limit bytes of memory at most; 0 is
// any number.
func NewTerms(limit int64) *Terms { return &Terms{networks: map[string]*termNetwork{}, limit: limit} }

// Put adds or replaces an article. The only possible error is ErrFull.
func (t *Terms) Put(article Article) error {
	entry, analysis := article.entry(), article.analysis()
	terms, prints := article.terms(language.Named(analysis)), article.fingerprints()

	t.mu.Lock()
	defer t.mu.Unlock()
	in := t.networks[article.Network]
	if in == nil {
		in = &termNetwork{corpora: map[string]*corpus{}, places: map[string]place{}}
		t.networks[strings.Clone(article.Network)] = in
	}
	old, known := in.places[entry.ID]
	if !known && t.limit > 0 && t.used >= t.limit {
		t.left++
		return ErrFull
	}
	if known && old.analysis == analysis {
		in.corpora[analysis].replace(old.slot, entry, prints, terms)
		return nil
	}
	to := in.corpora[analysis]
	if to == nil {
		to = newCorpus(&t.used)
		in.corpora[analysis] = to
	}
	slot, err := to.insert(entry, prints, terms)
	if err != nil {
		return err
	}
	if known {
		in.leave(old)
	}
	in.places[entry.ID] = place{analysis, slot}
	return nil
}

// Remove removes an article, if it is in the index.
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

// leave removes an article from its corpus, and the corpus with its last article.
func (n *termNetwork) leave(at place) {
	from := n.corpora[at.analysis]
	from.remove(at.slot)
	if from.size == 0 {
		delete(n.corpora, at.analysis)
	}
}

// Search runs a query. The only possible error is that of the context.
func (t *Terms) Search(ctx context.Context, network string, query Query) (Result, error) {
	sentences := map[string][]weighted{}
	found := topHits{limit: query.Limit}
	t.mu.RLock()
	defer t.mu.RUnlock()
	for lacking := t.lacking(network, sentences); len(lacking) > 0; lacking = t.lacking(network, sentences) {
		// Analyse without the lock, for the sake of writers.
		t.mu.RUnlock()
		for _, analysis := range lacking {
			analyzer := language.Named(analysis)
			sentences[analysis] = weigh(analyzer, analyzer.Counts(beginning(query.Sentence)))
		}
		t.mu.RLock()
	}
	in := t.networks[network]
	if in == nil {
		return found.result(), ctx.Err()
	}
	same := fingerprint(query.Sentence)
	for analysis, corpus := range in.corpora {
		if err := ctx.Err(); err != nil {
			return Result{}, err
		}
		t.search(corpus, corpus.queryVector(analysis, sentences[analysis]), query, same, &found)
	}
	return found.result(), nil
}

// lacking returns the analyses of a network that sentences lacks.
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

// search adds the articles of a corpus that match the query. Same is the fingerprint of
// its sentence.
func (t *Terms) search(in *corpus, sentence *queryVector, query Query, same uint64, found *topHits) {
	scratch, _ := t.overlaps.Get().(*[]overlap)
	if scratch == nil {
		scratch = new([]overlap)
	}
	defer t.overlaps.Put(scratch)
	overlaps := grown(*scratch, len(in.entries))
	*scratch = overlaps

	in.overlap(sentence, overlaps)
	all := magnitude(in.size)
	least := sentence.least(query.Threshold) * sentence.square
	for slot := range overlaps {
		with := &overlaps[slot]
		if with.product == 0 && query.Threshold > 0 {
			continue
		}
		entry := in.entries[slot]
		if entry == nil {
			continue
		}
		score := 1.0
		if !in.fingerprints[slot].has(same) {
			whole := with.whole(in.squares[slot].sum(all))
			if query.Threshold > 0 && with.product*with.product < least*whole {
				continue
			}
			score = calibrated(with.cosine(sentence, whole))
		}
		if score >= query.Threshold && (query.Filter == nil || query.Filter(entry)) {
			found.offer(Hit{ID: entry.ID, Score: score, Version: entry.Version})
		}
	}
}

// grown returns a slice of zeros, in the memory of scratch if possible.
func grown(scratch []overlap, length int) []overlap {
	if cap(scratch) < length {
		return make([]overlap, length, length+length/4)
	}
	scratch = scratch[:length]
	clear(scratch)
	return scratch
}

// Flush does nothing: no article is ever pending.
func (t *Terms) Flush(ctx context.Context) error { return ctx.Err() }

// Stats implements Index.
func (t *Terms) Stats() Stats {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var stats Stats
	for _, in := range t.networks {
		stats.Articles += len(in.places)
	}
	stats.Refused = t.left
	return stats
}
