package access

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"marquee/integration/service"
	"marquee/resources/asset/assettest"
)

// programmer writes requests at random.
type programmer struct {
	maker
	extras map[string][]string
	caller string
	// kinds are the types that requests are about, those whose objects belong to users several
	// times if the caller sees nothing else.
	kinds []string
	urls  int
	taken []programmed // what an administrator has taken from the caller, and gives back
}

// program is a series of requests. It depends on the seed alone.
func (p *twins) program(seed uint64, length int) []programmed {
	r := &programmer{maker: maker{Rand: rand.New(rand.NewPCG(seed, 2)), world: p.seen.clone()}, extras: p.extras, caller: p.caller, kinds: slices.Sorted(maps.Keys(worldRefs))}
	if callerScope(p.seed) == "OWN" {
		r.kinds = append(r.kinds, slices.Concat(ownTypes, ownTypes, ownTypes)...)
	}
	program := make([]programmed, length)
	for i := range program {
		if q, is := r.act(); is {
			program[i] = q
			continue
		}
		q := r.request()
		if r.chance(30) {
			q.path, q.body = formerNames(q.path), formerNames(q.body)
		}
		program[i] = q
	}
	return program
}

func (r *programmer) request() programmed {
	switch n := r.IntN(100); {
	case n < 22:
		return r.object()
	case n < 52:
		return r.list()
	case n < 60:
		return r.history()
	case n < 63:
		return programmed{method: http.MethodGet, path: "/api/v1/notifications?context=main" + r.page()}
	case n < 68:
		return r.search()
	case n < 90:
		return r.write()
	case n < 93:
		return r.remove()
	case n < 97:
		return r.stranger()
	}
	return r.other()
}

// any gives an id of a type that exists in the first world, in the second, or
// in none.
func (r *programmer) any(kind string) string {
	ids := slices.Concat(slices.Sorted(maps.Keys(r.world[kind])), r.extras[kind], []string{"fresh-" + kind + "-0", "alien"})
	if len(r.extras[kind]) > 0 && r.chance(20) {
		return pick(r.Rand, r.extras[kind])
	}
	return pick(r.Rand, ids)
}

func (r *programmer) query(parts ...string) string { return "?context=main" + strings.Join(parts, "") }

// maybe gives a text in some of a hundred cases.
func (r *programmer) maybe(percent int, text string) string {
	if r.chance(percent) {
		return text
	}
	return ""
}

func (r *programmer) path(kind, id string) string {
	if kind == "assets" {
		creative := r.world.text(kind, id, "creative")
		if creative == "" || r.chance(20) {
			creative = r.any("creatives")
		}
		id = creative + "/" + id
	}
	return "/api/v1/" + kind + "/" + id
}

func (r *programmer) object() programmed {
	kind := pick(r.Rand, r.kinds)
	q := programmed{method: pick(r.Rand, []string{"GET", "GET", "GET", "HEAD"}), header: map[string]string{}}
	q.path = r.path(kind, r.any(kind)) + r.query(r.maybe(15, "&fields=id,url,name,validationWarnings,createUser"))
	if r.chance(20) {
		q.header[pick(r.Rand, []string{"If-None-Match", "If-Match"})] = pick(r.Rand, []string{"{etag}", "*", `"1-x"`})
	}
	return q
}

func (r *programmer) page() string {
	switch r.IntN(5) {
	case 0:
		return "&pageSize=3"
	case 1:
		return "&pageSize=2&cursor={cursor}"
	case 2:
		return "&pageSize=2&page=1"
	}
	return ""
}

