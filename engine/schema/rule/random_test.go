package rule_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"marquee/engine/document"
	"marquee/engine/schema/rule"
)

// TestRandomRules evaluates random rules for random objects. None panics or costs more than
// was computed before. What a rule does not read, and what it cannot see, changes nothing:
// neither what it says, nor whether it applies. MARQUEE_RANDOM_RULES sets their number.
func TestRandomRules(t *testing.T) {
	shape := shapeOf(t, shapes)
	types := rule.NewTypes(shape)
	compiled, differ := 0, 0
	for seed := range uint64(seeds(200)) {
		r := rand.New(rand.NewPCG(seed, 2))
		g := &generator{Rand: r}
		source := g.expression("bool", 4)
		one, problems := types.Compile(shape, source, true)
		for range 4 {
			for _, p := range problems {
				if name, _, is := strings.Cut(p.Text, " is optional"); is {
					place := map[string]string{"y": "inner.y", "node": "items[0].node", "value": "items[0].node.value"}[name]
					source = "(" + source + ") && (true || has(self." + cmp.Or(place, name) + "))"
				}
			}
			one, problems = types.Compile(shape, source, true)
		}
		if len(problems) > 0 {
			continue
		}
		compiled++
		for range 4 {
			in := &rule.Input{Self: randomThing(r), State: "ACTIVE", OldState: "ACTIVE", Now: noon, Caller: func() rule.Caller { return rule.Caller{ID: "ann", Permissions: []string{"EDIT"}} }}
			in.OldSelf, _ = document.Clone(in.Self).(map[string]any)
			mutate(r, in.Self)
			if cost, ended := types.Cost(shape, one, source, in); ended && cost > one.Bound() {
				t.Fatalf("seed %d: %s costs %d for %s, and was to cost at most %d", seed, source, cost, document.Append(nil, in.Self), one.Bound())
			}
			now, err := one.Holds(context.Background(), in)
			if err != nil && !errors.Is(err, rule.ErrTooComplex) {
				t.Fatal(err)
			}
			before, _ := one.Holds(context.Background(), &rule.Input{Self: in.OldSelf, OldSelf: in.OldSelf, State: "ACTIVE", OldState: "ACTIVE", Now: noon, Caller: in.Caller})
			if now != before && !one.Touched(in) {
				t.Fatalf("seed %d: %s is %v for %s and %v for %s, and is not touched", seed, source, before, document.Append(nil, in.OldSelf), now, document.Append(nil, in.Self))
			}
			if now != before {
				differ++
			}
			secret, _ := document.Clone(in.Self).(map[string]any)
			hide(r, secret)
			in.OldSelf, in.Self = in.Self, secret
			if one.Touched(in) || one.Key(in.Self) != one.Key(in.OldSelf) {
				t.Fatalf("seed %d: %s is touched by what it cannot see, from %s to %s", seed, source, document.Append(nil, in.OldSelf), document.Append(nil, in.Self))
			}
		}
	}
	if t.Log(compiled, differ); compiled < seeds(200)/2 || differ < compiled/20 {
		t.Errorf("%d rules, and %d changes of what they say: too few", compiled, differ)
	}
}

func seeds(n int) int {
	if !testing.Short() {
		n *= 4
	}
	if text := os.Getenv("MARQUEE_RANDOM_RULES"); text != "" {
		n, _ = strconv.Atoi(text)
	}
	return n
}

// hide changes values that rules cannot see.
func hide(r *rand.Rand, object map[string]any) {
	object["password"] = "hidden" + strconv.Itoa(r.IntN(100))
	object["pin"] = "hidden" + strconv.Itoa(r.IntN(100))
	object["worth"] = int64(r.IntN(100))
	object["keys"] = map[string]any{"a": "b" + strconv.Itoa(r.IntN(100))}
	if inner, is := object["inner"].(map[string]any); is {
		inner["secret"] = "hidden" + strconv.Itoa(r.IntN(100))
	}
}

func mutate(r *rand.Rand, object map[string]any) {
	other := randomThing(r)
	for name := range shapeNames {
		if r.IntN(6) == 0 {
			if other[shapeNames[name]] == nil {
				if shapeNames[name] != "n" {
					delete(object, shapeNames[name])
				}
			} else {
				object[shapeNames[name]] = other[shapeNames[name]]
			}
		}
	}
}

var shapeNames = []string{"n", "d", "s", "b", "begin", "end", "day", "thing", "any", "either", "with-hyphen", "list", "words", "map", "free", "inner", "items", "defaulted"}

