package article

import (
	"context"
	"crypto/sha256"
	"runtime"
	"strings"
	"sync"
)

// Embedder makes vectors of texts: Embeddings, or another.
type Embedder interface {
	// Embed gives a vector of finite numbers for each text, in their order. An
	// *UnavailableError that says Refused means that some text is at fault.
	Embed(ctx context.Context, texts []string) ([][]float64, error)
	// Batch is how many texts a call takes at most.
	Batch() int
}

// Dense is the index whose vectors an Embedder makes. Put does not wait for it:
// an article is pending until a search of its network, or Flush, has got its
// vector. While that fails, searches of the network fail as well, as they would
// miss articles. All that was got is kept, so a later call goes on from there.
type Dense struct {
	embedder Embedder
	// turn is held by who calls the embedder for pending articles, so that
	// none is asked for twice.
	turn chan struct{}

	mu        sync.RWMutex
	dimension int
	networks  map[string]*denseNetwork
}

var _ Index = (*Dense)(nil)

// digest identifies a text.
type digest [sha256.Size]byte

// denseNetwork is the articles of a network, side by side.
type denseNetwork struct {
	slots    map[string]int // by id
	articles []*embedded
	pending  map[string]*embedded // by id
	refused  map[string]*embedded // by id
}

// embedded is an article and its vector. Only its vector and text change once
// it is in an index; another text is another embedded.
type embedded struct {
	entry  *Entry
	digest digest
	// own is the fingerprint of the text without its title.
	own uint64
	// text is kept while the vector is pending.
	text   string
	vector vector
}

// NewDense gives an empty index.
func NewDense(embedder Embedder) *Dense {
	return &Dense{embedder: embedder, turn: make(chan struct{}, 1), networks: map[string]*denseNetwork{}}
}

// Put adds an article, or replaces it. It never fails.
func (d *Dense) Put(article Article) error {
	whole := article.whole()
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

// Remove forgets an article, if it is there.
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

// Search answers a query. It fails with an *UnavailableError when the embedder
// does.
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

// search compares the sentence with every article, on all cores: roughly at
// first, and exactly where that decides.
func (n *denseNetwork) search(sentence vector, text digest, query Query) Result {
	parts := make([]best, min(runtime.GOMAXPROCS(0), len(n.articles)/1000+1))
	var wait sync.WaitGroup
	for part := range parts {
		from, to := len(n.articles)*part/len(parts), len(n.articles)*(part+1)/len(parts)
		parts[part].limit = query.Limit
		wait.Go(func() { scan(n.articles[from:to], sentence, text, query, &parts[part]) })
	}
	wait.Wait()
	found := best{limit: query.Limit}
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

// scan offers the articles that the query is for.
func scan(articles []*embedded, sentence vector, text digest, query Query, found *best) {
	off, same := blur(len(sentence)), fingerprint(query.Sentence)
	for _, article := range articles {
		score, sure := 0.0, true
		switch {
		case (article.digest == text || same != 0 && article.own == same) && article.vector != nil:
			score = 1
		case len(article.vector) > 0 && len(article.vector) == len(sentence):
			score, sure = min(max(float64(near(sentence, article.vector)), 0), 1), false
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
			score = exact(sentence, article.vector)
		}
		if score >= query.Threshold {
			found.offer(Hit{ID: article.entry.ID, Score: score, Version: article.entry.Version})
		}
	}
}

// Stats tells how many articles there are.
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
