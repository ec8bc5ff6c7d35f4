package creative

import (
	"maps"
	"slices"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/resources/catalogue"
)

// kind is the kind of value that a slot of a layout holds.
type kind int

const (
	texts kind = iota
	urls
	assets
)

// view is a property of creatives that shows the slots of one kind.
type view struct {
	property    string
	constraints string
	kind        kind
}

var views = []view{
	{"constraintsToAssets", "assetConstraints", assets},
	{"constraintsToText", "textConstraints", texts},
	{"constraintsToUrls", "urlConstraints", urls},
}

// slots are the slots that a layout declares, by tag.
type slots map[string]slot

type slot struct {
	kind       kind
	constraint map[string]any
}

func slotsOf(layout map[string]any) slots {
	all := slots{}
	for _, v := range views {
		list, _ := layout[v.constraints].([]any)
		for _, entry := range list {
			constraint, _ := entry.(map[string]any)
			if tag := text(constraint["tag"]); tag != "" {
				all[tag] = slot{v.kind, constraint}
			}
		}
	}
	return all
}

// kindOf returns the kind of a slot: that of an asset if the value is one,
// otherwise the declared kind, and text for an undeclared slot.
func (s slots) kindOf(tag string, value any) kind {
	declared, known := s[tag]
	switch _, isText := value.(string); {
	case value == nil && known:
		return declared.kind
	case value == nil:
		return texts
	case !isText:
		return assets
	case known && declared.kind == urls:
		return urls
	}
	return texts
}

// mergeSlots merges the three properties that show the slots by kind, if the
// client sent them, into layoutParameters, which is stored.
//
// A client can post back an object that it read, with a change in either place: of
// two values of a slot, the one that differs from the stored value counts.
func mergeSlots(c *engine.Change, s slots) {
	posted := map[kind]map[string]any{}
	for _, v := range views {
		if value, sent := c.Patch[v.property]; sent {
			posted[v.kind] = slotValues(c, v, value)
		}
		delete(c.After, v.property)
	}
	if len(posted) == 0 {
		return
	}
	stored, _ := c.Before["layoutParameters"].(map[string]any)
	sent, both := c.Patch["layoutParameters"].(map[string]any)
	merged, isMap := c.After["layoutParameters"].(map[string]any)
	if !isMap && c.After["layoutParameters"] != nil {
		return // the schema rejects it
	}
	if merged = maps.Clone(merged); merged == nil {
		merged = map[string]any{}
	}
	isNew := func(tag string) bool {
		value, has := sent[tag]
		was, had := stored[tag]
		return both && has && (!had || !document.Equal(value, was))
	}
	for _, v := range views {
		values, given := posted[v.kind]
		if !given {
			continue
		}
		patch, partial := c.MergePatch(v.property)
		for _, tag := range slices.Sorted(maps.Keys(merged)) {
			_, kept := values[tag]
			if partial {
				value, patched := patch[tag]
				kept = !patched || value != nil
			}
			if !kept && s.kindOf(tag, merged[tag]) == v.kind && !isNew(tag) {
				delete(merged, tag)
			}
		}
		for tag, value := range values {
			pointer := "/" + v.property + "/" + document.EscapeToken(tag)
			present, has := merged[tag]
			was, had := stored[tag]
			switch {
			case !has || document.Equal(present, value) || !isNew(tag):
				merged[tag] = value
			case had && document.Equal(value, was):
				continue // layoutParameters has the change
			default:
				c.Refuse(catalogue.SlotAmbiguous, pointer, message.Params{"slot": tag})
			}
			c.RedirectFaults("/layoutParameters/"+document.EscapeToken(tag), pointer)
		}
	}
	if len(merged) > 0 || c.After["layoutParameters"] != nil {
		c.After["layoutParameters"] = merged
	}
}

// slotValues returns the values of a view in the form of layoutParameters.
func slotValues(c *engine.Change, v view, value any) map[string]any {
	given, isMap := value.(map[string]any)
	if value != nil && !isMap {
		c.Refuse(message.ValueType, "/"+v.property, message.Params{"expected": "object"})
	}
	values := make(map[string]any, len(given))
	for tag, value := range given {
		id, isText := value.(string)
		switch {
		case value == nil:
		case v.kind != assets && !isText:
			c.Refuse(message.ValueType, "/"+v.property+"/"+document.EscapeToken(tag), message.Params{"expected": "string or null"})
			continue
		case v.kind == assets && isText && document.ValidID(id):
			value = map[string]any{"id": id}
		case v.kind == assets && assetID(value) == "":
			c.Refuse(message.ReferenceMalformed, "/"+v.property+"/"+document.EscapeToken(tag), nil)
			continue
		}
		values[tag] = value
	}
	return values
}

// assetID returns the id of the asset that a value refers to, or "".
func assetID(value any) string {
	reference, _ := value.(map[string]any)
	return text(reference["id"])
}

// assetsIn returns the ids of the assets in the slots of an object, each once.
func assetsIn(object map[string]any) []any {
	parameters, _ := object["layoutParameters"].(map[string]any)
	var ids []string
	for _, value := range parameters {
		if id := assetID(value); id != "" {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return document.Array(slices.Compact(ids))
}
