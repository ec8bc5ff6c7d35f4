package browser

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// randomForm makes schemas of the whole vocabulary, and objects that are valid for them, with
// how each value is entered.
type randomForm struct {
	*rand.Rand
	made  int
	decks map[string][]int
	// defs are the definitions of the type that is being made. sometimes and complete are how many conditions
	// and how many objects that are x-complete are around the schema that is.
	defs                M
	sometimes, complete int
}

func newRandomForm(seed uint64) *randomForm {
	return &randomForm{Rand: rand.New(rand.NewPCG(seed, 29)), decks: map[string][]int{}}
}

// sort is a way to make schemas of values, and values.
type sort struct {
	name   string
	schema map[string]any
	// make returns a value, and enter enters it in the element that has the label.
	make  func() any
	enter func(x *screen, in within, label string, value any)
	// change makes a change of a value in the form, and returns what it becomes; nil enters another
	// one that make returns.
	change func(x *screen, in within, label string, value any) any
	// stored returns a value that was entered with what the service adds to it, and read takes from one
	// that the service returns what it adds to each, such as the names of references; nil changes nothing.
	stored, read func(value any) any
	// preset is the default.
	preset any
	// fixed values are always the same, and members are in objects, not in arrays. Complete ones are
	// returned where nothing is set.
	fixed, member, complete bool
}

func (s sort) changed(x *screen, in within, label string, value any) any {
	if s.change != nil {
		return s.change(x, in, label, value)
	}
	other := s.make()
	for jsonText(other) == jsonText(value) {
		other = s.make()
	}
	s.enter(x, in, label, other)
	return other
}

func (s sort) storedAs(value any) any {
	if s.stored == nil || value == nil {
		return value
	}
	return s.stored(value)
}

func (s sort) readAs(value any) any {
	if s.read == nil || value == nil {
		return value
	}
	return s.read(value)
}

// with returns the sort with more keywords in its schema.
func (s sort) with(more map[string]any) sort {
	schema := map[string]any{}
	for _, from := range []map[string]any{s.schema, more} {
		for name, value := range from {
			schema[name] = value
		}
	}
	s.schema = schema
	return s
}

// deal returns one of n numbers, each of which comes before one comes again.
func (r *randomForm) deal(deck string, n int) int {
	return r.dealThat(deck, n, func(int) bool { return true })
}

