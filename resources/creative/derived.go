package creative

import (
	"context"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/store"
)

// derived shows the slots by kind, and the layout with its slots filled in.
func derived(at func(path string) string) func(context.Context, *engine.Reading, []*store.Record) error {
	return func(ctx context.Context, r *engine.Reading, records []*store.Record) error {
		return showAll(ctx, r, records, at)
	}
}

func showAll(ctx context.Context, r *engine.Reading, records []*store.Record, at func(path string) string) error {
	shown := r.Shows("renderedHtml")
	for _, v := range views {
		shown = shown || r.Shows(v.property)
	}
	if !shown {
		return nil
	}
	objects, layoutIDs, assetIDs := make([]map[string]any, len(records)), map[string][]string{}, map[string][]string{}
	for i, record := range records {
		object, err := document.DecodeObject(record.Document, document.Limits{Depth: 1000})
		if err != nil {
			return err
		}
		objects[i] = object
		layoutIDs[record.Network] = append(layoutIDs[record.Network], text(object["layout"]))
		for _, id := range assetsIn(object) {
			assetIDs[record.Network] = append(assetIDs[record.Network], text(id))
		}
	}
	layouts, err := read(ctx, r, "layouts", layoutIDs)
	if err != nil {
		return err
	}
	assets, err := read(ctx, r, "assets", assetIDs)
	if err != nil {
		return err
	}
	for i, record := range records {
		used := layouts[place{record.Network, text(objects[i]["layout"])}].Object
		delivered := func(id string) string { return at(text(assets[place{record.Network, id}].Object["cdnId"])) }
		if err := engine.Set(record, show(objects[i], used, r.Shows("renderedHtml"), delivered)); err != nil {
			return err
		}
	}
	return nil
}

// show is what a creative shows besides what is stored.
func show(object, used map[string]any, rendered bool, delivered func(string) string) map[string]any {
	properties := map[string]any{}
	parameters, _ := object["layoutParameters"].(map[string]any)
	s := slotsOf(used)
	for _, v := range views {
		values := map[string]any{}
		for tag, value := range parameters {
			if s.kindOf(tag, value) == v.kind {
				values[tag] = value
			}
		}
		properties[v.property] = values
	}
	if template := parsed(used); rendered && template != nil {
		if html, err := template.Render(s.values(parameters, delivered)); err == nil {
			properties["renderedHtml"] = html
		}
	}
	return properties
}

func read(ctx context.Context, r *engine.Reading, collection string, ids map[string][]string) (map[place]engine.Seen, error) {
	all := map[place]engine.Seen{}
	for network, list := range ids {
		found, err := r.See(ctx, collection, network, list)
		if err != nil {
			return nil, err
		}
		for id, object := range found {
			all[place{network, id}] = object
		}
	}
	return all, nil
}
