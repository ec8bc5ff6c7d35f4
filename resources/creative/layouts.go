package creative

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/resources/asset"
	"marquee/resources/catalogue"
	"marquee/resources/creative/layout"
)

// templateFaults are the messages of the faults of a template. The schema finds
// others, such as excessive length.
var templateFaults = map[layout.Kind]*message.Definition{
	layout.BadSlot:        catalogue.LayoutSlotSyntax,
	layout.UnclosedSlot:   catalogue.LayoutSlotOpen,
	layout.UnsafePlace:    catalogue.LayoutPlaceUnsafe,
	layout.AmbiguousPlace: catalogue.LayoutPlaceAmbiguous,
	layout.UnsafeURL:      catalogue.LayoutURLUnsafe,
}

// maxSlots is the maximum number of slots the html of a layout may have, counting repetitions.
const maxSlots = 10_000

// inspected is the result of parsing the html of a layout before the transaction.
type inspected struct {
	html string
	// tooMany reports that the html has too many slots, and was not parsed.
	tooMany bool
	faults  []layout.Fault
	tags    []string
}

// prepareLayout parses the html that a client sends.
func prepareLayout(ctx context.Context, c *engine.Change) error {
	html, isText := c.Patch["html"].(string)
	if !isText {
		return nil
	}
	found := &inspected{html: html, tooMany: layout.CountSlots(html) > maxSlots}
	if !found.tooMany {
		if err := found.parse(ctx); err != nil {
			return err
		}
	}
	c.Kept = found
	return nil
}

func (i *inspected) parse(ctx context.Context) error {
	template, faults, err := templates.get(ctx, i.html)
	if template != nil {
		i.tags = template.Slots()
	}
	i.faults = faults
	return err
}

// layoutsBeforeValidate refuses a template that cannot be rendered safely, and
// warns of slots that are declared but missing from the html, or the reverse.
func layoutsBeforeValidate(ctx context.Context, _ *engine.Writing, changes []*engine.Change) error {
	for _, c := range changes {
		html, isText := c.After["html"].(string)
		if !isText {
			continue
		}
		found, prepared := c.Kept.(*inspected)
		if prepared && found.tooMany && c.Before["html"] != html {
			c.Refuse(catalogue.LayoutSlotsTooMany, "/html", message.Params{"limit": maxSlots})
			continue
		}
		if !prepared || found.html != html || found.tooMany {
			// The stored html remains.
			found = &inspected{html: html}
			if err := found.parse(ctx); err != nil {
				return err
			}
		}
		for _, fault := range found.faults {
			if d := templateFaults[fault.Kind]; d != nil {
				c.Refuse(d, "/html", message.Params{"line": fault.Line, "column": fault.Column, "slot": fault.Tag})
			}
		}
		if len(found.faults) == 0 {
			warnOfSlots(c, found.tags)
		}
		warnOfTypes(c)
	}
	return nil
}

// namedTypes is the number of types that a warning names.
const namedTypes = 5

// warnOfTypes warns of media types in the constraints that no asset can have.
func warnOfTypes(c *engine.Change) {
	known := asset.MimeTypes()
	constraints, _ := c.After["assetConstraints"].([]any)
	for i, entry := range constraints {
		constraint, _ := entry.(map[string]any)
		unknown := slices.DeleteFunc(document.Strings(constraint["mimeTypes"]), func(name string) bool { return name == "" || slices.Contains(known, name) })
		if len(unknown) > 0 {
			at := "/assetConstraints/" + strconv.Itoa(i) + "/mimeTypes"
			c.Warn(catalogue.WarnLayoutMimeType, at, message.Params{"values": strings.Join(unknown[:min(namedTypes, len(unknown))], ", "), "allowed": strings.Join(known, ", ")})
		}
	}
}

// warnOfSlots warns of slots that are declared twice, not in the template, or in
// the template only.
func warnOfSlots(c *engine.Change, inTemplate []string) {
	declared, present := map[string]bool{}, make(map[string]bool, len(inTemplate))
	for _, tag := range inTemplate {
		present[tag] = true
	}
	for _, v := range views {
		list, _ := c.After[v.constraints].([]any)
		for i, entry := range list {
			constraint, _ := entry.(map[string]any)
			tag := text(constraint["tag"])
			at := "/" + v.constraints + "/" + strconv.Itoa(i) + "/tag"
			switch {
			case tag == "":
			case declared[tag]:
				c.Warn(catalogue.WarnLayoutSlotTwice, at, message.Params{"slot": tag})
			case !present[tag]:
				c.Warn(catalogue.WarnLayoutSlotMissing, at, message.Params{"slot": tag})
			}
			declared[tag] = true
		}
	}
	for _, tag := range inTemplate {
		if !declared[tag] {
			c.Warn(catalogue.WarnLayoutUndeclared, "/html", message.Params{"slot": tag})
		}
	}
}

// values returns the values to render: texts, URLs, and the URLs of assets.
func (s slots) values(parameters map[string]any, delivered func(id string) string) map[string]layout.Value {
	values := make(map[string]layout.Value, len(parameters))
	for _, tag := range slices.Sorted(maps.Keys(parameters)) {
		switch value := parameters[tag]; s.kindOf(tag, value) {
		case assets:
			if url := delivered(assetID(value)); url != "" {
				values[tag] = layout.URL(url)
			}
		case urls:
			values[tag] = layout.URL(text(value))
		default:
			values[tag] = layout.Text(text(value))
		}
	}
	return values
}
