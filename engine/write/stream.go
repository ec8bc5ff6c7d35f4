package write

import (
	"context"
	"errors"
	"io"
	"time"

	"marquee/engine/access"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/store"
	"marquee/engine/walk"
	"marquee/engine/write/staging"
	"marquee/engine/written"
)

// Stream is a batch of any size. Its objects are read again in each run of the
// transaction and written some at a time, so that neither all objects nor the whole
// answer are in memory.
//
// Every object has an id. Of those with the same id the last one counts; the others
// are only read. The type has no Prepare hook, and objects cannot refer to later ones.
type Stream struct {
	// Like is the operation of each object, without the object.
	Like            Operation
	Network         string
	FieldValidation FieldValidation
	// ValidateOnly does everything except storing.
	ValidateOnly bool
	// Open returns the objects from the first one on.
	Open func() Objects
	// Answer receives what is written before it is committed; nil for none.
	Answer written.Answer
	// Scratch allows staging; nil for none.
	Scratch staging.Scratch
}

// Objects returns objects one after the other, each with the number of bytes of its
// text, and io.EOF at the end.
type Objects interface {
	Next() (object map[string]any, size int64, err error)
}

// A chunk is written when it has chunkObjects objects or chunkBytes bytes.
const (
	chunkObjects = 1000
	chunkBytes   = 2 << 20
)

// maxStagings is the number of attempts at staging a stream.
const maxStagings = 3

// meetingTime is the pause before a stream that met another writer is tried again.
const meetingTime = 500 * time.Millisecond

// WriteStream stores a stream: all of it or nothing. The result has no changes. It
// returns the errors of Write, and those of the objects and the answer.
//
// Only one stream is written at a time, which bounds the memory. A stream that
// conflicts with writes of other servers is tried until its context ends, as repeating
// it is expensive.
func (e *Writer) WriteStream(ctx context.Context, caller *access.Caller, s Stream) (*Result, error) {
	select {
	case e.streams <- struct{}{}:
		defer func() { <-e.streams }()
	case <-ctx.Done():
		return nil, store.Translate(&store.Error{Code: store.CodeBusy, Text: "other streams were written until the deadline", Cause: ctx.Err()})
	}
	if e.hooks[s.Like.Type.Name].Prepare != nil {
		return nil, errors.New("engine: objects of type " + s.Like.Type.Name + " are prepared before they are written, and not in a stream")
	}
	w := e.newWriting(ctx, caller, Batch{Network: s.Network, Listed: true, FieldValidation: s.FieldValidation, ValidateOnly: s.ValidateOnly, IDRequired: true})
	last, err := w.survey(s)
	if err != nil {
		return nil, err
	}
	for stagings := 0; ; {
		var st *staging.Staged
		if stagings < maxStagings {
			if st, err = w.stage(s, last); err != nil {
				return nil, store.Translate(err)
			}
			if stagings++; st == nil {
				stagings = maxStagings
			}
		}
		err := w.withMemory(ctx, func() error { return w.writeStream(ctx, s, last, st) })
		code, _ := store.CodeOf(err)
		switch {
		case st != nil && (code == store.CodeConflict || errors.Is(err, staging.ErrStale)):
			continue
		case code == store.CodeConflict && walk.Sleep(ctx, meetingTime):
			continue
		case err != nil:
			return nil, store.Translate(err)
		}
		w.forget()
		return w.result, nil
	}
}

// stage stages a stream. It returns nil for one that cannot be staged.
func (w *Writing) stage(s Stream, last map[string]int) (*staging.Staged, error) {
	if s.Scratch == nil || !w.e.Store.Serial() || w.e.hooks[s.Like.Type.Name].Derived {
		return nil, nil
	}
	var found *staging.Staged
	err := w.withMemory(w.ctx, func() error {
		return w.e.Store.Read(store.LongRunning(w.ctx), func(snapshot store.Snapshot) (err error) {
			found, err = w.stageOn(snapshot, s, last)
			return err
		})
	})
	if errors.Is(err, staging.ErrUnstaged) {
		return nil, s.Scratch.Reset()
	}
	return found, err
}

