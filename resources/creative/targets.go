package creative

import (
	"context"
	"maps"
	"slices"

	"marquee/engine"
	"marquee/resources/creative/layout"
)

// place identifies an object across networks.
type place struct{ network, id string }

// placeOf returns the place of an object that a change refers to.
func placeOf(c *engine.Change, id string) place { return place{c.Context, id} }

// targetsAtOnce is the number of referenced objects in memory at once.
const targetsAtOnce = 8

// forEachTarget reads each object that changes refer to once, and calls do with
// it and the changes that refer to it. It ignores references to missing objects.
func forEachTarget(ctx context.Context, w *engine.Writing, collection string, changes []*engine.Change, id func(*engine.Change) string, do func(engine.Found, []*engine.Change) error) error {
	var order []place
	by := map[place][]*engine.Change{}
	for _, c := range changes {
		target := placeOf(c, id(c))
		if target.id == "" {
			continue
		}
		if by[target] == nil {
			order = append(order, target)
		}
		by[target] = append(by[target], c)
	}
	for some := range slices.Chunk(order, targetsAtOnce) {
		if err := ctx.Err(); err != nil {
			return err
		}
		ids := map[string][]string{}
		for _, target := range some {
			ids[target.network] = append(ids[target.network], target.id)
		}
		found := map[place]engine.Found{}
		for network, list := range ids {
			objects, err := w.Lookup(collection, network, list)
			if err != nil {
				return err
			}
			for id, object := range objects {
				found[place{network, id}] = object
			}
		}
		for _, target := range some {
			object, exists := found[target]
			if !exists {
				continue
			}
			if err := do(object, by[target]); err != nil {
				return err
			}
		}
	}
	return nil
}

// usedLayout is the part of a layout that the rules of creatives need.
type usedLayout struct {
	slots slots
	// required are the tags of the slots that must be filled, in order.
	required []string
	// template is nil if the layout cannot be rendered.
	template *layout.Template
}

func newUsedLayout(ctx context.Context, object map[string]any) (usedLayout, error) {
	u := usedLayout{slots: slotsOf(object)}
	for _, tag := range slices.Sorted(maps.Keys(u.slots)) {
		if required, _ := u.slots[tag].constraint["required"].(bool); required {
			u.required = append(u.required, tag)
		}
	}
	html, isText := object["html"].(string)
	if !isText {
		return u, nil
	}
	var err error
	u.template, _, err = templates.get(ctx, html)
	return u, err
}

// usedAsset is the part of an asset that the rules of creatives need.
type usedAsset struct {
	state                   string
	mimeType, width, height any
	size                    int64
	// path is the path from which the file is delivered.
	path string
}

// assetsAtOnce is the number of assets read with one query.
const assetsAtOnce = 100

// readAssets reads assets with lookup, by the ids in each network.
func readAssets(ctx context.Context, ids map[string][]string, lookup func(network string, ids []string) (map[string]engine.Found, error)) (map[place]usedAsset, error) {
	all := map[place]usedAsset{}
	for network, list := range ids {
		for some := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(list))), assetsAtOnce) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			found, err := lookup(network, some)
			if err != nil {
				return nil, err
			}
			for id, asset := range found {
				size, _ := asset.Object["fileSizeBytes"].(int64)
				all[place{network, id}] = usedAsset{asset.State, asset.Object["mimeType"], asset.Object["width"], asset.Object["height"],
					size, text(asset.Object["cdnId"])}
			}
		}
	}
	return all, nil
}
