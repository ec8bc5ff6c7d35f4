// Package creative holds the rules of creatives, library creatives and layouts:
// which values a creative inherits from its library creative, and which of them its
// layout cannot use. It may import the engine, catalogue, layout, and asset for the
// media types; begin with Hooks.
package creative

import (
	"context"
	"maps"
	"slices"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/resources/catalogue"
)

// Hooks returns the hooks of the three types. The function url returns the URL
// from which the file at a path is delivered.
func Hooks(url func(path string) string) map[string]engine.Hooks {
	return map[string]engine.Hooks{
		"creatives": {BeforeValidate: creativesBeforeValidate, Validate: validate(url), Derive: derive(url)},
		"librarycreatives": {BeforeValidate: libraryBeforeValidate, Validate: validate(url), BeforeStore: libraryBeforeStore, Dependants: []engine.Dependants{
			{Type: "creatives", Property: "libraryCreative", Matters: changesInherited}}},
		"layouts": {Prepare: prepareLayout, BeforeValidate: layoutsBeforeValidate, Dependants: usersOf("layout")},
		"assets":  {Dependants: usersOf("assets")},
	}
}

// inherited are the properties that creatives take from their library creative,
// and whether a creative can override them.
var inherited = map[string]bool{"layout": false, "dimensionType": true, "width": true, "height": true, "layoutParameters": true,
	"targeting": true, "thirdPartyContent": false, "copyrightStatus": true, "source": true, "verifiedSafe": true}

func creativesBeforeValidate(ctx context.Context, w *engine.Writing, changes []*engine.Change) error {
	for _, c := range changes {
		dropReason(c)
	}
	given := map[*engine.Change]bool{}
	libraryOf := func(c *engine.Change) string { return text(c.After["libraryCreative"]) }
	err := forEachTarget(ctx, w, "librarycreatives", changes, libraryOf, func(library engine.Found, changes []*engine.Change) error {
		for _, c := range changes {
			given[c] = inherit(c, library.Object)
			c.SetCause(message.CauseObject, message.Params{"type": "librarycreatives", "id": libraryOf(c)})
		}
		return nil
	})
	if err != nil {
		return err
	}
	var posted []*engine.Change
	for _, c := range changes {
		if given[c] || !hasViews(c) {
			dropViews(c)
		} else {
			posted = append(posted, c)
		}
	}
	merged := map[*engine.Change]bool{}
	err = forEachTarget(ctx, w, "layouts", posted, layoutOf, func(used engine.Found, changes []*engine.Change) error {
		s := slotsOf(used.Object)
		for _, c := range changes {
			mergeSlots(c, s)
			merged[c] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, c := range posted {
		if !merged[c] {
			mergeSlots(c, nil) // the check of references finds that the layout is missing
		}
	}
	listAssets(changes)
	return nil
}

// hasViews reports whether the client sent slots by their kind.
func hasViews(c *engine.Change) bool {
	return slices.ContainsFunc(views, func(v view) bool {
		_, sent := c.Patch[v.property]
		return sent
	})
}

// inherit replaces the values of a creative by those of its library creative,
// except those that it overrides. It reports whether the creative inherits the
// values of its slots.
func inherit(c *engine.Change, library map[string]any) bool {
	overridden := document.Strings(c.After["overrideFields"])
	for name, overridable := range inherited {
		if overridable && slices.Contains(overridden, name) {
			continue
		}
		delete(c.After, name)
		if value, set := library[name]; set {
			c.After[name] = document.Clone(value)
		}
	}
	return !slices.Contains(overridden, "layoutParameters")
}

// dropReason removes the rejectedReason of a creative that is not rejected, even if the
// client sends it with the state. One that was stored beside another state stays, so that
// what was read can be sent back.
func dropReason(c *engine.Change) {
	switch c.After["userState"] {
	case nil, "NOT_READY", "REQUIRES_REVIEW", "APPROVED", "PAUSED":
		if c.Before["userState"] == rejected || c.Before["rejectedReason"] == nil {
			delete(c.After, "rejectedReason")
		}
	}
}

const rejected = "REJECTED"

// dropViews removes the properties that show the slots by kind, which are never
// stored.
func dropViews(c *engine.Change) {
	for _, v := range views {
		delete(c.After, v.property)
	}
}

func libraryBeforeValidate(_ context.Context, _ *engine.Writing, changes []*engine.Change) error {
	listAssets(changes)
	return nil
}

// listAssets stores the ids of the assets in the slots as a list, which is
// indexed.
func listAssets(changes []*engine.Change) {
	for _, c := range changes {
		if ids := assetsIn(c.After); len(ids) > 0 {
			c.After["assets"] = ids
		} else {
			delete(c.After, "assets")
		}
	}
}

func layoutOf(c *engine.Change) string { return text(c.After["layout"]) }

func text(value any) string {
	s, _ := value.(string)
	return s
}

// gives reports whether a library creative changes what its creatives take.
func changesInherited(c *engine.Change) bool {
	return differs(c, slices.Collect(maps.Keys(inherited))...)
}

// usersOf returns the creatives and library creatives whose warnings depend on
// the layouts, or the assets, that a property refers to.
func usersOf(property string) []engine.Dependants {
	relevant := func(c *engine.Change) bool {
		return c.State != c.StateBefore || differs(c, "html", "assetConstraints", "textConstraints", "urlConstraints", "mimeType", "fileSizeBytes", "width", "height")
	}
	return []engine.Dependants{{Type: "librarycreatives", Property: property, Matters: relevant}, {Type: "creatives", Property: property, Matters: relevant}}
}

// differs reports whether a change alters one of the properties.
func differs(c *engine.Change, properties ...string) bool {
	return slices.ContainsFunc(properties, func(name string) bool { return !document.Equal(c.Before[name], c.After[name]) })
}

// libraryBeforeStore refuses a change of a library creative if the caller cannot
// see all creatives that use it.
func libraryBeforeStore(_ context.Context, w *engine.Writing, changes []*engine.Change) error {
	creatives, served := w.Type("creatives")
	if !served {
		return nil
	}
	field, err := creatives.Field("", "libraryCreative")
	if err != nil {
		return err
	}
	ids := map[string][]any{}
	for _, c := range changes {
		if !c.Created() && !c.Internal() {
			ids[c.Network] = append(ids[c.Network], c.ID)
		}
	}
	for network, list := range ids {
		hidden, err := w.HasHidden(creatives, network, query.In{Field: field, Values: list})
		if err == nil && hidden {
			err = catalogue.LibraryShared.Error(nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
