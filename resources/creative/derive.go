package creative

import (
	"context"
	"slices"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/store"
)

// derive adds the slots by kind and, if requested, the html of the layout with its
// slots filled in.
func derive(url func(path string) string) func(context.Context, *engine.Reading, []*store.Record) error {
	return func(ctx context.Context, r *engine.Reading, records []*store.Record) error {
		return deriveAll(ctx, r, records, url)
	}
}

func deriveAll(ctx context.Context, r *engine.Reading, records []*store.Record, url func(path string) string) error {
	requested := r.Shows("renderedHtml")
	for _, v := range views {
		requested = requested || r.Shows(v.property)
	}
	if !requested {
		return nil
	}
	var order []place
	by, assetIDs := map[place][]*store.Record{}, map[string][]string{}
	for _, record := range records {
		used := place{record.Network, document.MemberText(record.Document, "layout")}
		if by[used] == nil {
			order = append(order, used)
		}
		by[used] = append(by[used], record)
		assetIDs[record.Network] = append(assetIDs[record.Network], storedAssets(record)...)
	}
	assets, err := readAssets(ctx, assetIDs, func(network string, ids []string) (map[string]engine.Found, error) {
		return r.Lookup(ctx, "assets", network, ids)
	})
	if err != nil {
		return err
	}
	delivered := func(network string) func(id string) string {
		return func(id string) string { return url(assets[place{network, id}].path) }
	}
	for some := range slices.Chunk(order, targetsAtOnce) {
		ids := map[string][]string{}
		for _, used := range some {
			ids[used.network] = append(ids[used.network], used.id)
		}
		found := map[place]engine.Found{}
		for network, list := range ids {
			layouts, err := r.Lookup(ctx, "layouts", network, list)
			if err != nil {
				return err
			}
			for id, object := range layouts {
				found[place{network, id}] = object
			}
		}
		for _, used := range some {
			layout, err := newUsedLayout(ctx, found[used].Object)
			if err != nil {
				return err
			}
			if err := layout.deriveAll(ctx, r, by[used], delivered(used.network)); err != nil {
				return err
			}
		}
	}
	return nil
}

// storedAssets returns the ids of the assets in the slots of a stored creative.
func storedAssets(record *store.Record) (ids []string) {
	if start, end, there := document.Member(record.Document, 0, "assets"); there && record.Document[start] == '[' {
		document.EachItem(record.Document[start:end], func(item []byte) {
			if item[0] == '"' {
				ids = append(ids, document.Text(item, 0))
			}
		})
	}
	return ids
}

// deriveAll adds the properties to creatives that use the layout.
func (u *usedLayout) deriveAll(ctx context.Context, r *engine.Reading, records []*store.Record, delivered func(id string) string) error {
	for _, record := range records {
		if err := ctx.Err(); err != nil {
			return err
		}
		object, err := document.DecodeObject(record.Document, document.Limits{Depth: 1000})
		if err != nil {
			return err
		}
		if err := r.Set(record, u.properties(object, r.Shows("renderedHtml"), delivered)); err != nil {
			return err
		}
	}
	return nil
}

// properties returns the derived properties of a creative.
func (u *usedLayout) properties(object map[string]any, rendered bool, delivered func(string) string) map[string]any {
	properties := map[string]any{}
	parameters, _ := object["layoutParameters"].(map[string]any)
	for _, v := range views {
		values := map[string]any{}
		for tag, value := range parameters {
			if u.slots.kindOf(tag, value) == v.kind {
				values[tag] = value
			}
		}
		properties[v.property] = values
	}
	if u.template != nil && rendered {
		if html, err := u.template.Render(u.slots.values(parameters, delivered)); err == nil {
			properties["renderedHtml"] = html
		}
	}
	return properties
}
