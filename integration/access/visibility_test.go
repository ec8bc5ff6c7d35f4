package access

import (
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// witness asks as the users of a world, and expects what the model says.
type witness struct {
	*testing.T
	maker
	s      *service.Service
	admin  string
	tokens map[string]string
	asked  map[string]int // by kind of question
	shown  int            // objects of types with teams that were shown in scope TEAM
	// doubt reports whether a change may not have reached all objects that belong to
	// the changed one, which may be hidden meanwhile.
	doubt bool
}

// TestVisibilityModel asks as random users of a random graph of objects for
// what they may see, in every way that there is, and changes the graph again
// and again: each answer is what the model says.
func TestVisibilityModel(t *testing.T) { service.EachStore(t, testVisibilityModel) }

func testVisibilityModel(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	seed, changes := service.TestSeed(t), 30
	if testing.Short() {
		changes /= 3
	}
	if text := os.Getenv("MARQUEE_VISIBILITY"); text != "" {
		var err error
		if changes, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	s := service.New(t, fresh, worldSchemas())
	w := &witness{T: t, maker: maker{Rand: rand.New(rand.NewPCG(seed, 0))}, s: s, tokens: map[string]string{}, asked: map[string]int{}}
	var err error
	if w.admin, err = s.SignIn(service.Admin); err != nil {
		t.Fatal(err)
	}
	s.Must(w.admin, http.MethodPost, "/api/v1/networks/other", `{"name": "Other"}`, http.StatusCreated)
	w.populate()
	s.Write(w.admin, w.made...)
	w.world.put("roles", "administrator", map[string]any{"name": "administrator", "scope": "NETWORK",
		"permissions": []string{"MANAGE_BUSINESS", "MANAGE_LAYOUTS", "MANAGE_SYSTEM"}})
	s.Must(w.admin, http.MethodPost, "/api/v1/batch?context=other", `{"operations": [
		{"type": "sites", "object": {"id": "sites-0", "name": "north of another network"}},
		{"type": "advertisers", "object": {"id": "alien", "name": "north alien"}}]}`, http.StatusOK)
	for _, user := range slices.Sorted(maps.Keys(w.world["users"])) {
		if w.tokens[user], err = s.SignIn(user); err != nil {
			t.Fatal(err)
		}
	}
	for n := range changes + 1 {
		last := "nothing"
		if n > 0 {
			p := w.change()
			last = p.Path() + " " + service.JSONText(p.Body())
			s.Must(w.admin, http.MethodPut, p.Path(), service.JSONText(p.Body()), http.StatusOK)
			w.follow()
		}
		for _, user := range slices.Sorted(maps.Keys(w.tokens)) {
			if w.lists(user, n == 0); n > 0 {
				for range 8 {
					w.ask(user)
				}
			}
		}
		if t.Failed() {
			t.Fatalf("after %d changes, of which the last is %s", n, last)
		}
	}
	t.Logf("asked %v; %d objects were shown by scope TEAM alone", w.asked, w.shown)
	if w.shown < 100 {
		t.Errorf("scope TEAM showed only %d objects", w.shown)
	}
}

// follow lets the objects that belong to a changed one follow it, and looks before that,
// when nothing is shown that should not be.
func (w *witness) follow() {
	w.doubt = true
	for _, user := range slices.Sorted(maps.Keys(w.tokens)) {
		kind := pick(w.Rand, teamTypes)
		if kind != "assets" {
			w.list(user, kind, "&includeHidden=true", func(string) bool { return true })
		}
	}
	w.doubt = false
	if err := w.s.Engine.FollowAll(w.Context(), slog.New(slog.DiscardHandler)); err != nil {
		w.Fatal(err)
	}
}

// get expects a status, which is 403 without a role in the network.
func (w *witness) get(user, kind, path string, status int) map[string]any {
	w.Helper()
	w.asked[kind]++
	if !w.signedIn(user) {
		status = http.StatusForbidden
	}
	a := w.s.Ask(w.tokens[user], http.MethodGet, path, "", nil)
	if a.Status != status {
		w.Errorf("%s gets %d, not %d, from %s: %.400s%s", user, a.Status, status, path, a.Body, w.why(user))
	}
	head := w.s.Ask(w.tokens[user], http.MethodHead, path, "", nil)
	if head.Status != a.Status || len(head.Body) > 0 {
		w.Errorf("%s gets %d from HEAD and %d from GET %s", user, head.Status, a.Status, path)
	}
	object, _ := a.JSON().(map[string]any)
	if a.Status == http.StatusOK && kind != "histories" && kind != "notifications" { // whose messages have ids alone
		w.references(user, path, object)
	}
	return object
}

func (w *witness) signedIn(user string) bool {
	return len(w.world.roles(user, "TEAM"))+len(w.world.roles(user, "NETWORK")) > 0
}

// why lists the roles and teams of a user, for failures.
func (w *witness) why(user string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s has the roles", user)
	for _, role := range w.world.list("users", user, "roles") {
		fmt.Fprintf(&b, " %s %s", role, service.JSONText(w.world["roles"][role]))
	}
	b.WriteString("\nand is in the teams")
	for _, team := range slices.Sorted(maps.Keys(w.world["teams"])) {
		if slices.Contains(w.world.list("teams", team, "users"), user) {
			fmt.Fprintf(&b, " %s (%s, sites %v)", team, w.world.text("teams", team, "objectState"), w.world.list("teams", team, "sites"))
		}
	}
	return b.String()
}

// references expects that each reference has the name of what the user sees, and
// of nothing else.
func (w *witness) references(user, path string, value any) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			w.references(user, path, item)
		}
	case map[string]any:
		link, _ := v["url"].(string)
		if id, ok := v["id"].(string); ok && v["createTime"] == nil && v["code"] == nil {
			kind, _, _ := strings.Cut(strings.TrimPrefix(link, "/api/v1/"), "/")
			if _, own := w.world[kind]; own && kind != "users" && kind != "assets" {
				_, named := v["name"]
				if sees := w.world.sees(user, kind, id); named != sees {
					w.Errorf("%s is shown %s in %s, and sees it: %t%s", user, service.JSONText(v), path, sees, w.why(user))
				}
			}
		}
		for _, member := range v {
			w.references(user, path, member)
		}
	}
}

