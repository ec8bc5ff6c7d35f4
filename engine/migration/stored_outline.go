package migration

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// storedOutline is an outline as JSON: a list of nodes that begins with the root and
// in which nodes are named by their position, 0 for none.
type storedOutline struct {
	Nodes   []storedNode      `json:"nodes"`
	Ordered map[string]string `json:"ordered,omitempty"`
	// Typed reports that nodes have Held where it differs from Kinds.
	Typed bool `json:"typed,omitempty"`
}

type storedNode struct {
	Members map[string]int `json:"members,omitempty"`
	// Matching lists patterns.
	Matching []storedMatching `json:"matching,omitempty"`
	Prefix   []int            `json:"prefix,omitempty"`
	Extra    int              `json:"extra,omitempty"`
	Items    int              `json:"items,omitempty"`
	Open     bool             `json:"open,omitempty"`
	Kinds    []string         `json:"kinds"`
	// Held is absent where it equals Kinds, and empty where it is not known.
	Held *[]string `json:"held,omitempty"`
	// Refs is absent where the value is no reference, Forms where it is plain.
	Refs  []string `json:"refs,omitempty"`
	Forms []string `json:"forms,omitempty"`
}

type storedMatching struct {
	Patterns []string `json:"patterns"`
	Member   int      `json:"member"`
}

// MarshalJSON implements json.Marshaler. Equal outlines encode equally.
func (o *outline) MarshalJSON() ([]byte, error) {
	e := outlineEncoder{numbers: map[*outlineNode]int{}}
	// The root is its own copy, so that a node that leads back to it has a number.
	e.stored.Nodes = append(e.stored.Nodes, storedNode{})
	e.fill(0, o.root)
	e.stored.Ordered, e.stored.Typed = o.ordered, true
	return json.Marshal(e.stored)
}

type outlineEncoder struct {
	stored  storedOutline
	numbers map[*outlineNode]int
}

func (o *outlineEncoder) number(n *outlineNode) int {
	if n == nil {
		return 0
	}
	at, known := o.numbers[n]
	if !known {
		at = len(o.stored.Nodes)
		o.numbers[n] = at
		o.stored.Nodes = append(o.stored.Nodes, storedNode{})
		o.fill(at, n)
	}
	return at
}

func (o *outlineEncoder) fill(at int, n *outlineNode) {
	s := storedNode{Open: n.open, Kinds: n.kinds}
	if !slices.Equal(n.held, n.kinds) {
		held := append([]string{}, n.held...)
		s.Held = &held
	}
	if !slices.Equal(n.refs, []string{""}) {
		s.Refs = n.refs
	}
	if !slices.Equal(n.forms, []string{catalog.PlainForm}) {
		s.Forms = n.forms
	}
	for _, name := range slices.Sorted(maps.Keys(n.members)) {
		if s.Members == nil {
			s.Members = map[string]int{}
		}
		s.Members[name] = o.number(n.members[name])
	}
	for _, key := range slices.Sorted(maps.Keys(n.matching)) {
		s.Matching = append(s.Matching, storedMatching{strings.Split(key, catalog.PatternSeparator), o.number(n.matching[key])})
	}
	for _, item := range n.prefix {
		s.Prefix = append(s.Prefix, o.number(item))
	}
	s.Extra, s.Items = o.number(n.extra), o.number(n.items)
	o.stored.Nodes[at] = s
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *outline) UnmarshalJSON(text []byte) error {
	var stored storedOutline
	if err := json.Unmarshal(text, &stored); err != nil {
		return err
	}
	nodes := make([]*outlineNode, max(len(stored.Nodes), 1))
	for i := range nodes {
		nodes[i] = &outlineNode{}
	}
	node := func(i int) *outlineNode {
		if i <= 0 || i >= len(nodes) {
			return nil
		}
		return nodes[i]
	}
	for i, s := range stored.Nodes {
		n := nodes[i]
		n.open, n.kinds, n.refs, n.forms = s.Open, s.Kinds, s.Refs, s.Forms
		switch {
		case s.Held != nil && len(*s.Held) > 0:
			n.held = *s.Held
		case s.Held == nil && stored.Typed:
			n.held = n.kinds
		}
		if n.refs == nil {
			n.refs = []string{""}
		}
		if n.forms == nil {
			n.forms = []string{catalog.PlainForm}
		}
		for name, member := range s.Members {
			if n.members == nil {
				n.members = map[string]*outlineNode{}
			}
			n.members[name] = node(member)
		}
		for _, one := range s.Matching {
			if n.matching == nil {
				n.matching = map[string]*outlineNode{}
			}
			n.matching[strings.Join(one.Patterns, catalog.PatternSeparator)] = node(one.Member)
		}
		for _, item := range s.Prefix {
			n.prefix = append(n.prefix, node(item))
		}
		n.extra, n.items = node(s.Extra), node(s.Items)
	}
	o.root, o.ordered = nodes[0], stored.Ordered
	return nil
}

// outlineCollection holds the outline of each type.
const outlineCollection = "engine_outlines"

// rememberedOutlines reads the stored outlines.
func rememberedOutlines(ctx context.Context, s store.Snapshot) (map[string]*outline, map[string]store.Record, error) {
	outlines, records := map[string]*outline{}, map[string]store.Record{}
	err := s.Scan(ctx, outlineCollection, store.Key{}, 1<<20, func(r *store.Record) error {
		o := &outline{}
		if err := json.Unmarshal(r.Document, o); err != nil {
			return err
		}
		outlines[r.ID], records[r.ID] = o, *r.Clone()
		return nil
	})
	return outlines, records, err
}

// noteOutlines changes the stored outlines of types.
func (m *Migrator) noteOutlines(ctx context.Context, tx store.Tx, types []*schema.Type, change func(was, now *outline) *outline) error {
	known, records, err := rememberedOutlines(ctx, tx)
	if err != nil {
		return err
	}
	var writes []store.Write
	for _, t := range types {
		now := outlineOf(t)
		if was := known[t.Name]; was != nil {
			now = change(was, now)
		}
		text, err := document.Encode(now)
		if err != nil {
			return err
		}
		record := records[t.Name]
		if record.ID = t.Name; !bytes.Equal(text, record.Document) {
			writes = append(writes, store.InternalWrite(record, "ACTIVE", text, m.Now()))
		}
	}
	if len(writes) == 0 {
		return nil
	}
	return tx.Put(ctx, outlineCollection, writes)
}