// list asks for a part of a list, by properties of any kind and values of what
// is hidden.
func (r *programmer) list() programmed {
	kind := pick(r.Rand, r.kinds)
	q := programmed{method: pick(r.Rand, []string{"GET", "GET", "GET", "GET", "HEAD"})}
	if q.path = "/api/v1/" + kind; kind == "assets" {
		q.path += "/" + r.any("creatives")
	}
	fields := []string{"id", "name", "objectState", "createUser", "updateUser", "createTime", "description", "validationWarnings", "size"}
	values := []string{pick(r.Rand, worldWords), "ACTIVE", "BIG", "LARGE", "users-1", "1 day ago", "", "other"}
	for _, property := range slices.Sorted(maps.Keys(worldRefs[kind])) {
		plain, to := strings.TrimSuffix(property, "[]"), worldRefs[kind][property]
		fields = append(fields, plain, plain+".id", plain)
		if r.chance(50) {
			values = append(values, r.any(to), r.any(to))
		}
	}
	field, value := pick(r.Rand, fields), pick(r.Rand, values)
	escape := url.QueryEscape
	parameters := ""
	switch r.IntN(9) {
	case 0, 1:
		operator := pick(r.Rand, []string{"=", "!=", ">", "<=", " in ", " not in "})
		parameters = "&where=" + escape(field+operator+value)
		if r.chance(30) {
			parameters += escape(";" + pick(r.Rand, fields) + pick(r.Rand, []string{" is null", " is not null"}))
		}
	case 2:
		parameters = "&where=" + escape(field+pick(r.Rand, []string{" is null", " is not null"}))
	case 3:
		parameters = "&filterBy=" + field + "&" + pick(r.Rand, []string{"filterByValue=", "filterByLike=", "filterByNotLike="}) + escape(value)
	case 4:
		parameters = "&q=" + escape(pick(r.Rand, append(worldWords, "ext", "other", "no")))
	case 5:
		parameters = "&id=" + r.any(kind) + ";" + r.any(kind) + ";" + r.any(kind)
	case 6:
		parameters = "&excludeIfMissing=" + field
	}
	parameters += r.maybe(40, "&includeHidden=true") + r.maybe(10, "&onlyMine=true") + r.maybe(10, "&excludeInvalid=true") +
		r.maybe(10, "&count=false") + r.maybe(10, "&position=true") + r.maybe(10, "&fields=id,name")
	if r.chance(30) {
		parameters += "&orderBy=" + pick(r.Rand, []string{"name", "updateTime", "id", "createUser", "objectState"}) + r.maybe(50, "&orderByDirection=DESCENDING")
	}
	q.path += r.query(parameters, r.page())
	return q
}

func (r *programmer) history() programmed {
	kind := pick(r.Rand, append(r.kinds, "users"))
	if r.chance(40) {
		return programmed{method: http.MethodGet, path: "/api/v1/changes" + r.query("&after="+pick(r.Rand, []string{"begin", "{position}", "{position}"}), "&include="+pick(r.Rand, []string{"changes", "object", "none"})) +
			r.maybe(20, "&limit=3") + r.maybe(20, "&type="+kind) + r.maybe(5, "&type="+kind+"&id="+r.any(kind))}
	}
	path := "/api/v1/audit" + r.query(r.page())
	switch r.IntN(3) {
	case 0:
		path += "&type=" + kind
	case 1:
		path += "&type=" + kind + "&id=" + r.any(kind)
	}
	return programmed{method: pick(r.Rand, []string{"GET", "GET", "HEAD"}), path: path}
}

// search looks for articles, also on sites that are hidden.
func (r *programmer) search() programmed {
	targets := map[string]any{}
	if r.chance(60) {
		targets["siteTarget"] = map[string]any{"sites": []string{r.any("sites"), r.any("sites")}[:1+r.IntN(2)], "negated": r.chance(30)}
	}
	return programmed{method: http.MethodPost, body: service.JSONText(targets),
		path: "/api/v1/targetingquery/articles2" + r.query("&pageSize=10&thresholdScore=0.01&sentence="+pick(r.Rand, worldWords))}
}

// writable gives an id that may be written: one that only the second world has
// is taken there.
func (r *programmer) writable(kind string) string {
	if r.chance(50) {
		return fmt.Sprintf("fresh-%s-%d", kind, r.IntN(4))
	}
	return pick(r.Rand, slices.Sorted(maps.Keys(r.world[kind])))
}

// posted is an object that refers to anything.
func (r *programmer) posted(kind, id string) map[string]any {
	o := r.maker.object(kind, id)
	for _, property := range slices.Sorted(maps.Keys(worldRefs[kind])) {
		plain, isList := strings.CutSuffix(property, "[]")
		to := worldRefs[kind][property]
		if plain == "layout" || !r.chance(40) {
			continue
		}
		if o[plain] = r.any(to); isList {
			o[plain] = []string{r.any(to), r.any(to)}
		}
		if to == "users" && !isList && r.chance(50) {
			o[plain] = r.caller
		}
	}
	switch kind {
	case "users":
		return map[string]any{"displayName": "D"}
	case "articles":
		r.urls++
		o["url"] = fmt.Sprintf("https://example.com/fresh/%d", r.urls)
	case "lineitems", "creatives":
		if r.chance(30) {
			o["targeting"] = map[string]any{"siteTarget": map[string]any{"sites": []string{r.any("sites")}},
				"adUnitTarget":       map[string]any{"adUnits": []string{r.any("adunits")}},
				"userSegmentTargets": []any{map[string]any{"userSegments": []string{r.any("segments")}}}}
		}
	}
	if r.chance(40) { // a part of it
		for _, name := range slices.Sorted(maps.Keys(o)) {
			if r.chance(50) {
				delete(o, name)
			}
		}
	}
	return o
}

// stranger reads without a token, mostly what may be public.
func (r *programmer) stranger() programmed {
	kinds := r.kinds
	if r.kinds = []string{"stickers"}; r.chance(20) {
		r.kinds = kinds
	}
	q := r.object()
	if r.chance(60) {
		q = r.list()
		q.path = strings.ReplaceAll(q.path, "&includeHidden=true", "")
	}
	r.kinds, q.anonymous = kinds, true
	return q
}

