package browser

import (
	"fmt"
	"maps"
	"slices"
)

// parts are the sorts of arrays and objects, which have values within them of at most a depth.
var parts []func(r *randomForm, depth int) sort

func init() { // as they make each other
	parts = []func(r *randomForm, depth int) sort{
		func(r *randomForm, depth int) sort { return r.object(depth).asSort() },
		func(r *randomForm, depth int) sort { return r.object(depth).asSort() },
		func(r *randomForm, depth int) sort { return r.object(depth).asSort() },
		func(r *randomForm, depth int) sort {
			item := r.item(depth)
			return r.array("array", M{"items": item.schema, "minItems": 1, "maxItems": 4}, func(int) sort { return item }, 1, 4)
		},
		func(r *randomForm, depth int) sort {
			item := r.item(depth)
			return r.array("array", M{"items": item.schema}, func(int) sort { return item }, 1, 3)
		},
		func(r *randomForm, depth int) sort { return r.tuple(depth, "items") },
		func(r *randomForm, depth int) sort { return r.tuple(depth, "unevaluatedItems") },
		func(r *randomForm, depth int) sort { return r.tuple(depth, "") },
		func(r *randomForm, depth int) sort { return r.mapping(r.item(depth), "").asSort() },
		func(r *randomForm, depth int) sort { return r.mapping(r.item(depth), "pattern").asSort() },
		func(r *randomForm, depth int) sort { return r.mapping(r.item(depth), "enum").asSort() },
		func(r *randomForm, depth int) sort { return r.defined(r.any(depth)) },
		func(r *randomForm, _ int) sort { return r.set() },
		func(r *randomForm, _ int) sort { return r.unique() },
		func(r *randomForm, _ int) sort { return r.containing() },
		func(r *randomForm, _ int) sort { return r.dateRange() },
		func(r *randomForm, _ int) sort { return r.elsewhere() },
		func(r *randomForm, _ int) sort { return r.place() },
		func(r *randomForm, _ int) sort { return r.tree() },
		func(r *randomForm, _ int) sort {
			return plain("free object", M{"type": "object"}, func() any {
				return M{r.word(): []any{int64(1), r.text(), nil}, r.word(): M{"a": true}}
			}).asJSON()
		},
		func(r *randomForm, _ int) sort {
			return plain("array of anything", M{"type": "array", "contains": M{"type": "integer"}, "minContains": 1, "maxContains": 2}, func() any {
				return []any{r.text(), int64(r.IntN(1000))}
			}).asJSON()
		},
		func(r *randomForm, _ int) sort {
			return plain("geometry", M{"type": "object", "format": "geojson-geometry-collection"}, func() any {
				return M{"type": "GeometryCollection", "geometries": []any{M{"type": "Point", "coordinates": []any{float64(r.IntN(100)) + 0.5, 59.5}}}}
			}).asJSON()
		},
	}
}

// array is a sort of arrays whose items have sorts of their own, between least and most of them.
func (r *randomForm) array(name string, schema M, item func(i int) sort, least, most int) sort {
	schema["type"] = "array"
	enter := func(x *screen, group within, label string, i int, value any) {
		x.activate(x.last(group, "Add to "+label, "button"))
		item(i).enter(x, group, fmt.Sprintf("%s %d", label, i+1), value)
	}
	each := func(change func(i int, value any) any) func(any) any {
		return func(value any) any {
			items := []any{}
			for i, one := range value.([]any) {
				items = append(items, change(i, one))
			}
			return items
		}
	}
	return sort{name: name, schema: schema,
		make: func() any {
			items := []any{}
			for i := range least + r.IntN(most-least+1) {
				items = append(items, item(i).make())
			}
			return items
		},
		enter: func(x *screen, in within, label string, value any) {
			group := x.node(in, label, "group")
			for i, one := range value.([]any) {
				enter(x, group, label, i, one)
			}
		},
		change: func(x *screen, in within, label string, value any) any {
			group := x.node(in, label, "group")
			items := slices.Clone(value.([]any))
			i := r.IntN(len(items))
			switch r.IntN(4) {
			case 0:
				if len(items) > max(least, 1) {
					x.press(group, fmt.Sprintf("Remove %s %d", label, len(items)))
					return items[:len(items)-1]
				}
			case 1:
				if len(items) < most {
					one := item(len(items)).make()
					enter(x, group, label, len(items), one)
					return append(items, one)
				}
			}
			if !item(i).fixed {
				items[i] = item(i).changed(x, group, fmt.Sprintf("%s %d", label, i+1), items[i])
			}
			return items
		},
		stored: each(func(i int, value any) any { return item(i).storedAs(value) }),
		read:   each(func(i int, value any) any { return item(i).readAs(value) }),
	}
}

