package write

import (
	"context"

	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// WriteAmended writes stored objects of a type as its schema asks for them
// (document.Shape.Amended), in one transaction: those that keys, which each run of it calls,
// returns. Objects that have it, or that are gone, stay as they are. Errors are those of Write,
// and of the store.
func (e *Writer) WriteAmended(ctx context.Context, name, network string, keys func() []store.Key) error {
	return e.rewrite(ctx, name, network, func(w *Writing, t *schema.Type) error {
		some := keys()
		there, err := store.Existing(ctx, w.tx, name, some)
		for _, key := range some {
			if _, still := there[key]; still {
				w.Upsert(t, network, key.ID, nil).SetCause(message.CauseSchema, message.Params{"type": t.Name})
			}
		}
		return err
	})
}

// rewrite runs stored objects of a type, which a function adds, through the write path in a
// transaction of the service itself. It does nothing if the type is not served.
func (e *Writer) rewrite(ctx context.Context, name, network string, add func(*Writing, *schema.Type) error) error {
	w := e.background(ctx, network, "")
	t, served := w.registry.Type(name)
	if !served {
		return nil
	}
	return e.numbers.Run(ctx, func() error {
		return w.transact(store.LongRunning(ctx), func() error {
			if err := add(w, t); err != nil {
				return err
			}
			if err := w.run(); err != nil {
				return err
			}
			return w.conclude()
		})
	})
}

// amended returns a stored document with what the schema asks of it.
func (c *Change) amended(object map[string]any) map[string]any {
	object, _ = c.Type.Shape.Amended(object, c.StateBefore == hidden)
	return object
}

// decodeAmended decodes a stored document of a type, with what the schema asks of it.
func decodeAmended(t *schema.Type, r *store.Record) (map[string]any, error) {
	object, err := document.DecodeObject(r.Document, document.Limits{Depth: 1000})
	if err == nil {
		object, _ = t.Shape.Amended(object, r.State == hidden)
	}
	return object, err
}

// noteUnamended notes that objects may lack what the schema served last asks for, because
// they are written under another one, so that they are looked at again.
func (w *Writing) noteUnamended(changed []*Change) error {
	others := byType(changed, func(c *Change) bool { return c.index.Amended != "" && c.index.Amends != c.Type.Amendments() })
	for _, some := range others {
		name := some[0].Type.Name
		if err := catalog.Unamend(w.ctx, w.tx, name, w.now); err != nil {
			return err
		}
		delete(w.indexings, name) // to be read again
	}
	return nil
}
