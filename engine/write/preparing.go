package write

import (
	"cmp"
	"maps"
	"slices"

	"marquee/engine/access"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/parallel"
	"marquee/engine/schema/keyword"
	"marquee/engine/store"
)

// prepare does what needs no transaction, once: ids, unknown properties, normal form.
func (w *Writing) prepare() error {
	seen := map[objectKey]bool{}
	for i := range w.batch.Operations {
		c, err := w.change(&w.batch.Operations[i], i)
		if err != nil {
			return err
		}
		if key := c.key(); c.ID != "" {
			if seen[key] {
				w.faults.Add(c.Fault(message.DuplicateID, "/id", nil))
			}
			seen[key] = true
		}
		w.result.Changes = append(w.result.Changes, c)
	}
	err := parallel.Do(len(w.result.Changes), func() func(int) error {
		return func(i int) error {
			w.result.Changes[i].normalise(w.batch.FieldValidation)
			return nil
		}
	})
	for _, c := range w.result.Changes {
		w.collectFindings(c)
	}
	w.result.sort()
	return err
}

// sort orders the dropped properties by object, as members come in random order.
func (r *Result) sort() {
	slices.SortFunc(r.Unknown, func(a, b Unknown) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Path, b.Path))
	})
}

// change returns the change of an operation, with its id.
func (w *Writing) change(op *Operation, index int) (*Change, error) {
	// The type is that of the registry of the whole batch: the request may have
	// found it in the one before.
	t, served := w.registry.Type(op.Type.Name)
	if !served {
		return nil, unserved(op.Type)
	}
	op.Type = t
	c := &Change{Type: t, Caller: w.caller, Index: index, Context: w.batch.Network,
		Network: t.NetworkOf(w.batch.Network), request: request{op: op, listed: w.batch.Listed, seen: access.Seen(w.e.access, w.caller, t, w.batch.Network)}}
	return c, w.identify(c)
}

// runPrepareHooks runs the Prepare hooks.
func (w *Writing) runPrepareHooks() error {
	hooked := slices.DeleteFunc(slices.Clone(w.result.Changes), func(c *Change) bool {
		return w.e.hooks[c.Type.Name].Prepare == nil
	})
	if len(hooked) == 0 {
		return nil
	}
	if err := w.e.authorizeEarly(w.ctx, w.caller, hooked); err != nil {
		return store.Translate(err)
	}
	for _, c := range hooked {
		if err := w.e.hooks[c.Type.Name].Prepare(w.ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// identify determines the id of an object: that of the path, of the body, or a new
// one.
func (w *Writing) identify(c *Change) error {
	for _, name := range []string{"id", c.Type.IDProperty} {
		value, there := c.op.Object[name]
		if name == "" || !there {
			continue
		}
		delete(c.op.Object, name)
		if value == nil {
			continue
		}
		id, ok := value.(string)
		if !ok || !c.Type.ValidID(id) {
			return c.refusal(message.BadID, message.Params{"field": "/" + name})
		}
		if c.ID != "" && c.ID != id || c.op.ID != "" && c.op.ID != id {
			return c.refusal(message.IDMismatch, message.Params{"field": "/" + name, "value": id, "id": cmp.Or(c.op.ID, c.ID)})
		}
		c.ID = id
	}
	switch {
	case c.op.ID != "":
		c.ID = c.op.ID
	case c.ID != "":
	case c.Type.IDRequired, w.batch.IDRequired:
		w.faults.Add(c.Fault(message.IDRequired, "/"+cmp.Or(c.Type.IDProperty, "id"), nil))
	default:
		c.ID, c.generated = store.NewID(), true
	}
	return nil
}

// refusal returns an error that ends the request, with the index in the batch.
func (c *Change) refusal(d *message.Definition, params message.Params) error {
	if c.listed {
		params["index"] = c.Index
	}
	return d.Error(params)
}

// normalise removes the common fields from the object and brings the rest into normal
// form.
func (c *Change) normalise(unknown FieldValidation) {
	object := c.op.Object
	malformed := func(d *message.Definition, pointer string, params message.Params) {
		if len(c.malformed) < message.MaxFaults {
			c.malformed = append(c.malformed, c.Fault(d, pointer, params))
		}
	}
	c.served().ToStored(object, func(name, other string) {
		malformed(keyword.NamesDiffer, "/"+name, nil)
		last := len(c.malformed) - 1
		c.malformed[last] = c.malformed[last].Adding(message.Params{"other": "/" + other})
	})
	if state, there := object["objectState"]; there {
		delete(object, "objectState")
		switch state {
		case "ACTIVE", "INACTIVE", "HIDDEN":
			c.wanted = state.(string)
		case nil:
			c.wanted = "ACTIVE"
		default:
			malformed(message.ValueEnum, "/objectState", message.Params{"allowed": "ACTIVE, INACTIVE, HIDDEN"})
		}
	}
	for _, name := range []string{"createTime", "updateTime", "createUser", "updateUser", "network", "url", "validationWarnings"} {
		if c.Type.Shape.Properties[name] == nil {
			delete(object, name)
		}
	}
	n := document.Normaliser{
		Unknown: func(at document.Pointer, refused bool) {
			switch {
			case unknown == Strict, unknown == BySchema && refused:
				malformed(message.PropertyUnknown, at.String(), nil)
			case unknown != Ignore:
				if len(c.unknown) < MaxWarnings {
					c.unknown = append(c.unknown, Unknown{Index: c.Index, Type: c.Type.Served().Name, Path: c.served().ServedPointer(at.String())})
				}
			}
		},
		Fault: func(d *message.Definition, at document.Pointer, params message.Params) {
			if d != message.ItemsNotUnique {
				malformed(d, at.String(), params)
			} else if len(c.repeated) < message.MaxFaults {
				c.repeated = append(c.repeated, d.With(message.Params{"field": at.String()}))
			}
		},
	}
	c.keepNested()
	numbers := c.importedNumbers()
	n.Object(c.shapeSeen(), object)
	maps.Copy(object, numbers)
	maps.Copy(object, c.op.Set)
	c.Patch, c.Kept = object, c.op.Kept
}

// collectFindings adds the findings of normalise to those of the batch.
func (w *Writing) collectFindings(c *Change) {
	w.faults.Add(c.malformed...)
	left := MaxWarnings - len(w.result.Unknown)
	w.result.Unknown = append(w.result.Unknown, c.unknown[:min(left, len(c.unknown))]...)
}

// MaxWarnings is the number of dropped properties that are listed.
const MaxWarnings = 20
