package migration

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/progress"
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
	// mistyped has what has been found so far, by the place in the schema.
	mistyped map[string]*mistyped
}

// mistyped are values of types that the newer schema does not declare.
type mistyped struct {
	kinds   []string
	objects int64
	// first are the keys of the first objects, and last is the one that was counted last.
	first []store.Key
	last  store.Key
}

const (
	// maxMistyped is the number of objects at which counting ends.
	maxMistyped = 10_000
	// firstMistyped is the number of objects that a refusal names.
	firstMistyped = 10
)

// add counts an object, once.
func (m *mistyped) add(kinds []string, objects int64, first ...store.Key) {
	m.kinds, m.objects = union(m.kinds, kinds), m.objects+objects
	m.first = append(m.first, first[:min(len(first), firstMistyped-len(m.first))]...)
}

// String describes the objects.
func (m *mistyped) String() string {
	var first []string
	for _, key := range m.first {
		text := quoted(key.ID)
		if key.Network != "" {
			text += " of the network " + quoted(key.Network)
		}
		first = append(first, text)
	}
	more, least := "", ""
	if m.objects > int64(len(m.first)) {
		more = ", …"
	}
	if m.objects >= maxMistyped {
		least = "at least "
	}
	return "stored values are of other types (" + strings.Join(m.kinds, " or ") + "), in " + least + progress.Counted(m.objects, "object") + ": " + strings.Join(first, ", ") + more
}

// inspectStep is the number of objects checked in one snapshot.
const inspectStep = 500

// inspect checks all objects. Of those with values of other types, it counts at most
// maxMistyped, and those in the same step; it ends with the first of all others.
func (n *inspection) inspect(ctx context.Context) error {
	store.Step(ctx, "checking "+n.t.Served().Name)
	n.mistyped = map[string]*mistyped{}
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
		if err != nil {
			return err
		}
		full := slices.ContainsFunc(slices.Collect(maps.Values(n.mistyped)), func(m *mistyped) bool { return m.objects >= maxMistyped })
		if count < inspectStep || full {
			return n.refusal()
		}
	}
}

// refusal returns the error of the values of other types, nil if there are none.
func (n *inspection) refusal() error {
	var problems schema.Problems
	for _, at := range slices.Sorted(maps.Keys(n.mistyped)) {
		problems = append(problems, schema.Problem{File: n.t.File, Pointer: servedPlace(n.t, at), Text: n.mistyped[at].String(), Cure: newProperty})
	}
	if len(problems) == 0 {
		return nil
	}
	return problems
}

// step checks the objects that find yields. Objects that do not suit the schema are an
// error of type schema.Problems.
func (n *inspection) step(ctx context.Context, find func(store.Snapshot, func(*store.Record) error) error) error {
	var f findings
	err := n.m.Store.Read(ctx, func(s store.Snapshot) error {
		f = findings{inspection: n, problems: map[string]schema.Problem{}, wanted: map[store.Place][]wantedTarget{}, counted: map[string]*mistyped{}}
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
	for at, found := range f.counted {
		if n.mistyped[at] == nil {
			n.mistyped[at] = &mistyped{}
		}
		n.mistyped[at].add(found.kinds, found.objects, found.first...)
	}
	return err
}

// findings are the results of one step.
type findings struct {
	*inspection
	// problems holds the first problem of each place in the schema.
	problems map[string]schema.Problem
	wanted   map[store.Place][]wantedTarget
	// counted is what inspection.mistyped gets of the step.
	counted map[string]*mistyped
}

// wantedTarget is an object that a value will refer to.
type wantedTarget struct {
	id, by, at string
	ref        *document.Reference
}

func (f *findings) problem(at, text, cure string) {
	if _, known := f.problems[at]; !known {
		f.problems[at] = schema.Problem{File: f.t.File, Pointer: servedPlace(f.t, at), Text: text, Cure: cure}
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
	f.types(r.Key, f.t.Shape, f.was.root, object, make(document.Pointer, 0, 8))
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

// types finds the values below one whose JSON type was declared, and is not any more.
func (f *findings) types(key store.Key, shape *document.Shape, was *outlineNode, value any, at document.Pointer) {
	if shape == nil || was == nil {
		return
	}
	kind, allowed := document.KindOf(value), shape.StoredKinds()
	if kind != "" && allowed != nil && !slices.Contains(allowed, kind) {
		if narrows(was.held, allowed) {
			f.count(key, placeOf(f.t, at), kind)
		}
		return
	}
	if shape.Ref != nil {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			f.types(key, shape.Member(name), was.member(name), member, at.At(name))
		}
	case []any:
		for i, item := range v {
			f.types(key, shape.Item(i), was.item(i), item, at.Index(i))
		}
	}
}

func (f *findings) count(key store.Key, at, kind string) {
	found := f.counted[at]
	if found == nil {
		found = &mistyped{}
		f.counted[at] = found
	}
	if found.objects > 0 && found.last == key {
		found.add([]string{kind}, 0)
		return
	}
	found.last = key
	found.add([]string{kind}, 1, key)
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