// lists asks for all objects of all types, or of some.
func (w *witness) lists(user string, all bool) {
	for _, kind := range slices.Sorted(maps.Keys(worldRefs)) {
		if kind == "assets" || !all && w.chance(75) {
			continue
		}
		w.list(user, kind, "&includeHidden=true", func(string) bool { return true })
	}
}

// list expects those objects that meet a condition and that the user sees.
func (w *witness) list(user, kind, parameters string, meets func(id string) bool) {
	var want []string
	for _, id := range slices.Sorted(maps.Keys(w.world[kind])) {
		if meets(id) && w.world.sees(user, kind, id) {
			want = append(want, id)
		}
	}
	path := "/api/v1/" + kind + "?context=main&pageSize=1000" + parameters
	page := w.get(user, "lists", path, http.StatusOK)
	if !w.signedIn(user) {
		return
	}
	got := service.IDsOf(page)
	slices.Sort(got)
	hidden := len(want) - len(got)
	if w.doubt && !slices.ContainsFunc(got, func(id string) bool { return !slices.Contains(want, id) }) {
		want = got
	}
	if !slices.Equal(got, want) {
		w.Errorf("%s gets %v, not %v, from %s (%d are hidden)%s", user, got, want, path, hidden, w.why(user))
	}
	if count := fmt.Sprint(page["totalCount"]); count != strconv.Itoa(len(want)) {
		w.Errorf("%s is shown a count of %s objects, not %d, by %s%s", user, count, len(want), path, w.why(user))
	}
	if len(w.world.roles(user, "NETWORK")) == 0 && slices.Contains(teamTypes, kind) {
		w.shown += len(got)
	}
}