// remove removes an object that users own, which may be created again later.
func (r *programmer) remove() programmed {
	kind := pick(r.Rand, ownTypes)
	q := programmed{method: http.MethodDelete, path: r.path(kind, r.any(kind)) + r.query(r.maybe(20, "&validateOnly=true"))}
	if r.chance(20) {
		q.header = map[string]string{"If-Match": "{etag}"}
	}
	return q
}

func (r *programmer) write() programmed {
	kind := pick(r.Rand, r.kinds)
	q := programmed{method: pick(r.Rand, []string{"POST", "PUT"}), header: map[string]string{"Content-Type": "application/json"}}
	parameters := r.maybe(30, "&validateOnly=true") + r.maybe(15, "&fieldValidation=Strict")
	if r.chance(10) {
		q.header["Prefer"] = "return=minimal"
	}
	id := r.writable(kind)
	if kind == "assets" {
		path := r.path(kind, id)
		if strings.Contains(path, "/extra-") { // where a file is refused, for want of its creative
			path = r.path(kind, "fresh-assets-0")
		}
		q.path, q.body = path+r.query(), `{"objectState": "ACTIVE"}`
		if r.chance(60) {
			contentType, body := service.Form("a.png", assettest.PNG(2+r.IntN(3), 2))
			q.header["Content-Type"], q.body = contentType, string(body)
		}
		return q
	}
	several := func() []any {
		objects := []any{}
		for range 1 + r.IntN(3) {
			id := r.writable(kind)
			o := r.posted(kind, id)
			o["id"] = id
			objects = append(objects, o)
		}
		return objects
	}
	switch r.IntN(8) {
	case 0, 1, 2, 3:
		if r.chance(20) {
			q.header[pick(r.Rand, []string{"If-None-Match", "If-Match"})] = pick(r.Rand, []string{"{etag}", "*", `"1-x"`})
		}
		if r.chance(30) {
			q.method, id = http.MethodPatch, r.any(kind)
		}
		q.path, q.body = r.path(kind, id)+r.query(parameters), service.JSONText(r.posted(kind, id))
	case 4, 5:
		q.path, q.body = "/api/v1/"+kind+r.query(parameters), service.JSONText(several())
	case 6:
		operations := []any{}
		for range 1 + r.IntN(3) {
			kind = pick(r.Rand, []string{"orders", "lineitems", "creatives", "advertisers", "adunits", "sites", "segments", "parcels", "letters", "stickers"})
			for _, o := range several()[:1] {
				operation := map[string]any{"type": kind, "object": o}
				if r.chance(20) {
					operation[pick(r.Rand, []string{"ifNoneMatch", "ifMatch"})] = pick(r.Rand, []string{"{tag}", "*", "1-x"})
				}
				operations = append(operations, operation)
			}
		}
		q.path, q.body = "/api/v1/batch"+r.query(parameters), service.JSONText(map[string]any{"operations": operations})
	default:
		kind = "segments"
		q.path, q.body = "/api/v1/segments/upload"+r.query(), service.JSONText(several())
	}
	return q
}

// other returns requests for anything but objects of the network, of which many are
// refused.
func (r *programmer) other() programmed {
	kind := pick(r.Rand, r.kinds)
	id := r.any(kind)
	q := programmed{method: pick(r.Rand, []string{"GET", "HEAD", "OPTIONS", "DELETE", "PATCH"})}
	q.path = pick(r.Rand, []string{
		"/api/v1/networks", "/api/v1/networks/third", "/api/v1/networks/other", "/api/v1/networks/main",
		"/api/v1/users", "/api/v1/users?context=main", "/api/v1/users?context=third", "/api/v1/users/ghost", "/api/v1/users/users-1", "/api/v1/users/users-2?context=main",
		"/api/v1/users?where=" + url.QueryEscape("username in ghost,users-1"), "/api/v1/users?q=gh", "/api/v1/users?filterBy=username&filterByLike=gho",
		"/api/v1/" + kind + "?context=third", "/api/v1/" + kind + "?context=other", "/api/v1/" + kind + "?context=nowhere", "/api/v1/" + kind,
		r.path(kind, id) + "?context=third", r.path(kind, id) + "?context=other", r.path(kind, id), "/api/v1/sites/alien?context=other",
		r.path(kind, id) + "?context=main", "/api/v1/" + kind + "?context=main", "/api/v1/audit?context=third", "/api/v1/audit?context=main&type=networks",
		"/api/v1/notifications?context=third", "/api/v1/batch?context=main", "/api/v1/devices?context=main", "/api/v1/unknown?context=main",
	})
	return q
}
