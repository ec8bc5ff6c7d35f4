// Package creative holds the rules of creatives, library creatives and layouts:
// what a creative takes from its library creative, and what its layout makes of
// its values (decisions, part 5).
package creative

import (
	"context"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
)

// Hooks are the rules of the three types, and of assets, whose changes their
// creatives have to see. At tells where a file is delivered that an asset has
// at a path.
func Hooks(at func(path string) string) map[string]engine.Hooks {
	return map[string]engine.Hooks{
		"creatives":        {Merged: creativesMerged, Judged: judged, Derived: derived(at)},
		"librarycreatives": {Merged: libraryMerged, Judged: judged, Written: libraryWritten},
		"layouts":          {Merged: layoutsMerged, Written: layoutsWritten},
		"assets":           {Written: assetsWritten},
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

// libraryWritten lets the creatives of library creatives take what has changed.
// Who does not see all of them cannot change their library creative.
func libraryWritten(_ context.Context, w *engine.Writing, changes []*engine.Change) error {
	err := again(w, changes, "creatives", "libraryCreative", func(c *engine.Change) bool { return !c.Created() && !c.Internal() }, message.LibraryShared.Error(nil))
	if err != nil {
		return err
	}
	return again(w, changes, "creatives", "libraryCreative", (*engine.Change).Internal, nil)
}
