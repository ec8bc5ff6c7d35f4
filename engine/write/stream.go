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
	in := &streaming{w: w, Stream: s}
	if err := in.survey(); err != nil {
		return nil, err
	}
	for stagings := 0; ; {
		var st *staging.Staged
		if stagings < maxStagings {
			var err error
			if st, err = in.stage(); err != nil {
				return nil, store.Translate(err)
			}
			if stagings++; st == nil {
				stagings = maxStagings
			}
		}
		err := w.withMemory(ctx, func() error { return in.write(st) })
		code, _ := store.CodeOf(err)
		switch {
		case st != nil && (code == store.CodeConflict || errors.Is(err, staging.ErrStale)):
			continue
		case code == store.CodeConflict && walk.Sleep(ctx, meetingTime):
			continue
		case err != nil:
			return nil, store.Translate(err)
		}
		in.forget()
		return w.result, nil
	}
}

// streaming is a stream on its way through the write path.
type streaming struct {
	w *Writing
	Stream
	// last is the index of the last object of each id.
	last map[string]int
}

// survey reads the stream before the transaction, to find objects that cannot be read
// and the last one of each id.
func (s *streaming) survey() error {
	s.last = map[string]int{}
	objects := s.Open()
	for i := 0; s.w.ctx.Err() == nil; i++ {
		object, _, err := objects.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		op := s.Like
		op.Object = object
		c, err := s.w.change(&op, i)
		if err != nil {
			return err
		}
		s.last[c.ID] = i
	}
	return store.Translate(s.w.ctx.Err())
}

// stage stages a stream. It returns nil for one that cannot be staged.
func (s *streaming) stage() (*staging.Staged, error) {
	if s.Scratch == nil || !s.w.e.Store.Serial() || s.w.e.hooks[s.Like.Type.Name].Derived {
		return nil, nil
	}
	var found *staging.Staged
	err := s.w.withMemory(s.w.ctx, func() error {
		return s.w.e.Store.Read(store.LongRunning(s.w.ctx), func(snapshot store.Snapshot) (err error) {
			found, err = s.stageOn(snapshot)
			return err
		})
	})
	if errors.Is(err, staging.ErrUnstaged) {
		return nil, s.Scratch.Reset()
	}
	return found, err
}

func (s *streaming) stageOn(snapshot store.Snapshot) (*staging.Staged, error) {
	tx, err := staging.Begin(snapshot, s.Scratch, s.Like.Type.Name)
	if err != nil {
		return nil, err
	}
	s.w.begin(tx)
	err = s.run(func(written bool) error {
		if written && (len(s.w.afterCommit)+len(s.w.beforeCommit)+len(s.w.followUps.entries) > 0 || s.refersToItself()) {
			return staging.ErrUnstaged
		}
		if err := tx.Keep(written); err != nil || !written {
			return err
		}
		return s.answer(snapshot)
	})
	if err != nil {
		return nil, err
	}
	return tx.Staged()
}

// refersToItself reports whether an object refers to one of the stream's type: the snapshot
// has no names of staged objects.
func (s *streaming) refersToItself() (refers bool) {
	for _, c := range s.w.result.Changes {
		c.Type.Shape.References(c.After, func(_ document.Pointer, ref *document.Reference, _, _ string) {
			refers = refers || ref.Type == s.Like.Type.Name
		})
	}
	return refers
}

// write is one transaction that stores the stream, staged if st is not nil.
func (s *streaming) write(st *staging.Staged) error {
	if st != nil && (st.Writes == 0 || s.ValidateOnly) {
		return nil // nothing to store: the run on the snapshot found all faults
	}
	w := s.w
	effort := store.WithEffort(w.ctx, store.Effort{Caller: w.caller.Account(), Records: len(s.last), Extensive: true})
	if st != nil {
		return w.e.Store.Write(effort, func(tx store.Tx) error { return st.Store(w.ctx, tx) })
	}
	return w.transact(effort, func() error {
		return s.run(func(written bool) error {
			if !written {
				return nil
			}
			return s.answer(w.tx)
		})
	})
}

// run runs the write path on all objects. All of them are validated; once there
// is a fault, nothing more is stored. Each is called after every chunk and
// learns whether it was written.
func (s *streaming) run(each func(written bool) error) error {
	w := s.w
	w.result.Unknown = nil
	if s.Answer != nil {
		if err := s.Answer.Begin(); err != nil {
			return err
		}
	}
	objects := s.Open()
	for from, more := 0, true; more && w.faults.Len() < message.MaxFaults; {
		var err error
		if from, more, err = s.readChunk(objects, from); err != nil {
			return err
		}
		written, err := s.runChunk()
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

// readChunk prepares the next objects and returns the position after them.
func (s *streaming) readChunk(objects Objects, from int) (to int, more bool, err error) {
	s.forget()
	w := s.w
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
		if c.ID != "" && s.last[c.ID] != to {
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
func (s *streaming) runChunk() (written bool, err error) {
	w := s.w
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
func (s *streaming) answer(snapshot store.Snapshot) error {
	if s.Answer == nil {
		return nil
	}
	return s.Answer.Add(s.w.ctx, snapshot, s.w.result.Stored())
}

// forget drops the previous chunk, whose objects are now found in the store.
func (s *streaming) forget() {
	s.w.result.Changes, s.w.prepared, s.w.sent = nil, nil, map[objectKey]*Change{}
	s.w.rounds.forget()
}
