package diff

import (
	"fmt"
	"maps"
	"slices"

	"marquee/engine/document"
)

// annotations are keywords whose changes break nothing: definitions are compared where
// they are used.
var annotations = []string{"$schema", "$id", "$anchor", "$comment", "$defs", "definitions", "title", "description", "examples", "deprecated", "x-warnings", "x-was"}

// meaning is what a change of a keyword breaks, which does not constrain values itself.
type meaning struct {
	keyword string
	// added, removed and changed are the classes of each change; where there is none, the
	// change breaks nothing.
	added, removed, changed []Class
	// text explains the keyword where it is added, without where it is removed. The cure is that
	// of the first.
	text, without, cure string
}

var meanings = []meaning{
	{"x-ref", []Class{Stored, Request, Response, Source}, []Class{Response, Source}, []Class{Stored, Request, Source}, "the value is a reference, or one to other objects; the set is refused while a stored value is none", "the value is no longer a reference", "use a new property, or take the values out of the stored objects first"},
	{"x-immutable", []Class{Request}, nil, nil, "the value cannot change once it is set", "", ""},
	{"x-secret", []Class{Request, Response}, loosened, nil, "the value is only returned to holders of the write permission, and never in the history, and lists cannot be filtered by it", revealed, `only "x-secret": false undoes it: a set without the keyword is refused`},
	{"x-readable", []Class{Request, Response, Source}, loosened, []Class{Request, Response}, "the value is only returned to holders of a permission, and for others the property does not exist: what they write to it is ignored, and where is refused", revealed, ""},
	{"x-personal", nil, loosened, nil, "", "an erasure no longer removes the value", ""},
	{"writeOnly", Classes, loosened, nil, "the value is no longer returned, also in the history; where, filters, fields and excludeIfMissing cannot name it; and a property at the top level loses its stored value with the next write of the object", revealed, ""},
	{"readOnly", []Class{Request, Source}, nil, nil, "the value cannot be sent any more", "", ""},
	{"x-complete", loosened, []Class{Response, Source}, nil, "members that are not set are returned as null or empty", "members that are not set are no longer returned", ""},
	{"x-derived", []Class{Request, Source}, []Class{Response}, []Class{Response}, "the value is computed, and lists cannot be filtered by it", "the value is no longer computed", ""},
	{"x-lookup", tightened, loosened, tightened, "the id must be in a list of the service", "the id need not be in a list of the service", ""},
	{"x-unknown", []Class{Request}, nil, nil, "unknown members are refused", "", ""},
	{"x-sequence", tightened, []Class{Response}, []Class{Response}, "the service numbers objects, and values that clients send are ignored; the set is refused while stored objects share a number", "the service no longer numbers objects", "change all but one of them first"},
}

// ruleKeywords are the keywords whose values are rules, or lists of rules.
var ruleKeywords = []struct {
	keyword, text  string
	added, removed []Class
	cure           string
}{
	{"x-frozen", "objects that match a condition cannot change", []Class{Request}, nil, ""},
	{"x-compare", "properties are compared", tightened, loosened, ""},
	{"x-exclusive", "intervals must not overlap, and the set is refused while those of stored objects do", tightened, loosened, "change the objects that marquee check --proposed lists first"},
	{"x-validations", "objects must follow a rule", tightened, loosened, ""},
}

// rules compares the rules of objects, each of which is added or removed as a whole.
func (c *comparison) rules(old, new value) {
	for _, k := range ruleKeywords {
		if k.keyword == "x-frozen" && exceptsMore(old, new) {
			continue
		}
		added, removed := c.changedRules(entries(old.all(k.keyword)), entries(new.all(k.keyword)))
		for _, text := range added {
			c.report("rule-added", k.added, new.all(k.keyword)[0].at, k.keyword+": "+k.text+": "+writtenRule(new.of, k.keyword, text), k.cure)
		}
		if k.removed == nil {
			continue
		}
		for _, text := range removed {
			c.report("rule-removed", k.removed, old.all(k.keyword)[0].at, k.keyword+" is removed, or concerns fewer objects: "+writtenRule(old.of, k.keyword, text), "")
		}
	}
}

// exceptsMore reports whether the x-frozen of two values differ in that more can change in
// the new one.
func exceptsMore(old, new value) bool {
	before, after := old.all("x-frozen"), new.all("x-frozen")
	if len(before) != 1 || len(after) != 1 {
		return false
	}
	was, _ := before[0].value.(map[string]any)
	is, _ := after[0].value.(map[string]any)
	if len(lost(itemTexts(was["except"]), itemTexts(is["except"]))) > 0 {
		return false
	}
	was, is = maps.Clone(was), maps.Clone(is)
	delete(was, "except")
	delete(is, "except")
	return document.Equal(was, is)
}

// revealed is the text of a keyword without which more callers see a value.
const revealed = "other callers see the value; if it is inside of another one, a client that sends back what it read before removes it"

// annotations compares the keywords of the vocabulary.
func (c *comparison) annotations(old, new value) {
	for _, m := range meanings {
		before, after := statedTexts(old, m.keyword), statedTexts(new, m.keyword)
		gone, gained := lost(before, after), lost(after, before)
		at := placeOf(old, new, m.keyword)
		rule := "keyword-added"
		classes, text, cure := m.added, m.text, m.cure
		switch {
		case len(gone) > 0 && len(gained) > 0:
			rule, classes = "keyword-changed", m.changed
		case len(gained) > 0:
		case len(gone) > 0:
			rule, classes, text, cure = "keyword-removed", m.removed, m.without, ""
			if text == revealed {
				rule = "visibility-changed"
			}
			if m.keyword == "x-secret" && len(new.all("x-secret")) == 0 {
				text, cure = text+", and the set is refused", `write "x-secret": false, with which stored values are decrypted`
			}
		default:
			continue
		}
		if len(classes) > 0 {
			c.report(rule, classes, at, m.keyword+": "+text, cure)
		}
	}
	c.formerValues(old, new)
	c.initial(old, new)
	c.transitions(old, new)
	c.unknownKeywords(old, new)
}

