package write

import (
	"errors"
	"maps"
	"slices"
	"sync"

	"marquee/engine/budget"
	"marquee/engine/catalog"
	"marquee/engine/store"
	"marquee/engine/write/staging"
)

// maxRoundBytes bounds the documents of a round, before and after: a call that changes
// many objects of the maximum size would need many times the size of its body.
const maxRoundBytes = 64 << 20

// maxRoundTerms bounds the index terms that a round adds and drops, such as the words of
// texts that are searched: SQLite's one writer stores some 100,000 in a second.
const maxRoundTerms = 500_000

// errRoundTooLarge ends a round before any of it is written.
var errRoundTooLarge = errors.New("engine: the documents of a round are too large together")

// loadedAtOnce is the number of objects read before their size is checked.
const loadedAtOnce = 50

// load reads the stored objects of the round. Changes added by hooks that exceed the
// size of a round are left to the next one.
func (w *Writing) load() error {
	unknown := func(c *Change) bool { return c.Internal() && c.size == 0 }
	if !slices.ContainsFunc(w.round, unknown) {
		_, err := (&loading{w: w, changes: w.round}).run()
		return err
	}
	loaded, bytes := 0, 0
	for loaded < len(w.round) && bytes < roundBytes {
		n := min(loadedAtOnce, len(w.round)-loaded)
		some, err := (&loading{w: w, changes: w.round[loaded : loaded+n]}).run()
		if err != nil {
			return err
		}
		loaded, bytes = loaded+n, bytes+some
	}
	w.requeue(w.round[loaded:])
	w.round = w.round[:loaded]
	return nil
}

// unload drops what a run of the transaction that cannot go on has loaded, for some
// changes and for those that the client asked for, and returns the memory.
func (w *Writing) unload(changes []*Change) {
	for _, c := range slices.Concat(w.prepared, changes) {
		c.reset(nil)
	}
	budget.Return(w.ctx, w.reserved)
}

const (
	// partBytes is about how much is read at once. Memory is reserved before: many
	// calls at once that had read without it would fill the memory with what the
	// database answers.
	partBytes = 1 << 20
	// partGrowth is the maximum ratio of the size of the next part to that of the present one.
	partGrowth = 8
)

// readingCost is the memory for reading documents of n bytes, besides keeping them.
func readingCost(n int) int64 { return int64(n) * 5 / 2 }

// loading reads the objects of some changes.
type loading struct {
	w       *Writing
	changes []*Change
	round   map[objectKey]*Change
	// total is the number of objects to read, and asked how many of these have been
	// asked for.
	total, asked int
	// weight is that of the documents, and bytes their size.
	weight Weight
	bytes  int
}

// run reads the objects, with one query for each collection unless they are large, and
// returns the size of their documents.
func (l *loading) run() (bytes int, err error) {
	l.round = make(map[objectKey]*Change, len(l.changes))
	for _, c := range l.changes {
		c.reset(l.w.indexings[c.Type.Name])
		if c.ID != "" {
			l.round[c.key()] = c
		}
		if c.mayExist() {
			l.total++
		}
	}
	for _, some := range byType(l.changes, (*Change).mayExist) {
		if err := l.collection(some[0].Type.Name, keysOf(some)); err != nil {
			return l.bytes, err
		}
	}
	maps.Copy(l.w.byKey, l.round)
	return l.bytes, l.removed()
}

// collection reads objects of a type in parts.
func (l *loading) collection(name string, keys []store.Key) error {
	sizes := &l.w.e.sizes
	size := sizes.of(name)
	n := max(1, partBytes/size)
	if _, is := l.w.tx.(*staging.Tx); is {
		n = len(keys) // which it reads once
	}
	for len(keys) > 0 {
		n = min(n, len(keys))
		found, bytes, err := l.part(name, keys[:n], min(n*size, max(size, partBytes)))
		if err != nil {
			return err
		}
		sizes.learn(name, found, bytes)
		l.asked += n
		keys, n = keys[n:], n*partGrowth
		if found > 0 {
			size = max(1, bytes/found)
			n = max(1, min(n, partBytes/size))
		}
	}
	return nil
}

// part reads objects with one query, whose documents are expected to have a number of
// bytes together. It returns how many it has found, and their size.
func (l *loading) part(name string, keys []store.Key, expected int) (found, bytes int, err error) {
	w := l.w
	if need := l.weight.Cost() + readingCost(expected); !budget.TryReserve(w.ctx, need) {
		return 0, 0, l.short(need, l.asked)
	}
	before := l.bytes
	err = w.tx.Get(w.ctx, name, keys, func(r *store.Record) error {
		c := l.round[objectKey{name, r.Network, r.ID}]
		if l.bytes += len(r.Document); l.bytes > maxRoundBytes && len(l.changes) > 1 {
			return errRoundTooLarge
		}
		if _, err := l.weight.Write(r.Document); err != nil {
			return err
		}
		found++
		if need := l.weight.Cost(); !budget.TryReserve(w.ctx, need) {
			return l.short(need, l.asked+found)
		}
		c.stored, c.StateBefore = r.Clone(), r.State
		if c.asStored, err = w.e.decode(c, c.stored.Document); err == nil {
			c.Before = c.amended(c.asStored)
		}
		return err
	})
	return found, l.bytes - before, err
}

// short gives up what was loaded, and returns the error for memory that was lacking.
// The objects that were not read are taken to be like those that were.
func (l *loading) short(need int64, read int) error {
	l.w.unload(l.changes)
	if read > 0 {
		all := l.weight.scaled(int64(l.total), int64(read))
		need = max(need, all.Cost())
	}
	return &shortage{need}
}

// removed reads what is kept of removed objects whose ids new ones have.
func (l *loading) removed() error {
	created := func(c *Change) bool {
		return c.stored == nil && c.index.Removable && c.mayExist() && (c.Internal() || !c.op.MergePatch)
	}
	for _, some := range byType(l.changes, created) {
		found, err := catalog.ReadRemoved(l.w.ctx, l.w.tx, some[0].Type.Name, keysOf(some))
		if err != nil {
			return err
		}
		for _, c := range some {
			c.tombstone = found[c.recordKey()]
		}
	}
	return nil
}

// sizes knows how large the stored objects of each type are. It is safe for
// concurrent use.
type sizes struct {
	// byType holds an int by the name of a type: the mean of the objects that were
	// loaded or written lately, or more.
	byType sync.Map
}

// of returns the expected size of a document of a type in bytes: the largest size
// until one is known.
func (s *sizes) of(name string) int {
	if size, known := s.byType.Load(name); known {
		return size.(int)
	}
	return MaxDocumentBytes
}

// learnWritten takes note of objects that are written.
func (s *sizes) learnWritten(name string, writes []store.Write) {
	bytes := 0
	for i := range writes {
		bytes += len(writes[i].Document)
	}
	s.learn(name, len(writes), bytes)
}

// learn takes note of some objects and the size of all their documents. Large ones are forgotten slowly.
func (s *sizes) learn(name string, objects, bytes int) {
	if objects == 0 {
		return
	}
	size := max(1, bytes/objects)
	before, known := s.byType.Load(name)
	if known {
		size = max(size, before.(int)*7/8)
	}
	if !known || size != before.(int) {
		s.byType.Store(name, size)
	}
}
