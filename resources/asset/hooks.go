package asset

import (
	"context"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/store"
)

// merged refuses an asset without a file, and has a new file, or one with a new
// name, delivered from a new place: what was delivered from one never changes.
func merged(ctx context.Context, w *engine.Writing, changes []*engine.Change) error {
	taken, err := takenNames(ctx, w, changes)
	if err != nil {
		return err
	}
	for _, c := range changes {
		up, ok := c.Kept.(*upload)
		switch {
		case !ok && c.Created():
			c.Refuse(message.AssetFileMissing, "/file", nil)
		case ok && (c.Created() || c.Before["sha256"] != c.After["sha256"] || c.Before["fileName"] != c.After["fileName"]):
			up.name = up.fresh
			if up.wanted != "" && !taken[up.wanted] {
				taken[up.wanted], up.name = true, up.wanted
			}
			c.After["cdnId"] = place(up.name, up.primary)
		}
	}
	return nil
}

// takenNames are those of the names that imported assets want which are those
// of deliveries already.
func takenNames(ctx context.Context, w *engine.Writing, changes []*engine.Change) (map[string]bool, error) {
	taken := map[string]bool{}
	var names []string
	for _, c := range changes {
		if up, ok := c.Kept.(*upload); ok && up.wanted != "" {
			names = append(names, up.wanted)
		}
	}
	err := readDeliveries(ctx, w.Tx(), names, func(name string, _ *delivery, _ *store.Record) { taken[name] = true })
	return taken, err
}

// written stores the files of uploads, and how they are delivered.
func written(ctx context.Context, w *engine.Writing, changes []*engine.Change) error {
	for _, c := range changes {
		up, ok := c.Kept.(*upload)
		if !ok || c.Before["cdnId"] == c.After["cdnId"] {
			continue
		}
		if err := up.write(ctx, w, c); err != nil {
			return err
		}
	}
	return nil
}

// write puts each blob, whether it is there or not: who drops those that
// nothing refers to meets it (store.Tx).
func (up *upload) write(ctx context.Context, w *engine.Writing, c *engine.Change) error {
	d := &delivery{Network: c.Network, Asset: c.ID}
	put := map[string]bool{}
	for _, file := range up.files {
		f := deliveredFile{file.path, file.media, file.sum}
		d.Files = append(d.Files, f)
		if put[f.SHA256] {
			continue
		}
		put[f.SHA256] = true
		if err := w.Tx().PutBlob(ctx, d.key(f), file.size, file.open); err != nil {
			return err
		}
	}
	writes := []store.Write{newDelivery(up.name, d, w.Now())}
	before, _ := c.Before["cdnId"].(string)
	err := readDeliveries(ctx, w.Tx(), []string{nameOf(before)}, func(_ string, old *delivery, r *store.Record) {
		writes = append(writes, ended(r, old, w.Now()))
	})
	if err != nil {
		return err
	}
	return w.Tx().Put(ctx, deliveries, writes)
}

// derived tells where the files of assets are delivered.
func (a *Rules) derived(ctx context.Context, r *engine.Reading, records []*store.Record) error {
	if !r.Shows("cdnId") && !r.Shows("htmlUrls") {
		return nil
	}
	places, names := make([]string, len(records)), []string{}
	for i, record := range records {
		object, err := document.DecodeObject(record.Document, document.Limits{Depth: 1000})
		if err != nil {
			return err
		}
		places[i], _ = object["cdnId"].(string)
		if object["primaryHtmlAsset"] == true && r.Shows("htmlUrls") {
			names = append(names, nameOf(places[i]))
		}
	}
	pages := map[string]map[string]any{}
	err := readDeliveries(ctx, r.Snapshot(), names, func(name string, d *delivery, _ *store.Record) {
		pages[name] = map[string]any{}
		for _, f := range d.Files {
			pages[name][f.Path] = a.URL(place(name, f.Path))
		}
	})
	if err != nil {
		return err
	}
	for i, record := range records {
		urls := pages[nameOf(places[i])]
		if urls == nil {
			urls = map[string]any{}
		}
		if err := engine.Set(record, map[string]any{"cdnId": a.URL(places[i]), "htmlUrls": urls}); err != nil {
			return err
		}
	}
	return nil
}
