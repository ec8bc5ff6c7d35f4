package access

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing/fstest"

	"marquee/integration/service"
)

// worldRefs are the references of each type by property; those that end in []
// are lists.
var worldRefs = map[string]map[string]string{
	"adunits":     {"site": "sites"},
	"advertisers": {"team": "teams"},
	"orders":      {"advertiser": "advertisers", "team": "teams", "salespersonUser": "users"},
	"lineitems":   {"order": "orders", "tier": "tiers"},
	"creatives":   {"lineItem": "lineitems", "layout": "layouts", "libraryCreative": "librarycreatives"},
	"assets":      {"creative": "creatives"},
	"segments":    {"team": "teams", "teams[]": "teams"},
	"articles":    {"site": "sites"},
	"parcels":     {"order": "orders", "recipient": "users"},
	"letters":     {"parcel": "parcels", "author": "users"},
	"stickers":    {"parcel": "parcels", "letter": "letters", "holders[]": "users"},
	"teams":       {"users[]": "users", "sites[]": "sites"},
	"roles":       {"sites[]": "sites"},
	"sites":       {}, "tiers": {}, "layouts": {}, "librarycreatives": {},
}

// worldTypes are the types that a world has, in an order in which they can be
// written, and how many objects of each. What of a type refers to another is
// written again later.
var worldTypes = []struct {
	kind string
	n    int
}{
	{"layouts", 1}, {"tiers", 2}, {"sites", 8}, {"roles", 8}, {"users", 7}, {"teams", 5}, {"librarycreatives", 2},
	{"adunits", 8}, {"advertisers", 8}, {"orders", 10}, {"lineitems", 12}, {"creatives", 12}, {"assets", 6}, {"segments", 10}, {"articles", 6}, {"parcels", 8}, {"letters", 8}, {"stickers", 8},
}

const worldUsers = 7

