package migration

import (
	"context"

	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/history"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// formed returns a record with its secrets in the form that a type asks for, nil if they are:
// plain secrets are encrypted, and what ceases to be a secret is decrypted.
func (m *Migrator) formed(t *schema.Type, r *store.Record) (*store.Record, error) {
	return withTexts(r, t.Shape, func(of *document.Shape, at document.Pointer, text string) (string, error) {
		if !of.Secret && !of.Exposed {
			return text, nil
		}
		place := catalog.SecretPlace(t.Name, r.Network, r.ID, at)
		plain, err := m.Sealer.Open(text, place)
		switch {
		case of.Secret && err != nil: // what does not open here is plain
			return m.Sealer.Seal(text, place)
		case !of.Secret && err == nil:
			return plain, nil
		}
		return text, nil
	})
}

// withTexts returns a record in whose document each has replaced the strings, nil if none is
// another.
func withTexts(r *store.Record, shape *document.Shape, each func(of *document.Shape, at document.Pointer, text string) (string, error)) (*store.Record, error) {
	object, err := document.DecodeObject(r.Document, document.Limits{Depth: 1000})
	if err != nil {
		return nil, err
	}
	changed := false
	err = shape.ReplaceTexts(object, func(of *document.Shape, at document.Pointer, text string) (string, error) {
		other, err := each(of, at, text)
		changed = changed || other != text
		return other, err
	})
	if err != nil || !changed {
		return nil, err
	}
	other := *r.Clone()
	other.Document = document.Append(nil, object)
	return &other, nil
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