// ask asks one question at random.
func (w *witness) ask(user string) {
	kind := pick(w.Rand, slices.Sorted(maps.Keys(worldRefs)))
	id := pick(w.Rand, append(slices.Sorted(maps.Keys(w.world[kind])), "alien"))
	switch w.IntN(10) {
	case 9:
		w.remove(user)
	case 0, 1:
		status := http.StatusNotFound
		if w.world.sees(user, kind, id) {
			status = http.StatusOK
		}
		creative := w.world.text(kind, id, "creative")
		if creative == "" {
			creative = "alien"
		}
		w.get(user, "objects", service.PathOf(kind, id, creative), status)
	case 2, 3:
		w.filter(user, kind)
	case 4:
		w.walk(user, kind)
	case 5:
		w.reference(user)
	case 6:
		w.rewrite(user, kind, id)
	case 7:
		w.history(user, kind, id)
	default:
		w.notifications(user)
	}
}

// filter narrows a list in one of the ways that there are, also by what is
// hidden.
func (w *witness) filter(user, kind string) {
	if kind == "assets" {
		return
	}
	label := "name"
	if kind == "articles" {
		label = "title"
	}
	property, to := label, ""
	for _, name := range slices.Sorted(maps.Keys(worldRefs[kind])) {
		if w.chance(60) {
			property, to = name, worldRefs[kind][name]
		}
	}
	property, isList := strings.CutSuffix(property, "[]")
	has := func(id, value string) bool {
		return isList && slices.Contains(w.world.list(kind, id, property), value) || w.world.text(kind, id, property) == value
	}
	set := func(id string) bool {
		return len(w.world.list(kind, id, property)) > 0 || w.world.text(kind, id, property) != ""
	}
	value := pick(w.Rand, append(slices.Sorted(maps.Keys(w.world[to])), "alien"))
	word := pick(w.Rand, worldWords)
	hasWord := func(id string) bool { return slices.Contains(strings.Fields(w.world.text(kind, id, label)), word) }
	all, escape := "&includeHidden=true", url.QueryEscape
	switch w.IntN(9) {
	case 0:
		w.list(user, kind, all+"&where="+escape(property+"="+value), func(id string) bool { return has(id, value) })
	case 1:
		w.list(user, kind, all+"&where="+escape(property+"!="+value), func(id string) bool { return !has(id, value) })
	case 2:
		w.list(user, kind, all+"&where="+escape(property+" is not null"), set)
	case 3:
		w.list(user, kind, all+"&filterBy="+property+"&filterByValue="+escape(value), func(id string) bool { return has(id, value) })
	case 4:
		w.list(user, kind, all+"&filterBy="+label+"&filterByLike="+word, hasWord)
	case 5:
		if kind != "articles" {
			w.list(user, kind, all+"&q="+word, hasWord)
		}
	case 6:
		ids := w.some(kind, 50)
		if len(ids) > 0 {
			w.list(user, kind, "&id="+strings.Join(append(ids, "alien"), ";"), func(id string) bool { return slices.Contains(ids, id) })
		}
	case 7:
		w.list(user, kind, "&onlyMine=true", func(id string) bool {
			return w.creator(kind, id) == user && w.world.text(kind, id, "objectState") != "HIDDEN"
		})
	default:
		w.list(user, kind, "&includeInactive=false", func(id string) bool { return w.world.active(kind, id) })
	}
}

func (w *witness) creator(kind, id string) string {
	i := slices.IndexFunc(w.made, func(p service.Placed) bool { return p.Kind == kind && p.ID == id })
	if i < 0 {
		return ""
	}
	return w.made[i].Creator
}

// walk follows the cursor of a list.
func (w *witness) walk(user, kind string) {
	if kind == "assets" || !w.signedIn(user) {
		return
	}
	parameters := pick(w.Rand, []string{"", "&orderBy=updateTime&orderByDirection=DESCENDING", "&orderBy=id", "&count=false"})
	path := "/api/v1/" + kind + "?context=main&includeHidden=true&pageSize=2" + parameters
	var got, want []string
	for next := path; next != ""; {
		page := w.get(user, "pages", next, http.StatusOK)
		got = append(got, service.IDsOf(page)...)
		cursor, more := page["nextCursor"].(string)
		if next = path + "&cursor=" + url.QueryEscape(cursor); !more || len(got) > 100 {
			break
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.world[kind])) {
		if w.world.sees(user, kind, id) {
			want = append(want, id)
		}
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		w.Errorf("%s walks through %v, not %v, of %s%s", user, got, want, path, w.why(user))
	}
}

