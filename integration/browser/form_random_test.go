package browser

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// randomForm makes schemas of the whole vocabulary, and objects that are valid for them, with
// how each value is entered.
type randomForm struct {
	*rand.Rand
	made  int
	decks map[string][]int
	// defs are the definitions of the type that is being made, and global is whether it belongs to no network.
	// sometimes and complete are how many conditions and how many objects that are x-complete are around the
	// schema that is being made.
	defs                M
	global              bool
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

// local reports whether values refer to objects of the network in which they are themselves.
func (s sort) local() bool {
	switch ref := s.schema["x-ref"].(type) {
	case string:
		return true
	case M:
		return ref["network"] == nil
	}
	return false
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

// anyThat is any of those that suit. Objects that belong to no network cannot refer to those of their own.
func (r *randomForm) anyThat(depth int, suits func(s sort) bool) (s sort) {
	dealt := func() bool { return !(r.global && s.local()) && suits(s) }
	if depth == 0 || r.deal("depth", 5) < 3 {
		r.dealThat("singles", len(singles), func(card int) bool { s = singles[card](r); return dealt() })
	} else {
		r.dealThat("parts", len(parts), func(card int) bool { s = parts[card](r, depth-1); return dealt() })
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
