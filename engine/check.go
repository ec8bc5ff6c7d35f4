package engine

import (
	"context"
	"maps"
	"strings"

	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Check holds a value that is not to be stored against a top-level property of
// a type, as a write by the caller would, and gives it the form in which that
// would store it; nil where nothing is set. What is told of it are pointers into
// the value.
func (e *Engine) Check(ctx context.Context, caller *Caller, t *schema.Type, property, network string, value any, validation FieldValidation) (stored any, unknown []Unknown, err error) {
	// What is wrong is told of the property: the type is not what was sent.
	named := *t
	named.Name = property
	w := &Writing{e: e, ctx: ctx, caller: caller, batch: &Batch{Network: network, FieldValidation: validation}, registry: e.Registry(), result: &Result{}}
	c := &Change{Type: &named, Caller: caller, Context: network, Network: home(t, network),
		op: &Operation{Type: t, Object: map[string]any{property: value}}}
	c.Point("/"+property, "")
	c.normalise(validation)
	w.noted(c)
	c.After = document.Merge(t.Shape, nil, c.Patch)
	for _, fault := range t.Validate(c.After) {
		params := maps.Clone(fault.Params())
		pointer, _ := params["field"].(string)
		if delete(params, "field"); pointer == "/"+property || strings.HasPrefix(pointer, "/"+property+"/") {
			w.faults.Add(c.Fault(fault.Definition(), pointer, params))
		}
	}
	c.references = w.newReferences(c)
	c.checkLookups(e.Lookups)
	for _, fault := range c.faults {
		w.faults.Add(fault)
	}
	if len(c.references) > 0 {
		w.round = []*Change{c}
		found := w.faults.Clone()
		err = e.Store.Read(ctx, func(s store.Snapshot) error {
			w.faults = found.Clone()
			return w.checkReferences(s)
		})
	}
	if err == nil {
		err = w.faults.Err()
	}
	w.result.sort()
	for i := range w.result.Unknown {
		w.result.Unknown[i].Path = strings.TrimPrefix(w.result.Unknown[i].Path, "/"+property)
	}
	return c.After[property], w.result.Unknown, Translate(err)
}
