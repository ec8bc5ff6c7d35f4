package index

import (
	"context"
	"math"
)

// probe is a text that no working service refuses.
const probe = "article"

// Flush computes the vectors of all pending articles.
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

// flush computes the vectors of a network's pending articles in batches.
func (d *Dense) flush(ctx context.Context, network string) error {
	for d.waiting(network, 1) != nil {
		if err := d.step(ctx, network); err != nil {
			return err
		}
	}
	return nil
}

// step computes the vectors of one batch, after other calls have finished theirs.
func (d *Dense) step(ctx context.Context, network string) error {
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return unavailable(ctx, ctx.Err())
	}
	return d.settle(ctx, network, d.waiting(network, max(d.embedder.Batch(), 1)))
}

// waiting returns some of the pending articles.
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

// settle computes the vectors of a batch. If the service refuses it, settle finds the
// texts at fault by bisection, so that one article cannot make all searches of its
// network fail.
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
	// If the service refuses every text, the service is at fault.
	if _, failed := d.embed(ctx, []string{probe}); failed != nil {
		return failed
	}
	d.keep(network, batch, nil)
	return nil
}

// keep records the vectors of a batch, or that it was refused if there are none.
// Articles that have changed meanwhile remain pending.
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

// embed calls the embedder, and checks that all vectors have one dimension.
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
		if err := CheckVector(embedding); err != nil {
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

// CheckVector returns an error if the direction of a vector cannot be computed.
func CheckVector(vector []float64) error {
	var square float64
	for _, x := range vector {
		square += x * x
	}
	if len(vector) == 0 || math.IsInf(square, 0) || math.IsNaN(square) {
		return &UnavailableError{Reason: "an embedding is empty, or not finite"}
	}
	return nil
}
