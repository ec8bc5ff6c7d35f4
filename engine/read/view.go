package read

import (
	"math"

	"marquee/engine/access"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// view renders stored documents for one caller.
type view struct {
	e          *Reader
	registry   *schema.Registry
	caller     *access.Caller
	network    string
	projection Projection

	references
	// secrets caches whether the caller is shown the secrets of a type, warnings the
	// current text of stored warnings, which many objects share.
	secrets  map[*schema.Type]bool
	warnings map[string][]byte
	// atOnce is the number of records that are completed at once.
	atOnce int
}

func (e *Reader) newView(caller *access.Caller, network string, projection Projection) *view {
	v := &view{e: e, registry: e.Registry(), caller: caller, network: network, projection: projection,
		references: newReferences(), atOnce: math.MaxInt}
	return v.worker()
}

// worker returns a view for another goroutine, with the references resolved so far.
func (v *view) worker() *view {
	own := *v
	own.secrets, own.warnings = map[*schema.Type]bool{}, map[string][]byte{}
	return &own
}

// append renders a record and appends it to dst.
func (v *view) append(dst []byte, t *schema.Type, r *store.Record) ([]byte, error) {
	w := renderer{v: v, t: t, record: r, out: dst, start: len(dst), sealed: v.e.Sealer != nil && v.e.Sealer.Holds(r.Document)}
	err := w.object()
	return w.out, err
}

func (v *view) showsSecrets(t *schema.Type) bool {
	shown, known := v.secrets[t]
	if !known {
		shown = v.e.access.MayReadSecrets(v.caller, t, v.network)
		v.secrets[t] = shown
	}
	return shown
}
