package write_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"marquee/engine/document"
)

// flaw is a fault of an object, by the model.
type flaw struct {
	// rule is the keyword that finds it, and field its place.
	rule, field string
	// judged is the JSON of what decides it. If item is not "", that is an item of this array.
	judged, item string
	index        int
	// silent reports that a write which leaves it alone has no warning of it, stays that it is
	// refused if the object is written at all.
	silent, stays bool
}

// tightening is one more rule of a type: what it adds to its schema, and the flaws of an
// object by it. Before is the stored object, nil for a new one.
type tightening struct {
	property, schema string // of a property
	root             string // of the object itself
	flaws            func(before, after object) []flaw
}

func text(value any) string { return string(document.Append(nil, value)) }

// members returns the JSON of some members, and of which there are.
func members(o object, names ...string) string {
	some := object{}
	for _, name := range names {
		if value, there := o[name]; there {
			some[name] = value
		}
	}
	return text(some)
}

// about judges the value of one property.
func about(property, schema string, valid func(value any) bool) tightening {
	return tightening{property: property, schema: schema, flaws: func(_, after object) []flaw {
		if value, there := after[property]; there && !valid(value) {
			return []flaw{{rule: schema, field: "/" + property, judged: text(value)}}
		}
		return nil
	}}
}

func number(value any) float64 {
	n, _ := strconv.ParseFloat(fmt.Sprint(value), 64)
	return n
}

// missing is the absence of a property from an object of which the flaw is.
func missing(rule, field string) flaw { return flaw{rule: rule, field: field, judged: "missing"} }

// looseProperties are those of a type before it is tightened.
const looseProperties = `"a": {"type": "string"}, "n": {"type": "integer"}, "v": {"type": "integer"}, "e": {"type": "string"}, "k": {"type": ["string", "integer"]},
	"o": {"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": "integer"}}},
	"l": {"type": "array", "items": {"type": "object", "properties": {"t": {"type": "string"}, "c": {"type": "integer"}}}},
	"tags": {"type": "array", "items": {"type": "string"}}, "marks": {"type": "array", "items": {"type": "string"}},
	"j": {"type": "object", "properties": {"p": {"type": "integer"}, "q": {"type": "integer"}, "r": {"type": "integer"}}},
	"f": {"type": "string"}, "s": {"type": "string"}, "price": {"type": "integer"}, "begin": {"type": "integer"}, "end": {"type": "integer"}, "w": {"type": "integer"}`

// tightenings returns rules with random limits.
func tightenings(r *rand.Rand) []tightening {
	long, most, many, small := r.IntN(3), 1+r.IntN(4), r.IntN(3), 1+r.IntN(3)
	items := func(property, rule, below string, wrong func(item any) bool) func(_, after object) []flaw {
		return func(_, after object) (found []flaw) {
			values, _ := after[property].([]any)
			for i, item := range values {
				if wrong(item) {
					found = append(found, flaw{rule: rule, field: fmt.Sprintf("/%s/%d%s", property, i, below), judged: text(item), item: property, index: i})
				}
			}
			return found
		}
	}
	member := func(item any, name string) (any, bool) {
		value, there := item.(object)[name]
		return value, there
	}
	return []tightening{
		about("a", fmt.Sprintf(`"maxLength": %d`, long), func(value any) bool { return len(value.(string)) <= long }),
		about("a", `"pattern": "x"`, func(value any) bool { return strings.Contains(value.(string), "x") }),
		about("n", fmt.Sprintf(`"maximum": %d`, most), func(value any) bool { return number(value) <= float64(most) }),
		about("k", `"not": {"const": 1}`, func(value any) bool { return text(value) != "1" }),
		about("k", `"enum": ["x", 1, 2, 3]`, func(value any) bool { return slices.Contains([]string{`"x"`, "1", "2", "3"}, text(value)) }),
		about("f", `"anyOf": [{"maxLength": 1}, {"pattern": "^x"}]`, func(value any) bool {
			return len(value.(string)) < 2 || strings.HasPrefix(value.(string), "x")
		}),
		about("l", fmt.Sprintf(`"maxItems": %d`, many), func(value any) bool { return len(value.([]any)) <= many }),
		about("o", `"minProperties": 2`, func(value any) bool { return len(value.(object)) >= 2 }),
		{root: `"dependentSchemas": {"v": {"properties": {"n": {"maximum": 1}}}}`, flaws: func(_, after object) []flaw {
			if value, there := after["n"]; there && after["v"] != nil && number(value) > 1 {
				return []flaw{{rule: "dependentSchemas", field: "/n", judged: text(value)}}
			}
			return nil
		}},
		{root: `"required": ["a", "v"]`, flaws: func(_, after object) (found []flaw) {
			for _, name := range []string{"a", "v"} {
				if after[name] == nil {
					found = append(found, missing("required", "/"+name))
				}
			}
			return found
		}},
		{root: `"dependentRequired": {"n": ["v"]}`, flaws: func(_, after object) []flaw {
			if after["n"] != nil && after["v"] == nil {
				return []flaw{missing("dependentRequired", "/v")}
			}
			return nil
		}},
		{property: "o", schema: `"required": ["y"]`, flaws: func(_, after object) []flaw {
			if o, there := after["o"].(object); there && o["y"] == nil {
				return []flaw{missing("required of o", "/o/y")}
			}
			return nil
		}},
		{property: "l", schema: `"items": {"type": "object", "required": ["c"], "properties": {"t": {"type": "string"}, "c": {"type": "integer"}}}`,
			flaws: items("l", "required of items", "/c", func(item any) bool { _, there := member(item, "c"); return !there })},
		{property: "tags", schema: fmt.Sprintf(`"items": {"type": "string", "maxLength": %d}`, long),
			flaws: items("tags", "maxLength of items", "", func(item any) bool { return len(item.(string)) > long })},
		{property: "marks", schema: `"uniqueItems": true`, flaws: func(_, after object) []flaw {
			values, _ := after["marks"].([]any)
			for i, value := range values {
				if slices.Contains(values[:i], value) {
					return []flaw{{rule: "uniqueItems", field: fmt.Sprint("/marks/", i), judged: text(values), silent: true}}
				}
			}
			return nil
		}},
		{property: "j", schema: `"oneOf": [{"required": ["p"]}, {"required": ["q"]}]`, flaws: func(_, after object) []flaw {
			if j, there := after["j"].(object); there && (j["p"] == nil) == (j["q"] == nil) {
				return []flaw{{rule: "oneOf", field: "/j", judged: members(j, "p", "q")}}
			}
			return nil
		}},
		{root: fmt.Sprintf(`"if": {"properties": {"s": {"const": "x"}}, "required": ["s"]}, "then": {"required": ["price"], "properties": {"price": {"minimum": %d}}}`, small),
			flaws: func(_, after object) []flaw {
				if price, there := after["price"]; after["s"] == "x" && (!there || number(price) < float64(small)) {
					return []flaw{{rule: fmt.Sprint("if ", there), field: "/price", judged: members(after, "s", "price")}}
				}
				return nil
			}},
		{root: `"x-compare": [{"left": "begin", "op": "<", "right": "end"}]`, flaws: func(_, after object) []flaw {
			if after["begin"] != nil && after["end"] != nil && number(after["begin"]) >= number(after["end"]) {
				return []flaw{{rule: "x-compare", field: "/begin", judged: members(after, "begin", "end")}}
			}
			return nil
		}},
		{root: fmt.Sprintf(`"x-validations": [{"rule": "!has(self.w) || self.w < %d", "code": "error.things.w", "text": "W.", "field": "/w"}]`, small), flaws: func(_, after object) []flaw {
			if after["w"] != nil && number(after["w"]) >= float64(small) {
				return []flaw{{rule: "x-validations", field: "/w", judged: members(after, "w"), silent: true}}
			}
			return nil
		}},
		{property: "e", schema: `"enum": ["x", "xy"], "x-initial": ["x"], "x-transitions": {"x": ["xy"], "xy": []}`, flaws: func(before, after object) (found []flaw) {
			from, to := before["e"], after["e"]
			if to != nil && to != "x" && to != "xy" {
				found = append(found, flaw{rule: "enum", field: "/e", judged: text(to)})
			}
			left := from != "x" && from != "xy" // by no step
			if from != nil && from != to && !(from == "x" && to == "xy") && !(left && to == "x") {
				found = append(found, flaw{rule: "x-transitions", field: "/e", stays: true})
			}
			return found
		}},
	}
}

