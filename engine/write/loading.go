package write

import (
	"context"
	"errors"
	"maps"
	"slices"

	"marquee/engine/budget"
	"marquee/engine/store"
)

// maxRoundBytes bounds the documents of a round, before and after: a call that changes
// many objects of the maximum size would need many times the size of its body.
const maxRoundBytes = 64 << 20

// errRoundTooLarge ends a round before any of it is written.
var errRoundTooLarge = errors.New("engine: the documents of a round are too large together")

// loadedAtOnce is the number of objects read before their size is checked.
const loadedAtOnce = 50

// load reads the stored objects of the round. Changes added by hooks that exceed the
// size of a round are left to the next one.
func (w *Writing) load() error {
	unknown := func(c *Change) bool { return c.Internal() && c.size == 0 }
	if !slices.ContainsFunc(w.round, unknown) {
		_, err := w.loadSome(w.round)
		return err
	}
	loaded, bytes := 0, 0
	for loaded < len(w.round) && bytes < roundBytes {
		n := min(loadedAtOnce, len(w.round)-loaded)
		some, err := w.loadSome(w.round[loaded : loaded+n])
		if err != nil {
			return err
		}
		loaded, bytes = loaded+n, bytes+some
	}
	w.requeue(w.round[loaded:])
	w.round = w.round[:loaded]
	return nil
}

// requeue leaves changes added by hooks to the next rounds.
func (w *Writing) requeue(changes []*Change) {
	for _, c := range changes {
		w.queuedByKey[c.key()] = c
		delete(w.byKey, c.key())
	}
	w.queued = append(slices.Clone(changes), w.queued...)
}

// shortage ends a run of a transaction that needs more memory than the call has
// reserved. The memory is reserved before the next run: waiting within a transaction
// would block others, among them those that hold the memory.
type shortage struct{ bytes int64 }

// Error implements error.
func (s *shortage) Error() string { return "engine: the transaction needs more memory" }

// withMemory runs a transaction and repeats it with the memory that it lacked. It also
// returns the errors of budget.Reserve.
func withMemory(ctx context.Context, transaction func() error) error {
	for {
		err := transaction()
		var short *shortage
		if !errors.As(err, &short) {
			return err
		}
		if err := budget.Reserve(ctx, short.bytes); err != nil {
			return err
		}
	}
}

// loadSome reads the objects of changes, with one query for each collection, and
// returns the size of their documents.
func (w *Writing) loadSome(changes []*Change) (bytes int, err error) {
	keys := map[string][]store.Key{}
	round := make(map[objectKey]*Change, len(changes))
	for _, c := range changes {
		c.found = found{index: w.indexings[c.Type.Name]}
		if c.ID == "" {
			continue
		}
		round[c.key()] = c
		keys[c.Type.Name] = append(keys[c.Type.Name], store.Key{Network: c.Network, ID: c.ID})
	}
	var weight Weight
	enough := true
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		err := w.tx.Get(w.ctx, name, keys[name], func(r *store.Record) error {
			c := round[objectKey{name, r.Network, r.ID}]
			if bytes += len(r.Document); bytes > maxRoundBytes && len(changes) > 1 {
				return errRoundTooLarge
			}
			if _, err := weight.Write(r.Document); err != nil {
				return err
			}
			if enough = enough && budget.TryReserve(w.ctx, weight.Cost()); !enough {
				return nil // the others are weighed, too
			}
			stored := *r
			stored.Document, stored.Warnings = slices.Clone(r.Document), slices.Clone(r.Warnings)
			c.stored, c.StateBefore = &stored, stored.State
			return w.open(c)
		})
		if err != nil {
			return bytes, err
		}
	}
	if !enough {
		return bytes, &shortage{weight.Cost()}
	}
	maps.Copy(w.byKey, round)
	return bytes, nil
}
