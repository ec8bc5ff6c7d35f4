package migration

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/store"
)

const (
	// maxGroups is the number of groups of duplicates that are described for a property,
	// and maxMembers that of the objects that are named of each.
	maxGroups  = 20
	maxMembers = 10
)

// sharing is an object with a unique value that another object has claimed.
type sharing struct {
	claim     store.Claim
	owner, id string
}

// duplicates are the objects of a type that share values of properties which are to
// become unique: the first groups of each property.
type duplicates struct {
	t      *schema.Type
	groups map[string][]*group
	by     map[store.Claim]*group
	// more are the properties with further groups.
	more map[string]bool
}

// group are the objects that share a value.
type group struct {
	claim store.Claim
	// members are the first of them, others counts the rest.
	members []string
	others  int
}

func newDuplicates(t *schema.Type) *duplicates {
	return &duplicates{t: t, groups: map[string][]*group{}, by: map[store.Claim]*group{}, more: map[string]bool{}}
}

func (d *duplicates) add(found []sharing) {
	for _, s := range found {
		g := d.by[s.claim]
		if g == nil {
			property := s.claim.Property
			if len(d.groups[property]) == maxGroups {
				d.more[property] = true
				continue
			}
			g = &group{claim: s.claim, members: []string{s.owner}}
			d.by[s.claim], d.groups[property] = g, append(d.groups[property], g)
		}
		if len(g.members) < maxMembers {
			g.members = append(g.members, s.id)
		} else {
			g.others++
		}
	}
}

// problems returns a problem for each property.
func (d *duplicates) problems() (problems schema.Problems) {
	of := catalog.IndexingOf(d.t)
	for _, key := range slices.Sorted(maps.Keys(d.groups)) {
		var texts []string
		for _, g := range d.groups[key] {
			texts = append(texts, g.String())
		}
		if d.more[key] {
			texts = append(texts, "and more")
		}
		p := schema.Problem{File: d.t.File, Pointer: "/x-resource/unique", Objects: texts, Text: " cannot be unique: stored objects have the same value",
			Cure: "change all but one of each group, or leave the property out"}
		if of.Rules[key] != nil {
			p.Text, p.Cure = " cannot be unique: stored objects have the same values", "change all but one of each group, or leave the entry out"
		}
		if of.Exclusive(key) {
			p.Text, p.Pointer = " cannot be exclusive: the intervals of stored objects overlap", "/x-exclusive"
		}
		p.Text = of.Describe(d.t, key) + p.Text
		problems = append(problems, p)
	}
	return problems
}

// String names the objects and their network, and not their value, which may be
// personal.
func (g *group) String() string {
	names := make([]string, len(g.members))
	for i, id := range g.members {
		names[i] = quoted(id)
	}
	last := len(names) - 1
	text := strings.Join(names[:last], ", ") + " and " + names[last]
	if g.others > 0 {
		text = fmt.Sprintf("%s and %d others", strings.Join(names, ", "), g.others)
	}
	if g.claim.Network != "" {
		text += " (network " + quoted(g.claim.Network) + ")"
	}
	return text
}

// checkDuplicates refuses types whose duplicates, as they were found last, are all still
// there: a set that is tried again and again must not visit all objects each time.
func (m *Migrator) checkDuplicates(ctx context.Context, todo []reindexing) error {
	var problems schema.Problems
	for _, r := range todo {
		d := m.duplicates[r.t.Name]
		if d == nil {
			continue
		}
		d.t = r.t
		maps.DeleteFunc(d.groups, func(key string, _ []*group) bool { return !slices.Contains(r.lacks.Unique, key) })
		there, err := d.remain(ctx, m.Store)
		if err != nil {
			return err
		}
		if there {
			problems = append(problems, d.problems()...)
		} else {
			delete(m.duplicates, r.t.Name)
		}
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// remain reports whether in each group, two of the objects that are named share the value,
// or have intervals that overlap.
func (d *duplicates) remain(ctx context.Context, s store.Store) (there bool, err error) {
	of := catalog.IndexingOf(d.t)
	err = s.Read(ctx, func(s store.Snapshot) error {
		for _, g := range slices.Concat(slices.Collect(maps.Values(d.groups))...) {
			there = false
			var claims []store.Claim
			err := s.Get(ctx, d.t.Name, store.KeysIn(g.claim.Network, g.members), func(r *store.Record) error {
				object, err := document.DecodeObject(r.Document, document.Limits{Depth: 1000})
				if err != nil {
					return err
				}
				claimed, err := of.Claims(ctx, []string{g.claim.Property}, store.Place{Collection: d.t.Name, Network: r.Network}, object, r.State)
				if claim, ok := claimed[g.claim.Property]; ok {
					there = there || slices.ContainsFunc(claims, func(other store.Claim) bool { return of.Clash(claim, other) })
					claims = append(claims, claim)
				}
				return err
			})
			if err != nil || !there {
				return err
			}
		}
		return nil
	})
	return there, err
}
