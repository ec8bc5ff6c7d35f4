// Package creative holds the rules of creatives, library creatives and layouts:
// what a creative takes from its library creative, and what its layout makes of
// its values (decisions, part 5).
package creative

import (
	"context"
	"slices"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/resources/review"
)

// Hooks are the rules of the three types. At tells where a file is delivered that
// an asset has at a path.
func Hooks(at func(path string) string) map[string]engine.Hooks {
	return map[string]engine.Hooks{
		"creatives":        {Merged: creativesMerged, Judged: judged, Derived: derived(at)},
		"librarycreatives": {Merged: libraryMerged, Judged: judged, Written: libraryWritten},
		"layouts":          {Merged: layoutsMerged},
	}
}

// taken are the properties that a library creative gives to its creatives, and
// whether a creative can override them.
var taken = map[string]bool{"layout": false, "dimensionType": true, "width": true, "height": true, "layoutParameters": true,
	"targeting": true, "thirdPartyContent": false, "copyrightStatus": true, "source": true, "verifiedSafe": true}

func creativesMerged(_ context.Context, w *engine.Writing, changes []*engine.Change) error {
	libraries, err := seen(w, "librarycreatives", changes, func(c *engine.Change) string { return text(c.After["libraryCreative"]) })
	if err != nil {
		return err
	}
	given := map[*engine.Change]bool{}
	for _, c := range changes {
		if library, found := libraries[at(c, text(c.After["libraryCreative"]))]; found {
			given[c] = take(c, library.Object)
		}
	}
	layouts, err := seen(w, "layouts", changes, layoutOf)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if given[c] {
			dropViews(c)
			continue
		}
		mergeSlots(c, slotsOf(layouts[at(c, layoutOf(c))].Object))
	}
	noteAssets(changes)
	return nil
}

// take overwrites the values of a creative with those of its library creative,
// but for those that it overrides. It reports whether the values of the slots
// are among them.
func take(c *engine.Change, library map[string]any) bool {
	own := map[string]bool{}
	overridden, _ := c.After["overrideFields"].([]any)
	for _, name := range overridden {
		own[text(name)] = true
	}
	for name, overridable := range taken {
		if overridable && own[name] {
			continue
		}
		delete(c.After, name)
		if value, set := library[name]; set {
			c.After[name] = document.Clone(value)
		}
	}
	return !own["layoutParameters"]
}

func dropViews(c *engine.Change) {
	for _, v := range views {
		delete(c.After, v.property)
	}
}

func libraryMerged(_ context.Context, _ *engine.Writing, changes []*engine.Change) error {
	noteAssets(changes)
	return nil
}

// noteAssets keeps the assets in the slots as a list, by which they are found.
func noteAssets(changes []*engine.Change) {
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

// place names an object that changes of several networks may refer to.
type place struct{ network, id string }

func at(c *engine.Change, id string) place { return place{c.Context, id} }

// seen reads what changes refer to, with one query a network.
func seen(w *engine.Writing, collection string, changes []*engine.Change, ids func(*engine.Change) string) (map[place]engine.Seen, error) {
	return seenAll(w, collection, changes, func(c *engine.Change) []string { return []string{ids(c)} })
}

func seenAll(w *engine.Writing, collection string, changes []*engine.Change, ids func(*engine.Change) []string) (map[place]engine.Seen, error) {
	wanted := map[string][]string{}
	for _, c := range changes {
		for _, id := range ids(c) {
			if id != "" {
				wanted[c.Context] = append(wanted[c.Context], id)
			}
		}
	}
	all := map[place]engine.Seen{}
	for network, ids := range wanted {
		found, err := w.See(collection, network, ids)
		if err != nil {
			return nil, err
		}
		for id, object := range found {
			all[place{network, id}] = object
		}
	}
	return all, nil
}

// Rules have creatives and library creatives look again at what they take from
// library creatives, layouts and assets when that changes.
func Rules() []review.Rule {
	shown := func(c *engine.Change) bool {
		return c.State != c.StateBefore || differs(c, "html", "assetConstraints", "textConstraints", "urlConstraints", "mimeType", "fileSizeBytes", "width", "height")
	}
	rules := []review.Rule{{Target: "librarycreatives", Type: "creatives", Property: "libraryCreative", Matters: func(*engine.Change) bool { return true }}}
	for _, user := range []string{"librarycreatives", "creatives"} {
		rules = append(rules, review.Rule{Target: "layouts", Type: user, Property: "layout", Matters: shown},
			review.Rule{Target: "assets", Type: user, Property: "assets", Matters: shown})
	}
	return rules
}

// differs reports whether one of the properties of an object changes.
func differs(c *engine.Change, properties ...string) bool {
	return slices.ContainsFunc(properties, func(name string) bool { return !document.Equal(c.Before[name], c.After[name]) })
}

// libraryWritten refuses the change of a library creative to a caller who does
// not see all creatives that take it.
func libraryWritten(_ context.Context, w *engine.Writing, changes []*engine.Change) error {
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
		unseen, err := w.Unseen(creatives, network, query.In{Field: field, Values: list})
		if err == nil && unseen {
			err = message.LibraryShared.Error(nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
