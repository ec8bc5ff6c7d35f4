package write

import (
	"context"
	"maps"
	"strings"

	"marquee/engine/access"
	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// CheckProperty validates a value that will not be stored as a top-level property of a
// type, as a write by the caller would, and returns its normal form, nil for none.
// Pointers in faults begin at the value.
func (e *Writer) CheckProperty(ctx context.Context, caller *access.Caller, t *schema.Type, property, network string, value any, validation FieldValidation) (stored any, unknown []Unknown, err error) {
	// Faults name the property, as the client did not send an object of the type.
	named := *t
	named.Name = property
	w := e.newWriting(ctx, caller, Batch{Network: network, FieldValidation: validation})
	c := &Change{Type: &named, Caller: caller, Context: network, Network: t.NetworkOf(network),
		request: request{op: &Operation{Type: t, Object: map[string]any{property: value}}}}
	c.RedirectFaults("/"+property, "")
	c.normalise(validation)
	w.collectFindings(c)
	c.After = document.Merge(t.Shape, nil, c.Patch, false)
	faults, err := t.Validate(ctx, c.After)
	if err != nil {
		return nil, nil, store.Translate(err)
	}
	for _, fault := range faults {
		params := maps.Clone(fault.Params())
		pointer, _ := params["field"].(string)
		if delete(params, "field"); pointer == "/"+property || strings.HasPrefix(pointer, "/"+property+"/") {
			w.faults.Add(c.Fault(fault.Definition(), pointer, params))
		}
	}
	c.references = c.newReferences(w.registry)
	c.checkLookups(e.Lookups)
	w.faults.Add(c.faults...)
	if len(c.references) > 0 {
		w.round = []*Change{c}
		found := w.faults.Clone()
		err = e.Store.Read(ctx, func(s store.Snapshot) error {
			w.faults, w.auth = found.Clone(), authorization{e: e, ctx: ctx, s: s, caller: caller}
			return w.checkReferences()
		})
	}
	if err == nil {
		err = w.faults.Err()
	}
	w.result.sort()
	for i := range w.result.Unknown {
		w.result.Unknown[i].Path = strings.TrimPrefix(w.result.Unknown[i].Path, "/"+property)
	}
	return c.After[property], w.result.Unknown, store.Translate(err)
}