// permissionOf is what writing a type takes, as the decisions list it.
func permissionOf(kind string) string {
	switch kind {
	case "layouts":
		return "MANAGE_LAYOUTS"
	case "users", "roles", "teams":
		return "MANAGE_SYSTEM"
	}
	return "MANAGE_BUSINESS"
}

// reference writes an object that refers to another.
func (w *witness) reference(user string) {
	kind := pick(w.Rand, []string{"adunits", "advertisers", "orders", "lineitems", "creatives", "segments", "articles"})
	property := pick(w.Rand, slices.Sorted(maps.Keys(worldRefs[kind])))
	to := worldRefs[kind][property]
	if to == "users" {
		return
	}
	target := pick(w.Rand, append(slices.Sorted(maps.Keys(w.world[to])), "alien"))
	object := map[string]any{"name": "new", "layout": "layouts-0", "dimensionType": "FLEXIBLE", "verifiedSafe": true,
		"dataSource": "ADOBE", "url": "https://example.com/new", "id": "new"}
	plain, isList := strings.CutSuffix(property, "[]")
	if object[plain] = target; isList {
		object[plain] = []string{target}
	}
	// What would be stored is added to the world for as long as the model is asked.
	w.world.put(kind, "new", object)
	status, code := http.StatusOK, ""
	switch permission := permissionOf(kind); {
	case !w.world.holds(user, permission, "NETWORK") && !w.world.holds(user, permission, "TEAM"):
		status = http.StatusForbidden
	case !w.world.sees(user, to, target):
		status, code = http.StatusUnprocessableEntity, "error.referenced.object.not.found"
	case !w.world.mayWrite(user, permission, kind, "new"):
		status = http.StatusForbidden
	}
	delete(w.world[kind], "new")
	path, body := "/api/v1/"+kind+"/new?context=main&validateOnly=true&fieldValidation=Ignore", service.JSONText(object)
	if w.chance(50) {
		path = "/api/v1/batch?context=main&validateOnly=true&fieldValidation=Ignore"
		body = service.JSONText(map[string]any{"operations": []any{map[string]any{"type": kind, "object": object}}})
	}
	w.write(user, "references", path, body, status, code)
}

func (w *witness) write(user, question, path, body string, status int, code string) {
	w.asked[question]++
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
	status, permission := http.StatusOK, permissionOf(kind)
	switch {
	case !w.world.holds(user, permission, "NETWORK") && !w.world.holds(user, permission, "TEAM"):
		status = http.StatusForbidden
	case !w.world.sees(user, kind, id):
		status = http.StatusNotFound
	case !w.world.mayWrite(user, permission, kind, id):
		status = http.StatusForbidden
	}
	w.write(user, "writes", service.PathOf(kind, id, "")+"&validateOnly=true", `{"name": "another"}`, status, "")
}

// remove tries whether a parcel or a sticker could be removed.
func (w *witness) remove(user string) {
	kind := pick(w.Rand, []string{"parcels", "parcels", "stickers"})
	id := pick(w.Rand, append(slices.Sorted(maps.Keys(w.world[kind])), "alien"))
	var referring []string
	for _, sticker := range slices.Sorted(maps.Keys(w.world["stickers"])) {
		if kind == "parcels" && w.world.text("stickers", sticker, "parcel") == id {
			referring = append(referring, sticker)
		}
	}
	status, permission := http.StatusNoContent, permissionOf(kind)
	switch {
	case !w.world.holds(user, permission, "NETWORK") && !w.world.holds(user, permission, "TEAM"):
		status = http.StatusForbidden
	case !w.world.sees(user, kind, id):
		status = http.StatusNotFound
	case !w.world.mayWrite(user, permission, kind, id):
		status = http.StatusForbidden
	case len(referring) > 0:
		status = http.StatusConflict
	}
	w.asked["removals"]++
	a := w.s.Ask(w.tokens[user], http.MethodDelete, service.PathOf(kind, id, "")+"&validateOnly=true", "", nil)
	if a.Status != status {
		w.Errorf("%s gets %d, not %d, from the removal of %s %s: %.400s%s", user, a.Status, status, kind, id, a.Body, w.why(user))
	}
	if status != http.StatusConflict {
		return
	}
	for _, sticker := range slices.Sorted(maps.Keys(w.world["stickers"])) {
		named := strings.Contains(string(a.Body), fmt.Sprintf("%q", sticker))
		if want := slices.Contains(referring, sticker) && w.world.sees(user, "stickers", sticker); named != want {
			w.Errorf("%s is told of %s: %t, in the refusal to remove %s: %s%s", user, sticker, named, id, a.Body, w.why(user))
		}
	}
}

