package reload

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/store"
	"marquee/integration/service"
)

// reloadModel is what each property of each object may have: the values of the
// writes that were acknowledged, but for those that ended before another began.
type reloadModel struct {
	mu     sync.Mutex
	clock  int
	values map[string][]reloadValue
}

type reloadValue struct {
	text string
	end  int
}

// begin is the moment when a write begins.
func (m *reloadModel) begin() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clock++
	return m.clock
}

// written notes a write that was acknowledged, and when it began.
func (m *reloadModel) written(id string, object map[string]any, began int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clock++
	if m.values == nil {
		m.values = map[string][]reloadValue{}
	}
	for _, property := range reloadProperties {
		if value, ok := object[property]; ok {
			key := id + " " + property
			m.values[key] = append(slices.DeleteFunc(m.values[key], func(v reloadValue) bool { return v.end < began }),
				reloadValue{reloadText(value), m.clock})
		}
	}
}

// reloadText is a value, or the id of a reference, as text.
func reloadText(value any) string {
	if reference, ok := value.(map[string]any); ok {
		value = reference["id"]
	}
	return strings.Join(textsOf(value), ",")
}

// scan lists all venues, which asks for nothing but their ids.
func (r *reloads) scan(s *service.Service) []map[string]any {
	objects, _ := r.page(s, r.token, "venues", "orderBy=id&pageSize=1000")
	return objects
}

func (r *reloads) page(s *service.Service, token, path, parameters string) (objects []map[string]any, answer map[string]any) {
	r.Helper()
	answer = s.Must(token, http.MethodGet, "/api/v1/"+path+"?context="+service.Network+"&"+parameters, "", http.StatusOK)
	for _, object := range answer["results"].([]any) {
		objects = append(objects, reloadStored(object.(map[string]any)))
	}
	return objects, answer
}

// reloadCheck compares what one server finds with a scan of the objects.
type reloadCheck struct {
	*reloads
	s       *service.Service
	what    string
	objects []map[string]any
	random  *rand.Rand
	// served is the schema of the server; the secret properties are those that nobody can ask
	// for.
	served reloadVenues
	secret map[string]bool
}

// called returns a name by which requests can name a property.
func (c *reloadCheck) called(property string) string { return c.served.either(c.random, property) }

// path returns a path by which requests can name the type.
func (c *reloadCheck) path() string {
	paths := c.served.paths()
	return paths[c.random.IntN(len(paths))]
}

// value returns a value that stands for one of objects in requests.
func (c *reloadCheck) value(property, value string) string {
	if property == "state" && value == "A" {
		return reloadState(c.random.IntN(reloadGenerations))
	}
	return value
}

// compare holds what each server finds against a scan of the documents, and that
// against what was written.
func (r *reloads) compare(random *rand.Rand, what string) {
	r.pause.Lock()
	defer r.pause.Unlock()
	for n, s := range r.servers {
		served := r.served[n]
		c := &reloadCheck{r, s, fmt.Sprintf("server %d, after %s", n, what), r.scan(s), random, served, served.secret}
		c.values()
		c.presents()
		c.amended()
		c.filters(random)
		c.search()
		c.rights(served)
		t, _ := s.Engine.Registry().Type("venues")
		for _, property := range append([]string{"id", "createTime", "updateTime"}, t.Sort...) {
			c.order(property, false)
			c.order(property, true)
		}
		for _, property := range t.Unique {
			c.unique(property, n)
		}
	}
}

// values demands that each object has the values that were written.
func (c *reloadCheck) values() {
	c.model.mu.Lock()
	defer c.model.mu.Unlock()
	if len(c.objects) != reloadObjects {
		c.Errorf("%s: %d objects instead of %d", c.what, len(c.objects), reloadObjects)
	}
	for _, object := range c.objects {
		for _, property := range c.served.declared() {
			may, got := c.model.values[fmt.Sprint(object["id"], " ", property)], reloadText(object[property])
			if property == "seat" && got == reloadSeat && (len(may) == 0 || slices.ContainsFunc(may, func(v reloadValue) bool { return v.text == "" })) {
				got = "" // the service has filled it in
			}
			if !slices.ContainsFunc(may, func(v reloadValue) bool { return v.text == got }) && (got != "" || len(may) > 0) {
				c.Errorf("%s: %s of %v is %q instead of one of %v", c.what, property, object["id"], got, may)
			}
		}
	}
}

