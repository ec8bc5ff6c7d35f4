package browser

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing/fstest"
	"time"

	"marquee"
	"marquee/integration/marqueetest"
	"marquee/resources"
)

// visitor walks through the console of one of two worlds as gail, who has a role of the scope TEAM. The worlds are the
// same as far as gail sees them. The second has more of what she does not see, with other names: objects of another
// team, changes and warnings of them, a type, and properties of a type.
type visitor struct {
	*console
	screen *screen
	second bool
	// now is the time of the world in milliseconds, at which it stands still.
	now    *atomic.Int64
	sights []sight
	// changed is how often others have changed what gail does not see.
	changed int
}

const gailPassword = marqueetest.Password + " too"

// hiddenSchemas are those of both worlds. What is between « and » is only in the second.
var hiddenSchemas = map[string]string{
	"memos.json": `"title": "Memo", "x-resource": {"path": "memos", "group": "Care", "permissions": {"write": "READ_ARCHIVE"}}, "properties": {"name": {"type": "string"}}`,
	"cases.json": `"title": "Case", "description": "What a team works on.", "required": ["name"],
		"x-resource": {"path": "cases", "group": "Care", "team": "team", "search": ["name"], "sort": ["name", "size"«, "severity"»], "index": ["about"«, "diagnosis"»],
			"unique": ["code"«, "file", ["ward", "bed"]»], "columns": ["name", "size", «"severity", »"about", "objectState", "validationWarnings"]},
		"properties": {"name": {"type": "string"}, "size": {"type": "integer", "description": "How much there is to do."}, "team": {"x-ref": "teams"}, "about": {"x-ref": "cases"}, "law": {"x-ref": "laws"},
			"code": {"type": "string"}, "ward": {"type": "string", "maxLength": 20}, "stage": {"type": "string", "enum": ["OPEN", "SHUT"], "x-transitions": {"OPEN": ["SHUT"]}},
			"care": {"type": "object", "properties": {"plan": {"type": "string"}«, "risk": {"type": "string", "title": "Risk of relapse", "x-readable": "READ_ARCHIVE"}»}},
			"mood": {"type": "string", "x-readable": "READ_ARCHIVE"}«, "diagnosis": {"type": "string", "enum": ["FLU", "COLD"], "description": "What it is.", "x-readable": "READ_ARCHIVE"},
			"severity": {"type": "integer", "default": 1, "x-readable": "READ_ARCHIVE"}, "file": {"type": "string", "x-readable": "READ_ARCHIVE"}, "bed": {"type": "string", "x-readable": "READ_ARCHIVE"},
			"doctor": {"x-ref": "users", "x-readable": "READ_ARCHIVE"}, "begin": {"type": "string", "format": "date", "x-readable": "READ_ARCHIVE"}, "end": {"type": "string", "format": "date", "x-readable": "READ_ARCHIVE"}»},
		"x-warnings": [{"code": "warning.case.empty", "text": "There is nothing to do.", "when": {"properties": {"size": {"const": 0}}, "required": ["size"]}}],
		"x-validations": [{"rule": "!has(self.size) || self.size < 1000", "code": "error.case.large", "text": "A case has less than 1,000 things to do.", "field": "/size"}«,
			{"rule": "self.severity < 9 || has(self.code)", "code": "error.case.severe", "text": "A severe case has a code."}»]«,
		"x-compare": [{"left": "begin", "op": "<=", "right": "end"}], "if": {"properties": {"diagnosis": {"const": "COLD"}}, "required": ["diagnosis"]}, "then": {"required": ["severity"]}»`,
	"laws.json":     `"title": "Law«book»", "x-resource": {"path": "laws", "group": "Archive", "permissions": {"read": "READ_ARCHIVE"}}, "properties": {"name": {"type": "string"}«, "case": {"x-ref": "cases"}, "cases": {"type": "array", "items": {"x-ref": "cases"}}»}`,
	"verdicts.json": `«"title": "Verdict", "x-resource": {"path": "verdicts", "group": "Care", "permissions": {"read": "READ_ARCHIVE"}}, "properties": {"name": {"type": "string"}, "case": {"x-ref": "cases"}, "by": {"x-ref": "users"}, "of": {"x-ref": "orders"}}»`,
}

var inSecond = regexp.MustCompile(`«[^»]*»`)

// schemasOf returns the schemas of a world. The first calls laws acts.
func schemasOf(second bool) fstest.MapFS {
	found := fstest.MapFS{}
	for name, text := range hiddenSchemas {
		if second {
			text = strings.NewReplacer("«", "", "»", "").Replace(text)
		} else {
			name = strings.Replace(name, "laws", "acts", 1)
			text = strings.NewReplacer(`"laws"`, `"acts"`, `"Law`, `"Act`).Replace(inSecond.ReplaceAllString(text, ""))
		}
		if text != "" {
			found[name] = &fstest.MapFile{Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", ` + text + "}")}
		}
	}
	return found
}

// hiddenOptions are those of the server of a world, whose clock stands still.
func hiddenOptions(second bool) (marquee.Options, *atomic.Int64) {
	now := &atomic.Int64{}
	now.Store(time.Date(2031, 3, 1, 12, 0, 0, 0, time.UTC).UnixMilli())
	return marquee.Options{Application: resources.New().Application(), Schemas: schemasOf(second), First: marquee.First{UserID: "administrator", RoleID: "administrators"},
		Now: func() time.Time { return time.UnixMilli(now.Load()).UTC() }}, now
}

