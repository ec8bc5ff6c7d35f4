package migration

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/schema"
)

// outline describes the values that stored objects of a type may have, by every schema
// under which they may have been written: properties that a schema no longer declares
// keep their values.
type outline struct {
	root *outlineNode
	// ordered maps the properties that lists are ordered by, as dotted paths, to the
	// JSON type of their values.
	ordered map[string]string
}

// outlineNode describes a value. Nodes are shared and may be cyclic.
type outlineNode struct {
	members map[string]*outlineNode
	// matching are the members whose names match patterns, by patternKey.
	matching     map[string]*outlineNode
	prefix       []*outlineNode
	extra, items *outlineNode
	// open reports that there may be members which no schema declares.
	open bool
	// kinds are the JSON types, refs the texts of references, "" for none, and forms
	// the forms of strings.
	kinds, refs, forms []string
	// held are those of the kinds that values may have since objects were checked last, nil if
	// that is not known. Kinds has those before, too.
	held []string
	// exposed reports an explicit "x-secret": false. It is not stored.
	exposed bool
}

// inner returns the nodes of members and items, some of which may be nil.
func (n *outlineNode) inner() []*outlineNode {
	all := slices.Concat(slices.Collect(maps.Values(n.members)), slices.Collect(maps.Values(n.matching)), n.prefix)
	return append(all, n.extra, n.items)
}

// anyKind stands for every JSON type.
const anyKind = "any"

// anything describes a value that no schema declares.
var anything = &outlineNode{open: true, kinds: []string{anyKind}, held: []string{anyKind}, refs: []string{""}, forms: []string{catalog.PlainForm}}

// outlineOf returns the outline of objects written under one schema.
func outlineOf(t *schema.Type) *outline {
	b := outlineBuilder{}
	return &outline{root: b.node(t.Shape), ordered: orderedFields(t)}
}

type outlineBuilder map[*document.Shape]*outlineNode

func (b outlineBuilder) node(shape *document.Shape) *outlineNode {
	if shape == nil || shape == document.AnyShape {
		return anything
	}
	if n, ok := b[shape]; ok {
		return n
	}
	n := &outlineNode{kinds: shape.StoredKinds(), refs: []string{catalog.ReferenceText(shape.Ref)}, forms: []string{formOf(shape)}, exposed: shape.Exposed}
	b[shape] = n
	if n.kinds == nil {
		n.kinds = []string{anyKind}
	}
	n.held = n.kinds
	if len(shape.Properties) > 0 {
		n.members = make(map[string]*outlineNode, len(shape.Properties))
	}
	for name, member := range shape.Properties {
		n.members[name] = b.node(member)
	}
	for matched, member := range shape.Matching {
		if member == nil {
			continue
		}
		if n.matching == nil {
			n.matching = map[string]*outlineNode{}
		}
		n.matching[catalog.PatternKey(shape, matched)] = b.node(member)
	}
	switch {
	case shape.Properties == nil && shape.Extra == nil && shape.Patterns == nil, shape.Extra == document.AnyShape:
		n.open = shape.HasMembers()
	case shape.Extra != nil:
		n.extra = b.node(shape.Extra)
	}
	if len(shape.Types) == 0 || shape.Is("array") {
		for _, item := range shape.Prefix {
			n.prefix = append(n.prefix, b.node(item))
		}
		n.items = b.node(shape.Items)
	}
	return n
}

// matches reports whether a name matches all patterns of a key.
func matches(key, name string) bool {
	for text := range strings.SplitSeq(key, catalog.PatternSeparator) {
		if pattern, err := regexp.Compile(text); err != nil || !pattern.MatchString(name) {
			return false
		}
	}
	return true
}

func formOf(shape *document.Shape) string {
	if shape.Secret {
		return catalog.SealedForm
	}
	return catalog.PlainForm
}

// referencedType returns the type that a reference leads to.
func referencedType(text string) string {
	if text == "" {
		return ""
	}
	return document.MemberText([]byte(text), "type")
}

// orderedFields returns the fields that lists are ordered by or that have an index,
// with the JSON type of their values.
func orderedFields(t *schema.Type) map[string]string {
	ordered := map[string]string{}
	add := func(name string) {
		field, err := t.Field("index", name)
		if err != nil || len(field.Path) == 0 || field.Multiple() {
			return
		}
		shape := t.Shape
		for _, step := range field.Path {
			shape = shape.Member(step.Name)
		}
		if kinds := shape.Kinds(); len(kinds) == 1 {
			ordered[name] = kinds[0]
		}
	}
	for _, name := range t.Sort {
		add(name)
	}
	for _, index := range t.Indexes {
		add(index.Property)
		if index.Order != "" {
			add(index.Order)
		}
	}
	return ordered
}

// member returns the node of a member, nil when there cannot be one.
func (n *outlineNode) member(name string) *outlineNode {
	if n == nil {
		return nil
	}
	if member := n.members[name]; member != nil {
		return member
	}
	var found *outlineNode
	for _, key := range slices.Sorted(maps.Keys(n.matching)) {
		if matches(key, name) {
			found = mergeOnce(found, n.matching[key])
		}
	}
	// The name may have been used before there was the pattern.
	return mergeOnce(n.beyond(), found)
}