// statedTexts returns the JSON of the values of a keyword; of a list of rules, the JSON of
// each. The value false is left out, as it says nothing.
func statedTexts(v value, keyword string) (texts []string) {
	for _, s := range v.all(keyword) {
		list, is := s.value.([]any)
		if !is {
			list = []any{s.value}
		}
		for _, item := range list {
			if item != false {
				texts = append(texts, string(document.Append(nil, item)))
			}
		}
	}
	return texts
}

// initial compares the first values of x-initial. More of them refuse nothing.
func (c *comparison) initial(old, new value) {
	before, after := statedTexts(old, "x-initial"), statedTexts(new, "x-initial")
	for i, text := range before {
		before[i] = new.renamed(text)
	}
	at := placeOf(old, new, "x-initial")
	const text = "x-initial: a new object can have other first values"
	switch {
	case len(after) == 0:
	case len(before) == 0:
		c.report("keyword-added", []Class{Request}, at, text, "")
	case len(lost(before, after)) > 0:
		c.report("keyword-changed", []Class{Request}, at, text, "")
	}
}

// steps returns what each step from one value to another requires, as JSON, "" for nothing. A
// value of the list that x-transitions does not mention can change to any that may be the first.
func (v value) steps(listed []string) map[[2]string]string {
	steps, mentioned := map[[2]string]string{}, map[string]bool{}
	for _, s := range v.all("x-transitions") {
		from, _ := s.value.(map[string]any)
		for value, targets := range from {
			mentioned[value] = true
			list, _ := targets.([]any)
			for _, target := range list {
				to, requires := target, ""
				if guarded, is := target.(map[string]any); is {
					guarded = maps.Clone(guarded)
					to = guarded["to"]
					delete(guarded, "to")
					requires = string(document.Append(nil, guarded))
				}
				mentioned[fmt.Sprint(to)] = true
				steps[[2]string{value, fmt.Sprint(to)}] = requires
			}
		}
	}
	first, _ := v.listed()
	if initial := v.all("x-initial"); len(initial) > 0 {
		first = statedTexts(v, "x-initial")
	}
	for _, from := range listed {
		for _, to := range first {
			if from, to := plain(from), plain(to); !mentioned[from] && from != to {
				steps[[2]string{from, to}] = ""
			}
		}
	}
	return steps
}

// plain returns the string that JSON is of.
func plain(text string) string {
	value, _ := document.Decode([]byte(text), document.Limits{})
	return fmt.Sprint(value)
}

// transitions compares the steps of x-transitions.
func (c *comparison) transitions(old, new value) {
	at := placeOf(old, new, "x-transitions")
	switch {
	case len(new.all("x-transitions")) == 0:
		return
	case len(old.all("x-transitions")) == 0:
		c.report("step-removed", []Class{Request}, at, "the value can only change in the steps of x-transitions", "list every step that clients use")
		return
	}
	values, _ := old.listed()
	before := map[[2]string]string{} // as they are named now
	for step, requires := range old.steps(values) {
		before[[2]string{new.renamedText(step[0]), new.renamedText(step[1])}] = requires
	}
	for i, text := range values {
		values[i] = new.renamed(text)
	}
	after := new.steps(values)
	for _, step := range slices.SortedFunc(maps.Keys(before), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		switch now, there := after[step]; {
		case !there:
			c.report("step-removed", []Class{Request}, at, "the value can no longer change from "+step[0]+" to "+step[1], "keep the step")
		case now != before[step] && now != "":
			c.report("step-guarded", []Class{Request}, at, "the step from "+step[0]+" to "+step[1]+" requires something else", "")
		}
	}
}

// unknownKeywords reports keywords that this package does not know, and that differ.
func (c *comparison) unknownKeywords(old, new value) {
	for _, name := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(old.unknown(), new.unknown())))) {
		before, after := statedTexts(old, name), statedTexts(new, name)
		slices.Sort(before)
		slices.Sort(after)
		if !slices.Equal(before, after) {
			at := placeOf(old, new, name)
			c.undecided("keyword-changed", at, name+" has changed")
		}
	}
}

// unknown returns the names of keywords that this package does not know.
func (v value) unknown() (names []string) {
	for _, p := range v.schemas {
		for name := range p.keywords {
			if !known[name] {
				names = append(names, name)
			}
		}
	}
	return names
}

// known are the keywords that are compared, and those that need not be.
var known = func() map[string]bool {
	names := map[string]bool{"x-resource": true, "x-was-values": true, "x-initial": true, "x-transitions": true, "$ref": true, "allOf": true, "type": true, "enum": true, "const": true,
		"properties": true, "patternProperties": true, "additionalProperties": true, "required": true, "items": true, "prefixItems": true,
		"default": true, "x-default": true}
	for _, name := range annotations {
		names[name] = true
	}
	for _, k := range constraints {
		names[k.keyword] = true
	}
	for _, b := range bounds {
		names[b.keyword], names[b.exclusive] = true, true
	}
	for _, m := range meanings {
		names[m.keyword] = true
	}
	for _, k := range ruleKeywords {
		names[k.keyword] = true
	}
	return names
}()
