package browser

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// randomForm makes schemas of the whole vocabulary, and objects that are valid for them, with
// how each value is entered.
type randomForm struct {
	*rand.Rand
	made int
}

// sort is a way to make schemas of values, and values.
type sort struct {
	name   string
	schema map[string]any
	// make returns a value, and enter enters it in the element that has the label.
	make  func() any
	enter func(x *screen, in within, label string, value any)
	// scalar values can stand in arrays and maps.
	scalar bool
}

type field struct {
	name string
	sort sort
}

func (r *randomForm) word() string {
	var b strings.Builder
	for range 3 + r.IntN(6) {
		b.WriteByte(byte('a' + r.IntN(26)))
	}
	return b.String()
}

// name is that of a property, of one word.
func (r *randomForm) name() string {
	r.made++
	return fmt.Sprintf("%s%d", r.word(), r.made)
}

// inWords is the label of such a name.
func inWords(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

var hostileTexts = []string{"<img src=x onerror=alert(1)>", "javascript:alert(1)", "\u202eabc", "a & b \"c\" 'd'", "${x} {{y}}", "Grüße, 你好 👋", "__proto__"}

func (r *randomForm) text() string {
	if r.IntN(4) == 0 {
		return hostileTexts[r.IntN(len(hostileTexts))]
	}
	return r.word() + " " + r.word()
}

func textbox(x *screen, in within, label string, value any) {
	x.write(x.node(in, label, "textbox", "combobox"), fmt.Sprint(value))
}

func (r *randomForm) at() time.Time {
	return time.Date(2027+r.IntN(10), time.Month(1+r.IntN(12)), 1+r.IntN(28), 12, r.IntN(60), 0, 0, time.UTC)
}

// single returns a sort of single values.
func (r *randomForm) single() sort {
	s := sort{scalar: true, enter: textbox}
	formatted := func(format string, make func() any) sort {
		s.name, s.schema, s.make = format, map[string]any{"type": "string", "format": format}, make
		return s
	}
	of := func(values ...string) func() any { return func() any { return values[r.IntN(len(values))] } }
	timed := func(layout string) func(*screen, within, string, any) {
		return func(x *screen, in within, label string, value any) {
			at, _ := time.Parse("2006-01-02T15:04:05.000Z", fmt.Sprint(value))
			text := at.Format(layout)
			if layout == "" {
				text = fmt.Sprint(value)
			}
			x.setTime(x.node(in, label, "date", "datetime-local", "textbox"), text)
		}
	}
	switch r.IntN(22) {
	case 0:
		s.name, s.schema, s.make = "long text", map[string]any{"type": "string", "description": hostileTexts[0]}, func() any { return r.text() + "\n" + r.text() }
	case 1:
		s.name, s.schema, s.make = "integer", map[string]any{"type": "integer", "minimum": -1000, "examples": []any{12}}, func() any { return int64(r.IntN(100_000) - 1000) }
	case 2:
		s.name, s.schema, s.make = "number", map[string]any{"type": "number"}, func() any { return float64(r.IntN(1_000_000))/64 + 0.5/64 }
	case 3:
		s.name, s.schema, s.make = "boolean", map[string]any{"type": "boolean"}, func() any { return r.IntN(2) == 0 }
		s.scalar = false
		s.enter = func(x *screen, in within, label string, value any) {
			x.choose(x.node(in, label, "combobox"), map[bool]string{true: "Yes", false: "No"}[value.(bool)])
		}
	case 4:
		s.name, s.schema, s.make = "box", map[string]any{"type": "boolean", "default": false}, func() any { return true }
		s.scalar = false
		s.enter = func(x *screen, in within, label string, value any) { x.press(in, label, "checkbox") }
	case 5, 6:
		values := []any{"ONE", "TWO", "<b>THREE</b>"}
		s.name, s.schema, s.make = "enum", map[string]any{"type": "string", "enum": values}, func() any { return values[r.IntN(3)] }
		s.enter = func(x *screen, in within, label string, value any) {
			x.choose(x.node(in, label, "combobox"), value.(string))
		}
	case 7:
		s = formatted("date-time", func() any { return r.at().Format("2006-01-02T15:04:05.000Z") })
		s.enter = timed("2006-01-02T15:04")
	case 8:
		s = formatted("date", func() any { return r.at().Format("2006-01-02") })
		s.enter = timed("")
	case 9:
		s = formatted("local-date-time", func() any { return r.at().Format("2006-01-02T15:04:05") })
		s.enter = timed("")
	case 10:
		s = formatted("email", func() any { return r.word() + "@example.com" })
	case 11:
		s = formatted("uri", func() any { return "https://" + r.word() + ".example/" + r.word() })
	case 12:
		s = formatted("hostname", func() any { return r.word() + ".example" })
	case 13:
		s = formatted("currency", of("EUR", "NOK", "SEK"))
	case 14:
		s = formatted("time-zone", of("Europe/Oslo", "Asia/Tokyo", "UTC"))
	case 15:
		s = formatted("country", of("NO", "DE"))
	case 16:
		s = formatted("duration", func() any { return fmt.Sprintf("P%dDT%dH%d.5S", 1+r.IntN(30), r.IntN(24), r.IntN(60)) })
		s.scalar = false
		s.enter = func(x *screen, in within, label string, value any) {
			var days, hours int
			var seconds float64
			_, _ = fmt.Sscanf(value.(string), "P%dDT%dH%fS", &days, &hours, &seconds)
			group := x.node(in, label, "group")
			for unit, number := range map[string]any{"days": days, "hours": hours, "seconds": seconds} {
				x.write(x.node(group, unit, "textbox"), fmt.Sprint(number))
			}
		}
	case 17, 18:
		s.name, s.schema, s.make = "reference", map[string]any{"$ref": "common/reference.json", "x-ref": "targets"}, func() any { return fmt.Sprintf("target-%d", r.IntN(targets)) }
		s.enter = func(x *screen, in within, label string, value any) {
			x.refer(x.node(in, label, "combobox"), nameOfTarget(value.(string)))
		}
	case 19:
		s.name, s.schema, s.make = "secret", map[string]any{"type": "string", "maxLength": 100, "x-secret": true}, func() any { return r.word() }
		s.scalar = false
	case 20:
		s.name, s.schema, s.make = "text or number", map[string]any{"anyOf": []any{map[string]any{"type": "integer"}, map[string]any{"type": "string", "maxLength": 100}}}, func() any { return int64(r.IntN(1000)) }
		s.scalar = false
		s.enter = func(x *screen, in within, label string, value any) {
			group := x.node(in, label, "group")
			x.choose(x.node(group, "Kind of "+label, "combobox"), "integer")
			x.write(x.node(group, label, "textbox"), fmt.Sprint(value))
		}
	default:
		s.name, s.schema, s.make = "text", map[string]any{"type": "string", "maxLength": 200}, func() any { return r.text() }
	}
	return s
}

// targets is how many objects references can lead to.
const targets = 120

func nameOfTarget(id string) string { return "Name of " + id }

// any returns a sort of values of at most a depth.
func (r *randomForm) any(depth int) sort {
	if depth == 0 || r.IntN(2) == 0 {
		return r.single()
	}
	switch r.IntN(7) {
	case 0:
		values := []any{"RED", "GREEN", "BLUE", "BLACK"}
		return sort{name: "set", schema: map[string]any{"type": "array", "uniqueItems": true, "items": map[string]any{"type": "string", "enum": values}},
			make: func() any { i := r.IntN(3); return []any{values[i], values[i+1]} },
			enter: func(x *screen, in within, label string, value any) {
				group := x.node(in, label, "group")
				for _, one := range value.([]any) {
					x.press(group, one.(string), "checkbox")
				}
			}}
	case 1, 2:
		item := r.any(depth - 1)
		for !item.scalar && item.name != "object" {
			item = r.any(depth - 1)
		}
		return sort{name: "array", schema: map[string]any{"type": "array", "items": item.schema},
			make: func() any {
				values := []any{}
				for range 1 + r.IntN(3) {
					values = append(values, item.make())
				}
				return values
			},
			enter: func(x *screen, in within, label string, value any) {
				group := x.node(in, label, "group")
				for i, one := range value.([]any) {
					x.press(group, "Add to "+label)
					item.enter(x, group, fmt.Sprintf("%s %d", label, i+1), one)
				}
			}}
	case 3:
		item := r.single()
		for !item.scalar {
			item = r.single()
		}
		return sort{name: "map", schema: map[string]any{"type": "object", "additionalProperties": item.schema},
			make: func() any { return map[string]any{r.word() + " 1": item.make(), r.word() + "/2~": item.make()} },
			enter: func(x *screen, in within, label string, value any) {
				x.press(x.node(in, label, "group"), "Add "+label)
				group := x.node(in, label, "group")
				for name, one := range value.(map[string]any) {
					x.write(x.node(group, "Name of the new entry", "textbox"), name)
					x.press(group, "Add entry")
					item.enter(x, group, name, one)
				}
			}}
	case 4:
		return sort{name: "json", schema: map[string]any{"type": "object"},
			make: func() any {
				return map[string]any{r.word(): []any{int64(1), r.text(), nil}, r.word(): map[string]any{"a": true}}
			},
			enter: func(x *screen, in within, label string, value any) {
				x.write(x.node(in, label, "textbox"), jsonText(value))
			}}
	case 5:
		return r.kinds(depth - 1)
	}
	return r.object(depth-1, nil)
}

// object is a sort of objects, which may have properties under a condition.
func (r *randomForm) object(depth int, fields []field) sort {
	properties := map[string]any{}
	for range 2 + r.IntN(3) {
		f := field{name: r.name(), sort: r.any(depth)}
		fields = append(fields, f)
	}
	schema := map[string]any{"type": "object", "properties": properties}
	for _, f := range fields {
		properties[f.name] = f.sort.schema
	}
	return sort{name: "object", schema: schema,
		make: func() any {
			object := map[string]any{}
			for i, f := range fields {
				if i == 0 || f.sort.name == "box" || r.IntN(4) > 0 { // an absent box gets its default
					object[f.name] = f.sort.make()
				}
			}
			return object
		},
		enter: func(x *screen, in within, label string, value any) {
			group := x.node(in, label, "group")
			if len(x.nodes(group, "Add "+label, "button")) > 0 {
				x.press(group, "Add "+label)
				group = x.node(in, label, "group")
			}
			x.open(group, label)
			enterFields(x, group, fields, value)
		}}
}

// kinds is a sort of objects of which each kind has a property of its own.
func (r *randomForm) kinds(depth int) sort {
	own := func() field {
		f := field{name: r.name(), sort: r.any(depth)}
		for f.sort.name == "box" { // its default is stored in objects of each kind
			f.sort = r.any(depth)
		}
		return f
	}
	a, b := own(), own()
	branch := func(kind string, f field) map[string]any {
		return map[string]any{"properties": map[string]any{"kind": map[string]any{"const": kind}, f.name: f.sort.schema}, "required": []any{"kind"}}
	}
	kind := field{name: "kind", sort: sort{enter: func(x *screen, in within, label string, value any) {
		x.choose(x.node(in, label, "combobox"), value.(string))
	}}}
	return sort{name: "object", schema: map[string]any{"type": "object", "oneOf": []any{branch("circle", a), branch("square", b)}},
		make: func() any {
			if r.IntN(2) == 0 {
				return map[string]any{"kind": "circle", a.name: a.sort.make()}
			}
			return map[string]any{"kind": "square", b.name: b.sort.make()}
		},
		enter: func(x *screen, in within, label string, value any) {
			group := x.node(in, label, "group")
			if len(x.nodes(group, "Add "+label, "button")) > 0 {
				x.press(group, "Add "+label)
				group = x.node(in, label, "group")
			}
			x.open(group, label)
			enterFields(x, group, []field{kind, a, b}, value)
		}}
}

func enterFields(x *screen, in within, fields []field, value any) {
	for _, f := range fields {
		if member, given := value.(map[string]any)[f.name]; given {
			f.sort.enter(x, in, inWords(f.name), member)
		}
	}
}

// typeOf is the schema of a type, with properties that appear when others have a value.
func (r *randomForm) typeOf(path string) (map[string]any, []field) {
	fields := []field{{name: "name", sort: sort{name: "text", schema: map[string]any{"type": "string", "maxLength": 100}, make: func() any { return r.text() }, enter: textbox}}}
	for range 5 {
		fields = append(fields, field{name: r.name(), sort: r.any(3)})
	}
	schema := map[string]any{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Type " + path, "type": "object", "required": []any{"name"}, "x-resource": map[string]any{"path": path}}
	properties := map[string]any{
		"state":  map[string]any{"type": "string", "enum": []any{"NEW", "DONE", "LOST"}, "x-initial": []any{"NEW"}, "x-transitions": map[string]any{"NEW": []any{"DONE"}}, "default": "NEW"},
		"number": map[string]any{"type": "integer", "x-sequence": map[string]any{"start": 7}},
		"mode":   map[string]any{"type": "string", "enum": []any{"SIMPLE", "FULL"}},
	}
	for _, f := range fields {
		properties[f.name] = f.sort.schema
	}
	schema["properties"] = properties
	conditional, dependent := field{name: r.name(), sort: r.any(2)}, field{name: r.name(), sort: r.any(2)}
	fields = append(fields, field{name: "mode", sort: sort{make: func() any { return "FULL" }, enter: func(x *screen, in within, label string, value any) {
		if len(x.nodes(in, inWords(conditional.name), "textbox", "combobox", "group", "checkbox")) > 0 {
			x.t.Errorf("%s is shown before its condition holds", conditional.name)
		}
		x.choose(x.node(in, label, "combobox"), value.(string))
	}}}, conditional, dependent)
	schema["if"] = map[string]any{"properties": map[string]any{"mode": map[string]any{"const": "FULL"}}, "required": []any{"mode"}}
	schema["then"] = map[string]any{"properties": map[string]any{conditional.name: conditional.sort.schema}, "required": []any{conditional.name}}
	schema["dependentSchemas"] = map[string]any{"mode": map[string]any{"properties": map[string]any{dependent.name: dependent.sort.schema}}}
	return schema, fields
}
