package diff

import (
	"fmt"
	"math/big"
	"slices"

	"marquee/engine/document"
)

// bound is a keyword that bounds a number, or a size.
type bound struct {
	keyword, exclusive string
	upper              bool
	// of is the type that it applies to.
	of string
}

var bounds = []bound{
	{"minimum", "exclusiveMinimum", false, "number"},
	{"maximum", "exclusiveMaximum", true, "number"},
	{"minLength", "", false, "string"},
	{"maxLength", "", true, "string"},
	{"minItems", "", false, "array"},
	{"maxItems", "", true, "array"},
	{"minProperties", "", false, "object"},
	{"maxProperties", "", true, "object"},
}

// limit is a bound of a value.
type limit struct {
	number    *big.Rat
	exclusive bool
	at        place
}

// limit returns the strictest limit of a value, nil for none.
func (b bound) limit(v value) (strictest *limit) {
	for _, name := range []string{b.keyword, b.exclusive} {
		for _, s := range v.all(name) {
			number, ok := new(big.Rat).SetString(fmt.Sprint(s.value))
			if !ok {
				continue
			}
			next := &limit{number, name == b.exclusive, s.at}
			if strictest == nil || b.stricter(next, strictest) {
				strictest = next
			}
		}
	}
	return strictest
}

// stricter reports whether a limit accepts less than another one.
func (b bound) stricter(one, other *limit) bool {
	order := one.number.Cmp(other.number)
	if b.upper {
		order = -order
	}
	return order > 0 || order == 0 && one.exclusive && !other.exclusive
}

// bounds compares the bounds of numbers and sizes. With those of objects, patches have a schema of
// their own in the OpenAPI document.
func (c *comparison) bounds(common map[string]bool, old, new value) {
	for _, b := range bounds {
		if !common[b.of] && (b.of != "number" || !common["integer"]) {
			continue
		}
		before, after := b.limit(old), b.limit(new)
		at := placeOf(old, new, b.keyword)
		switch {
		case before == nil && after == nil:
		case before == nil, after != nil && b.stricter(after, before):
			classes := tightened
			if before == nil && b.of == "object" {
				classes = narrowed
			}
			c.report("bound-tightened", classes, after.at, b.keyword+" is stricter", "keep the bound until stored values respect the new one")
		case after == nil, b.stricter(before, after):
			classes := loosened
			if after == nil && b.of == "object" {
				classes = widened
			}
			c.report("bound-loosened", classes, at, b.keyword+" is less strict", "")
		}
	}
}

// constraints are the other keywords that accept less with each of their values. The
// schemas in them are compared as a whole.
var constraints = []struct {
	keyword string
	of      string // the type that it applies to, "" for all
	// whole reports whether the keyword has an effect together with others only, so that
	// each change is undecided.
	whole bool
	// typed reports whether generated clients can have another type for the value, or for
	// patches of it.
	typed bool
}{
	{keyword: "pattern", of: "string"},
	{keyword: "format", of: "string", typed: true},
	{keyword: "contentEncoding", of: "string"},
	{keyword: "contentMediaType", of: "string"},
	{keyword: "contentSchema", of: "string"},
	{keyword: "multipleOf", of: "number"},
	{keyword: "uniqueItems", of: "array", typed: true},
	{keyword: "contains", of: "array", whole: true},
	{keyword: "minContains", of: "array", whole: true},
	{keyword: "maxContains", of: "array", whole: true},
	{keyword: "unevaluatedItems", of: "array", whole: true},
	{keyword: "propertyNames", of: "object", typed: true},
	{keyword: "dependentRequired", of: "object", typed: true},
	{keyword: "dependentSchemas", of: "object", typed: true},
	{keyword: "unevaluatedProperties", of: "object", whole: true},
	{keyword: "not", typed: true},
	{keyword: "anyOf", typed: true},
	{keyword: "oneOf", typed: true},
	{keyword: "if", whole: true},
	{keyword: "then", whole: true},
	{keyword: "else", whole: true},
}

// constraints compares the keywords of the table.
func (c *comparison) constraints(common map[string]bool, old, new value) {
	for _, k := range constraints {
		if k.of != "" && !common[k.of] && (k.of != "number" || !common["integer"]) {
			continue
		}
		before, after := c.old.statements(old, k.keyword), c.new.statements(new, k.keyword)
		lost, gained := without(before, after), without(after, before)
		if len(lost)+len(gained) == 0 {
			continue
		}
		at, added, removed := placeOf(old, new, k.keyword), tightened, loosened
		if k.typed {
			added, removed = narrowed, widened
		}
		switch {
		case k.keyword == "anyOf" && c.moreBranches(old, new):
			c.report("constraint-loosened", widened, at, k.keyword+" has more alternatives", "")
		case k.whole, len(lost) > 0 && len(gained) > 0:
			c.undecided("constraint-changed", at, k.keyword+" has changed, and whether it accepts less or more is not decided")
		case len(gained) > 0:
			c.report("constraint-added", added, gained[0].at, k.keyword+" is added", "add it when stored values respect it")
		default:
			c.report("constraint-removed", removed, at, k.keyword+" is removed", "")
		}
	}
}

// statement is what a keyword says, with its place.
type statement struct {
	digest string
	at     place
}

// statements returns what a keyword says of a value. A keyword that says nothing is left
// out.
func (s *side) statements(v value, keyword string) (list []statement) {
	for _, stated := range v.all(keyword) {
		if stated.value == false && keyword == "uniqueItems" {
			continue
		}
		said := digested(stated.schema, keyword, stated.value, s.digest)
		list = append(list, statement{string(document.Append(nil, said)), stated.at})
	}
	return list
}

// moreBranches reports whether the only anyOf of a value has the old alternatives and more.
func (c *comparison) moreBranches(old, new value) bool {
	before, after := old.all("anyOf"), new.all("anyOf")
	if len(before) != 1 || len(after) != 1 {
		return false
	}
	digests := func(s *side, at place) (list []string) {
		branches, _ := at.content().([]any)
		for i := range branches {
			list = append(list, s.digest(at.in(fmt.Sprint(i))))
		}
		return list
	}
	kept := digests(c.new, after[0].at)
	return !slices.ContainsFunc(digests(c.old, before[0].at), func(digest string) bool { return digest == "" || !slices.Contains(kept, digest) })
}

// without returns the statements of a list that another one lacks.
func without(list, other []statement) (rest []statement) {
	for _, s := range list {
		if !slices.ContainsFunc(other, func(o statement) bool { return o.digest == s.digest }) {
			rest = append(rest, s)
		}
	}
	return rest
}
