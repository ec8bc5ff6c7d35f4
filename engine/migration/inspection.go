package migration

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// inspection checks the stored objects of a type against a newer schema that declares
// something else for their values.
type inspection struct {
	m        *Migrator
	t        *schema.Type
	registry *schema.Registry
	was      *outline
	// changed is the result of outline.differences.
	changed map[string]string
}

// inspectStep is the number of objects checked in one snapshot.
const inspectStep = 500

// inspect checks all objects.
func (n *inspection) inspect(ctx context.Context) error {
	store.Step(ctx, "checking "+n.t.Name)
	var last store.Key
	for {
		after, count := last, 0
		err := n.step(ctx, func(s store.Snapshot, yield func(*store.Record) error) error {
			count = 0
			return s.Scan(ctx, n.t.Name, after, inspectStep, func(r *store.Record) error {
				count++
				last = r.Key
				return yield(r)
			})
		})
		store.Advance(ctx, count)
		if err != nil || count < inspectStep {
			return err
		}
	}
}

// step checks the objects that find yields. Objects that do not suit the schema are an
// error of type schema.Problems.
func (n *inspection) step(ctx context.Context, find func(store.Snapshot, func(*store.Record) error) error) error {
	return n.m.Store.Read(ctx, func(s store.Snapshot) error {
		f := findings{inspection: n, problems: map[string]schema.Problem{}, wanted: map[store.Place][]wantedTarget{}}
		if err := find(s, f.compare); err != nil {
			return err
		}
		if err := f.checkTargets(ctx, s); err != nil || len(f.problems) == 0 {
			return err
		}
		var problems schema.Problems
		for _, at := range slices.Sorted(maps.Keys(f.problems)) {
			problems = append(problems, f.problems[at])
		}
		return problems
	})
}

// findings are the results of one step.
type findings struct {
	*inspection
	// problems holds the first problem of each place in the schema.
	problems map[string]schema.Problem
	wanted   map[store.Place][]wantedTarget
}

// wantedTarget is an object that a value will refer to.
type wantedTarget struct {
	id, by, at string
	ref        *document.Reference
}

func (f *findings) problem(at, text, cure string) {
	if _, known := f.problems[at]; !known {
		f.problems[at] = schema.Problem{File: f.t.File, Pointer: at, Text: text, Cure: cure}
	}
}

const newProperty = "use a new property, or take the values out of the stored objects first"

// compare checks one object.
func (f *findings) compare(r *store.Record) error {
	object, err := document.DecodeObject(r.Document, document.Limits{Depth: 1000})
	if err != nil {
		return err
	}
	for name, kind := range orderedFields(f.t) {
		at := propertyPlace(strings.Split(name, "."))
		if f.changed[at] != kind {
			continue
		}
		if has := document.KindOf(document.ValueAt(object, name)); has != "" && has != kind {
			f.problem(at, "the object "+quoted(r.ID)+" holds "+aKind(has)+" here, and lists are ordered by "+kind+"s", newProperty)
		}
	}
	f.t.Shape.References(object, func(at document.Pointer, ref *document.Reference, id, network string) {
		was := f.was.at(at)
		if was == nil {
			was = anything
		}
		if slices.Equal(was.refs, []string{catalog.ReferenceText(ref)}) {
			return
		}
		pointer := placeOf(f.t, at) + "/x-ref"
		var targets []string
		for _, other := range was.refs {
			targets = append(targets, referencedType(other))
		}
		for _, target := range targets {
			if target != "" && !slices.Contains(targets, ref.Type) {
				f.problem(pointer, "the object "+quoted(r.ID)+" refers to "+target+" here, and that would be read as one of "+ref.Type, newProperty)
				return
			}
		}
		target, _ := f.registry.Type(ref.Type)
		where := store.Place{Collection: ref.Type, Network: target.NetworkOf(cmp.Or(network, r.Network))}
		f.wanted[where] = append(f.wanted[where], wantedTarget{id, r.ID, pointer, ref})
	})
	return nil
}

// checkTargets checks the objects that values will refer to.
func (f *findings) checkTargets(ctx context.Context, s store.Snapshot) error {
	for where, wanted := range f.wanted {
		found := map[string]map[string]any{}
		var ids []string
		for _, target := range wanted {
			ids = append(ids, target.id)
		}
		slices.Sort(ids)
		err := s.Get(ctx, where.Collection, store.KeysIn(where.Network, slices.Compact(ids)), func(r *store.Record) (err error) {
			found[r.ID], err = document.DecodeObject(r.Document, document.Limits{Depth: 1000})
			return err
		})
		if err != nil {
			return err
		}
		for _, target := range wanted {
			object, exists := found[target.id]
			holds := "the object " + quoted(target.by) + " holds " + quoted(target.id) + " here, "
			if !exists {
				f.problem(target.at, holds+"and there is no such object of "+where.Collection, newProperty)
				continue
			}
			for _, name := range slices.Sorted(maps.Keys(target.ref.Where)) {
				if expected := target.ref.Where[name]; object[name] != expected {
					f.problem(target.at, holds+"whose "+name+" is not "+expected, newProperty)
				}
			}
		}
	}
	return nil
}

func quoted(id string) string { return string(document.AppendString(nil, id)) }

// aKind returns a JSON type with its article.
func aKind(kind string) string {
	if kind == "object" || kind == "array" {
		return "an " + kind
	}
	return "a " + kind
}