// tuple is a sort of arrays whose first items have schemas of their own, and a keyword has that of the others, if
// there can be some.
func (r *randomForm) tuple(depth int, keyword string) sort {
	first, second, rest := r.item(0), r.item(depth), r.item(0)
	sorts := func(i int) sort { return []sort{first, second, rest}[min(i, 2)] }
	schema := M{"prefixItems": []any{first.schema, second.schema}}
	if keyword == "" {
		schema["items"] = false
		return r.array("tuple", schema, sorts, 2, 2)
	}
	schema[keyword] = rest.schema
	return r.array("tuple", schema, sorts, 2, 4)
}

// set is a sort of sets of few values, which are boxes.
func (r *randomForm) set() sort {
	values := []any{"RED", "GREEN", "BLUE", "BLACK"}
	return sort{name: "set", schema: M{"type": "array", "uniqueItems": true, "items": M{"type": "string", "enum": values}},
		make: func() any { i := r.IntN(3); return []any{values[i], values[i+1]} },
		enter: func(x *screen, in within, label string, value any) {
			for _, one := range value.([]any) {
				x.press(x.node(in, label, "group"), one.(string), "checkbox")
			}
		},
		change: func(x *screen, in within, label string, value any) any {
			one := values[r.IntN(len(values))]
			x.press(x.node(in, label, "group"), one.(string), "checkbox")
			set := value.([]any)
			if i := slices.Index(set, one); i >= 0 {
				return slices.Delete(slices.Clone(set), i, i+1)
			}
			return append(slices.Clone(set), one)
		}}
}

// unique is a sort of arrays without repetitions.
func (r *randomForm) unique() sort {
	if r.IntN(2) == 0 {
		s := r.array("labels", M{}, func(int) sort { return plain("label", nil, func() any { return r.name() }) }, 1, 3)
		s.schema = M{"$ref": "common/labels.json"}
		return s
	}
	return r.array("unique numbers", M{"uniqueItems": true, "items": M{"type": "integer"}}, func(int) sort { return plain("number", nil, func() any { r.made++; return int64(r.made) }) }, 1, 3)
}

// containing is a sort of arrays of which some items must meet a condition.
func (r *randomForm) containing() sort {
	item := plain("number", nil, func() any { return int64(10 + r.IntN(90)) })
	return r.array("containing", M{"items": M{"type": "integer"}, "contains": M{"minimum": 10}, "minContains": 1, "maxContains": 5}, func(int) sort { return item }, 1, 3)
}

// mapping is a sort of the members of an object that are not declared by name, with where their names are from.
type mapping struct {
	r      *randomForm
	item   sort
	names  string
	schema M
}

func (r *randomForm) mapping(item sort, names string) *mapping {
	m := &mapping{r: r, item: item, names: names, schema: M{"type": "object", "maxProperties": 20}}
	switch names {
	case "pattern":
		m.schema["patternProperties"] = M{"^[a-z]{1,20}-[0-9]$": item.schema}
	case "enum":
		m.schema["additionalProperties"] = item.schema
		m.schema["propertyNames"] = M{"enum": []any{"north", "south", "east", "west"}}
	default:
		m.schema["additionalProperties"], m.schema["minProperties"] = item.schema, 1
	}
	return m
}

// name returns one that no member has.
func (m *mapping) name(object M) string {
	for {
		name := m.r.word() + "/2~ <b>"
		switch m.names {
		case "pattern":
			name = m.r.word() + "-1"
		case "enum":
			name = of(m.r, "north", "south", "east", "west")().(string)
		default:
			if m.r.IntN(4) == 0 {
				name = of(m.r, "__proto__", "constructor", "toString", "0")().(string)
			}
		}
		if _, taken := object[name]; !taken {
			return name
		}
	}
}

// fill adds one or two members.
func (m *mapping) fill(object M) {
	for range 1 + m.r.IntN(2) {
		object[m.name(object)] = m.item.make()
	}
}

// enter enters a member.
func (m *mapping) enter(x *screen, group within, name string, value any) {
	if box := x.last(group, "Name of the new entry", "textbox", "combobox"); m.names == "enum" {
		x.choose(box, name)
	} else {
		x.write(box, name)
	}
	x.activate(x.last(group, "Add entry", "button"))
	m.item.enter(x, group, name, value)
}