// history asks for the changes of an object, and of a type.
func (w *witness) history(user, kind, id string) {
	status := http.StatusNotFound
	if w.world.sees(user, kind, id) {
		status = http.StatusOK
	}
	w.get(user, "histories", "/api/v1/audit?context=main&type="+kind+"&id="+id, status)
	page := w.get(user, "histories", "/api/v1/audit?context=main&pageSize=1000&type="+kind, http.StatusOK)
	if !w.signedIn(user) {
		return
	}
	got, entries := w.objectsOf(page)
	var want []string
	for _, id := range slices.Sorted(maps.Keys(w.world[kind])) {
		if w.world.sees(user, kind, id) {
			want = append(want, id)
		}
	}
	if !slices.Equal(got[kind], want) || fmt.Sprint(page["totalCount"]) != strconv.Itoa(entries) {
		w.Errorf("%s gets the history of %v, not %v, of %s (%v of %d entries)%s", user, got[kind], want, kind, page["totalCount"], entries, w.why(user))
	}
	whole := w.get(user, "histories", "/api/v1/audit?context=main&pageSize=1000", http.StatusOK)
	got, _ = w.objectsOf(whole)
	for kind, ids := range got {
		for _, id := range ids {
			if w.world[kind] != nil && kind != "users" && !w.world.sees(user, kind, id) {
				w.Errorf("%s gets the history of %s %s with that of all%s", user, kind, id, w.why(user))
			}
		}
	}
	if whole["nextCursor"] == nil && !slices.Equal(got[kind], want) {
		w.Errorf("%s gets the history of %v, not %v, of %s with that of all%s", user, got[kind], want, kind, w.why(user))
	}
}

// objectsOf are the objects that the messages of a page are about, by type.
func (w *witness) objectsOf(page map[string]any) (map[string][]string, int) {
	results, _ := page["results"].([]any)
	about := map[string][]string{}
	for _, result := range results {
		m, _ := result.(map[string]any)
		params, _ := m["params"].(map[string]any)
		kind, id := fmt.Sprint(params["type"]), fmt.Sprint(params["id"])
		about[kind] = append(about[kind], id)
	}
	for kind := range about {
		slices.Sort(about[kind])
		about[kind] = slices.Compact(about[kind])
	}
	return about, len(results)
}

// notifications are about line items that the user created, each of which lacks
// something.
func (w *witness) notifications(user string) {
	page := w.get(user, "notifications", "/api/v1/notifications?context=main&pageSize=1000", http.StatusOK)
	if !w.signedIn(user) {
		return
	}
	got, entries := w.objectsOf(page)
	var want []string
	for _, id := range slices.Sorted(maps.Keys(w.world["lineitems"])) {
		if w.creator("lineitems", id) == user && w.world.sees(user, "lineitems", id) {
			want = append(want, id)
		}
	}
	if !slices.Equal(got["lineitems"], want) || fmt.Sprint(page["totalCount"]) != strconv.Itoa(entries) {
		w.Errorf("%s is notified of %v, not %v (%v of %d entries)%s", user, got["lineitems"], want, page["totalCount"], entries, w.why(user))
	}
	for kind, ids := range got {
		for _, id := range ids {
			if !w.world.sees(user, kind, id) {
				w.Errorf("%s is notified of %s %s%s", user, kind, id, w.why(user))
			}
		}
	}
}