// write writes objects of a type, at a time of their own.
func (v *visitor) write(by *marqueetest.Server, path string, objects ...string) {
	v.now.Add(10)
	by.Do(http.MethodPost, "/api/v1/"+path+"?context=main", "["+strings.Join(objects, ",")+"]", http.StatusOK)
}

// more writes objects in the second world alone, between the times of what is in both.
func (v *visitor) more(by *marqueetest.Server, path string, objects ...string) {
	if v.second {
		v.now.Add(5)
		by.Do(http.MethodPost, "/api/v1/"+path+"?context=main", "["+strings.Join(objects, ",")+"]", http.StatusOK)
		v.now.Add(-5)
	}
}

// numbered are n objects, in whose text %d stands for the number.
func numbered(n int, text string) (objects []string) {
	for i := range n {
		objects = append(objects, strings.ReplaceAll(text, "%d", fmt.Sprint(i)))
	}
	return objects
}

// fill writes the objects of a world.
func (v *visitor) fill() {
	v.t.Helper()
	admin := v.s
	v.write(admin, "roles", `{"id": "workers", "name": "Workers", "scope": "TEAM", "permissions": ["MANAGE_BUSINESS"]}`)
	for _, user := range []string{"gail", "otto"} {
		v.now.Add(10)
		admin.Do(http.MethodPost, "/api/v1/users/"+user, fmt.Sprintf(`{"username": %q, "password": %q, "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "workers"}]}]}}`, user, gailPassword), http.StatusCreated)
	}
	v.write(admin, "sites", `{"id": "park", "name": "Park"}`)
	v.more(admin, "sites", numbered(4, `{"id": "harbour-%d", "name": "Park harbour %d"}`)...)
	v.write(admin, "teams", `{"id": "north", "name": "North", "users": ["gail"], "sites": ["park"]}`, `{"id": "south", "name": "South", "users": ["otto"]}`)
	gail, otto := as(v.t, admin, "gail"), as(v.t, admin, "otto")

	v.write(admin, "advertisers", `{"id": "mill", "name": "Mill", "team": "north"}`)
	v.more(admin, "advertisers", numbered(3, `{"id": "bakery-%d", "name": "Mill bakery %d", "team": "south"}`)...)
	v.write(gail, "orders", `{"id": "flour", "name": "Flour", "advertiser": "mill"}`, `{"id": "grain", "name": "Grain", "team": "north", "salespersonUser": "otto"}`)
	v.more(otto, "orders", numbered(60, `{"id": "bread-%d", "name": "Flour bread %d", "team": "south", "salespersonUser": "gail"}`)...)
	v.write(gail, "lineitems", `{"id": "sacks", "name": "Sacks", "order": "flour"}`)
	v.more(otto, "lineitems", numbered(3, `{"id": "loaves-%d", "name": "Sacks of loaves %d", "order": "bread-1"}`)...)
	v.write(admin, "adunits", `{"id": "bench", "name": "Bench", "site": "park"}`)
	v.more(admin, "adunits", numbered(3, `{"id": "quay-%d", "name": "Bench quay %d", "site": "harbour-0"}`)...)

	law := "acts"
	if v.second {
		law = "laws"
	}
	v.write(admin, law, `{"id": "l", "name": "Habeas"}`)
	v.write(otto, "cases", fmt.Sprintf(`{"id": "shade", "name": %q, "team": "south"}`, map[bool]string{false: "Shade", true: "Umbra"}[v.second]))
	v.write(gail, "cases", `{"id": "roof", "name": "Roof", "size": 3, "team": "north", "care": {"plan": "tiles"}, "stage": "OPEN", "ward": "east"}`, `{"id": "wall", "name": "Wall", "size": 5, "team": "north"}`, `{"id": "path", "name": "Path", "size": 2}`)
	v.write(admin, "cases", `{"id": "wall", "about": "shade", "law": "l"}`, `{"id": "path", "about": "roof"}`)
	v.more(otto, "cases", numbered(60, `{"id": "cave-%d", "name": "Roof cave %d", "size": 0, "about": "cave-0", "team": "south"}`)...)
	v.more(admin, "cases", `{"id": "cave-1", "about": "roof", "diagnosis": "FLU"}`, `{"id": "cave-2", "about": "wall"}`)
	v.more(admin, "laws", numbered(4, `{"id": "law-%d", "name": "Roof law %d", "case": "roof", "cases": ["wall", "path"]}`)...)
	v.more(admin, "verdicts", numbered(4, `{"id": "verdict-%d", "name": "Roof verdict %d", "case": "roof", "by": "gail", "of": "flour"}`)...)
	for _, value := range []string{"FLU", "COLD"} { // changes of hidden properties alone
		v.more(admin, "cases", fmt.Sprintf(`{"id": "roof", "diagnosis": %q, "severity": 3, "file": %[1]q, "doctor": "otto", "care": {"plan": "tiles", "risk": %[1]q}}`, value), fmt.Sprintf(`{"id": "wall", "diagnosis": %q}`, value))
	}
	v.write(admin, "cases", `{"id": "roof", "size": 0}`) // with a warning, of which gail is told
	// What gail has made, and does not see any more.
	v.more(gail, "cases", `{"id": "lost", "name": "Roof lost", "size": 4, "team": "north", "about": "roof"}`)
	told := func() int64 {
		return gail.Do(http.MethodGet, "/api/v1/notifications?context=main", "", http.StatusOK)["totalCount"].(int64)
	}
	before := told()
	v.more(admin, "cases", `{"id": "lost", "size": 0}`)
	if v.second && told() != before+1 {
		v.t.Fatal("gail is not told of the warning")
	}
	v.more(admin, "cases", `{"id": "lost", "team": "south"}`)
	v.now.Add(10)
}
