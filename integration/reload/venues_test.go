package reload

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing/fstest"

	"marquee/integration/service"
)

// reloadSecret is in each note, and nowhere else.
const reloadSecret = "geheim"

// reloadVenues is a schema of venues.
type reloadVenues struct {
	// resource has the first names of properties in braces.
	resource string
	team     bool
	// secret is what x-secret says of a property, if it is there.
	secret map[string]bool
	later  reloadLater
}

// reloadLater is what later sets say of the same objects, which keeps what is stored: servers with
// different ones work side by side.
type reloadLater struct {
	// names are the generations of the names of properties: 0 is the first name.
	names map[string]int
	// path is the generation of the path of the type, and state that of the first value of state.
	path, state int
	// seat reports whether a seat is required, and has a default; extra whether the property
	// is declared; short whether names are to be short.
	seat, extra, short bool
}

// reloadSeat is the seat of a venue without one.
const reloadSeat = "any"

// name returns the name of a property under the schema.
func (v reloadVenues) name(property string) string {
	return reloadName(property, v.later.names[property])
}

// either returns one of the names of a property that requests can use.
func (v reloadVenues) either(random *rand.Rand, property string) string {
	return reloadName(property, random.IntN(v.later.names[property]+1))
}

func reloadName(property string, generation int) string {
	return property + []string{"", "2", "3"}[generation]
}

// path returns the path of the type under the schema, and paths also the former ones.
func (v reloadVenues) path() string { return reloadName("venues", v.later.path) }

func (v reloadVenues) paths() (paths []string) {
	for generation := range v.later.path + 1 {
		paths = append(paths, reloadName("venues", generation))
	}
	return paths
}

// reloadGenerations are the number of names that the type and a property can have, and of values
// that the first value of state can be.
const reloadGenerations = 3

// reloadState is the first value of state in a generation.
func reloadState(generation int) string { return fmt.Sprint("A", generation) }

// reloadStored returns an object with the first names of its properties, and A as the value of
// state that has other names.
func reloadStored(object map[string]any) map[string]any {
	stored := map[string]any{}
	for name, value := range object {
		first := strings.TrimRight(name, "23")
		if text, is := value.(string); is && first == "state" {
			value = strings.TrimRight(text, "012")
		}
		stored[first] = value
	}
	return stored
}

func (v reloadVenues) String() string {
	return fmt.Sprintf("%s, secret: %v, later: %v", v.resource, v.secret, v.later)
}

func (v reloadVenues) folder() fs.FS {
	var properties []string
	add := func(property string, keywords ...string) {
		if generation := v.later.names[property]; generation > 0 {
			var former []string
			for earlier := range generation {
				former = append(former, reloadName(property, earlier))
			}
			keywords = append(keywords, `"x-was": `+service.JSONText(former))
		}
		if secret, said := v.secret[property]; said {
			keywords = append(keywords, fmt.Sprintf(`"x-secret": %t`, secret))
		}
		properties = append(properties, fmt.Sprintf(`%q: {%s}`, v.name(property), strings.Join(keywords, ", ")))
	}
	const text = `"type": "string"`
	more, short := "", []string{text}
	if v.later.short {
		short = append(short, `"maxLength": 12`)
	}
	add("name", short...)
	add("code", text)
	add("note", text)
	add("labels", `"type": "array", "items": {"type": "string"}`)
	add("team", `"x-ref": "teams"`)
	former := map[string]string{}
	for generation := range reloadGenerations {
		if generation != v.later.state {
			former[reloadState(generation)] = reloadState(v.later.state)
		}
	}
	add("state", text, fmt.Sprintf(`"enum": [%q, "B"], "x-was-values": %s`, reloadState(v.later.state), service.JSONText(former)))
	if v.later.extra {
		add("extra", text)
	}
	seat := []string{text}
	if v.later.seat {
		more, seat = fmt.Sprintf(`, "required": [%q]`, v.name("seat")), append(seat, fmt.Sprintf(`"default": %q`, reloadSeat))
	}
	add("seat", seat...)
	resource := v.resource
	for _, property := range reloadProperties {
		resource = strings.ReplaceAll(resource, "{"+property+"}", v.name(property))
	}
	if former := v.paths()[:v.later.path]; len(former) > 0 {
		resource += `, "was": ` + service.JSONText(former)
	}
	return fstest.MapFS{"venues.json": {Data: fmt.Appendf(nil, `{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "T",
		"x-resource": {"path": %q%s}, "type": "object"%s, "properties": {%s}}`, v.path(), resource, more, strings.Join(properties, ", "))}}
}

// plain is a schema that can follow any: it hides nothing and asks for nothing.
func (v reloadVenues) plain() reloadVenues {
	return reloadVenues{secret: map[string]bool{"code": false, "note": false}}
}

// randomVenues is a random schema that can follow another one: what was secret
// stays so, or is said not to be.
func randomVenues(random *rand.Rand, before reloadVenues) (v reloadVenues) {
	v.secret, v.later = map[string]bool{}, randomLater(random)
	for _, property := range []string{"code", "note"} {
		if secret := random.IntN(3) == 0; secret || before.secret[property] || random.IntN(3) == 0 {
			v.secret[property] = secret
		}
	}
	some := func(names ...string) string {
		chosen := []any{}
		for _, name := range names {
			first, second, both := strings.Cut(name, "+")
			switch {
			case v.secret[first] || v.secret[second] || random.IntN(2) == 0:
			case both:
				chosen = append(chosen, []string{"{" + first + "}", "{" + second + "}"})
			default:
				chosen = append(chosen, "{"+name+"}")
			}
		}
		text, _ := json.Marshal(chosen)
		return string(text)
	}
	v.resource = fmt.Sprintf(`, "search": %s, "index": %s, "unique": %s, "sort": %s`, some("name", "code", "note", "labels"),
		some("name", "code", "note", "labels", "team", "code+name", "state", "seat"), some("code", "note"), some("name", "code", "note"))
	if v.team = random.IntN(2) == 0; v.team {
		v.resource += `, "team": "{team}"`
	}
	return v
}

// randomLater is random, and leaves about half of it as it was first.
func randomLater(random *rand.Rand) reloadLater {
	later := reloadLater{names: map[string]int{}, state: random.IntN(reloadGenerations), seat: random.IntN(2) == 0, extra: random.IntN(2) == 0, short: random.IntN(2) == 0}
	if random.IntN(2) == 0 {
		later.path = random.IntN(reloadGenerations)
	}
	for _, property := range reloadProperties {
		if random.IntN(2) == 0 {
			later.names[property] = random.IntN(reloadGenerations)
		}
	}
	return later
}

// has reports whether the schema declares a property.
func (v reloadVenues) has(property string) bool { return property != "extra" || v.later.extra }

var reloadProperties = []string{"name", "code", "note", "labels", "team", "state", "seat", "extra"}

// declared are the properties of the schema.
func (v reloadVenues) declared() []string {
	return slices.DeleteFunc(slices.Clone(reloadProperties), func(property string) bool { return !v.has(property) })
}
