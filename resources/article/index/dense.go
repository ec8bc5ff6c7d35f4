package index

import (
	"context"
	"crypto/sha256"
	"runtime"
	"strings"
	"sync"
)

// Embedder computes the vectors of texts, such as embeddings.Client.
type Embedder interface {
	// Embed returns a vector of finite numbers for each text, in order. An
	// *UnavailableError with Refused means that one of the texts is at fault.
	Embed(ctx context.Context, texts []string) ([][]float64, error)
	// Batch returns the maximum number of texts of a call.
	Batch() int
}

// Dense is an index whose vectors come from an Embedder. Put does not wait for it: an
// article is pending until a search of its network, or Flush, has its vector. While
// that fails, searches of the network fail too, since they would miss articles. All
// vectors received so far are kept for later calls.
type Dense struct {
	embedder Embedder
	// turn is filled while the embedder is called for pending articles, so that none
	// is embedded twice.
	turn chan struct{}

	mu        sync.RWMutex
	dimension int
	networks  map[string]*denseNetwork
}

var _ Index = (*Dense)(nil)

// digest identifies a text.
type digest [sha256.Size]byte

// denseNetwork has the articles of a network in adjacent slots.
type denseNetwork struct {
	slots    map[string]int // by id
	articles []*embedded
	pending  map[string]*embedded // by id
	refused  map[string]*embedded // by id
}

// embedded is an article and its vector. Once it is in an index, only vector and text
// change; an article with another text is another embedded.
type embedded struct {
	entry  *Entry
	digest digest
	// own is the fingerprint of the text without the title.
	own uint64
	// text is kept while the vector is pending.
	text   string
	vector vector
}

// NewDense returns an empty index.
func NewDense(embedder Embedder) *Dense {
	return &Dense{embedder: embedder, turn: make(chan struct{}, 1), networks: map[string]*denseNetwork{}}
}

// Put adds or replaces an article. It never fails.
func (d *Dense) Put(article Article) error {
	whole := article.fullText()
	added := &embedded{entry: article.entry(), digest: sha256.Sum256([]byte(whole)), own: fingerprint(article.Text)}
	id := added.entry.ID
	d.mu.Lock()
	defer d.mu.Unlock()
	in := d.networks[article.Network]
	if in == nil {
		in = &denseNetwork{slots: map[string]int{}, pending: map[string]*embedded{}, refused: map[string]*embedded{}}
		d.networks[strings.Clone(article.Network)] = in
	}
	slot, known := in.slots[id]
	if known && in.articles[slot].digest == added.digest {
		in.articles[slot].entry, in.articles[slot].own = added.entry, added.own
		return nil
	}
	if !known {
		slot = len(in.articles)
		in.slots[id] = slot
		in.articles = append(in.articles, nil)
	}
	in.articles[slot] = added
	delete(in.refused, id)
	delete(in.pending, id)
	if strings.TrimSpace(whole) != "" {
		added.text = strings.Clone(whole)
		in.pending[id] = added
	}
	return nil
}

// Remove removes an article, if it is in the index.
func (d *Dense) Remove(network, id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	in := d.networks[network]
	if in == nil {
		return
	}
	if slot, known := in.slots[id]; known {
		last := len(in.articles) - 1
		in.articles[slot] = in.articles[last]
		in.slots[in.articles[slot].entry.ID] = slot
		in.articles[last] = nil
		in.articles = in.articles[:last]
		delete(in.slots, id)
		delete(in.pending, id)
		delete(in.refused, id)
	}
	if len(in.articles) == 0 {
		delete(d.networks, network)
	}
}

// Search runs a query. It fails with an *UnavailableError if the embedder does.
func (d *Dense) Search(ctx context.Context, network string, query Query) (Result, error) {
	if err := d.flush(ctx, network); err != nil {
		return Result{}, err
	}
	var sentence vector
	if strings.TrimSpace(query.Sentence) != "" && d.has(network) {
		embeddings, err := d.embed(ctx, []string{query.Sentence})
		if err != nil {
			return Result{}, err
		}
		sentence = newVector(embeddings[0])
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	in := d.networks[network]
	if in == nil {
		return Result{}, nil
	}
	return in.search(sentence, sha256.Sum256([]byte(query.Sentence)), query), nil
}

func (d *Dense) has(network string) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.networks[network] != nil
}

// search compares the sentence with every article on all cores, first approximately,
// and exactly where that matters.
func (n *denseNetwork) search(sentence vector, text digest, query Query) Result {
	parts := make([]topHits, min(runtime.GOMAXPROCS(0), len(n.articles)/1000+1))
	var wait sync.WaitGroup
	for part := range parts {
		from, to := len(n.articles)*part/len(parts), len(n.articles)*(part+1)/len(parts)
		parts[part].limit = query.Limit
		wait.Go(func() { scan(n.articles[from:to], sentence, text, query, &parts[part]) })
	}
	wait.Wait()
	found := topHits{limit: query.Limit}
	for _, part := range parts {
		for _, hit := range part.hits {
			found.offer(hit)
		}
	}
	total := 0
	for _, part := range parts {
		total += part.total
	}
	found.total = total
	return found.result()
}

// scan adds the articles that match the query.
func scan(articles []*embedded, sentence vector, text digest, query Query, found *topHits) {
	off, same := maxError(len(sentence)), fingerprint(query.Sentence)
	for _, article := range articles {
		score, sure := 0.0, true
		switch {
		case (article.digest == text || same != 0 && article.own == same) && article.vector != nil:
			score = 1
		case len(article.vector) > 0 && len(article.vector) == len(sentence):
			score, sure = min(max(float64(dotProduct(sentence, article.vector)), 0), 1), false
		}
		if score < query.Threshold-off || query.Filter != nil && !query.Filter(article.entry) {
			continue
		}
		if !sure {
			reaches := query.Threshold <= 0 || score >= query.Threshold+off
			if reaches && found.outdoes(score+off) {
				found.total++
				continue
			}
			score = cosine(sentence, article.vector)
		}
		if score >= query.Threshold {
			found.offer(Hit{ID: article.entry.ID, Score: score, Version: article.entry.Version})
		}
	}
}

// Stats implements Index.
func (d *Dense) Stats() Stats {
	d.mu.RLock()
	defer d.mu.RUnlock()
	var stats Stats
	for _, in := range d.networks {
		stats.Articles += len(in.articles)
		stats.Pending += len(in.pending)
		stats.Refused += len(in.refused)
	}
	return stats
}