// presents demands that an object has the present path, names and values, and no others.
func (c *reloadCheck) presents() {
	for generation := range reloadGenerations {
		path := reloadName("venues", generation)
		if a := c.s.Ask(c.token, http.MethodGet, "/api/v1/"+path+"?context=main&pageSize=1", "", nil); (a.Status == http.StatusOK) != (generation <= c.served.later.path) || (a.Header.Get("Deprecation") != "") != (generation < c.served.later.path) {
			c.Errorf("%s: %s is answered with %d %v", c.what, path, a.Status, a.Header)
		}
	}
	object := c.s.Must(c.token, http.MethodGet, "/api/v1/"+c.path()+"/v0?context=main", "", http.StatusOK)
	if object["url"] != "/api/v1/"+c.served.path()+"/v0?context=main" {
		c.Errorf("%s: v0 has the url %v", c.what, object["url"])
	}
	for _, property := range reloadProperties {
		for generation := range reloadGenerations {
			if name := reloadName(property, generation); object[name] != nil && (name != c.served.name(property) || !c.served.has(property)) {
				c.Errorf("%s: v0 has %s: %v", c.what, name, object)
			}
		}
	}
	if state := object[c.served.name("state")]; state != nil && state != "B" && state != reloadState(c.served.later.state) {
		c.Errorf("%s: v0 has the state %v", c.what, state)
	}
}

// amended demands that all objects are stored as the schema asks for it, if the store says so.
func (c *reloadCheck) amended() {
	t, _ := c.s.Engine.Registry().Type("venues")
	err := c.s.Store.Read(c.Context(), func(s store.Snapshot) error {
		all, err := catalog.ReadAll(c.Context(), s)
		if err != nil || all["venues"].Amended != catalog.AllAmended || all["venues"].Amends != t.Amendments() {
			return err
		}
		c.tally["amended"]++
		var keys []store.Key
		for i := range reloadObjects {
			keys = append(keys, store.Key{Network: service.Network, ID: fmt.Sprintf("v%d", i)})
		}
		return s.Get(c.Context(), "venues", keys, func(r *store.Record) error {
			object, err := document.DecodeObject(r.Document, document.Limits{})
			if state := object["state"]; state != nil && state != "B" && state != reloadState(c.served.later.state) || c.served.later.seat && object["seat"] == nil {
				c.Errorf("%s: the store says that all objects have what the schema asks for, and has %s", c.what, r.Document)
			}
			return err
		})
	})
	if err != nil {
		c.Error(err)
	}
}

// finds demands that a list finds and counts the objects that a scan does.
func (c *reloadCheck) finds(name, value, more string, want func(object map[string]any) bool) {
	c.Helper()
	var ids, found []string
	for _, object := range c.objects {
		if want(object) {
			ids = append(ids, fmt.Sprint(object["id"]))
		}
	}
	parameters := name + "=" + url.QueryEscape(value) + more
	objects, answer := c.page(c.s, c.token, c.path(), "pageSize=1000&fields=id&"+parameters)
	for _, object := range objects {
		found = append(found, fmt.Sprint(object["id"]))
	}
	slices.Sort(ids)
	slices.Sort(found)
	if !slices.Equal(ids, found) {
		c.Errorf("%s: %s finds %d objects instead of %d: %v instead of %v", c.what, parameters, len(found), len(ids), found, ids)
	}
	if count := fmt.Sprint(answer["totalCount"]); count != fmt.Sprint(len(ids)) {
		c.Errorf("%s: %s counts %s objects instead of %d", c.what, parameters, count, len(ids))
	}
}

