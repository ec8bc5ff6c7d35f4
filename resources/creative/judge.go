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
	"marquee/resources/layout"
)

// judged warns of what the layout of a creative does not find in its values.
func judged(_ context.Context, w *engine.Writing, changes []*engine.Change) error {
	layouts, err := seen(w, "layouts", changes, layoutOf)
	if err != nil {
		return err
	}
	assets, err := seenAll(w, "assets", changes, func(c *engine.Change) []string {
		var ids []string
		for _, id := range assetsIn(c.After) {
			ids = append(ids, text(id))
		}
		return ids
	})
	if err != nil {
		return err
	}
	for _, c := range changes {
		used, found := layouts[at(c, layoutOf(c))]
		parameters, isMap := c.After["layoutParameters"].(map[string]any)
		if !found || !isMap && c.After["layoutParameters"] != nil {
			continue // a fault, which is found elsewhere
		}
		if used.State != "ACTIVE" {
			c.Warn(message.WarnLayoutInactive, "/layout", message.Params{"id": layoutOf(c)})
		}
		j := judgement{c: c, slots: slotsOf(used.Object), template: parsed(used.Object), assets: assets}
		j.slotsFilled(parameters)
	}
	return nil
}

type judgement struct {
	c        *engine.Change
	slots    slots
	template *layout.Template
	assets   map[place]engine.Seen
}

func (j *judgement) slotsFilled(parameters map[string]any) {
	for _, tag := range slices.Sorted(maps.Keys(j.slots)) {
		if required, _ := j.slots[tag].constraint["required"].(bool); required && isEmpty(parameters[tag]) {
			j.warn(message.WarnSlotEmpty, tag, nil)
		}
	}
	inTemplate := map[string]bool{}
	if j.template != nil {
		for _, tag := range j.template.Slots() {
			inTemplate[tag] = true
		}
	}
	for _, tag := range slices.Sorted(maps.Keys(parameters)) {
		declared, known := j.slots[tag]
		switch value := parameters[tag]; {
		case isEmpty(value):
		case !known && !inTemplate[tag]:
			j.warn(message.WarnSlotUnknown, tag, nil)
		case known:
			j.value(tag, declared, value)
		}
	}
}

func isEmpty(value any) bool { return value == nil || value == "" }

func (j *judgement) warn(d *message.Definition, tag string, params message.Params) {
	if params == nil {
		params = message.Params{}
	}
	params["slot"] = tag
	j.c.Warn(d, "/layoutParameters/"+document.EscapeToken(tag), params)
}

// value warns of a value that is not what its slot takes.
func (j *judgement) value(tag string, declared slot, value any) {
	content, isText := value.(string)
	switch {
	case declared.kind == assets && isText:
		j.warn(message.WarnSlotKind, tag, message.Params{"expected": "an asset"})
	case declared.kind == assets:
		j.asset(tag, declared.constraint, assetID(value))
	case declared.kind == texts && !isText:
		j.warn(message.WarnSlotKind, tag, message.Params{"expected": "a text"})
	case declared.kind == texts:
		if limit, limited := declared.constraint["maxLength"].(int64); limited && int64(utf8.RuneCountInString(content)) > limit {
			j.warn(message.WarnSlotTooLong, tag, message.Params{"limit": limit})
		}
	case isText && !layout.SafeURL(content):
		j.warn(message.WarnSlotURL, tag, nil)
	}
}

func (j *judgement) asset(tag string, constraint map[string]any, id string) {
	asset, found := j.assets[at(j.c, id)]
	if !found {
		return
	}
	warn := func(d *message.Definition, params message.Params) {
		params["id"] = id
		j.warn(d, tag, params)
	}
	if asset.State != "ACTIVE" {
		warn(message.WarnAssetInactive, message.Params{})
	}
	if allowed, _ := constraint["mimeTypes"].([]any); len(allowed) > 0 && !slices.Contains(allowed, asset.Object["mimeType"]) {
		names := make([]string, len(allowed))
		for i, name := range allowed {
			names[i] = text(name)
		}
		warn(message.WarnAssetType, message.Params{"value": asset.Object["mimeType"], "allowed": strings.Join(names, ", ")})
	}
	for _, property := range []string{"width", "height"} {
		if expected, given := constraint[property]; given && asset.Object[property] != expected {
			warn(message.WarnAssetDimension, message.Params{"property": property, "expected": expected})
		}
	}
	size, _ := asset.Object["fileSizeBytes"].(int64)
	if limit, limited := constraint["maxFileSizeBytes"].(int64); limited && size > limit {
		warn(message.WarnAssetTooLarge, message.Params{"limit": limit})
	}
}
