package access

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"marquee/integration/service"
)

// reference writes an object that refers to another.
func (w *witness) reference(user string) {
	kind := pick(w.Rand, []string{"adunits", "advertisers", "orders", "lineitems", "creatives", "segments", "articles", "parcels", "letters", "stickers"})
	property := pick(w.Rand, slices.Sorted(maps.Keys(worldRefs[kind])))
	to := worldRefs[kind][property]
	target := pick(w.Rand, append(slices.Sorted(maps.Keys(w.world[to])), "alien"))
	if to == "users" {
		target = user // of the others, the model knows nothing
	}
	object := map[string]any{"name": "new", "layout": "layouts-0", "dimensionType": "FLEXIBLE", "verifiedSafe": true,
		"dataSource": "ADOBE", "url": "https://example.com/new", "id": "new"}
	plain, isList := strings.CutSuffix(property, "[]")
	if object[plain] = target; isList {
		object[plain] = []string{target}
	}
	// What would be stored is added to the world for as long as the model is asked.
	w.world.put(kind, "new", object)
	status, code := http.StatusOK, ""
	switch permission := writePermission(kind, true); {
	case !w.world.holds(user, permission, kind):
		status = http.StatusForbidden
	case to != "users" && !w.world.shows(user, to, target):
		status, code = http.StatusUnprocessableEntity, "error.referenced.object.not.found"
	case !w.world.sees(user, kind, "new") || !w.world.through(user, permission, kind, "new"):
		status = http.StatusForbidden
	}
	delete(w.world[kind], "new")
	path, body := "/api/v1/"+kind+"/new?context=main&validateOnly=true&fieldValidation=Ignore", service.JSONText(object)
	if status = w.writes(user, kind, status); status != http.StatusUnprocessableEntity {
		code = ""
	}
	if w.chance(50) {
		path = "/api/v1/batch?context=main&validateOnly=true&fieldValidation=Ignore"
		body = service.JSONText(map[string]any{"operations": []any{map[string]any{"type": kind, "object": object}}})
		if status == http.StatusNotFound {
			status, code = http.StatusUnprocessableEntity, "error.batch.type.unknown"
		}
	}
	w.write(user, "references", path, body, status, code)
}

// writes is the status of a write, where those who know the type get a certain one.
func (w *witness) writes(user, kind string, status int) int {
	switch {
	case user == nobody:
		return http.StatusUnauthorized
	case !w.world.knows(user, kind):
		return http.StatusNotFound
	}
	return status
}

func (w *witness) write(user, question, path, body string, status int, code string) {
	w.asked[question]++
	if w.chance(30) {
		path, body = formerNames(path), formerNames(body)
	}
	a := w.s.Ask(w.tokens[user], http.MethodPost, path, body, nil)
	if a.Status != status || !strings.Contains(string(a.Body), code) {
		w.Errorf("%s gets %d, not %d %s, from POST %s %s: %.400s%s", user, a.Status, status, code, path, body, a.Body, w.why(user))
	}
}

// rewrite changes nothing that matters of an object.
func (w *witness) rewrite(user, kind, id string) {
	if slices.Contains([]string{"assets", "articles", "roles", "teams", "librarycreatives"}, kind) || id == "alien" {
		return
	}
	status := w.mayWrite(user, kind, id, http.StatusOK)
	// Who may not create objects is told so of one that is not shown, as of one that does not exist.
	if create := writePermission(kind, true); status == http.StatusNotFound && create != writePermission(kind, false) && !w.world.holds(user, create, kind) {
		status = http.StatusForbidden
	}
	w.write(user, "writes", service.PathOf(kind, id, "")+"&validateOnly=true", `{"name": "another"}`, w.writes(user, kind, status), "")
}

// mayWrite is the status of a write of a stored object, where those who may write it get a
// certain one.
func (w *witness) mayWrite(user, kind, id string, status int) int {
	permission := writePermission(kind, false)
	switch {
	case !w.world.holds(user, permission, kind):
		return http.StatusForbidden
	case !w.world.shows(user, kind, id):
		return http.StatusNotFound
	case !w.world.sees(user, kind, id) || !w.world.through(user, permission, kind, id):
		return http.StatusForbidden
	}
	return status
}

// remove tries whether an object could be removed, which nothing may refer to.
func (w *witness) remove(user string) {
	kind := pick(w.Rand, []string{"parcels", "parcels", "letters", "stickers"})
	id := pick(w.Rand, append(slices.Sorted(maps.Keys(w.world[kind])), "alien"))
	var referring, others []string // that the user is shown, and that the user is not
	for _, from := range []string{"letters", "stickers"} {
		for _, property := range slices.Sorted(maps.Keys(worldRefs[from])) {
			for _, referrer := range slices.Sorted(maps.Keys(w.world[from])) {
				switch refers := worldRefs[from][property] == kind && w.world.text(from, referrer, property) == id; {
				case refers && w.world.shows(user, from, referrer):
					referring = append(referring, referrer)
				case refers:
					others = append(others, referrer)
				}
			}
		}
	}
	status := w.mayWrite(user, kind, id, http.StatusNoContent)
	if status == http.StatusNoContent && len(referring)+len(others) > 0 {
		status = http.StatusConflict
	}
	status = w.writes(user, kind, status)
	w.asked["removals"]++
	a := w.s.Ask(w.tokens[user], http.MethodDelete, service.PathOf(kind, id, "")+"&validateOnly=true", "", nil)
	if a.Status != status {
		w.Errorf("%s gets %d, not %d, from the removal of %s %s: %.400s%s", user, a.Status, status, kind, id, a.Body, w.why(user))
	}
	if status != http.StatusConflict || len(referring) > 10 {
		return
	}
	for _, referrer := range append(others, referring...) {
		named := strings.Contains(string(a.Body), fmt.Sprintf("%q", referrer))
		if want := slices.Contains(referring, referrer); named != want {
			w.Errorf("%s is told of %s: %t, in the refusal to remove %s: %s%s", user, referrer, named, id, a.Body, w.why(user))
		}
	}
}
