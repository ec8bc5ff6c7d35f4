package creative

import (
	"context"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/resources/catalogue"
	"marquee/resources/creative/layout"
)

// validate warns of values that the layout of a creative lacks or cannot use, and
// refuses values with which the rendered html would be too large.
func validate(url func(path string) string) func(context.Context, *engine.Writing, []*engine.Change) error {
	return func(ctx context.Context, w *engine.Writing, changes []*engine.Change) error {
		return forEachTarget(ctx, w, "layouts", changes, layoutOf, func(object engine.Found, changes []*engine.Change) error {
			used, err := newUsedLayout(ctx, object.Object)
			if err != nil {
				return err
			}
			for some := range slices.Chunk(changes, validatedAtOnce) {
				assets, err := assetsOf(ctx, w, some)
				if err != nil {
					return err
				}
				for _, c := range some {
					if err := ctx.Err(); err != nil {
						return err
					}
					if object.State != "ACTIVE" {
						c.Warn(catalogue.WarnLayoutInactive, "/layout", message.Params{"id": layoutOf(c)})
					}
					v := validation{c: c, usedLayout: used, assets: assets, url: url}
					v.validate()
				}
			}
			return nil
		})
	}
}

// validatedAtOnce is the number of changes whose assets are read together.
const validatedAtOnce = 100

// assetsOf returns the assets in the slots of changes.
func assetsOf(ctx context.Context, w *engine.Writing, changes []*engine.Change) (map[place]usedAsset, error) {
	ids := map[string][]string{}
	for _, c := range changes {
		for _, id := range assetsIn(c.After) {
			ids[c.Context] = append(ids[c.Context], text(id))
		}
	}
	return readAssets(ctx, ids, func(network string, ids []string) (map[string]engine.Found, error) {
		return w.Lookup("assets", network, ids)
	})
}

type validation struct {
	c *engine.Change
	usedLayout
	assets map[place]usedAsset
	url    func(path string) string
}

func (v *validation) validate() {
	parameters, isMap := v.c.After["layoutParameters"].(map[string]any)
	if !isMap && v.c.After["layoutParameters"] != nil {
		return // the schema rejects it
	}
	v.slotsFilled(parameters)
	if v.template == nil || v.template.Fits(v.slots.values(parameters, func(id string) string { return v.url(v.assets[placeOf(v.c, id)].path) })) {
		return
	}
	// A creative that its layout made too large can still be changed otherwise.
	params := message.Params{"limit": layout.MaxRendered}
	if !v.c.Internal() && differs(v.c, "layout", "layoutParameters") {
		v.c.Refuse(catalogue.CreativeTooLarge, "/layoutParameters", params)
	} else {
		v.c.Warn(catalogue.WarnCreativeTooLarge, "/layoutParameters", params)
	}
}

func (v *validation) slotsFilled(parameters map[string]any) {
	for _, tag := range v.required {
		if isEmpty(parameters[tag]) {
			v.warn(catalogue.WarnSlotEmpty, tag, nil)
		}
	}
	for _, tag := range slices.Sorted(maps.Keys(parameters)) {
		declared, known := v.slots[tag]
		switch value := parameters[tag]; {
		case isEmpty(value):
		case !known && (v.template == nil || !v.template.HasSlot(tag)):
			v.warn(catalogue.WarnSlotUnknown, tag, nil)
		case known:
			v.value(tag, declared, value)
		}
	}
}

func isEmpty(value any) bool { return value == nil || value == "" }

func (v *validation) warn(d *message.Definition, tag string, params message.Params) {
	if v.c.WarningsFull() {
		v.c.Warn(d, "", nil)
		return
	}
	if params == nil {
		params = message.Params{}
	}
	params["slot"] = tag
	v.c.Warn(d, "/layoutParameters/"+document.EscapeToken(tag), params)
}

// value warns of a value that does not suit its slot.
func (v *validation) value(tag string, declared slot, value any) {
	content, isText := value.(string)
	switch {
	case declared.kind == assets && isText:
		v.warn(catalogue.WarnSlotKind, tag, message.Params{"expected": "an asset"})
	case declared.kind == assets:
		v.asset(tag, declared.constraint, assetID(value))
	case declared.kind == texts && !isText:
		v.warn(catalogue.WarnSlotKind, tag, message.Params{"expected": "a text"})
	case declared.kind == texts:
		if limit, limited := declared.constraint["maxLength"].(int64); limited && int64(utf8.RuneCountInString(content)) > limit {
			v.warn(catalogue.WarnSlotTooLong, tag, message.Params{"limit": limit})
		}
	case isText && !layout.SafeURL(content):
		v.warn(catalogue.WarnSlotURL, tag, nil)
	}
}

func (v *validation) asset(tag string, constraint map[string]any, id string) {
	asset, found := v.assets[placeOf(v.c, id)]
	if !found {
		return
	}
	warn := func(d *message.Definition, params message.Params) {
		params["id"] = id
		v.warn(d, tag, params)
	}
	if asset.state != "ACTIVE" {
		warn(catalogue.WarnAssetInactive, message.Params{})
	}
	if allowed, _ := constraint["mimeTypes"].([]any); len(allowed) > 0 && !slices.Contains(allowed, asset.mimeType) {
		warn(catalogue.WarnAssetType, message.Params{"value": asset.mimeType, "allowed": strings.Join(document.Strings(allowed), ", ")})
	}
	for _, side := range []struct {
		property string
		value    any
	}{{"width", asset.width}, {"height", asset.height}} {
		if expected, given := constraint[side.property]; given && side.value != expected {
			warn(catalogue.WarnAssetDimension, message.Params{"property": side.property, "expected": expected})
		}
	}
	if limit, limited := constraint["maxFileSizeBytes"].(int64); limited && asset.size > limit {
		warn(catalogue.WarnAssetTooLarge, message.Params{"limit": limit})
	}
}