// filters asks for half of the properties in each way, with values that objects have.
func (c *reloadCheck) filters(random *rand.Rand) {
	for _, property := range reloadProperties {
		if random.IntN(2) == 0 {
			continue
		}
		called := c.called(property)
		if c.secret[property] || !c.served.has(property) {
			for _, parameters := range []string{"where=" + called + "=x", "filterBy=" + called + "&filterByValue=x", "filterBy=" + called + "&filterByLike=x",
				"excludeIfMissing=" + called, "orderBy=" + called} {
				c.s.Must(c.token, http.MethodGet, "/api/v1/"+c.path()+"?context=main&"+parameters, "", http.StatusBadRequest)
			}
			continue
		}
		texts := func(object map[string]any) []string {
			if property == "team" {
				return textsOf(any(reloadTeam(object)))
			}
			return textsOf(object[property])
		}
		c.finds("excludeIfMissing", called, "", func(object map[string]any) bool { return len(texts(object)) > 0 })
		for range 2 {
			have := texts(c.objects[random.IntN(len(c.objects))])
			if len(have) == 0 {
				continue
			}
			is := func(object map[string]any) bool { return slices.Contains(texts(object), have[0]) }
			c.finds("where", called+"="+c.value(property, have[0]), "", is)
			c.finds("where", called+"!="+c.value(property, have[0]), "", func(object map[string]any) bool { return !is(object) })
			c.finds("filterByValue", c.value(property, have[0]), "&filterBy="+called, is)
		}
		if property == "team" {
			continue
		}
		for range 2 {
			part := reloadWords[random.IntN(len(reloadWords))][1:4]
			has := func(object map[string]any) bool {
				return slices.ContainsFunc(texts(object), func(text string) bool { return strings.Contains(text, part) })
			}
			c.finds("filterByLike", strings.ToUpper(part), "&filterBy="+called, has)
			c.finds("filterByNotLike", part, "&filterBy="+called, func(object map[string]any) bool { return !has(object) })
		}
	}
}

func reloadTeam(object map[string]any) any {
	team, _ := object["team"].(map[string]any)
	return team["id"]
}

// search asks for each word.
func (c *reloadCheck) search() {
	t, _ := c.s.Engine.Registry().Type("venues")
	if len(t.Search) == 0 {
		return
	}
	for _, word := range append([]string{reloadSecret, "before"}, reloadWords...) {
		c.finds("q", word, "", func(object map[string]any) bool {
			return slices.ContainsFunc(t.Search, func(property string) bool {
				return slices.ContainsFunc(textsOf(object[property]), func(text string) bool {
					return slices.ContainsFunc(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '/' }),
						func(one string) bool { return strings.HasPrefix(one, word) })
				})
			})
		})
	}
}

// rights demands that secrets are hidden from who may not see them, also in the
// history, and objects of a team from a member of none.
func (c *reloadCheck) rights(served reloadVenues) {
	objects, _ := c.page(c.s, c.reader, c.path(), "pageSize=1000")
	hidden := slices.Sorted(maps.Keys(c.secret))
	for i, object := range objects {
		for _, property := range hidden {
			if _, shown := object[property]; shown && c.secret[property] {
				c.Errorf("%s: the secret %s of %v is shown", c.what, property, object["id"])
			}
		}
		for _, property := range reloadProperties {
			if got, want := reloadText(object[property]), reloadText(c.objects[i][property]); got != want && !c.secret[property] {
				c.Errorf("%s: %s of %v is %q to a reader instead of %q", c.what, property, object["id"], got, want)
			}
		}
	}
	if c.secret["note"] {
		for _, token := range []string{c.token, c.reader} {
			if a := c.s.Ask(token, http.MethodGet, "/api/v1/audit?context=main&type="+c.path()+"&pageSize=1000", "", nil); a.Status != http.StatusOK || strings.Contains(string(a.Body), reloadSecret) {
				c.Errorf("%s: the history shows a secret: %d", c.what, a.Status)
			}
		}
	}
	want := 0
	for _, object := range c.objects {
		status := http.StatusNotFound
		if !served.team || reloadTeam(object) == nil {
			want, status = want+1, http.StatusOK
		}
		if object["id"] == "v0" {
			c.s.Must(c.member, http.MethodGet, "/api/v1/"+c.path()+"/v0?context=main", "", status)
		}
	}
	objects, answer := c.page(c.s, c.member, c.path(), "pageSize=1000&fields=id")
	if len(objects) != want || fmt.Sprint(answer["totalCount"]) != fmt.Sprint(want) {
		c.Errorf("%s: %d objects, and %v counted, are shown to a member of no team instead of %d", c.what, len(objects), answer["totalCount"], want)
	}
}

