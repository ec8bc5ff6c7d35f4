package rest

import (
	"marquee/engine"
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
	w, like := &writing{Call: r}, engine.Operation{Type: t}
	if err := (&objects{Call: r, t: t}).begin(w, &like, false); err != nil {
		return err
	}
	if err := acceptJSON(r.c); err != nil {
		return err
	}
	sent, err := r.receive(int64(limits.Bytes))
	if err != nil {
		return err
	}
	defer sent.close()
	if err := r.confirm(streamCost); err != nil {
		return err
	}
	create := func() *spool.File { return r.s.Spool.Create(r.Context(), r.account()) }
	if sent.gzip {
		if err := sent.decompress(r.Context(), create()); err != nil {
			return err
		}
	}
	answer, scratch := &streamAnswer{file: create()}, create()
	defer answer.file.Close()
	defer scratch.Close()
	var properties []string
	if prefersMinimal(r.c, false) {
		properties = []string{"id"}
	}
	shape := document.Limits{Depth: document.DefaultLimits.Depth, Object: document.DefaultLimits.Object, Objects: limits.Objects}
	sentObjects := 0
	defer func() { r.Spend(sentObjects) }()
	result, err := r.s.Engine.WriteStream(r.Sharing(), r.caller, engine.Stream{
		Like: like, Network: w.batch.Network, FieldValidation: w.batch.FieldValidation, ValidateOnly: w.batch.ValidateOnly,
		Open: func() engine.Objects {
			return &countedObjects{Objects: document.NewObjectReader(sent.file.Reader(), shape), most: &sentObjects}
		},
		Answer: r.s.Engine.StreamAnswer(r.caller, w.batch.Network, answer, properties...), Scratch: scratch,
	})
	if err != nil {
		return err
	}
	WarnDropped(r.Header(), true, result.Unknown)
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