// dealThat is deal of the next number that suits. Those before it come later.
func (r *randomForm) dealThat(deck string, n int, suits func(card int) bool) int {
	var others []int
	for {
		if len(r.decks[deck]) == 0 {
			r.decks[deck] = r.Perm(n)
		}
		card := r.decks[deck][0]
		r.decks[deck] = r.decks[deck][1:]
		if suits(card) {
			r.decks[deck] = append(others, r.decks[deck]...)
			return card
		}
		others = append(others, card)
	}
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

// any returns a sort of values of at most a depth.
func (r *randomForm) any(depth int) sort {
	return r.anyThat(depth, func(sort) bool { return true })
}

// anyThat is any of those that suit.
func (r *randomForm) anyThat(depth int, suits func(s sort) bool) (s sort) {
	if depth == 0 || r.deal("depth", 5) < 3 {
		r.dealThat("singles", len(singles), func(card int) bool { s = singles[card](r); return suits(s) })
	} else {
		r.dealThat("parts", len(parts), func(card int) bool { s = parts[card](r, depth-1); return suits(s) })
	}
	return s
}

// item is a sort of the items of an array, or of the members of a map.
func (r *randomForm) item(depth int) sort {
	s := r.present(depth)
	if _, is := s.schema["type"].(string); is && !s.complete && s.schema["enum"] == nil && s.schema["oneOf"] == nil && s.schema["x-ref"] == nil && r.IntN(4) == 0 {
		return r.nullable(s)
	}
	return s
}

// present is a sort of values of an array or a map that are not null, which those of types cannot keep.
func (r *randomForm) present(depth int) sort {
	return r.anyThat(depth, func(s sort) bool { return !s.member })
}

// nullable is a sort of values that can be null, too, as those of an array or a map.
func (r *randomForm) nullable(s sort) sort {
	n := s
	if r.IntN(2) == 0 || s.schema["type"] == "object" || s.schema["type"] == "array" {
		n = s.with(map[string]any{"type": []any{s.schema["type"], "null"}})
	} else {
		n.schema = map[string]any{"anyOf": []any{s.schema, map[string]any{"type": "null"}}}
	}
	n.make = func() any {
		if r.IntN(4) == 0 {
			return nil
		}
		return s.make()
	}
	n.enter = func(x *screen, in within, label string, value any) {
		if value != nil { // which it is at first
			s.enter(x, in, label, value)
		}
	}
	n.change = func(x *screen, in within, label string, value any) any {
		if value != nil {
			return s.changed(x, in, label, value)
		}
		value = s.make()
		s.enter(x, in, label, value)
		return value
	}
	return n
}

// defined moves the schema of a sort to the definitions of the type.
func (r *randomForm) defined(s sort) sort {
	name := r.name()
	r.defs[name] = s.schema
	s.schema = map[string]any{"$ref": "#/$defs/" + name}
	return s
}

// typeOf is the schema of a type, and the sort of its objects.
func (r *randomForm) typeOf(path string) (M, *objectSort) {
	r.defs = M{}
	o := &objectSort{r: r, schema: M{"type": "object"}}
	name := field{name: "name", label: "Name", needed: true, sort: plain("name", M{"type": "string", "maxLength": 100}, func() any { return r.text() })}
	o.add(part{fields: []field{name, o.property(0, false), o.property(0, false), o.property(3, false), o.property(3, true)}}, o.schema)
	two := []int{r.deal("constructs of types", len(constructs)), r.deal("constructs of types", len(constructs))}
	slices.Sort(two)
	for _, i := range slices.Compact(two) {
		constructs[i](o, 2)
	}
	o.add(part{fields: r.ruled(o)}, o.schema)
	o.schema["$schema"], o.schema["title"], o.schema["$defs"] = "https://json-schema.org/draft/2020-12/schema", "Type "+path, r.defs
	o.schema["x-resource"] = M{"path": path}
	o.schema["x-validations"] = []any{M{"rule": "self.name != 'never'", "code": "error.random.never", "text": "Never.", "field": "/name"}}
	o.schema["x-warnings"] = []any{M{"code": "warning.random", "text": "Beware.", "when": M{"properties": M{"name": M{"minLength": 1}}}, "field": "/name"}}
	return o.schema, o
}

// ruled are the fields that only types have, and the rules of types about them.
func (r *randomForm) ruled(o *objectSort) []field {
	date := func(years int) func() any {
		return func() any { return r.at().AddDate(years, 0, 0).Format("2006-01-02") }
	}
	text := func() any { return r.word() }
	named := func(name string, s sort) field { return field{name: name, label: inWords(name), sort: s} }
	supplied := func(f field) field { f.supplied, f.fixed = true, f.sort.schema["readOnly"] == true; return f }
	switch r.dealThat("rules", 6, func(card int) bool { return card < 5 || o.entries == nil }) {
	case 0:
		o.schema["x-frozen"] = M{"when": M{"properties": M{"state": M{"const": "LOST"}}, "required": []any{"state"}}, "code": "error.random.lost", "text": "{{field}} is lost.", "except": []any{"name"}}
		state := named("state", sort{name: "state", schema: M{"type": "string", "enum": []any{"NEW", "DONE", "LOST"}, "x-initial": []any{"NEW"},
			"x-transitions": M{"NEW": []any{"DONE", M{"to": "LOST", "permission": "LOSE_THINGS"}}}, "default": "NEW"}, preset: "NEW",
			make: of(r, "NEW"), enter: chosen,
			change: func(x *screen, in within, label string, value any) any {
				if value == "DONE" {
					return value
				}
				chosen(x, in, label, "DONE")
				return "DONE"
			}})
		return []field{state, supplied(named("number", sort{name: "number", schema: M{"type": "integer", "x-sequence": M{"start": 7}, "readOnly": true}}))}
	case 1:
		o.schema["x-compare"] = []any{M{"left": "low", "op": "<=", "right": "high"}}
		number := func(from int) sort {
			return plain("number", M{"type": "integer"}, func() any { return int64(from + r.IntN(50)) })
		}
		return []field{named("low", number(0)), named("high", number(50))}
	case 2:
		o.schema["x-exclusive"] = []any{M{"properties": []any{"hall"}, "from": "begin", "to": "end"}}
		return []field{named("hall", plain("text", M{"type": "string"}, text)), named("begin", r.formatted("date")), named("end", sort{name: "date", schema: M{"type": "string", "format": "date"}, make: date(20), enter: timed("")})}
	case 3:
		fixed := plain("text", M{"type": "string", "x-immutable": true}, text)
		serial := named("serial", fixed)
		serial.once = true
		return []field{serial, supplied(named("token", sort{name: "uuid", schema: M{"type": "string", "x-default": "uuid"}}))}
	case 4:
		derived := named("derived", sort{name: "derived", schema: M{"type": "string", "x-derived": true}})
		derived.fixed = true
		return []field{derived, supplied(named("made", sort{name: "now", schema: M{"type": "string", "format": "date-time", "x-default": "now", "readOnly": true}}))}
	}
	return []field{named("diagnosis", plain("text", M{"type": "string", "x-readable": "READ_DIAGNOSES", "x-was": "finding"}, text))}
}