func randomThing(r *rand.Rand) map[string]any {
	object := map[string]any{"n": int64(r.IntN(4))}
	maybe := func(name string, value func() any) {
		if r.IntN(3) > 0 {
			object[name] = value()
		}
	}
	integer := func() any { return int64(r.IntN(3)) }
	text := func() any { return []string{"", "a", "b", "ab", "é😀"}[r.IntN(5)] }
	list := func(of func() any) func() any {
		return func() any {
			items := []any{}
			for range r.IntN(4) {
				items = append(items, of())
			}
			return items
		}
	}
	instant := func() any { return fmt.Sprintf("2026-03-0%dT12:00:00.000Z", 1+r.IntN(3)) }
	inner := func() any {
		m := map[string]any{"x": integer()}
		if r.IntN(2) == 0 {
			m["y"] = text()
		}
		return m
	}
	anything := func() any {
		return []func() any{integer, text, list(integer), inner, func() any { return 1.5 }, func() any { return true }}[r.IntN(6)]()
	}
	number := func() any {
		if r.IntN(2) == 0 {
			return integer()
		}
		return float64(r.IntN(8))/4 + 0.125
	}
	item := func() any {
		m := map[string]any{"price": number()}
		if r.IntN(2) == 0 {
			m["sku"] = text()
		}
		if r.IntN(2) == 0 {
			m["node"] = map[string]any{"value": integer(), "child": map[string]any{}}
		}
		return m
	}
	maybe("d", number)
	maybe("s", text)
	maybe("b", func() any { return r.IntN(2) == 0 })
	maybe("begin", instant)
	maybe("end", instant)
	maybe("day", func() any { return fmt.Sprintf("2026-03-0%d", 1+r.IntN(3)) })
	maybe("thing", text)
	maybe("any", anything)
	maybe("either", func() any {
		if r.IntN(2) == 0 {
			return integer()
		}
		return text()
	})
	maybe("with-hyphen", integer)
	maybe("list", list(integer))
	maybe("words", list(text))
	maybe("map", func() any {
		m := map[string]any{}
		for _, k := range "abc" {
			if r.IntN(2) == 0 {
				m[string(k)] = integer()
			}
		}
		return m
	})
	maybe("free", func() any { return map[string]any{"x": anything(), "y": anything()} })
	maybe("inner", inner)
	maybe("items", list(item))
	maybe("defaulted", integer)
	return object
}

// generator writes random expressions of a type.
type generator struct {
	*rand.Rand
	vars  []variable
	count int
}

type variable struct{ name, of string }

func (g *generator) pick(options ...string) string { return options[g.IntN(len(options))] }

func (g *generator) with(of string, body func(name string) string) string {
	g.count++
	name := "v" + strconv.Itoa(g.count)
	g.vars = append(g.vars, variable{name, of})
	defer func() { g.vars = g.vars[:len(g.vars)-1] }()
	return body(name)
}

func (g *generator) expression(of string, depth int) string {
	for _, v := range g.vars {
		if v.of == of && g.IntN(2) == 0 {
			return v.name
		}
	}
	e := func(of string) string { return g.expression(of, depth-1) }
	if depth <= 0 {
		return g.leaf(of)
	}
	if g.IntN(8) == 0 {
		return "(" + e("bool") + " ? " + e(of) + " : " + e(of) + ")"
	}
	if g.IntN(8) == 0 {
		return e("list("+of+")") + "[" + e("int") + "]"
	}
	if g.IntN(8) == 0 {
		return e("optional("+of+")") + ".orValue(" + e(of) + ")"
	}
	if g.IntN(12) == 0 {
		return e("map("+of+")") + "[" + e("string") + "]"
	}
	if inner, is := strings.CutPrefix(of, "list("); is {
		inner = strings.TrimSuffix(inner, ")")
		switch g.IntN(6) {
		case 0:
			return "[" + e(inner) + ", " + e(inner) + "]"
		case 1:
			from := g.pick("int", "string", "dyn", inner)
			list := e("list(" + from + ")")
			return g.with(from, func(name string) string { return list + ".map(" + name + ", " + e(inner) + ")" })
		case 2:
			list := e(of)
			return g.with(inner, func(name string) string { return list + ".filter(" + name + ", " + e("bool") + ")" })
		case 3:
			return "(" + e(of) + " + " + e(of) + ")"
		}
		return g.leaf(of)
	}
	if inner, is := strings.CutPrefix(of, "optional("); is {
		inner = strings.TrimSuffix(inner, ")")
		switch g.IntN(3) {
		case 0:
			return "optional.of(" + e(inner) + ")"
		case 1:
			from := g.pick("int", "string", "dyn", inner)
			opt := e("optional(" + from + ")")
			return g.with(from, func(name string) string { return opt + ".optMap(" + name + ", " + e(inner) + ")" })
		}
		return g.leaf(of)
	}
	if inner, is := strings.CutPrefix(of, "map("); is {
		inner = strings.TrimSuffix(inner, ")")
		return `{"a": ` + e(inner) + `, "b": ` + e(inner) + `}`
	}
	switch of {
	case "bool":
		any := g.pick("int", "double", "string", "time", "bool", "dyn", "self", "list(int)", "list(string)", "inner", "optional(int)", "list(dyn)", "map(int)")
		switch g.IntN(12) {
		case 0, 1:
			return "(" + e("bool") + g.pick(" && ", " || ") + e("bool") + ")"
		case 2:
			return "!" + e("bool")
		case 3, 4:
			return "(" + e(any) + g.pick(" == ", " != ") + e(any) + ")"
		case 5:
			any := g.pick("int", "double", "string", "time")
			return "(" + e(any) + g.pick(" < ", " >= ", " > ") + e(any) + ")"
		case 6:
			any := g.pick("int", "string", "dyn", "item")
			list := e("list(" + any + ")")
			return g.with(any, func(name string) string {
				return list + g.pick(".all(", ".exists(", ".exists_one(") + name + ", " + e("bool") + ")"
			})
		case 7:
			return e("string") + g.pick(".contains(", ".startsWith(", ".endsWith(") + e("string") + ")"
		case 8:
			return e("string") + `.matches("` + g.pick("a", "^a+$", "[a-z]{1,3}", "(a|b)*") + `")`
		case 9:
			return "(" + e(any) + " in " + e("list("+any+")") + ")"
		case 10:
			return e("list("+g.pick("int", "string")+")") + g.pick(".isUnique()", ".isSorted()")
		}
	case "int":
		switch g.IntN(5) {
		case 0:
			return "(" + e("int") + g.pick(" + ", " - ", " * ", " / ", " % ") + e("int") + ")"
		case 1:
			return "size(" + e(g.pick("string", "list(int)", "list(string)", "map(int)")) + ")"
		case 2:
			return e("list(int)") + g.pick(".sum()", ".min()", ".max()")
		case 3:
			return e("string") + ".indexOf(" + e("string") + ")"
		}
	case "string":
		switch g.IntN(4) {
		case 0:
			return "(" + e("string") + " + " + e("string") + ")"
		case 1:
			return e("string") + g.pick(".lowerAscii()", ".trim()", ".substring(0, 1)")
		case 2:
			return "string(" + e(g.pick("int", "double", "time", "bool", "dyn")) + ")"
		}
	case "double":
		return "(" + e("double") + g.pick(" + ", " * ") + e("double") + ")"
	case "time":
		return "(" + e("time") + ` + duration("` + strconv.Itoa(g.IntN(50)) + `h"))`
	}
	return g.leaf(of)
}

