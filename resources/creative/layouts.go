package creative

import (
	"context"
	"crypto/sha256"
	"maps"
	"slices"
	"strconv"
	"sync"

	"marquee/engine"
	"marquee/engine/message"
	"marquee/resources/layout"
)

// templateFaults are the messages of the faults that a template can have. Others,
// as one that is too long, are found by the schema, or with the body.
var templateFaults = map[layout.Kind]*message.Definition{
	layout.BadSlot:        message.LayoutSlotSyntax,
	layout.UnclosedSlot:   message.LayoutSlotOpen,
	layout.UnsafePlace:    message.LayoutPlaceUnsafe,
	layout.AmbiguousPlace: message.LayoutPlaceAmbiguous,
	layout.UnsafeURL:      message.LayoutURLUnsafe,
}

// layoutsMerged refuses a template that cannot be rendered safely, and warns of
// slots that are declared and not in it, or in it and not declared.
func layoutsMerged(_ context.Context, _ *engine.Writing, changes []*engine.Change) error {
	for _, c := range changes {
		html, isText := c.After["html"].(string)
		if !isText {
			continue
		}
		template, faults := templates.parse(html)
		for _, fault := range faults {
			if d := templateFaults[fault.Kind]; d != nil {
				c.Refuse(d, "/html", message.Params{"line": fault.Line, "column": fault.Column, "slot": fault.Tag})
			}
		}
		if template != nil {
			warnOfSlots(c, template.Slots())
		}
	}
	return nil
}

func warnOfSlots(c *engine.Change, inTemplate []string) {
	declared := map[string]bool{}
	for _, v := range views {
		list, _ := c.After[v.constraints].([]any)
		for i, entry := range list {
			constraint, _ := entry.(map[string]any)
			tag := text(constraint["tag"])
			at := "/" + v.constraints + "/" + strconv.Itoa(i) + "/tag"
			switch {
			case tag == "":
			case declared[tag]:
				c.Warn(message.WarnLayoutSlotTwice, at, message.Params{"slot": tag})
			case !slices.Contains(inTemplate, tag):
				c.Warn(message.WarnLayoutSlotMissing, at, message.Params{"slot": tag})
			}
			declared[tag] = true
		}
	}
	for _, tag := range inTemplate {
		if !declared[tag] {
			c.Warn(message.WarnLayoutUndeclared, "/html", message.Params{"slot": tag})
		}
	}
}

// templateCache keeps templates: those of the layouts that are in use are asked
// for with every page of creatives.
type templateCache struct {
	mu     sync.Mutex
	parsed map[[sha256.Size]byte]parsing
}

type parsing struct {
	template *layout.Template
	faults   []layout.Fault
}

// maxTemplates is how many templates are kept, and maxKept how long the html of
// one may be.
const (
	maxTemplates = 256
	maxKept      = 64 << 10
)

var templates = templateCache{parsed: map[[sha256.Size]byte]parsing{}}

func (t *templateCache) parse(html string) (*layout.Template, []layout.Fault) {
	if len(html) > maxKept {
		return layout.Parse(html)
	}
	key := sha256.Sum256([]byte(html))
	t.mu.Lock()
	kept, known := t.parsed[key]
	t.mu.Unlock()
	if known {
		return kept.template, kept.faults
	}
	kept.template, kept.faults = layout.Parse(html)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.parsed) >= maxTemplates {
		clear(t.parsed)
	}
	t.parsed[key] = kept
	return kept.template, kept.faults
}

// parsed is the template of a layout, nil when it cannot be rendered.
func parsed(object map[string]any) *layout.Template {
	template, _ := templates.parse(text(object["html"]))
	return template
}

// values are what the slots of a layout are filled with: the texts and URLs, and
// the places from which assets are delivered.
func (s slots) values(parameters map[string]any, delivered func(id string) string) map[string]layout.Value {
	values := make(map[string]layout.Value, len(parameters))
	for _, tag := range slices.Sorted(maps.Keys(parameters)) {
		switch value := parameters[tag]; s.kindOf(tag, value) {
		case assets:
			if place := delivered(assetID(value)); place != "" {
				values[tag] = layout.URL(place)
			}
		case urls:
			values[tag] = layout.URL(text(value))
		default:
			values[tag] = layout.Text(text(value))
		}
	}
	return values
}
