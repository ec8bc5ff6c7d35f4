package browser

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// M is a schema, or a part of one.
type M = map[string]any

// textbox enters a value as text.
func textbox(x *screen, in within, label string, value any) {
	text := fmt.Sprint(value)
	if number, is := value.(float64); is {
		text = strconv.FormatFloat(number, 'f', -1, 64)
	}
	x.write(x.node(in, label, "textbox", "combobox"), text)
}

// chosen enters the text of one of several options.
func chosen(x *screen, in within, label string, value any) {
	text, is := value.(string)
	if !is {
		text = jsonText(value)
	}
	x.choose(x.node(in, label, "combobox"), text)
}

// yesOrNo enters a boolean, which is a box where it cannot be missing.
func yesOrNo(x *screen, in within, label string, value any) {
	x.act(x.node(in, label, "checkbox", "combobox"), `function(on) {
		if (this.type === "checkbox") return this.checked !== on && this.click();
		this.focus();
		this.value = String(on);
		this.dispatchEvent(new Event("change", {bubbles: true}));
	}`, value)
}

// timed enters a time in a field of the browser.
func timed(layout string) func(*screen, within, string, any) {
	return func(x *screen, in within, label string, value any) {
		text := value.(string)
		if at, err := time.Parse("2006-01-02T15:04:05.000Z", text); err == nil && layout != "" {
			text = at.Format(layout)
		}
		x.setTime(x.node(in, label, "date", "datetime-local"), text)
	}
}

func (r *randomForm) at() time.Time {
	return time.Date(2027+r.IntN(10), time.Month(1+r.IntN(12)), 1+r.IntN(28), 12, r.IntN(60), 0, 0, time.UTC)
}

func of[T any](r *randomForm, values ...T) func() any {
	return func() any { return values[r.IntN(len(values))] }
}

// plain is a sort that is entered as text.
func plain(name string, schema M, make func() any) sort {
	return sort{name: name, schema: schema, make: make, enter: textbox}
}

// formats are those of strings, with values.
var formats = map[string]func(r *randomForm) any{
	"date-time":       func(r *randomForm) any { return r.at().Format("2006-01-02T15:04:05.000Z") },
	"date":            func(r *randomForm) any { return r.at().Format("2006-01-02") },
	"local-date-time": func(r *randomForm) any { return r.at().Format("2006-01-02T15:04:05") },
	"any-date-time": func(r *randomForm) any {
		return r.at().Format("2006-01-02T15:04:05") + of(r, "", "Z", "+02:00")().(string)
	},
	"time":                  func(r *randomForm) any { return r.at().Format("15:04:05Z") },
	"duration":              func(r *randomForm) any { return fmt.Sprintf("P%dDT%dH%d.5S", 1+r.IntN(30), r.IntN(24), r.IntN(60)) },
	"email":                 func(r *randomForm) any { return r.word() + "@example.com" },
	"idn-email":             func(r *randomForm) any { return r.word() + "ü@example.com" },
	"hostname":              func(r *randomForm) any { return r.word() + ".example" },
	"idn-hostname":          func(r *randomForm) any { return r.word() + ".example" },
	"uri":                   func(r *randomForm) any { return "https://" + r.word() + ".example/" + r.word() },
	"uri-reference":         func(r *randomForm) any { return "/" + r.word() + "?a=" + r.word() },
	"iri":                   func(r *randomForm) any { return "https://" + r.word() + ".example/ü" },
	"iri-reference":         func(r *randomForm) any { return "/ü/" + r.word() },
	"uri-template":          func(r *randomForm) any { return "/" + r.word() + "/{id}" },
	"json-pointer":          func(r *randomForm) any { return "/" + r.word() + "/a~1b" },
	"relative-json-pointer": func(r *randomForm) any { return fmt.Sprintf("%d/%s", r.IntN(9), r.word()) },
	"regex":                 func(r *randomForm) any { return "^" + r.word() + "[0-9]+$" },
	"uuid":                  func(r *randomForm) any { return fmt.Sprintf("f81d4fae-7dec-41d0-a765-%012x", r.IntN(1<<40)) },
	"ipv4":                  func(r *randomForm) any { return fmt.Sprintf("192.0.2.%d", r.IntN(256)) },
	"ipv6":                  func(r *randomForm) any { return fmt.Sprintf("2001:db8::%x", 1+r.IntN(60000)) },
	"ip-or-cidr":            func(r *randomForm) any { return fmt.Sprintf("192.0.%d.0/24", r.IntN(256)) },
	"country":               func(r *randomForm) any { return of(r, "NO", "DE", "SE")() },
	"currency":              func(r *randomForm) any { return of(r, "EUR", "NOK", "SEK")() },
	"time-zone":             func(r *randomForm) any { return of(r, "Europe/Oslo", "Asia/Tokyo", "UTC")() },
	"language":              func(r *randomForm) any { return of(r, "nb", "en-GB", "zh-Hant-TW")() },
}

