package migration

import (
	"context"

	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/history"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// formed returns a record with its secrets in the form that a type asks for, nil if they are.
func (m *Migrator) formed(t *schema.Type, r *store.Record) (*store.Record, error) {
	object, err := document.DecodeObject(r.Document, document.Limits{Depth: 1000})
	if err != nil {
		return nil, err
	}
	w := formWalk{m: m, t: t, key: r.Key}
	if err := w.value(t.Shape, object, make(document.Pointer, 0, 16), nil); err != nil || !w.changed {
		return nil, err
	}
	other := *r.Clone()
	other.Document = document.Append(nil, object)
	return &other, nil
}

// formWalk encrypts the plain secrets of an object, and decrypts what ceases to be a
// secret.
type formWalk struct {
	m       *Migrator
	t       *schema.Type
	key     store.Key
	changed bool
}

func (w *formWalk) value(shape *document.Shape, value any, at document.Pointer, set func(string)) error {
	switch v := value.(type) {
	case string:
		if set == nil || !shape.Secret && !shape.Exposed {
			return nil
		}
		place := catalog.SecretPlace(w.t.Name, w.key.Network, w.key.ID, at)
		plain, err := w.m.Sealer.Open(v, place)
		switch {
		case shape.Secret && err != nil: // what does not open here is plain
			w.changed = true
			sealed, err := w.m.Sealer.Seal(v, place)
			set(sealed)
			return err
		case !shape.Secret && err == nil:
			w.changed = true
			set(plain)
		}
	case []any:
		for i, item := range v {
			inner := shape.Item(i)
			if inner == nil {
				continue
			}
			if err := w.value(inner, item, at.Index(i), func(text string) { v[i] = text }); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, member := range v {
			inner := shape.Member(name)
			if inner == nil || inner == document.AnyShape {
				continue
			}
			if err := w.value(inner, member, at.At(name), func(text string) { v[name] = text }); err != nil {
				return err
			}
		}
	}
	return nil
}

// rewriteHistory removes new secrets from the history, in steps.
func (m *Migrator) rewriteHistory(ctx context.Context, t *schema.Type) error {
	for after := ""; ; {
		met, err := m.rewriteSome(ctx, t.Name, &after, func(fields []byte) ([]byte, bool, error) { return history.Redact(t.Shape, fields) })
		if err != nil || met == 0 {
			return err
		}
	}
}

// rewriteStep is the number of changes rewritten in one transaction.
const rewriteStep = 200

// rewriteSome rewrites the fields of the next changes of a collection in the history, and
// returns how many it has read. It reads outside of the transactions that write, as there may
// be many changes of other types in between: nobody else may rewrite the history.
func (m *Migrator) rewriteSome(ctx context.Context, collection string, after *string, left func(fields []byte) ([]byte, bool, error)) (met int, err error) {
	var changes []store.Change
	err = m.Store.Read(ctx, func(s store.Snapshot) (err error) {
		changes, err = s.ScanHistory(ctx, collection, *after, rewriteStep)
		return err
	})
	if err != nil || len(changes) == 0 {
		return 0, err
	}
	*after = changes[len(changes)-1].Position
	var changed []store.Change
	for _, c := range changes {
		fields, differs, err := left(c.Fields)
		if err != nil {
			return 0, err
		}
		if differs {
			c.Fields = fields
			changed = append(changed, c)
		}
	}
	if len(changed) == 0 {
		return len(changes), nil
	}
	return len(changes), m.Store.Write(ctx, func(tx store.Tx) error { return tx.RewriteHistory(ctx, changed) })
}
