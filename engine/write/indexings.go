package write

import (
	"context"
	"strings"
	"time"

	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/store"
)

// indexings are what objects are indexed by, by the name of the type.
type indexings map[string]*catalog.Indexing

// read reads those of the objects of the round.
func (all indexings) read(w *Writing) error {
	unread := byType(w.round, func(c *Change) bool { return all[c.Type.Name] == nil })
	if len(unread) == 0 {
		return nil
	}
	var keys []store.Key
	for _, some := range unread {
		keys = append(keys, store.Key{ID: some[0].Type.Name})
	}
	err := w.tx.Get(w.ctx, catalog.TypeCollection, keys, func(r *store.Record) (err error) {
		all[r.ID], err = w.e.ReadIndexing(r)
		return err
	})
	if err != nil {
		return err
	}
	for _, some := range unread {
		t := some[0].Type
		if n := all[t.Name]; n == nil {
			all[t.Name] = w.e.WantedIndexing(t)
		} else if n.Format > catalog.IndexingFormat {
			return outdated(t.Name)
		}
	}
	return nil
}

// allIndexings returns what the objects of all types are indexed by, also of types that
// another server alone serves.
func (e *Writer) allIndexings(ctx context.Context, s store.Snapshot) (indexings, error) {
	all := indexings{}
	err := catalog.EachIndexing(ctx, s, func(r *store.Record) error {
		n, err := e.ReadIndexing(r)
		if err == nil && n.Format > catalog.IndexingFormat {
			err = outdated(r.ID)
		}
		all[strings.Clone(r.ID)] = n
		return err
	})
	return all, err
}

// checkDeclared refuses to change values for which another schema, served or about to be,
// declares something else.
func (c *Change) checkDeclared() error {
	for _, declared := range []map[string]string{c.index.Declared, c.index.Proposed} {
		for place, what := range declared {
			if what == catalog.SealedForm || what == catalog.PlainForm || catalog.Agrees(c.Type, place, what) {
				continue
			}
			same := document.Equal(c.Before, c.After)
			if name := topName(place); name != "" {
				same = document.Equal(c.Before[name], c.After[name])
			}
			if !same {
				return outdated(c.Type.Name)
			}
		}
	}
	return nil
}

// topName returns the top-level member of a place, "" where it has no name.
func topName(place string) string {
	tokens := strings.Split(place, "/")
	if len(tokens) < 3 || tokens[1] != "properties" {
		return ""
	}
	return document.UnescapeToken(tokens[2])
}

// outdated returns the error of a write under a schema that is not the newest.
func outdated(name string) error {
	e := message.SchemaOutdated.Error(message.Params{"type": name})
	e.RetryAfter = 5 * time.Second
	return e
}

// shape returns the type's shape with the secrets noted for all servers, which is how
// the document is stored.
func (c *Change) shape() *document.Shape {
	return catalog.ApplyForms(c.Type.Shape, c.index.Declared, true)
}

// audited returns the type's shape with the type's secrets and those noted for all
// servers, which the history leaves out.
func (c *Change) audited() *document.Shape {
	return catalog.ApplyForms(c.Type.Shape, c.index.Declared, false)
}