// tightType is a type, and the rules that it is tightened by.
type tightType struct {
	name  string
	rules []tightening
}

// file returns its schema, with the rules or without them.
func (t tightType) file(tight bool) []byte {
	own, root := map[string]string{}, ""
	if tight {
		for _, rule := range t.rules {
			if rule.property != "" {
				own[rule.property] += ", " + rule.schema
			} else {
				root += ", " + rule.root
			}
		}
	}
	var loose map[string]json.RawMessage
	if err := json.Unmarshal([]byte("{"+looseProperties+"}"), &loose); err != nil {
		panic(err)
	}
	var properties []string
	for _, name := range slices.Sorted(maps.Keys(loose)) {
		schema := string(loose[name])
		if strings.Contains(own[name], `"items"`) {
			schema = `{"type": "array"}`
		}
		properties = append(properties, fmt.Sprintf("%q: %s", name, strings.TrimSuffix(schema, "}")+own[name]+"}"))
	}
	return fmt.Appendf(nil, `{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Thing", "x-resource": {"path": %q}, "type": "object"%s, "properties": {%s}}`,
		t.name, root, strings.Join(properties, ", "))
}

// flaws returns those of an object.
func (t tightType) flaws(before, after object) (found []flaw) {
	for _, rule := range t.rules {
		found = append(found, rule.flaws(before, after)...)
	}
	return found
}

// judge returns the places of the flaws for which a write is refused, and of those that are
// warnings. Sent are the properties that the write has.
func (t tightType) judge(before, after, sent object) (refused, warned []string) {
	had := t.flaws(nil, before)
	for _, f := range t.flaws(before, after) {
		kept := slices.ContainsFunc(had, func(old flaw) bool { return old.rule == f.rule && old.field == f.field && old.judged == f.judged })
		if f.item != "" {
			kept = pairs(before[f.item], after[f.item])[f.index]
		}
		switch _, written := sent["marks"]; {
		case before == nil || !kept || f.stays:
			refused = append(refused, f.field)
		case !f.silent || f.rule == "uniqueItems" && written:
			warned = append(warned, f.field)
		}
	}
	return placesIn(refused), placesIn(warned)
}

// pairs returns which items of an array the stored one has, too, each of whose items counts once.
func pairs(before, after any) []bool {
	old, _ := before.([]any)
	items, _ := after.([]any)
	had := map[string]int{}
	for _, item := range old {
		had[text(item)]++
	}
	kept := make([]bool, len(items))
	for i, item := range items { // at its place
		if i < len(old) && text(item) == text(old[i]) {
			kept[i] = true
			had[text(item)]--
		}
	}
	for i, item := range items {
		if !kept[i] && had[text(item)] > 0 {
			kept[i] = true
			had[text(item)]--
		}
	}
	return kept
}

// placesIn sorts places, without repetitions. What oneOf finds is within the object.
func placesIn(fields []string) []string {
	for i, field := range fields {
		if strings.HasPrefix(field, "/j/") {
			fields[i] = "/j"
		}
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}
