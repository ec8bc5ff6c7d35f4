package read

import (
	"context"
	"errors"

	"marquee/engine/access"
	"marquee/engine/parallel"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/written"
)

// Answer receives the rendered objects of a write. Begin discards what was added, as
// the snapshot may be read again; End follows the last object.
type Answer interface {
	Begin() error
	Add(object *Object) error
	End() error
}

// Render renders the objects that a write stored, in the order of its operations and
// some at a time. Objects of the batch have the names that were written. If the store
// fails meanwhile, the objects are rendered without the names of others and without
// derived properties, as the write itself has succeeded. Other errors are those of the
// answer.
func (e *Reader) Render(ctx context.Context, caller *access.Caller, network string, objects written.Objects, answer Answer) error {
	err := e.snapshot(ctx, func(s store.Snapshot) error {
		return e.newView(caller, network, nil).answer(ctx, s, objects, answer)
	})
	if _, lost := store.CodeOf(err); lost {
		return e.newView(caller, network, nil).answer(ctx, nil, objects, answer)
	}
	return err
}

// Outline renders only some properties of the objects that a write stored, such as id and
// url, and those that no other answer has (Change.Show), without reading the store.
func (e *Reader) Outline(caller *access.Caller, network string, objects written.Objects, answer Answer, properties ...string) error {
	shown := projectionOf(properties)
	for _, o := range objects.Objects {
		for name := range o.Shown {
			shown[name] = nil
		}
	}
	return e.newView(caller, network, shown).answer(context.Background(), nil, objects, answer)
}

func projectionOf(properties []string) Projection {
	shown := Projection{}
	for _, name := range properties {
		shown[name] = nil
	}
	return shown
}

// StreamAnswer returns a written.Answer that renders the objects of a stream into
// an answer, or the properties of Outline if any are named.
func (e *Reader) StreamAnswer(caller *access.Caller, network string, answer Answer, properties ...string) written.Answer {
	return &streamAnswer{Answer: answer, e: e, caller: caller, network: network, outline: properties}
}

type streamAnswer struct {
	Answer
	e       *Reader
	caller  *access.Caller
	network string
	outline []string
}

// Add implements written.Answer.
func (a *streamAnswer) Add(ctx context.Context, s store.Snapshot, objects written.Objects) error {
	var shown Projection
	if len(a.outline) > 0 {
		s, shown = nil, projectionOf(a.outline)
	}
	return a.e.newView(a.caller, a.network, shown).answerObjects(ctx, s, objects, a.Answer)
}

func (v *view) answer(ctx context.Context, s store.Snapshot, objects written.Objects, answer Answer) error {
	if err := answer.Begin(); err != nil {
		return err
	}
	v.targets = objects.Targets
	if err := v.answerObjects(ctx, s, objects, answer); err != nil {
		return err
	}
	return answer.End()
}

// answerObjects adds stored objects to an answer. Without a snapshot they are rendered
// without names of other objects.
func (v *view) answerObjects(ctx context.Context, s store.Snapshot, stored written.Objects, answer Answer) error {
	for objects := stored.Objects; len(objects) > 0; {
		some := leading(objects[:min(v.atOnce, len(objects))], maxPieceBytes)
		records, err := v.completeObjects(ctx, s, some, !stored.Listed)
		if errors.Is(err, errTooMuch) {
			v.atOnce = len(some) / 2
			continue
		}
		if err != nil {
			return err
		}
		v.addLabels(stored.Objects)
		if err := v.appendObjects(some, records, answer); err != nil {
			return err
		}
		objects = objects[len(some):]
	}
	return nil
}

// leading returns the first objects whose documents have at most a number of bytes
// together, at least one.
func leading(objects []written.Object, bytes int) []written.Object {
	for i, o := range objects {
		if bytes -= len(o.Record.Document); bytes < 0 {
			return objects[:max(i, 1)]
		}
	}
	return objects
}

// completeObjects reads everything that objects are rendered with, and returns copies
// of their records as they are shown. It returns errTooMuch for several objects that
// need too much memory together.
func (v *view) completeObjects(ctx context.Context, s store.Snapshot, objects []written.Object, single bool) ([]*store.Record, error) {
	v.forget()
	records, byType := make([]*store.Record, len(objects)), map[*schema.Type][]*store.Record{}
	for i, o := range objects {
		record := *o.Record
		if err := v.beforeRender(o.Type, &record); err != nil {
			return nil, err
		}
		if err := v.hideAsWritten(o.Type, &record); err != nil {
			return nil, err
		}
		if o.Shown != nil {
			if err := set(&record, o.Shown); err != nil {
				return nil, err
			}
		}
		records[i], byType[o.Type] = &record, append(byType[o.Type], &record)
	}
	if s == nil {
		return records, nil
	}
	for t, list := range byType {
		if err := v.derive(ctx, s, t, list, single); err != nil {
			return nil, err
		}
	}
	for i, o := range objects {
		if err := v.collect(o.Type, records[i]); err != nil {
			return nil, err
		}
	}
	return records, v.resolveFor(ctx, s, len(objects))
}

// hideAsWritten hides from a record what the caller did not see when it was written, if other
// types are served by now.
func (v *view) hideAsWritten(t *schema.Type, r *store.Record) error {
	seen := access.Seen(v.e.access, v.caller, t, v.network)
	if hide := access.HideUnseen(seen, nil); hide != nil && seen != v.seen(t) {
		return hide(v.caller, r)
	}
	return nil
}

// renderedAtOnce bounds the bytes of documents that are rendered at a time on all
// processors, as the output may be much larger.
const renderedAtOnce = 256 << 10

// appendObjects renders objects whose references are resolved.
func (v *view) appendObjects(stored []written.Object, records []*store.Record, answer Answer) error {
	for len(stored) > 0 {
		n, size := 0, 0
		for n < len(stored) && (n == 0 || size+len(records[n].Document) <= renderedAtOnce) {
			size += len(records[n].Document)
			n++
		}
		objects := make([]*Object, n)
		err := parallel.Do(n, func() func(int) error {
			own := v.worker()
			return func(i int) error {
				t, r := stored[i].Type, stored[i].Record
				body, err := own.append(make([]byte, 0, len(records[i].Document)+1024), t, records[i])
				if err != nil {
					return err
				}
				objects[i], err = own.object(t, r, body)
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
		stored, records = stored[n:], records[n:]
	}
	return nil
}
