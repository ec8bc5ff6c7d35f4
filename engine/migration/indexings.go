package migration

import (
	"bytes"
	"context"

	"marquee/engine/catalog"
	"marquee/engine/store"
)

// changeIndexings changes the indexings of types while the lease is held. Change
// alters an indexing in place, an empty one for a type that has none, and may run
// again. Indexings of a newer format stay as they are. They are read in the same
// transaction, as servers of versions without the lease may change them, too.
func (m *Migrator) changeIndexings(ctx context.Context, l *lease, names []string, change func(name string, n *catalog.Indexing)) error {
	return m.Store.Write(ctx, func(tx store.Tx) error { return m.changeIndexingsIn(ctx, tx, l, names, change) })
}

// changeIndexingsIn is changeIndexings as part of a transaction.
func (m *Migrator) changeIndexingsIn(ctx context.Context, tx store.Tx, l *lease, names []string, change func(name string, n *catalog.Indexing)) error {
	if err := l.beat(ctx, tx); err != nil {
		return err
	}
	all, err := catalog.ReadAll(ctx, tx)
	if err != nil {
		return err
	}
	var writes []store.Write
	for _, name := range names {
		was, there := all[name]
		n := was.Indexing
		if !there {
			n = &catalog.Indexing{Format: catalog.IndexingFormat, Search: []string{}, Searches: map[string][]string{}}
		}
		if n.Format > catalog.IndexingFormat {
			continue
		}
		change(name, n)
		content, err := n.Encode()
		if err != nil {
			return err
		}
		record := was.Record
		if bytes.Equal(content, record.Document) {
			continue
		}
		record.ID = name
		writes = append(writes, store.InternalWrite(record, "ACTIVE", content, m.Now()))
	}
	if len(writes) == 0 {
		return nil
	}
	return tx.Put(ctx, catalog.TypeCollection, writes)
}

// indexingOf reads the indexing of a type, nil if there is none. It must not be changed.
func (m *Migrator) indexingOf(ctx context.Context, s store.Snapshot, name string) (n *catalog.Indexing, err error) {
	err = s.Get(ctx, catalog.TypeCollection, []store.Key{{ID: name}}, func(r *store.Record) (err error) {
		n, err = m.ReadIndexing(r)
		return err
	})
	return n, err
}
