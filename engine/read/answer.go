package read

import (
	"context"
	"errors"

	"marquee/engine/access"
	"marquee/engine/parallel"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/write"
)

// Answer receives the rendered objects of a write. Begin discards what was added, as
// the snapshot may be read again; End follows the last object.
type Answer interface {
	Begin() error
	Add(object *Object) error
	End() error
}

// Render renders the objects that a Write stored, in the order of its operations and
// some at a time. Objects of the batch have the names that were written. If the store
// fails meanwhile, the objects are rendered without the names of others and without
// derived properties, as the write itself has succeeded. Other errors are those of the
// answer.
func (e *Reader) Render(ctx context.Context, caller *access.Caller, network string, result *write.Result, answer Answer) error {
	err := e.Store.Read(ctx, func(s store.Snapshot) error {
		return e.newView(caller, network, nil).answer(ctx, s, result, answer)
	})
	if _, lost := store.CodeOf(err); lost {
		return e.newView(caller, network, nil).answer(ctx, nil, result, answer)
	}
	return err
}

// Outline renders only the ids and urls of what a Write stored, without reading the
// store.
func (e *Reader) Outline(caller *access.Caller, network string, result *write.Result, answer Answer) error {
	return e.newView(caller, network, Projection{"id": nil, "url": nil}).answer(context.Background(), nil, result, answer)
}

// StreamAnswer returns a write.StreamAnswer that renders the objects of a stream into
// an answer.
func (e *Reader) StreamAnswer(caller *access.Caller, network string, answer Answer) write.StreamAnswer {
	return &streamAnswer{Answer: answer, e: e, caller: caller, network: network}
}

type streamAnswer struct {
	Answer
	e       *Reader
	caller  *access.Caller
	network string
}

// Add implements write.StreamAnswer.
func (a *streamAnswer) Add(ctx context.Context, s store.Snapshot, result *write.Result) error {
	return a.e.newView(a.caller, a.network, nil).answerChanges(ctx, s, result, a.Answer)
}

func (v *view) answer(ctx context.Context, s store.Snapshot, result *write.Result, answer Answer) error {
	if err := answer.Begin(); err != nil {
		return err
	}
	if err := v.answerChanges(ctx, s, result, answer); err != nil {
		return err
	}
	return answer.End()
}

// answerChanges adds the changes of a result to an answer. Without a snapshot they are
// rendered without names of other objects.
func (v *view) answerChanges(ctx context.Context, s store.Snapshot, result *write.Result, answer Answer) error {
	for changes := result.Changes; len(changes) > 0; {
		some := leading(changes[:min(v.together, len(changes))], maxPieceBytes)
		records, err := v.completeChanges(ctx, s, some, !result.Listed)
		if errors.Is(err, errTooMuch) {
			v.together = len(some) / 2
			continue
		}
		if err != nil {
			return err
		}
		v.nameWritten(result)
		if err := v.appendChanges(some, records, answer); err != nil {
			return err
		}
		changes = changes[len(some):]
	}
	return nil
}

// leading returns the first changes whose documents have at most a number of bytes
// together, at least one.
func leading(changes []*write.Change, bytes int) []*write.Change {
	for i, c := range changes {
		if bytes -= len(c.Record().Document); bytes < 0 {
			return changes[:max(i, 1)]
		}
	}
	return changes
}

// completeChanges reads everything that changes are rendered with, and returns copies
// of their records as they are shown. It returns errTooMuch for several changes that
// need too much memory together.
func (v *view) completeChanges(ctx context.Context, s store.Snapshot, changes []*write.Change, single bool) ([]*store.Record, error) {
	v.forget()
	records, byType := make([]*store.Record, len(changes)), map[*schema.Type][]*store.Record{}
	for i, c := range changes {
		record := *c.Record()
		if err := v.show(c.Type, &record); err != nil {
			return nil, err
		}
		records[i], byType[c.Type] = &record, append(byType[c.Type], &record)
	}
	if s == nil {
		return records, nil
	}
	for t, list := range byType {
		if err := v.derive(ctx, s, t, list, single); err != nil {
			return nil, err
		}
	}
	for i, c := range changes {
		if err := v.collect(c.Type, records[i]); err != nil {
			return nil, err
		}
	}
	return records, v.resolveFor(ctx, s, len(changes))
}

// nameWritten enters the names of a result's objects as they were written.
func (v *view) nameWritten(result *write.Result) {
	for _, c := range result.Changes {
		if label, ok := c.After[c.Type.Label].(string); ok {
			v.labels[referenceKey{c.Type.Name, c.Network, c.ID}] = label
		}
		if parent, ok := c.After[c.Type.Parent].(string); ok {
			v.parents[referenceKey{c.Type.Name, c.Network, c.ID}] = parent
		}
	}
}

// renderedAtOnce bounds the bytes of documents that are rendered at a time on all
// processors, as the output may be much larger.
const renderedAtOnce = 256 << 10

// appendChanges renders changes whose references are resolved.
func (v *view) appendChanges(changes []*write.Change, records []*store.Record, answer Answer) error {
	for len(changes) > 0 {
		n, size := 0, 0
		for n < len(changes) && (n == 0 || size+len(records[n].Document) <= renderedAtOnce) {
			size += len(records[n].Document)
			n++
		}
		objects := make([]*Object, n)
		err := parallel.Do(n, func() func(int) error {
			own := v.worker()
			return func(i int) error {
				c := changes[i]
				body, err := own.append(make([]byte, 0, len(records[i].Document)+1024), c.Type, records[i])
				objects[i] = &Object{JSON: body, Version: c.Record().Version, ID: c.ID, Path: pathOf(c.Type, c.Record())}
				return err
			}
		})
		if err != nil {
			return err
		}
		for _, object := range objects {
			if err := answer.Add(object); err != nil {
				return err
			}
		}
		changes, records = changes[n:], records[n:]
	}
	return nil
}