// worldSchemas are the types of a world that the application does not have. They belong to
// teams and to users, directly and through each other, and can be removed while nothing refers
// to them. Letters are read, written and created with permissions of their own, and some
// stickers are public. Objects are written under the former schemas, in which the types and their
// properties have other names, and parcels another size.
func worldSchemas(former bool) fs.FS {
	reference := func(to string) string { return `{"$ref": "common/reference.json", "x-ref": "` + to + `"}` }
	was := func(name, schema string) string {
		return fmt.Sprintf(`%q: {"x-was": %q, %s`, name, worldFormer[name], schema[1:])
	}
	size := `"size": {"type": "string", "enum": ["LARGE", "SMALL"], "x-was-values": {"BIG": "LARGE"}}`
	if former {
		was = func(name, schema string) string { return fmt.Sprintf("%q: %s", name, schema) }
		size = `"size": {"type": "string", "enum": ["BIG", "SMALL"]}`
	}
	removable := func(path, resource, properties string) *fstest.MapFile {
		text := fmt.Sprintf(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": %[1]q,
			"x-resource": {"path": %[1]q, "methods": ["GET", "HEAD", "POST", "PUT", "DELETE"], "label": "name", "search": ["name"], "sort": ["name"], %[2]s},
			"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, %[3]s}}`, path, resource, properties)
		if former {
			text = formerNames(text)
		} else {
			text = strings.Replace(text, `"methods"`, fmt.Sprintf(`"was": %q, "methods"`, worldFormerPaths[path]), 1)
		}
		return &fstest.MapFile{Data: []byte(text)}
	}
	const byParcel = `"team": ["parcel.order.team", "parcel.order.advertiser.team"], "index": ["name", "parcel"]`
	return fstest.MapFS{
		"parcels.json": removable("parcels", `"team": ["order.team", "order.advertiser.team"], "owner": "recipient", "index": ["name", "order"]`,
			`"order": `+reference("orders")+`, `+was("recipient", reference("users"))+`, `+size),
		"letters.json": removable("letters", byParcel+`, "owner": ["author", "parcel.recipient"],
			"permissions": {"read": "READ_LETTERS", "write": "WRITE_LETTERS", "create": "OPEN_LETTERS"}`,
			was("parcel", reference("parcels"))+`, `+was("author", reference("users"))),
		"stickers.json": removable("stickers", byParcel+`, "owner": ["holders", "parcel.recipient"],
			"public": {"when": {"properties": {"shown": {"const": "ALL"}}, "required": ["shown"]}}`,
			was("parcel", reference("parcels"))+`, "letter": `+reference("letters")+`, `+was("holders", `{"type": "array", "items": `+reference("users")+`}`)+`,
			"shown": {"type": "string", "enum": ["ALL", "FEW"]}`),
	}
}

// worldFormer are the names under which properties of these types are stored.
var worldFormer = map[string]string{"recipient": "addressee", "author": "writer", "holders": "keepers", "parcel": "packet"}

// worldFormerPaths are the paths of types under which objects are stored.
var worldFormerPaths = map[string]string{"parcels": "packages", "letters": "missives", "stickers": "badges"}

var (
	worldRenamed = regexp.MustCompile(`\b(recipient|author|holders|parcel)\b`)
	// Ids of objects, such as parcels-1, stay.
	worldMoved = regexp.MustCompile(`\b(parcels|letters|stickers)(["/?&,]|$)`)
)

// formerNames returns a request, or schemas, with the former names of types and properties.
func formerNames(text string) string {
	text = worldRenamed.ReplaceAllStringFunc(text, func(name string) string { return worldFormer[name] })
	return worldMoved.ReplaceAllStringFunc(text, func(name string) string {
		path := strings.TrimRight(name, `"/?&,`)
		return worldFormerPaths[path] + name[len(path):]
	})
}

// presentPath returns the present path of a type.
func presentPath(path string) string {
	for present, former := range worldFormerPaths {
		if path == former {
			return present
		}
	}
	return path
}

// formerly returns what is written under the former schemas.
func formerly(made []service.Placed) []service.Placed {
	former := slices.Clone(made)
	for i, p := range made {
		posted := map[string]any{}
		for name, value := range p.Posted {
			posted[formerNames(name)] = value
		}
		former[i].Kind, former[i].Posted = formerNames(p.Kind), posted
	}
	return former
}

var worldWords = []string{"north", "south", "harbour", "station", "market", "garden", "river", "bridge"}

// maker makes objects at random that fit a world.
type maker struct {
	*rand.Rand
	world world
	made  []service.Placed
}

func (m *maker) chance(percent int) bool { return m.IntN(100) < percent }

func pick[T any](m *rand.Rand, from []T) T { return from[m.IntN(len(from))] }

// one gives an id of a type, or "" now and then, or where there is none.
func (m *maker) one(kind string, absent int) any {
	ids := slices.Sorted(maps.Keys(m.world[kind]))
	if len(ids) == 0 || m.chance(absent) {
		return nil
	}
	return pick(m.Rand, ids)
}

func (m *maker) some(kind string, percent int) []string {
	some := []string{}
	for _, id := range slices.Sorted(maps.Keys(m.world[kind])) {
		if m.chance(percent) {
			some = append(some, id)
		}
	}
	return some
}

func (m *maker) name(id string) string {
	return pick(m.Rand, worldWords) + " " + pick(m.Rand, worldWords) + " " + id
}

func (m *maker) state(active int) string {
	if m.chance(active) {
		return "ACTIVE"
	}
	return pick(m.Rand, []string{"INACTIVE", "HIDDEN"})
}

// object makes an object; some properties are those that a change gives anew.
func (m *maker) object(kind, id string) map[string]any {
	o := map[string]any{"name": m.name(id), "objectState": m.state(85)}
	switch kind {
	case "layouts":
		o["html"] = "<p></p>"
	case "roles":
		o["scope"], o["sites"], o["permissions"] = "TEAM", m.some("sites", 12), []string{}
		if m.chance(40) {
			o["scope"], o["sites"] = pick(m.Rand, []string{"NETWORK", "OWN"}), []string{} // whose sites show nothing more
		}
		for _, permission := range []string{"MANAGE_BUSINESS", "MANAGE_LAYOUTS", "READ_LETTERS", "WRITE_LETTERS", "OPEN_LETTERS"} {
			if m.chance(50) {
				o["permissions"] = append(o["permissions"].([]string), permission)
			}
		}
	case "users":
		o["username"], o["objectState"], o["roles"] = id, "ACTIVE", []string{pick(m.Rand, m.scoped(pick(m.Rand, []string{"TEAM", "TEAM", "OWN"})))}
		if m.chance(15) {
			o["roles"] = []string{pick(m.Rand, slices.Sorted(maps.Keys(m.world["roles"])))}
		}
		if m.chance(30) {
			o["roles"] = append(o["roles"].([]string), pick(m.Rand, slices.Sorted(maps.Keys(m.world["roles"]))))
		}
		o["roles"] = slices.Compact(slices.Sorted(slices.Values(o["roles"].([]string))))
	case "teams":
		o["users"], o["sites"] = m.some("users", 35), m.some("sites", 15)
	case "librarycreatives":
		o["layout"], o["layoutParameters"], o["dimensionType"], o["verifiedSafe"] = "layouts-0", map[string]any{}, "FLEXIBLE", true
	case "adunits":
		o["site"] = m.one("sites", 15)
	case "advertisers":
		o["team"] = m.one("teams", 25)
	case "orders":
		o["advertiser"], o["team"], o["salespersonUser"] = m.one("advertisers", 20), m.one("teams", 65), m.one("users", 50)
	case "parcels":
		o["order"], o["recipient"], o["size"] = m.one("orders", 15), m.one("users", 20), pick(m.Rand, []string{"BIG", "SMALL"})
	case "letters":
		o["parcel"], o["author"] = m.one("parcels", 20), m.one("users", 60)
	case "stickers":
		o["parcel"], o["letter"], o["holders"] = m.one("parcels", 20), m.one("letters", 50), []string{}
		if o["shown"] = pick(m.Rand, []string{"ALL", "FEW", "FEW", "FEW"}); m.chance(30) {
			o["holders"] = m.some("users", 25)
		}
	case "lineitems":
		o["order"], o["tier"] = m.one("orders", 15), m.one("tiers", 30)
	case "creatives":
		o["lineItem"], o["layout"], o["dimensionType"], o["verifiedSafe"] = m.one("lineitems", 15), "layouts-0", "FLEXIBLE", true
		if m.chance(30) {
			o["libraryCreative"] = m.one("librarycreatives", 0)
		}
	case "assets":
		o = map[string]any{"creative": m.one("creatives", 0)}
	case "segments":
		o["dataSource"] = "ADOBE"
		switch m.IntN(4) {
		case 0:
			o["team"] = m.one("teams", 0)
		case 1, 2:
			o["teams"] = m.some("teams", 30)
		}
	case "articles":
		delete(o, "name")
		o["url"], o["title"], o["language"], o["site"] = "https://example.com/"+id, m.name(id), "en", m.one("sites", 20)
	}
	return o
}

func (m *maker) scoped(scope string) (roles []string) {
	for _, id := range slices.Sorted(maps.Keys(m.world["roles"])) {
		if m.world.text("roles", id, "scope") == scope && m.world.active("roles", id) {
			roles = append(roles, id)
		}
	}
	return roles
}

// put makes a write part of the world.
func (m *maker) put(kind, id, creator string, posted map[string]any) service.Placed {
	p := service.Placed{Kind: kind, ID: id, Creator: creator, Posted: posted}
	m.world.put(kind, id, posted)
	m.made = append(m.made, p)
	return p
}

// populate makes a world, created by its users.
func (m *maker) populate() {
	m.world = world{}
	for _, of := range worldTypes {
		for i := range of.n {
			id, creator := fmt.Sprintf("%s-%d", of.kind, i), ""
			object := m.object(of.kind, id)
			if of.kind == "roles" && i < 2 { // there is always one of each that users can have
				object["scope"], object["objectState"] = []string{"TEAM", "OWN"}[i], "ACTIVE"
				object["permissions"], object["sites"] = []string{"MANAGE_BUSINESS", "READ_LETTERS", "OPEN_LETTERS"}, []string{}
			}
			if users := m.world["users"]; len(users) == worldUsers && of.kind != "assets" {
				creator = pick(m.Rand, slices.Sorted(maps.Keys(users)))
			}
			m.put(of.kind, id, creator, object)
		}
	}
}

// change changes an object so that it may be seen by others than before.
func (m *maker) change() service.Placed {
	for {
		kind := pick(m.Rand, []string{"teams", "teams", "advertisers", "advertisers", "orders", "orders", "lineitems", "creatives", "adunits", "segments", "parcels", "parcels", "letters", "stickers", "roles", "users"})
		id := pick(m.Rand, slices.Sorted(maps.Keys(m.world[kind])))
		if id == "administrator" {
			continue
		}
		next := m.object(kind, id)
		if kind == "roles" && m.world.text(kind, id, "scope") == "OWN" {
			next["sites"] = []string{} // others are refused
		}
		properties := slices.DeleteFunc(slices.Sorted(maps.Keys(next)), func(name string) bool {
			return slices.Contains([]string{"name", "username", "layout", "libraryCreative", "dimensionType", "verifiedSafe", "dataSource"}, name) ||
				kind == "users" && name == "objectState" || kind == "roles" && (id == "roles-0" || id == "roles-1" || name == "scope")
		})
		if len(properties) > 0 {
			property := pick(m.Rand, properties)
			return m.put(kind, id, "", map[string]any{property: next[property]})
		}
	}
}
