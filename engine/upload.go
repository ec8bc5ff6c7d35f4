package engine

import (
	"context"
	"errors"
	"io"
	"time"

	"marquee/engine/message"
	"marquee/engine/store"
)

// Stream is a batch of any size. Its objects are read again at each run of the
// transaction and written some at a time, so that never all of them are held,
// and neither is the answer.
//
// Every object has an id. Of those with the same id the last counts, in its
// place; the others are read, and no more. The type has no Prepare hook, and
// objects that are further ahead cannot be referred to.
type Stream struct {
	// Like is what the operation of each object is like.
	Like            Operation
	Network         string
	FieldValidation FieldValidation
	// ValidateOnly does everything but store.
	ValidateOnly bool
	// Open reads the objects from the first on.
	Open func() Objects
	// Answer takes the objects as they are when all is written.
	Answer StreamAnswer
}

// Objects yields objects one after the other, each with the number of bytes
// that it was written in; io.EOF is the end.
type Objects interface {
	Next() (object map[string]any, size int64, err error)
}

// StreamAnswer keeps rendered objects. Begin forgets all, as the transaction may
// run again; End is called before it is committed.
type StreamAnswer interface {
	Begin() error
	Add(object []byte) error
	End() error
}

// Objects are written when there are chunkObjects of them, or chunkBytes.
const (
	chunkObjects = 1000
	chunkBytes   = 2 << 20
)

// meetingTime is how long a Stream waits that met another writer.
const meetingTime = 500 * time.Millisecond

// WriteStream stores a stream: all of it or nothing. The result has no changes.
// Errors are those of Write, and those of Open's objects and the answer.
//
// One stream is written at a time, so that what they take does not grow with
// their number. One that meets the writers of other servers tries again until
// its context ends, as it has most to lose.
func (e *Engine) WriteStream(ctx context.Context, caller *Caller, s Stream) (*Result, error) {
	select {
	case e.streams <- struct{}{}:
		defer func() { <-e.streams }()
	case <-ctx.Done():
		return nil, Translate(ctx.Err())
	}
	e.writes.RLock()
	defer e.writes.RUnlock()
	if e.Hooks[s.Like.Type.Name].Prepare != nil {
		return nil, errors.New("engine: objects of type " + s.Like.Type.Name + " are prepared before they are written, and not in a stream")
	}
	batch := Batch{Network: s.Network, Listed: true, FieldValidation: s.FieldValidation, ValidateOnly: s.ValidateOnly, IDRequired: true}
	w := &Writing{e: e, ctx: ctx, caller: caller, batch: &batch, registry: e.Registry(), result: &Result{Listed: true}}
	last, err := w.survey(s)
	if err != nil {
		return nil, err
	}
	for {
		err := e.Store.Write(ctx, func(tx store.Tx) error {
			w.begin(tx)
			if err := w.runStream(s, last); err != nil {
				return err
			}
			if s.ValidateOnly {
				return store.ErrRollback
			}
			return nil
		})
		if code, _ := store.CodeOf(err); code == store.CodeConflict && waits(ctx, meetingTime) {
			continue
		}
		if err != nil && !(s.ValidateOnly && errors.Is(err, store.ErrRollback)) {
			return nil, Translate(err)
		}
		if err == nil {
			w.end()
		}
		w.forget()
		return w.result, nil
	}
}

// waits returns false when the context ends first.
func waits(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// survey reads the stream before the transaction, which need not begin for one
// that cannot be read, and finds the last object of each id.
func (w *Writing) survey(s Stream) (last map[string]int, err error) {
	last = map[string]int{}
	objects := s.Open()
	for i := 0; w.ctx.Err() == nil; i++ {
		object, _, err := objects.Next()
		if errors.Is(err, io.EOF) {
			return last, nil
		}
		if err != nil {
			return nil, err
		}
		op := s.Like
		op.Object = object
		c, err := w.change(&op, i)
		if err != nil {
			return nil, err
		}
		last[c.ID] = i
	}
	return nil, Translate(w.ctx.Err())
}

// runStream is one run of the transaction. What is wrong is looked for in all
// objects; once something is, nothing more is stored.
func (w *Writing) runStream(s Stream, last map[string]int) error {
	w.result.Unknown = nil
	if err := s.Answer.Begin(); err != nil {
		return err
	}
	objects := s.Open()
	for from, more := 0, true; more && w.faults.Len() < message.MaxFaults; {
		var err error
		if from, more, err = w.readChunk(s, objects, from, last); err != nil {
			return err
		}
		if err := w.runChunk(s); err != nil {
			return err
		}
	}
	w.result.sort()
	if err := w.refused(); err != nil {
		return err
	}
	return s.Answer.End()
}

// forget lets go of the chunk before: who looks for its objects from now on
// finds them stored.
func (w *Writing) forget() {
	w.result.Changes, w.prepared, w.round, w.queued = nil, nil, nil, nil
	w.sent = map[objectKey]*Change{}
	clear(w.byKey)
	clear(w.queuedByKey)
}

// readChunk prepares the next objects; to is the place of the one behind them.
func (w *Writing) readChunk(s Stream, objects Objects, from int, last map[string]int) (to int, more bool, err error) {
	w.forget()
	var bytes int64
	for to = from; len(w.result.Changes) < chunkObjects && bytes < chunkBytes; to++ {
		object, size, err := objects.Next()
		if errors.Is(err, io.EOF) {
			return to, false, nil
		}
		if err != nil {
			return to, false, err
		}
		op := s.Like
		op.Object = object
		c, err := w.change(&op, to)
		if err != nil {
			return to, false, err
		}
		if c.ID != "" && last[c.ID] != to {
			continue
		}
		c.normalise(w.batch.FieldValidation)
		w.noted(c)
		w.result.Changes = append(w.result.Changes, c)
		bytes += size
	}
	return to, true, nil
}

// runChunk writes what was prepared, and what hooks add, and renders it.
func (w *Writing) runChunk(s Stream) error {
	w.prepared = w.result.Changes
	for _, c := range w.prepared {
		w.sent[c.key()] = c
	}
	switch err := w.run(); {
	case err == nil:
		return w.answer(s)
	case err == w.refusal:
		return nil
	default:
		return err
	}
}

// answer renders what was written, with names as the transaction sees them.
func (w *Writing) answer(s Stream) error {
	v := w.e.newView(w.caller, w.batch.Network, nil)
	shown, err := v.showAll(w.result)
	if err != nil {
		return err
	}
	records := make([]*store.Record, len(shown))
	for i := range shown {
		records[i] = &shown[i]
	}
	if err := v.deriveAll(w.ctx, w.tx, w.result, records); err != nil {
		return err
	}
	if err := v.resolve(w.ctx, w.tx); err != nil {
		return err
	}
	objects, err := v.appendAll(w.result, records)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := s.Answer.Add(object.JSON); err != nil {
			return err
		}
	}
	return nil
}
