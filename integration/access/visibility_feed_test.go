package access

import (
	"maps"
	"net/http"
	"net/url"
	"slices"

	"marquee/integration/service"
)

// view is what a user has read of the feed: a position, and by type the objects that the user
// sees according to the events before it.
type view struct {
	position string
	ids      map[string]map[string]bool
}

// feed lets a user read the changes since the last time, and expects that the user then holds
// the objects that the model says the user sees. When the user's rights have changed, the user
// begins again with these.
func (w *witness) feed(user string) {
	w.Helper()
	if !w.signedIn(user) {
		return
	}
	v := w.views[user]
	for v == nil || v.position != "" {
		path := "/api/v1/changes?context=main&limit=1000"
		if v != nil {
			path += "&include=" + pick(w.Rand, []string{"changes", "object", "none"}) + "&after=" + url.QueryEscape(v.position)
		}
		page := w.get(user, "feeds", path, http.StatusOK)
		if w.chance(10) {
			about := pick(w.Rand, ownTypes)
			w.get(user, "feeds", "/api/v1/changes?context=main&type="+about, http.StatusOK)
		}
		next, _ := page["position"].(string)
		if v == nil || page["reset"] != nil {
			v = &view{next, w.seenBy(user)}
			w.views[user] = v
			return
		}
		results, _ := page["results"].([]any)
		for _, result := range results {
			e, _ := result.(map[string]any)
			kind, _ := e["type"].(string)
			id, _ := e["id"].(string)
			if v.ids[kind] == nil {
				continue
			}
			if v.ids[kind][id] = true; e["kind"] == "left" || e["kind"] == "deleted" {
				delete(v.ids[kind], id)
			}
			if object, shown := e["object"].(map[string]any); shown && !w.world.sees(user, kind, id) {
				w.Errorf("%s gets %s of %s %s%s", user, service.JSONText(object), kind, id, w.why(user))
			}
		}
		if v.position = next; page["more"] == nil {
			break
		}
	}
	for kind, want := range w.seenBy(user) {
		if !maps.Equal(v.ids[kind], want) {
			w.Errorf("%s holds %v by the feed, not %v, of %s%s", user, slices.Sorted(maps.Keys(v.ids[kind])), slices.Sorted(maps.Keys(want)), kind, w.why(user))
		}
	}
}

// seenBy are the objects that a user sees, by type.
func (w *witness) seenBy(user string) map[string]map[string]bool {
	seen := map[string]map[string]bool{}
	for kind := range worldRefs {
		if kind == "users" || kind == "networks" {
			continue
		}
		seen[kind] = map[string]bool{}
		for id := range w.world[kind] {
			if w.world.sees(user, kind, id) {
				seen[kind][id] = true
			}
		}
	}
	return seen
}
