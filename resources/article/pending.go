package article

import "context"

// probe is a text that no service can find fault with.
const probe = "article"

// Flush gets the vectors of all pending articles.
func (d *Dense) Flush(ctx context.Context) error {
	d.mu.RLock()
	var networks []string
	for network, in := range d.networks {
		if len(in.pending) > 0 {
			networks = append(networks, network)
		}
	}
	d.mu.RUnlock()
	for _, network := range networks {
		if err := d.flush(ctx, network); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// flush gets the vectors of a network's pending articles, batch by batch.
func (d *Dense) flush(ctx context.Context, network string) error {
	for d.waiting(network, 1) != nil {
		if err := d.step(ctx, network); err != nil {
			return err
		}
	}
	return nil
}

// step gets the vectors of one batch, in turn.
func (d *Dense) step(ctx context.Context, network string) error {
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return unavailable(ctx, ctx.Err())
	}
	return d.settle(ctx, network, d.waiting(network, max(d.embedder.Batch(), 1)))
}

// waiting are some of the pending articles.
func (d *Dense) waiting(network string, limit int) []*embedded {
	d.mu.RLock()
	defer d.mu.RUnlock()
	in := d.networks[network]
	if in == nil {
		return nil
	}
	var batch []*embedded
	for _, article := range in.pending {
		if batch = append(batch, article); len(batch) == limit {
			break
		}
	}
	return batch
}

// settle gets the vectors of a batch. When the service refuses it, the texts at
// fault are found by halves, so that one article cannot keep a network's
// searches from being answered.
func (d *Dense) settle(ctx context.Context, network string, batch []*embedded) error {
	if len(batch) == 0 {
		return nil
	}
	texts := make([]string, len(batch))
	for i, article := range batch {
		texts[i] = article.text
	}
	embeddings, err := d.embed(ctx, texts)
	switch {
	case err == nil:
		d.keep(network, batch, embeddings)
		return nil
	case !refused(err):
		return err
	case len(batch) > 1:
		if err := d.settle(ctx, network, batch[:len(batch)/2]); err != nil {
			return err
		}
		return d.settle(ctx, network, batch[len(batch)/2:])
	}
	// A service that refuses every text is not set up, and no text at fault.
	if _, failed := d.embed(ctx, []string{probe}); failed != nil {
		return failed
	}
	d.keep(network, batch, nil)
	return nil
}

// keep stores the vectors of a batch, or without any that it was refused. What
// has changed meanwhile is no longer pending as it was, and stays so.
func (d *Dense) keep(network string, batch []*embedded, embeddings [][]float64) {
	vectors := make([]vector, len(embeddings))
	for i, embedding := range embeddings {
		vectors[i] = newVector(embedding)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	in := d.networks[network]
	if in == nil {
		return
	}
	for i, article := range batch {
		id := article.entry.ID
		if in.pending[id] != article {
			continue
		}
		delete(in.pending, id)
		article.text = ""
		if embeddings == nil {
			in.refused[id] = article
		} else {
			article.vector = vectors[i]
		}
	}
}

// embed calls the embedder, and holds it to one dimension.
func (d *Dense) embed(ctx context.Context, texts []string) ([][]float64, error) {
	embeddings, err := d.embedder.Embed(ctx, texts)
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	if len(embeddings) != len(texts) {
		return nil, &UnavailableError{Reason: "it gave another number of embeddings"}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, embedding := range embeddings {
		if err := checkVector(embedding); err != nil {
			return nil, err
		}
		if d.dimension == 0 {
			d.dimension = len(embedding)
		}
		if len(embedding) != d.dimension {
			return nil, &UnavailableError{Reason: "its embeddings are not all of one dimension"}
		}
	}
	return embeddings, nil
}
