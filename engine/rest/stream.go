package rest

import (
	"errors"

	"marquee/engine"
	"marquee/engine/budget"
	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/spool"
)

// StreamLimits bound a body that is not held in memory: its bytes after
// decompression, and its objects.
type StreamLimits struct{ Bytes, Objects int }

// WriteStream stores the objects of the body, all or none, and responds as a
// collection write does. Body and response are kept in temporary files.
func (r *Call) WriteStream(t *schema.Type, limits StreamLimits) error {
	var batch engine.Batch
	if err := r.options(t, &batch); err != nil {
		return err
	}
	like := engine.Operation{Type: t}
	if err := r.conditions(&like, false); err != nil {
		return err
	}
	if err := (&objects{Call: r, t: t}).admit(batch.Network); err != nil {
		return err
	}
	sent, err := r.receive(limits.Bytes)
	if err != nil {
		return err
	}
	defer sent.close()
	if err := r.take(streamCost); err != nil {
		return err
	}
	if err := r.confirm(); err != nil {
		return err
	}
	body, err := r.unpacked(sent)
	if err != nil {
		return err
	}
	defer body.Close()
	answer := &streamAnswer{file: r.Spool()}
	defer answer.file.Close()
	var properties []string
	if r.prefersMinimal(false) {
		properties = []string{"id"}
	}
	scratch := r.Spool()
	defer scratch.Close()
	shape := document.Limits{Depth: document.DefaultLimits.Depth, Object: document.DefaultLimits.Object, Objects: limits.Objects}
	sentObjects := 0
	defer func() { r.Spend(sentObjects) }()
	result, err := r.s.Engine.WriteStream(budget.With(r.Context(), r.share), r.caller, engine.Stream{
		Like: like, Network: batch.Network, FieldValidation: batch.FieldValidation, ValidateOnly: batch.ValidateOnly,
		Open: func() engine.Objects {
			return &countedObjects{Objects: document.NewObjectReader(body.Reader(), shape), most: &sentObjects}
		},
		Answer: r.s.Engine.StreamAnswer(r.caller, batch.Network, answer, properties...), Scratch: scratch,
	})
	if err != nil {
		return err
	}
	r.Dropped(true, result.Unknown)
	r.warnFollowing(result.Following)
	return answer.send(r)
}

// countedObjects counts the objects that are read; most is the largest of the counts.
type countedObjects struct {
	engine.Objects
	count int
	most  *int
}

// Next implements engine.Objects.
func (o *countedObjects) Next() (object map[string]any, size int64, err error) {
	object, size, err = o.Objects.Next()
	if err == nil {
		o.count++
		*o.most = max(*o.most, o.count)
	}
	return object, size, err
}

// unpacked returns a file with the decompressed body, and closes the body if that is
// another file.
func (r *Call) unpacked(b *body) (*spool.File, error) {
	if !b.gzip {
		return b.file, nil
	}
	file := r.Spool()
	if err := b.unpack(r.Context(), file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	b.close()
	return file, nil
}
