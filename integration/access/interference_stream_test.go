package access

import (
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing/fstest"

	"marquee/integration/service"
)

// act is a step of a program that is no request of the caller with one answer.
type act string

const (
	// opens opens a stream of changes in place of the one that is open.
	opens act = "stream"
	// elsewhere changes, in the second world alone, what the caller does not see.
	elsewhere act = "an administrator, of the second world alone"
	// takes takes something from the caller, which gives gives back. In between, the caller sees
	// less, so that what the worlds do not share stays hidden.
	takes act = "an administrator"
	gives act = "an administrator gives back"
	// reloads serves other schemas.
	reloads act = "reload"
)

// act returns what happens beside the requests of the caller now and then.
func (r *programmer) act() (q programmed, is bool) {
	if len(r.taken) > 0 && r.chance(35) {
		q, r.taken = r.taken[0], r.taken[1:]
		q.act = gives
		return q, true
	}
	if !r.chance(8) {
		return q, false
	}
	switch n := r.IntN(100); {
	case n < 35:
		q = programmed{act: opens, method: http.MethodGet, path: "/api/v1/changes?context=main&after=" + pick(r.Rand, []string{"{position}", "{position}", "begin"}) +
			"&include=" + pick(r.Rand, []string{"changes", "object", "none"}) + r.maybe(20, "&type="+pick(r.Rand, r.kinds))}
	case n < 70:
		q = r.elsewhere()
	case n < 92:
		if q = r.take(n < 89); q.act != "" {
			r.taken = append(r.taken, q)
		}
	default:
		q = programmed{act: reloads}
	}
	return q, q.act != ""
}

// elsewhere changes an object that only the second world has: its name, or its owners, which are
// not the caller's in either case.
func (r *programmer) elsewhere() programmed {
	kind := pick(r.Rand, []string{"orders", "orders", "advertisers", "lineitems", "creatives", "sites", "adunits", "segments", "parcels", "parcels", "letters", "stickers"})
	if len(r.extras[kind]) == 0 {
		return programmed{}
	}
	q := programmed{act: elsewhere, method: http.MethodPatch, path: r.path(kind, pick(r.Rand, r.extras[kind])) + r.query()}
	change := map[string]any{"name": r.name("elsewhere")}
	if property, other := r.otherOwner(kind); other != "" && r.chance(60) {
		change[property] = other
	}
	q.body = service.JSONText(change)
	if slices.Contains(ownTypes, kind) && r.chance(10) {
		q.method, q.body = http.MethodDelete, ""
	}
	return q
}

// otherOwner returns the property of a type that has an owner, and one who is not the caller's.
func (r *programmer) otherOwner(kind string) (property, other string) {
	switch kind {
	case "orders", "advertisers", "segments":
		teams := slices.DeleteFunc(slices.Sorted(maps.Keys(r.world["teams"])), func(team string) bool {
			return slices.Contains(r.world.list("teams", team, "users"), r.caller)
		})
		if len(teams) > 0 {
			return "team", pick(r.Rand, teams)
		}
	case "parcels":
		users := slices.DeleteFunc(slices.Sorted(maps.Keys(r.world["users"])), func(user string) bool { return user == r.caller })
		return "recipient", pick(r.Rand, users)
	}
	return "", ""
}

// take takes an object, or a right, from the caller.
func (r *programmer) take(object bool) programmed {
	if object {
		kind := pick(r.Rand, []string{"orders", "advertisers", "segments", "parcels"})
		property, other := r.otherOwner(kind)
		if other == "" {
			return programmed{}
		}
		return programmed{act: takes, path: r.path(kind, pick(r.Rand, slices.Sorted(maps.Keys(r.world[kind])))) + r.query(), body: property + " " + other}
	}
	role := pick(r.Rand, r.world.list("users", r.caller, "roles"))
	return programmed{act: takes, path: r.path("roles", role) + r.query(), body: "objectState INACTIVE"}
}