// formatted is a sort of strings with a format.
func (r *randomForm) formatted(format string) sort {
	s := plain(format, M{"type": "string", "format": format}, func() any { return formats[format](r) })
	switch format {
	case "date-time":
		s.enter = timed("2006-01-02T15:04")
	case "date", "local-date-time":
		s.enter = timed("")
	case "duration":
		s.enter = func(x *screen, in within, label string, value any) {
			var days, hours int
			var seconds float64
			_, _ = fmt.Sscanf(value.(string), "P%dDT%dH%fS", &days, &hours, &seconds)
			group := x.node(in, label, "group")
			for unit, number := range (M{"days": days, "hours": hours, "seconds": seconds}) {
				x.write(x.node(group, unit, "textbox"), fmt.Sprint(number))
			}
		}
	}
	return s
}

// kindOf enters a value of one of several kinds.
func kindOf(kind string, enter func(*screen, within, string, any)) func(*screen, within, string, any) {
	return func(x *screen, in within, label string, value any) {
		group := x.node(in, label, "group")
		x.choose(x.node(group, "Kind of "+label, "combobox"), kind)
		enter(x, group, label, value)
	}
}

// reference is a sort of references.
func (r *randomForm) reference(ref any, make func() any) sort {
	s := sort{name: "reference", schema: M{"$ref": "common/reference.json", "x-ref": ref}, make: make, read: idOf}
	s.enter = func(x *screen, in within, label string, value any) {
		x.refer(x.node(in, label, "combobox"), nameOfTarget(value.(string)))
	}
	return s
}

// referenceTo is a sort of references to one object.
func (r *randomForm) referenceTo(to, id, name string) sort {
	s := r.reference(to, of[any](r, id))
	s.enter = func(x *screen, in within, label string, _ any) { x.refer(x.node(in, label, "combobox"), name) }
	s.fixed = true
	return s
}

func idOf(value any) any {
	if object, is := value.(M); is {
		return object["id"]
	}
	return value
}

// targets is how many objects references can lead to, of which every third is a kind of its own.
const targets = 120

func nameOfTarget(id string) string { return "Name of " + id }

// things is how many others there are.
const things = 30

func idOfThing(i int) string { return fmt.Sprintf("thing/%d?", i) }

func nameOfThing(id string) string { return "Title & " + id }

func (r *randomForm) target() any { return fmt.Sprintf("target-%d", r.IntN(targets)) }