// unnamed returns the node of a member of unknown name.
func (n *outlineNode) unnamed() *outlineNode {
	found := n.beyond()
	for _, key := range slices.Sorted(maps.Keys(n.matching)) {
		found = mergeOnce(found, n.matching[key])
	}
	for _, name := range slices.Sorted(maps.Keys(n.members)) {
		found = mergeOnce(found, n.members[name])
	}
	return found
}

// beyond returns the node of members that no schema names.
func (n *outlineNode) beyond() *outlineNode {
	switch {
	case n == nil:
		return nil
	case n.extra == nil && n.open:
		return anything
	}
	return n.extra
}

// item returns the node of an item, for -1 of those behind prefixItems.
func (n *outlineNode) item(i int) *outlineNode {
	switch {
	case n == nil:
		return nil
	case i >= 0 && i < len(n.prefix):
		return n.prefix[i]
	case n.items == nil && n.mayBe("array"):
		return anything
	}
	return n.items
}

func (n *outlineNode) mayBe(kind string) bool {
	return slices.Contains(n.kinds, anyKind) || slices.Contains(n.kinds, kind)
}

// at returns the node of a place in a document, nil when no schema allows a value
// there.
func (o *outline) at(place document.Pointer) *outlineNode {
	n := o.root
	for _, token := range place {
		switch {
		case n == nil:
			return nil
		case isIndex(token) && n.members[token] == nil && n.item(-1) != nil:
			i, _ := strconv.Atoi(token)
			n = n.item(i)
		default:
			n = n.member(token)
		}
	}
	return n
}

func isIndex(token string) bool {
	_, err := strconv.Atoi(token)
	return err == nil
}

// with returns the outline of objects written under either.
func (o *outline) with(newer *outline) *outline {
	both := maps.Clone(o.ordered)
	maps.DeleteFunc(both, func(name, kind string) bool { return newer.ordered[name] != kind })
	return &outline{root: mergeOnce(o.root, newer.root), ordered: both}
}

// withForms returns the outline of objects whose strings may also have the forms of a
// newer one.
func (o *outline) withForms(newer *outline) *outline {
	m := outlineMerge{done: map[[2]*outlineNode]*outlineNode{}, forms: true}
	return &outline{root: m.merge(o.root, newer.root), ordered: o.ordered}
}

// settle returns the outline of objects written under either, once all of them have
// the references, orders, types and forms of the newer one.
func (o *outline) settle(newer *outline) *outline {
	m := outlineMerge{done: map[[2]*outlineNode]*outlineNode{}, settled: true}
	return &outline{root: m.merge(o.root, newer.root), ordered: newer.ordered}
}

func mergeOnce(a, b *outlineNode) *outlineNode {
	return outlineMerge{done: map[[2]*outlineNode]*outlineNode{}}.merge(a, b)
}

type outlineMerge struct {
	done map[[2]*outlineNode]*outlineNode
	// settled takes references, types and forms from the newer outline; forms merges only the
	// forms.
	settled, forms bool
}

func (m outlineMerge) merge(old, newer *outlineNode) *outlineNode {
	switch {
	case old == nil || old == newer:
		return newer
	case newer == nil:
		return old
	}
	pair := [2]*outlineNode{old, newer}
	if n, ok := m.done[pair]; ok {
		return n
	}
	n := &outlineNode{open: old.open || newer.open, kinds: union(old.kinds, newer.kinds), held: newer.held, forms: newer.forms, refs: newer.refs}
	m.done[pair] = n
	if !m.settled {
		n.forms = union(old.forms, newer.forms)
	}
	if !m.settled || slices.Equal(newer.refs, []string{""}) {
		n.refs = union(old.refs, newer.refs)
	}
	switch {
	case m.forms:
		n.refs, n.kinds, n.held, n.open = old.refs, old.kinds, old.held, old.open
	case !m.settled && old.held == nil:
		n.held = nil
	case !m.settled:
		n.held = union(old.held, newer.held)
	}
	for i := range max(len(old.prefix), len(newer.prefix)) {
		n.prefix = append(n.prefix, m.merge(old.item(i), newer.item(i)))
	}
	for _, keys := range []map[string]*outlineNode{old.matching, newer.matching} {
		for key := range keys {
			if n.matching == nil {
				n.matching = map[string]*outlineNode{}
			}
			n.matching[key] = m.merge(old.matching[key], newer.matching[key])
		}
	}
	for _, names := range []map[string]*outlineNode{old.members, newer.members} {
		for name := range names {
			if n.members == nil {
				n.members = map[string]*outlineNode{}
			}
			if n.members[name] == nil {
				n.members[name] = m.merge(old.member(name), newer.member(name))
			}
		}
	}
	if old.extra != nil || newer.extra != nil {
		n.extra = m.merge(old.beyond(), newer.beyond())
	}
	if old.items != nil || newer.items != nil {
		n.items = m.merge(old.item(-1), newer.item(-1))
	}
	return n
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