// perform does in one of the worlds what is no request of the caller, and returns what is to be the
// same in both.
func (p *twins) perform(world int, r programmed) string {
	w := p.worlds[world]
	switch r.act {
	case opens:
		return p.open(w, r)
	case elsewhere:
		if world == 0 {
			return ""
		}
		// What others refer to is not removed, and what has been removed is not changed.
		if a := w.Ask(w.admin, r.method, r.path, r.body, http.Header{"Content-Type": {"application/json"}}); a.Status >= 400 && a.Status != http.StatusConflict && a.Status != http.StatusNotFound {
			p.tb.Fatalf("%s: %d %s", r.curl(), a.Status, a.Body)
		}
		p.follow(w)
		return ""
	case reloads:
		if world == 0 {
			p.reloads++
		}
		if err := w.Swap(w.Engine, variedSchemas(p.reloads%2 == 1)); err != nil {
			p.tb.Fatal(err)
		}
		return ""
	}
	return p.transfer(w, r)
}

// follow gives the objects that belong to changed ones their owners.
func (p *twins) follow(w *twin) {
	if err := w.Engine.FollowAll(p.tb.Context(), slog.New(slog.DiscardHandler)); err != nil {
		p.tb.Fatal(err)
	}
}

// transfer takes something that the caller sees, or gives it back.
func (p *twins) transfer(w *twin, r programmed) string {
	property, value, _ := strings.Cut(r.body, " ")
	former, taken := w.taken[r.path]
	switch {
	case taken == (r.act == takes):
		return ""
	case taken:
		delete(w.taken, r.path)
		value = former
	default:
		if a := w.Ask(w.token, http.MethodGet, r.path, "", nil); a.Status != http.StatusOK && property != "objectState" {
			return fmt.Sprint("taken: ", a.Status)
		}
		object, _ := w.Ask(w.admin, http.MethodGet, r.path, "", nil).JSON().(map[string]any)
		former, _ := object[property].(string)
		if reference, is := object[property].(map[string]any); is {
			former, _ = reference["id"].(string)
		}
		w.taken[r.path] = former
	}
	body := map[string]any{property: value}
	if value == "" {
		body[property] = nil
	}
	a := w.Ask(w.admin, http.MethodPost, r.path, service.JSONText(body), nil)
	if a.Status >= 500 {
		p.tb.Fatalf("%s: %d %s", r.curl(), a.Status, a.Body)
	}
	p.follow(w)
	return fmt.Sprint("transferred: ", a.Status)
}

// variedSchemas are the present schemas of a world, or those with a property that not all may read.
func variedSchemas(hides bool) fs.FS {
	schemas, _ := worldSchemas(false).(fstest.MapFS)
	if parcels := schemas["parcels.json"]; hides {
		parcels.Data = []byte(strings.Replace(string(parcels.Data), `"size": {`, `"size": {"x-readable": "OPEN_LETTERS", `, 1))
	}
	return schemas
}

// open opens a stream of a world.
func (p *twins) open(w *twin, r programmed) string {
	w.stream.close()
	w.stream = nil
	path, parameters, _ := strings.Cut(r.path, "&after=")
	after, parameters, _ := strings.Cut(parameters, "&")
	o, a := follow(w.Service, w.token, path+"&"+parameters, strings.ReplaceAll(after, "{position}", w.position))
	w.stream = o
	return comparableText(r, a)
}

// receive returns what the stream of a world has sent since the last time. Bookmarks are left out,
// as the times at which they are sent differ.
func (w *twin) receive() string {
	if w.stream == nil {
		return ""
	}
	var b strings.Builder
	goesOn := w.stream.receive(func(e service.Event) {
		if w.position = e.ID; e.Name == "bookmark" {
			return
		}
		fmt.Fprintf(&b, "%s %s\n", e.Name, comparableBody([]byte(e.Data)))
		kind := e.Name
		if _, rest, is := strings.Cut(e.Data, `"kind":"`); is {
			kind, _, _ = strings.Cut(rest, `"`)
		}
		w.events[kind]++
	})
	if !goesOn {
		w.stream = nil
		b.WriteString("the stream has ended\n")
	}
	return b.String()
}