// order follows the cursors of an order through all pages.
func (c *reloadCheck) order(property string, descending bool) {
	expected := slices.Clone(c.objects)
	slices.SortFunc(expected, func(a, b map[string]any) int {
		left, right := "", ""
		if text, ok := a[property].(string); ok {
			left = "=" + text
		}
		if text, ok := b[property].(string); ok {
			right = "=" + text
		}
		by := cmp.Or(strings.Compare(left, right), strings.Compare(fmt.Sprint(a["id"]), fmt.Sprint(b["id"])))
		if descending {
			return -by
		}
		return by
	})
	ids := func(list []map[string]any) (ids []string) {
		for _, object := range list {
			ids = append(ids, fmt.Sprintf("%v %v", object[property], object["id"]))
		}
		return ids
	}
	parameters := "pageSize=150&fields=id," + c.called(property) + "&orderBy=" + c.called(property) + "&orderByDirection=ASCENDING"
	if descending {
		parameters = strings.Replace(parameters, "ASC", "DESC", 1)
	}
	var paged []map[string]any
	for cursor := ""; ; {
		objects, answer := c.page(c.s, c.token, c.path(), parameters+cursor)
		paged = append(paged, objects...)
		next, more := answer["nextCursor"].(string)
		if !more || len(paged) > len(expected) {
			break
		}
		cursor = "&cursor=" + url.QueryEscape(next)
	}
	if got, want := ids(paged), ids(expected); !slices.Equal(got, want) {
		c.Errorf("%s: by %s (descending: %t), the order is %v instead of %v", c.what, property, descending, got, want)
	}
}

// unique finds no value twice, and lets no second object have one. Each server
// is asked for its share of the values.
func (c *reloadCheck) unique(property string, server int) {
	owners := map[string]string{}
	for _, object := range c.objects {
		if value, _ := object[property].(string); value != "" {
			if owners[value] != "" {
				c.Errorf("%s: %v and %s have the %s %s", c.what, object["id"], owners[value], property, value)
			}
			owners[value] = fmt.Sprint(object["id"])
		}
	}
	claim := func(value string) *service.Answer {
		body, _ := json.Marshal(map[string]any{c.called(property): value})
		return c.s.Ask(c.token, http.MethodPost, "/api/v1/"+c.path()+"/another?context=main&validateOnly=true", string(body), nil)
	}
	for i, value := range slices.Sorted(maps.Keys(owners)) {
		if i%len(c.servers) != server {
			continue
		}
		if a := claim(value); a.Status != http.StatusUnprocessableEntity {
			c.Errorf("%s: the %s %s of %s is free: %d", c.what, property, value, owners[value], a.Status)
		}
	}
	if a := claim("nobody's"); a.Status >= 300 {
		c.Errorf("%s: a %s that nobody has is refused: %d %s", c.what, property, a.Status, a.Body)
	}
}

func textsOf(value any) (texts []string) {
	switch value := value.(type) {
	case string:
		texts = append(texts, value)
	case []any:
		for _, item := range value {
			texts = append(texts, textsOf(item)...)
		}
	}
	return texts
}
