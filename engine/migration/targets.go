package migration

import (
	"context"

	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// checkTargets refuses objects that refer to what has been removed, in properties that no
// schema has declared for a while. It concerns the keys of references that are being
// filled in. As long as they are, no target is removed.
func checkTargets(ctx context.Context, s store.Snapshot, t *schema.Type, lacks *catalog.Indexing, records []*store.Record) error {
	if len(lacks.TargetKeys()) == 0 {
		return nil
	}
	var all []catalog.Referred
	by := map[catalog.Referred]string{}
	for _, r := range records {
		object, err := document.DecodeObject(r.Document, document.Limits{Depth: 1000})
		if err != nil {
			return err
		}
		_, _, referred := lacks.DiffTargets(t.Shape, r.Network, object, nil)
		for _, to := range referred {
			by[to] = r.ID
		}
		all = append(all, referred...)
	}
	missing, err := catalog.Missing(ctx, s, all)
	if err != nil || len(missing) == 0 {
		return err
	}
	return schema.Problems{{File: t.File, Text: "the object " + quoted(by[missing[0]]) + " refers to " + quoted(missing[0].ID) +
		", and there is no such object of " + missing[0].Collection, Cure: newProperty}}
}
