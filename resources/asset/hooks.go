package asset

import (
	"context"
	"slices"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/store"
	"marquee/resources/catalogue"
)

// beforeValidate refuses an asset without a file. It gives a new file, or one with a
// new name, a new path: the file delivered from a path never changes.
func beforeValidate(ctx context.Context, w *engine.Writing, changes []*engine.Change) error {
	taken, err := takenNames(ctx, w, changes)
	if err != nil {
		return err
	}
	for _, c := range changes {
		up, ok := c.Kept.(*upload)
		switch {
		case !ok && c.Created():
			c.Refuse(catalogue.AssetFileMissing, "/file", nil)
		case ok && (c.Created() || c.Before["sha256"] != c.After["sha256"] || c.Before["fileName"] != c.After["fileName"]):
			up.name = up.fresh
			if up.wanted != "" && !taken[up.wanted] {
				taken[up.wanted], up.name = true, up.wanted
			}
			c.After["cdnId"] = deliveryPath(up.name, up.primary)
		}
	}
	return nil
}

// takenNames returns those names of imported deliveries that are already in use.
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

// beforeStore stores the files of uploads and their deliveries. It writes the shared
// records first, so that of two conflicting transactions one waits before it has
// written much.
func (a *Rules) beforeStore(ctx context.Context, w *engine.Writing, changes []*engine.Change) error {
	var uploads []*engine.Change
	for _, c := range changes {
		if _, ok := c.Kept.(*upload); ok && c.Before["cdnId"] != c.After["cdnId"] {
			uploads = append(uploads, c)
		}
	}
	if len(uploads) == 0 {
		return nil
	}
	if err := a.account(ctx, w, uploads); err != nil {
		return err
	}
	for _, c := range uploads {
		if err := c.Kept.(*upload).write(ctx, w, c); err != nil {
			return err
		}
	}
	return nil
}

// write puts each blob even if it exists, so that the transaction conflicts with one
// that drops the blob as unused (see store.Tx).
func (up *upload) write(ctx context.Context, w *engine.Writing, c *engine.Change) error {
	d := &delivery{Network: c.Network, Asset: c.ID}
	put := map[string]bool{}
	for _, file := range up.files {
		f := deliveredFile{file.path, file.media, file.sum, file.size}
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
	err := readDeliveries(ctx, w.Tx(), []string{deliveryName(before)}, func(_ string, old *delivery, r *store.Record) {
		writes = append(writes, endDelivery(r, old, w.Now()))
	})
	if err != nil {
		return err
	}
	return w.Tx().Put(ctx, deliveries, writes)
}

// readAtOnce is the number of deliveries in memory at once: that of a bundle has many
// files.
const readAtOnce = 50

// derive adds the URLs of the files of assets.
func (a *Rules) derive(ctx context.Context, r *engine.Reading, records []*store.Record) error {
	if !r.Shows("cdnId") && !r.Shows("htmlUrls") {
		return nil
	}
	for part := range slices.Chunk(records, readAtOnce) {
		if err := a.deriveSome(ctx, r, part); err != nil {
			return err
		}
	}
	return nil
}

func (a *Rules) deriveSome(ctx context.Context, r *engine.Reading, records []*store.Record) error {
	places, names := make([]string, len(records)), []string{}
	for i, record := range records {
		object, err := document.DecodeObject(record.Document, document.Limits{Depth: 1000})
		if err != nil {
			return err
		}
		places[i], _ = object["cdnId"].(string)
		if object["primaryHtmlAsset"] == true && r.Shows("htmlUrls") {
			names = append(names, deliveryName(places[i]))
		}
	}
	pages := map[string]map[string]any{}
	err := readDeliveries(ctx, r.Snapshot(), names, func(name string, d *delivery, _ *store.Record) {
		pages[name] = map[string]any{}
		for _, f := range d.Files {
			pages[name][f.Path] = a.URL(deliveryPath(name, f.Path))
		}
	})
	if err != nil {
		return err
	}
	for i, record := range records {
		urls := pages[deliveryName(places[i])]
		if urls == nil {
			urls = map[string]any{}
		}
		if err := r.Set(record, map[string]any{"cdnId": a.URL(places[i]), "htmlUrls": urls}); err != nil {
			return err
		}
	}
	return nil
}