func (g *generator) leaf(of string) string {
	o := g.pick("self", "self", "self", "oldSelf")
	if g.IntN(5) > 0 {
		o = "self"
	}
	switch of {
	case "bool":
		return g.pick("true", "has("+o+".d)", "has("+o+".inner)", "has("+o+".any)", "has("+o+".items)", "has("+o+".words)", "has("+o+".s)", "has("+o+".inner.y)", "has("+o+".free.x)", "has("+o+".any.x)", o+".?b.orValue(true)", "has("+o+".map.a)", "has("+o+".list)", o+".b", "'a' in "+o+".map")
	case "int":
		return g.pick("0", "1", "2", o+".n", o+".?inner.?x.orValue(2)", o+".list[0]", o+".inner.x", o+".?`with-hyphen`.orValue(1)", o+".map.a", o+".?map[?'b'].orValue(0)", o+".items[0].node.value", o+".defaulted")
	case "double":
		return g.pick("0.5", "2.0", o+".d", o+".items[0].price", "double("+o+".n)")
	case "string":
		return g.pick(`""`, `"a"`, `"é"`, o+".s", o+".?thing.orValue('x')", o+".words[1]", o+".inner.y", "caller.id", o+".objectState", o+".?inner.?y.orValue('z')")
	case "time":
		return g.pick("now", o+".begin", o+".end", o+".day", `timestamp("2026-03-02T12:00:00Z")`)
	case "dyn":
		return g.pick(o+".any", o+".either", o+".free.x", o+".?any.orValue(1)", "[1, 'a', "+o+"][2]", o+".any.x", o+".any[0]")
	case "self":
		return g.pick("self", "oldSelf")
	case "inner":
		return g.pick(o+".inner", o+".?inner.orValue("+o+".inner)")
	case "item":
		return o + ".items[0]"
	case "list(int)":
		return g.pick("[1, 2]", "[0]", o+".list", o+".?list.orValue([])")
	case "list(string)":
		return g.pick(`["a"]`, o+".words", o+".?words.orValue([])", "caller.permissions", o+".map.map(k, k)")
	case "list(item)":
		return g.pick(o+".items", o+".?items.orValue([])")
	case "optional(int)":
		return g.pick(o+".?list[?0]", o+".?inner.?x", "optional.none()", o+".?map.?a")
	case "optional(string)":
		return g.pick(o+".?s", o+".?words[?1]", o+".?inner.?y", o+".?thing")
	case "map(int)":
		return g.pick(o+".map", o+".?map.orValue({})", `{"a": 1}`)
	}
	if inner, is := strings.CutPrefix(of, "list("); is {
		return "[" + g.leaf(strings.TrimSuffix(inner, ")")) + "]"
	}
	if inner, is := strings.CutPrefix(of, "optional("); is {
		return "optional.of(" + g.leaf(strings.TrimSuffix(inner, ")")) + ")"
	}
	if inner, is := strings.CutPrefix(of, "map("); is {
		return `{"a": ` + g.leaf(strings.TrimSuffix(inner, ")")) + "}"
	}
	return "0"
}