// changeIn changes a member, removes it, or adds one.
func (m *mapping) changeIn(x *screen, group within, object M, members []string) {
	switch n := m.r.IntN(4); {
	case n == 0 && len(members) > 1:
		x.press(group, "Remove "+members[0])
		delete(object, members[0])
	case n == 1 && len(members) < 4 || m.item.fixed:
		name := m.name(object)
		object[name] = m.item.make()
		m.enter(x, group, name, object[name])
	default:
		object[members[0]] = m.item.changed(x, group, members[0], object[members[0]])
	}
}

func (m *mapping) asSort() sort {
	each := func(change func(any) any) func(any) any {
		return func(value any) any {
			object := M{}
			for name, one := range value.(M) {
				object[name] = change(one)
			}
			return object
		}
	}
	return sort{name: "map", schema: m.schema,
		make: func() any { object := M{}; m.fill(object); return object },
		enter: func(x *screen, in within, label string, value any) {
			group := x.unfold(in, label)
			for _, name := range slices.Sorted(maps.Keys(value.(M))) {
				m.enter(x, group, name, value.(M)[name])
			}
		},
		change: func(x *screen, in within, label string, value any) any {
			object := maps.Clone(value.(M))
			m.changeIn(x, x.unfold(in, label), object, slices.Sorted(maps.Keys(object)))
			return object
		},
		stored: each(m.item.storedAs), read: each(m.item.readAs)}
}

// dateRange is a sort of ranges of times.
func (r *randomForm) dateRange() sort {
	o := &objectSort{r: r, schema: M{"type": "object", "format": "local-date-range"}}
	for i, name := range []string{"first", "second"} {
		o.add(part{fields: []field{{name: name, label: inWords(name), needed: true, sort: plain(name, M{"type": "string", "format": "any-date-time"}, func() any {
			return r.at().AddDate(20*i, 0, 0).Format("2006-01-02T15:04:05")
		})}}}, o.schema)
	}
	return o.asSort()
}

// elsewhere is a sort of references to objects of the network that another property names.
func (r *randomForm) elsewhere() sort {
	o := &objectSort{r: r, schema: M{"type": "object"}}
	there := r.reference(M{"type": "targets", "network": "home"}, r.target)
	there.schema = M{"type": "string", "x-ref": there.schema["x-ref"]}
	o.add(part{fields: []field{{name: "home", label: "Home", needed: true, sort: r.referenceTo("networks", otherNetwork, nameOfOther)}, {name: "there", label: "There", needed: true, sort: there}}}, o.schema)
	return o.asSort()
}

// otherNetwork has targets, too.
const otherNetwork, nameOfOther = "second", "Second"

// keeper and crew are a user, whose name is the same, and a team.
const keeper, crew, nameOfCrew = "keeper", "crew", "The <crew>"

// places are what x-lookup knows, by their ids.
const places = 50

// placesModule finds them by their names.
const placesModule = `export const panels = [];
export const lookups = { locations: async (text) => Array.from({ length: %d }, (_, i) => ({ id: i + 1, name: "Place " + (i + 1) + ".", about: "Somewhere" })).filter(({ name }) => name.startsWith(text)) };`

func nameOfPlace(id int64) string { return fmt.Sprintf("Place %d.", id) }

// place is a sort of objects whose ids are looked up.
func (r *randomForm) place() sort {
	return sort{name: "place", schema: M{"type": "object", "x-lookup": "locations", "required": []any{"id"}, "properties": M{
		"id": M{"type": "integer"}, "name": M{"type": "string", "readOnly": true}}},
		make: func() any { return M{"id": int64(1 + r.IntN(places))} },
		enter: func(x *screen, in within, label string, value any) {
			x.refer(x.node(in, label, "combobox"), nameOfPlace(value.(M)["id"].(int64)))
		},
		read: func(value any) any {
			place := maps.Clone(value.(M))
			if id, is := place["id"].(int64); is && place["name"] == nameOfPlace(id) {
				delete(place, "name")
			}
			return place
		}}
}

// tree is a sort of objects with objects of the same schema within them.
func (r *randomForm) tree() sort {
	name := r.name()
	ref := M{"$ref": "#/$defs/" + name}
	node := func(inner *sort) sort {
		o := &objectSort{r: r, schema: M{"type": "object"}}
		o.add(part{fields: []field{{name: "leaf", label: "Leaf", needed: true, sort: plain("leaf", M{"type": "string", "maxLength": 100}, func() any { return r.word() })}}}, o.schema)
		if inner != nil {
			branches := r.array("branches", M{"items": ref}, func(int) sort { return *inner }, 1, 2)
			o.add(part{fields: []field{{name: "branches", label: "Branches", sort: branches}}}, o.schema)
		}
		return o.asSort()
	}
	leaf := node(nil)
	tree := node(&leaf)
	r.defs[name] = tree.schema
	tree.schema = ref
	return tree
}