func (w *Writing) stageOn(snapshot store.Snapshot, s Stream, last map[string]int) (*staging.Staged, error) {
	tx, err := staging.Begin(snapshot, s.Scratch, s.Like.Type.Name)
	if err != nil {
		return nil, err
	}
	w.begin(tx)
	err = w.runStream(s, last, func(written bool) error {
		if written && (len(w.afterCommit)+len(w.beforeCommit)+len(w.followUps.entries) > 0 || w.refersTo(s.Like.Type.Name)) {
			return staging.ErrUnstaged
		}
		if err := tx.Keep(written); err != nil || !written {
			return err
		}
		return w.answer(s, snapshot)
	})
	if err != nil {
		return nil, err
	}
	return tx.Staged()
}

// refersTo reports whether an object refers to one of a type: the snapshot has no
// names of staged objects.
func (w *Writing) refersTo(collection string) (refers bool) {
	for _, c := range w.result.Changes {
		c.Type.Shape.References(c.After, func(_ document.Pointer, ref *document.Reference, _, _ string) {
			refers = refers || ref.Type == collection
		})
	}
	return refers
}

// writeStream is one transaction that stores a stream, staged if st is not nil.
func (w *Writing) writeStream(ctx context.Context, s Stream, last map[string]int, st *staging.Staged) error {
	if st != nil && (st.Writes == 0 || s.ValidateOnly) {
		return nil // nothing to store: the run on the snapshot found all faults
	}
	effort := store.Effort{Caller: w.caller.Account(), Records: len(last), Extensive: true}
	err := w.e.Store.Write(store.WithEffort(ctx, effort), func(tx store.Tx) error {
		if st != nil {
			return st.Store(ctx, tx)
		}
		w.begin(tx)
		err := w.runStream(s, last, func(written bool) error {
			if !written {
				return nil
			}
			return w.answer(s, tx)
		})
		if err == nil && s.ValidateOnly {
			err = store.ErrRollback
		}
		return err
	})
	switch {
	case s.ValidateOnly && errors.Is(err, store.ErrRollback):
		return nil
	case err == nil && st == nil:
		w.end()
	}
	return err
}

// survey reads the stream before the transaction, to find objects that cannot be read
// and the last one of each id.
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
	return nil, store.Translate(w.ctx.Err())
}

// runStream runs the write path on all objects. All of them are validated; once there
// is a fault, nothing more is stored. Each is called after every chunk and
// learns whether it was written.
func (w *Writing) runStream(s Stream, last map[string]int, each func(written bool) error) error {
	w.result.Unknown = nil
	if s.Answer != nil {
		if err := s.Answer.Begin(); err != nil {
			return err
		}
	}
	objects := s.Open()
	for from, more := 0, true; more && w.faults.Len() < message.MaxFaults; {
		var err error
		if from, more, err = w.readChunk(s, objects, from, last); err != nil {
			return err
		}
		written, err := w.runChunk()
		if err == nil {
			err = each(written)
		}
		if err != nil {
			return err
		}
	}
	w.result.sort()
	if err := w.conclude(); err != nil || s.Answer == nil {
		return err
	}
	return s.Answer.End()
}

// forget drops the previous chunk, whose objects are now found in the store.
func (w *Writing) forget() {
	w.result.Changes, w.prepared, w.round, w.queued = nil, nil, nil, nil
	w.sent = map[objectKey]*Change{}
	clear(w.byKey)
	clear(w.queuedByKey)
}

// readChunk prepares the next objects and returns the position after them.
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
		w.collectFindings(c)
		w.result.Changes = append(w.result.Changes, c)
		bytes += size
	}
	return to, true, nil
}

// runChunk writes the prepared changes and those that hooks add.
func (w *Writing) runChunk() (written bool, err error) {
	w.prepared = w.result.Changes
	for _, c := range w.prepared {
		w.sent[c.key()] = c
	}
	if err = w.run(); err == w.refusal {
		return err == nil, nil
	}
	return false, err
}

// answer passes on what was written since the last call.
func (w *Writing) answer(s Stream, snapshot store.Snapshot) error {
	if s.Answer == nil {
		return nil
	}
	return s.Answer.Add(w.ctx, snapshot, w.result.Stored())
}
