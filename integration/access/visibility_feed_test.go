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
	stream   *followed // nil for none
}

// feed lets a user read the changes since the last time, from a stream that has been open since then
// or from pages, and expects that the user then holds the objects that the model says the user
// sees. When the user's rights have changed, the user begins again with these.
func (w *witness) feed(user string) {
	w.Helper()
	v := w.views[user]
	if v != nil && v.stream != nil {
		v = w.stream(user, v)
	}
	if !w.signedIn(user) {
		return
	}
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
			w.views[user] = &view{position: next, ids: w.seenBy(user)}
			return
		}
		results, _ := page["results"].([]any)
		for _, result := range results {
			e, _ := result.(map[string]any)
			w.apply(user, v, e)
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
	if v.stream == nil && w.chance(50) {
		a := &service.Answer{}
		if v.stream, a = follow(w.s, w.tokens[user], "/api/v1/changes?context=main&include="+pick(w.Rand, []string{"changes", "object", "none"}), v.position); a.Status != http.StatusOK {
			w.Errorf("a stream of %s is answered with %d", user, a.Status)
		}
	}
}

// stream lets a user receive what a stream has sent since the last time. It returns nil if the user
// begins again.
func (w *witness) stream(user string, v *view) *view {
	w.Helper()
	reset := false
	goesOn := v.stream.receive(func(e service.Event) {
		w.asked["events of streams"]++
		value, _ := service.Decode([]byte(e.Data))
		members, _ := value.(map[string]any)
		switch reset = reset || e.Name == "reset"; {
		case e.Name == "change" && !w.signedIn(user):
			w.Errorf("%s has no role, and gets %s%s", user, e.Data, w.why(user))
		case e.Name == "change":
			w.apply(user, v, members)
		}
	})
	v.position = v.stream.position
	if !goesOn {
		v.stream = nil
	}
	if reset {
		w.asked["resets of streams"]++
		delete(w.views, user)
		return nil
	}
	return v
}

// apply applies an event to what a user has read.
func (w *witness) apply(user string, v *view, e map[string]any) {
	w.Helper()
	kind, _ := e["type"].(string)
	id, _ := e["id"].(string)
	if v.ids[kind] == nil {
		return
	}
	if v.ids[kind][id] = true; e["kind"] == "left" || e["kind"] == "deleted" {
		delete(v.ids[kind], id)
	}
	if object, shown := e["object"].(map[string]any); shown && !w.world.sees(user, kind, id) {
		w.Errorf("%s gets %s of %s %s%s", user, service.JSONText(object), kind, id, w.why(user))
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
