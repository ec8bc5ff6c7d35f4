package asset

import (
	"context"
	"slices"
	"sync"

	"marquee/engine/store"
)

const (
	// pieceBytes is the size of a piece.
	pieceBytes = 256 << 10
	// keptPieces is the number of cached pieces, and loadedAtOnce that of concurrent
	// reads.
	keptPieces   = 32
	loadedAtOnce = 8
)

// pieces caches parts of the files that are being delivered. It is shared, so that
// any number of slow clients need no memory for pieces of their own.
type pieces struct {
	loading chan struct{}

	mu   sync.Mutex
	kept []piece // the last used at the end
}

// piece is the part of a blob from an offset. It never changes, because the key of a
// blob is the hash of its content.
type piece struct {
	of    store.Key
	begin int64
	data  []byte
}

func newPieces() *pieces { return &pieces{loading: make(chan struct{}, loadedAtOnce)} }

// get returns a piece, which load reads unless it is cached. The caller must not
// change it.
func (p *pieces) get(ctx context.Context, of store.Key, begin int64, load func() ([]byte, error)) ([]byte, error) {
	if data, ok := p.find(of, begin); ok {
		return data, nil
	}
	select {
	case p.loading <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-p.loading }()
	if data, ok := p.find(of, begin); ok { // loaded by another call meanwhile
		return data, nil
	}
	data, err := load()
	if err == nil {
		p.keep(piece{of, begin, data})
	}
	return data, err
}

func (p *pieces) find(of store.Key, begin int64) ([]byte, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.kept, func(k piece) bool { return k.begin == begin && k.of == of })
	if i < 0 {
		return nil, false
	}
	found := p.kept[i]
	p.kept = append(slices.Delete(p.kept, i, i+1), found)
	return found.data, true
}

func (p *pieces) keep(one piece) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.kept) == keptPieces {
		p.kept = slices.Delete(p.kept, 0, 1)
	}
	p.kept = append(p.kept, one)
}