// singles are the sorts of single values.
var singles = []func(r *randomForm) sort{
	func(r *randomForm) sort {
		return plain("text", M{"type": "string", "maxLength": 200}, func() any { return r.text() })
	},
	func(r *randomForm) sort {
		return plain("long text", M{"type": "string", "minLength": 1, "description": hostileTexts[0]}, func() any { return r.text() + "\n" + r.text() })
	},
	func(r *randomForm) sort {
		return plain("code", M{"type": "string", "pattern": "^[A-Z]{2}-[0-9]+$", "examples": []any{"NO-47"}}, func() any { return fmt.Sprint("NO-", r.IntN(10_000)) })
	},
	func(r *randomForm) sort {
		return plain("all of", M{"allOf": []any{M{"type": "string"}, M{"maxLength": 40}}, "not": M{"const": "nothing"}}, func() any { return r.word() })
	},
	func(r *randomForm) sort {
		return plain("text under a condition", M{"type": "string", "if": M{"pattern": "^a"}, "then": M{"maxLength": 60}, "else": M{"maxLength": 80}}, func() any { return r.word() })
	},
	func(r *randomForm) sort {
		return plain("base64", M{"type": "string", "contentEncoding": "base64", "contentMediaType": "application/json", "contentSchema": M{"type": "object"}}, func() any {
			return base64.StdEncoding.EncodeToString([]byte(`{"a": "` + r.word() + `"}`))
		})
	},
	func(r *randomForm) sort {
		return plain("integer", M{"type": "integer", "minimum": -1000, "maximum": 1_000_000, "examples": []any{12}}, func() any { return int64(r.IntN(100_000) - 1000) })
	},
	func(r *randomForm) sort {
		return plain("large integer", M{"type": "integer", "exclusiveMinimum": 0}, func() any { return 1<<53 + 1 + r.Int64N(1<<60) })
	},
	func(r *randomForm) sort {
		return plain("number", M{"type": "number", "multipleOf": 0.25, "exclusiveMaximum": 1_000_000}, func() any { return float64(r.IntN(100_000)) + 0.25 })
	},
	func(r *randomForm) sort {
		return sort{name: "boolean", schema: M{"type": "boolean"}, make: of(r, true, false), enter: yesOrNo}
	},
	func(r *randomForm) sort {
		return sort{name: "box", schema: M{"type": "boolean", "default": false}, make: of(r, true), enter: yesOrNo, preset: false, member: true,
			change: func(x *screen, in within, label string, value any) any {
				yesOrNo(x, in, label, !value.(bool))
				return !value.(bool)
			}}
	},
	func(r *randomForm) sort {
		s := plain("text with a default", M{"type": "string", "maxLength": 50, "default": "preset <b>"}, func() any { return r.word() })
		s.preset, s.member = "preset <b>", true
		return s
	},
	func(r *randomForm) sort {
		values := []any{"ONE", "TWO", "<b>THREE</b>"}
		return sort{name: "enum", schema: M{"type": "string", "enum": values}, make: of(r, values...), enter: chosen}
	},
	func(r *randomForm) sort {
		values := []any{int64(1), "ONE", true, M{"a": []any{int64(1)}}, 2.5}
		return sort{name: "mixed enum", schema: M{"enum": values}, make: of(r, values...), enter: chosen}
	},
	func(r *randomForm) sort {
		return sort{name: "renamed values", schema: M{"type": "string", "enum": []any{"NEW", "SETTLED"}, "x-was-values": M{"PAID": "SETTLED"}, "default": "NEW"}, make: of(r, "NEW", "SETTLED"), enter: chosen, preset: "NEW", member: true}
	},
	func(r *randomForm) sort {
		return sort{name: "const", schema: M{"const": "only"}, make: of(r, "only"), enter: chosen, fixed: true}
	},
	func(r *randomForm) sort {
		titles := M{"A": "Alpha", "B": "Beta"}
		return sort{name: "titled values", schema: M{"type": "string", "oneOf": []any{M{"const": "A", "title": "Alpha"}, M{"const": "B", "title": "Beta"}}}, make: of(r, "A", "B"),
			enter: func(x *screen, in within, label string, value any) {
				x.choose(x.node(in, label, "combobox"), titles[value.(string)].(string))
			}}
	},
	func(r *randomForm) sort {
		return r.reference("targets", r.target)
	},
	func(r *randomForm) sort {
		s := r.reference(M{"type": "targets", "where": M{"kind": "THIRD"}}, func() any { return fmt.Sprintf("target-%d", 3*r.IntN(targets/3)) })
		s.schema = M{"type": "string", "x-ref": s.schema["x-ref"]}
		return s
	},
	func(r *randomForm) sort {
		s := r.reference("things", func() any { return idOfThing(r.IntN(things)) })
		s.enter = func(x *screen, in within, label string, value any) {
			x.refer(x.node(in, label, "combobox"), nameOfThing(value.(string)))
		}
		return s
	},
	func(r *randomForm) sort {
		return sort{name: "reference or text", schema: M{"anyOf": []any{M{"type": "string", "maxLength": 100}, M{"type": "object", "properties": M{"id": M{"type": "string"}}, "required": []any{"id"}}},
			"x-ref": M{"type": "targets", "form": "object"}},
			make: func() any {
				if r.IntN(2) == 0 {
					return r.word()
				}
				return M{"id": r.target()}
			},
			enter: func(x *screen, in within, label string, value any) {
				box := x.node(in, label, "combobox")
				if object, is := value.(M); is {
					x.refer(box, nameOfTarget(object["id"].(string)))
				} else {
					x.write(box, value.(string))
				}
			},
			read: func(value any) any {
				if object, is := value.(M); is {
					return M{"id": object["id"]}
				}
				return value
			}}
	},
	func(r *randomForm) sort {
		return sort{name: "secret", schema: M{"type": "string", "maxLength": 100, "x-secret": true}, make: func() any { return r.word() }, enter: textbox, member: true}
	},
	func(r *randomForm) sort {
		return sort{name: "text or number", schema: M{"anyOf": []any{M{"type": "integer"}, M{"type": "string", "maxLength": 100}}}, make: func() any { return int64(r.IntN(1000)) }, enter: kindOf("integer", textbox)}
	},
	func(r *randomForm) sort {
		return sort{name: "several types", schema: M{"type": []any{"string", "boolean"}}, make: of(r, true, false), enter: kindOf("boolean", yesOrNo)}
	},
	func(r *randomForm) sort {
		return plain("anything", M{"description": "Any value."}, func() any { return []any{r.text(), nil, M{"a": int64(r.IntN(100))}} }).asJSON()
	},
}

// asJSON is a sort whose values are entered as JSON.
func (s sort) asJSON() sort {
	s.enter = func(x *screen, in within, label string, value any) {
		x.write(x.node(in, label, "textbox"), jsonText(value))
	}
	return s
}

func init() {
	for _, format := range slices.Sorted(maps.Keys(formats)) {
		singles = append(singles, func(r *randomForm) sort { return r.formatted(format) })
	}
}
