package access

import (
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"regexp"
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
	// shown counts the objects of types with teams that were shown by scope TEAM alone, those of
	// types with owners that were shown by scope OWN alone, and by "" those that were shown
	// because they are public.
	shown map[string]int
	views map[string]*view
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
	s := service.New(t, fresh, worldSchemas(true))
	w := &witness{T: t, maker: maker{Rand: rand.New(rand.NewPCG(seed, 0))}, s: s, tokens: map[string]string{}, asked: map[string]int{}, shown: map[string]int{}, views: map[string]*view{}}
	var err error
	if w.admin, err = s.SignIn(service.Admin); err != nil {
		t.Fatal(err)
	}
	s.Must(w.admin, http.MethodPost, "/api/v1/networks/other", `{"name": "Other"}`, http.StatusCreated)
	w.populate()
	s.Write(w.admin, formerly(w.made)...)
	if err := s.Swap(s.Engine, worldSchemas(false)); err != nil {
		t.Fatal(err)
	}
	w.world.put("roles", "administrator", map[string]any{"name": "administrator", "scope": "NETWORK",
		"permissions": []string{"ALL", "MANAGE_BUSINESS", "MANAGE_LAYOUTS", "MANAGE_SYSTEM"}})
	s.Must(w.admin, http.MethodPost, "/api/v1/batch?context=other", `{"operations": [
		{"type": "sites", "object": {"id": "sites-0", "name": "north of another network"}},
		{"type": "advertisers", "object": {"id": "alien", "name": "north alien"}}]}`, http.StatusOK)
	for _, user := range slices.Sorted(maps.Keys(w.world["users"])) {
		if w.tokens[user], err = s.SignIn(user); err != nil {
			t.Fatal(err)
		}
	}
	w.tokens[nobody] = ""
	for n := range changes + 1 {
		last := "nothing"
		if n > 0 {
			p := w.change()
			last = p.Path() + " " + service.JSONText(p.Body())
			s.Must(w.admin, http.MethodPut, p.Path(), service.JSONText(p.Body()), http.StatusOK)
			w.follow()
			if w.chance(20) {
				last += ", and then a reload"
				if err := s.Swap(s.Engine, variedSchemas(n%2 == 1)); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, user := range slices.Sorted(maps.Keys(w.tokens)) {
			w.feed(user)
			if w.lists(user, n == 0); n > 0 {
				for range 7 {
					w.ask(user)
				}
			}
		}
		if t.Failed() {
			t.Fatalf("after %d changes, of which the last is %s", n, last)
		}
	}
	t.Logf("asked %v; objects that were shown by one scope alone, or because they are public: %v", w.asked, w.shown)
	if w.shown["TEAM"] < 100 {
		t.Errorf("scope TEAM showed only %d objects", w.shown["TEAM"])
	}
	if !testing.Short() && w.shown["OWN"]+w.shown[""] < 5 { // some graphs have none of one kind, and short runs of both
		t.Error("neither scope OWN nor public objects showed much")
	}
}

// follow lets the objects that belong to a changed one follow it, and looks before that,
// when nothing is shown that should not be.
func (w *witness) follow() {
	w.doubt = true
	for _, user := range slices.Sorted(maps.Keys(w.tokens)) {
		kind := pick(w.Rand, teamTypes)
		if kind != "assets" {
			w.list(user, kind, w.withHidden(user), func(string) bool { return true })
		}
	}
	w.doubt = false
	if err := w.s.Engine.FollowAll(w.Context(), slog.New(slog.DiscardHandler)); err != nil {
		w.Fatal(err)
	}
}

// nobody is a caller without a token.
const nobody = ""

// get expects a status, which is another one for whoever has no role in the network, unless
// what is read is public.
func (w *witness) get(user, kind, path string, status int) map[string]any {
	w.Helper()
	w.asked[kind]++
	status = w.status(user, path, status)
	if w.chance(30) {
		path = formerNames(path)
	}
	a := w.s.Ask(w.tokens[user], http.MethodGet, path, "", nil)
	if a.Status != status {
		w.Errorf("%s gets %d, not %d, from %s: %.400s%s", user, a.Status, status, path, a.Body, w.why(user))
	}
	head := w.s.Ask(w.tokens[user], http.MethodHead, path, "", nil)
	if head.Status != a.Status || len(head.Body) > 0 {
		w.Errorf("%s gets %d from HEAD and %d from GET %s", user, head.Status, a.Status, path)
	}
	if former := formerPath.FindString(path); former != "" {
		w.formerly(user, path, presentPath(strings.Trim(former, "/=")), a)
	}
	object, _ := a.JSON().(map[string]any)
	if a.Status == http.StatusOK && kind != "histories" && kind != "notifications" { // whose messages have ids alone
		w.references(user, path, object)
	}
	return object
}

var formerPath = regexp.MustCompile(`[/=](packages|missives|badges)\b`)

// formerly expects that an answer to a request that names a type by its former path has the
// present one, unless the type does not exist for the user.
func (w *witness) formerly(user, path, kind string, a *service.Answer) {
	w.Helper()
	w.asked["former paths"]++
	body, links := string(a.Body), strings.Join(a.Header["Link"], ", ")
	if shown := strings.Contains(links, "/"+kind) || strings.Contains(body, "/api/v1/"+kind); shown && !w.world.knows(user, kind) && kind != "stickers" {
		w.Errorf("%s does not know %s, and gets its path from %s: %s %s%s", user, kind, path, links, body, w.why(user))
	}
	if a.Status == http.StatusOK && (a.Header.Get("Deprecation") == "" || !strings.Contains(links, "/api/v1/"+kind)) {
		w.Errorf("%s gets no present path from %s: %s", user, path, links)
	}
	if a.Status == http.StatusOK && formerPath.MatchString(body) {
		w.Errorf("%s gets a former path from %s: %s", user, path, body)
	}
}

func (w *witness) signedIn(user string) bool { return len(w.world.roles(user, "")) > 0 }

// status is that of the answer to a GET, where a member of the network who knows the type gets a
// certain one.
func (w *witness) status(user, path string, member int) int {
	place, parameters, _ := strings.Cut(strings.TrimPrefix(path, "/api/v1/"), "?")
	kind, _, _ := strings.Cut(place, "/")
	about := kind
	if query, err := url.ParseQuery(parameters); err == nil && (kind == "audit" || kind == "changes") {
		about = query.Get("type")
	}
	switch {
	case user != nobody && !w.world.knows(user, kind), w.signedIn(user) && !w.world.knows(user, about):
		return http.StatusNotFound
	case w.signedIn(user):
		return member
	case kind == "stickers" && (strings.Contains(parameters, "includeHidden=") || strings.Contains(parameters, "onlyMine=")):
		return http.StatusBadRequest // parameters of lists that depend on what is not public
	case kind == "stickers":
		return member
	case user == nobody:
		return http.StatusUnauthorized
	}
	return http.StatusForbidden
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
		if id, ok := v["id"].(string); ok && v["createTime"] == nil && v["code"] == nil && v["revision"] == nil {
			kind, _, _ := strings.Cut(strings.TrimPrefix(link, "/api/v1/"), "/")
			if _, own := w.world[kind]; own && kind != "users" && kind != "assets" {
				_, named := v["name"]
				if shows := w.world.shows(user, kind, id); named != shows && (named || !w.doubt) { // names wait, too
					w.Errorf("%s is shown %s in %s, and sees it: %t%s", user, service.JSONText(v), path, shows, w.why(user))
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
		skip := 75
		if slices.Contains(ownTypes, kind) {
			skip = 50
		}
		if kind == "assets" || !all && w.chance(skip) {
			continue
		}
		w.list(user, kind, w.withHidden(user), func(string) bool { return true })
	}
}

// withHidden is the parameter of lists that takes HIDDEN objects, which are never public: who
// sees only what is public may not have it.
func (w *witness) withHidden(user string) string {
	if w.signedIn(user) || w.chance(20) {
		return "&includeHidden=true"
	}
	return ""
}

// kind is a type to ask about: mostly one of those of which a user sees something.
func (w *witness) kind(user string) string {
	if len(w.world.roles(user, "NETWORK"))+len(w.world.roles(user, "TEAM")) == 0 && w.chance(60) {
		return pick(w.Rand, append(ownTypes, "stickers"))
	}
	return pick(w.Rand, slices.Sorted(maps.Keys(worldRefs)))
}

// list expects those objects that meet a condition and that the user is shown.
func (w *witness) list(user, kind, parameters string, meets func(id string) bool) {
	var want []string
	for _, id := range slices.Sorted(maps.Keys(w.world[kind])) {
		if meets(id) && w.world.shows(user, kind, id) {
			want = append(want, id)
		}
	}
	path := "/api/v1/" + kind + "?context=main&pageSize=1000" + parameters
	page := w.get(user, "lists", path, http.StatusOK)
	if w.status(user, path, http.StatusOK) != http.StatusOK {
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
	scopes := map[string]bool{}
	for _, role := range w.world.roles(user, "") {
		scopes[w.world.text("roles", role, "scope")] = true
	}
	for _, id := range got {
		switch {
		case !w.world.sees(user, kind, id):
			w.shown[""]++
		case scopes["NETWORK"] || len(scopes) > 1:
		case scopes["OWN"]:
			w.shown["OWN"]++
		case slices.Contains(teamTypes, kind):
			w.shown["TEAM"]++
		}
	}
}

// ask asks one question at random.
func (w *witness) ask(user string) {
	kind := w.kind(user)
	id := pick(w.Rand, append(slices.Sorted(maps.Keys(w.world[kind])), "alien"))
	switch w.IntN(10) {
	case 9:
		w.remove(user)
	case 0, 1:
		status := http.StatusNotFound
		if w.world.shows(user, kind, id) {
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
	all, escape := w.withHidden(user), url.QueryEscape
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
			return w.creator(kind, id) == user && w.world.sees(user, kind, id) && w.world.text(kind, id, "objectState") != "HIDDEN"
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
	if kind == "assets" || !w.signedIn(user) || !w.world.knows(user, kind) {
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
		if w.world.shows(user, kind, id) {
			want = append(want, id)
		}
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		w.Errorf("%s walks through %v, not %v, of %s%s", user, got, want, path, w.why(user))
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
	if !w.signedIn(user) || !w.world.knows(user, kind) {
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
