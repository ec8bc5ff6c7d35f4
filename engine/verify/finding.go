package verify

import (
	"cmp"
	"maps"
	"slices"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Finding is what a set of schemas does to objects of a type, by one rule at one place.
type Finding struct {
	Type string `json:"type"`
	// Rule is the code of the message with which a write would be refused, or one of the
	// Rule constants.
	Rule string `json:"rule"`
	// At is a JSON Pointer into the objects, with * for indexes and for names that the schema
	// does not declare.
	At   string `json:"at"`
	Text string `json:"text"`
	// Objects is the number of objects, and First are the first of them, at most MaxFirst.
	Objects int64    `json:"objects"`
	First   []Object `json:"first"`
}

// Object is an object of a finding.
type Object struct {
	Network string `json:"network,omitempty"`
	ID      string `json:"id"`
	// With is the id of the object that it clashes with, that it refers to, or to which it would
	// belong.
	With string `json:"with,omitempty"`
}

// The rules of findings that are no faults of a write.
const (
	RuleRemoved    = "type-removed"
	RuleHidden     = "value-hidden"
	RuleSecret     = "value-secret"
	RuleRevealed   = "secret-revealed"
	RuleUnopened   = "secret-unopened"
	RuleUnique     = "value-shared"
	RuleReference  = "reference-dangling"
	RuleReread     = "reference-changed"
	RuleGained     = "owner-gained"
	RuleUnreadable = "document-unreadable"
)

const (
	// MaxFirst is the maximum number of objects that a finding names.
	MaxFirst = 20
	// maxPlaces is the maximum number of findings of a type. Further ones are counted
	// together by their rules, which are few.
	maxPlaces = 200
)

// kind identifies the findings that are counted together.
type kind struct{ rule, at, text string }

// findings are those of one type.
type findings struct {
	name string
	// t is the type, whose served names of properties findings have; nil for a type that is
	// no longer there.
	t  *schema.Type
	by map[kind]*Finding
	// last is the object that each finding has counted last, and latest the one that any has;
	// objects is the number of objects that findings are about, each of which is added in one
	// row.
	last    map[*Finding]store.Key
	latest  store.Key
	objects int64
}

func newFindings(name string) *findings {
	return &findings{name: name, by: map[kind]*Finding{}, last: map[*Finding]store.Key{}}
}

// add counts an object, once for each finding, if it is not added again after another one.
func (f *findings) add(k kind, key store.Key, with string) {
	if f.t != nil {
		k.at = f.t.ServedPointer(k.at)
	}
	if f.latest != key {
		f.latest = key
		f.objects++
	}
	found := f.by[k]
	if found == nil && len(f.by) >= maxPlaces {
		k = kind{rule: k.rule, at: "/*", text: "the same at more places"}
		found = f.by[k]
	}
	if found == nil {
		found = &Finding{Type: f.name, Rule: k.rule, At: k.at, Text: k.text}
		f.by[k] = found
	}
	if last, counted := f.last[found]; counted && last == key {
		return
	}
	f.last[found] = key
	if found.Objects++; len(found.First) < MaxFirst {
		found.First = append(found.First, Object{Network: key.Network, ID: key.ID, With: with})
	}
}

// fault counts an object that has a fault by its schema.
func (f *findings) fault(fault message.Message, shape *document.Shape, key store.Key) {
	field, _ := fault.Param("field").(string)
	at := shape.Place(field)
	params := maps.Clone(fault.Params())
	if params == nil {
		params = message.Params{}
	}
	if params["field"] = at; f.t != nil {
		params = f.t.ServedParams(params)
	}
	if at == "" {
		params["field"] = "the object"
	}
	f.add(kind{fault.Code(), at, message.Expand(fault.Definition().Text, params)}, key, "")
}

// sorted returns the findings by their places.
func (f *findings) sorted() []*Finding {
	return slices.SortedFunc(maps.Values(f.by), func(a, b *Finding) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Text, b.Text))
	})
}
