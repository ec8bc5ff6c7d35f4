package migration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"marquee/engine/catalog"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// conversion adapts stored values to a registry whose types declare something else for
// them than the types before.
type conversion struct {
	m     *Migrator
	types []*schema.Type
	// proposed are the differences, seals and opens the places whose strings change their
	// form, all by the name of the type.
	proposed, seals, opens map[string]map[string]string
	inspections            []*inspection
	// since are the times at which the present paths of renamed types were first served.
	since map[string]time.Time
}

// convert checks the stored values against a registry, and decrypts values that are no
// longer secret. Values that do not suit it are an error of type schema.Problems.
func (m *Migrator) convert(ctx context.Context, l *lease, registry *schema.Registry) (*conversion, error) {
	v, err := m.compare(ctx, registry)
	if err == nil {
		err = v.inspectAll(ctx, l)
	}
	if err == nil {
		err = v.open(ctx, l)
	}
	if err != nil {
		return nil, errors.Join(err, v.withdraw(context.WithoutCancel(ctx), l))
	}
	return v, nil
}

// compare finds the differences between a registry and the stored outlines.
func (m *Migrator) compare(ctx context.Context, registry *schema.Registry) (*conversion, error) {
	v := &conversion{m: m, types: registry.Types()}
	err := m.Store.Read(ctx, func(s store.Snapshot) error {
		v.proposed, v.seals, v.opens, v.inspections = map[string]map[string]string{}, map[string]map[string]string{}, map[string]map[string]string{}, nil
		noted, err := catalog.ReadAll(ctx, s)
		if err != nil {
			return err
		}
		outlines, _, err := rememberedOutlines(ctx, s)
		if err != nil {
			return err
		}
		var problems schema.Problems
		for _, t := range v.types {
			hidden, err := outOfReach(ctx, s, t, noted)
			if err != nil {
				return err
			}
			problems = append(problems, hidden...)
			now := outlineOf(t)
			was := outlines[t.Name]
			if _, served := noted[t.Name]; was == nil && !served {
				continue // nobody has written any
			} else if was == nil {
				was = unremembered(t)
			}
			if changed := was.differences(now); len(changed) > 0 {
				v.proposed[t.Name] = changed
				v.inspections = append(v.inspections, &inspection{m: m, t: t, registry: registry, was: was, changed: changed})
			}
			declared, shown := was.forms(now)
			for _, place := range shown {
				problems = append(problems, schema.Problem{File: t.File, Pointer: servedPlace(t, place), Text: "the stored values are secret and would become readable",
					Cure: `keep "x-secret": true, use a new property, or set "x-secret": false to decrypt the stored values`})
			}
			for place, form := range declared {
				by := v.opens
				if form == catalog.SealedForm {
					by = v.seals
				}
				if by[t.Name] == nil {
					by[t.Name] = map[string]string{}
				}
				by[t.Name][place] = form
			}
		}
		if len(problems) > 0 {
			return problems
		}
		return nil
	})
	return v, err
}

// outOfReach returns the problems of a renamed type if objects are stored under one of its
// paths but the first: they would be served no more.
func outOfReach(ctx context.Context, s store.Snapshot, t *schema.Type, noted map[string]catalog.StoredIndexing) (problems schema.Problems, err error) {
	for _, path := range t.RequestPaths() {
		if _, known := noted[path]; !known || path == t.Name {
			continue
		}
		empty, err := isEmpty(ctx, s, path)
		if err != nil {
			return nil, err
		}
		if !empty {
			problems = append(problems, schema.Problem{File: t.File, Pointer: "/x-resource/was", Text: fmt.Sprintf("objects are also stored under %s, which could not be read any more", path),
				Cure: "serve them with the schemas before, and move them by an export and an import"})
		}
	}
	return problems, nil
}

// unremembered returns the outline of a type that only earlier versions of the program
// have served, which stored none: any secret may be stored in plain text.
func unremembered(t *schema.Type) *outline {
	o := outlineOf(t)
	seen := map[*outlineNode]bool{}
	var visit func(n *outlineNode)
	visit = func(n *outlineNode) {
		if n == nil || n == anything || seen[n] {
			return
		}
		seen[n] = true
		if n.forms[0] == catalog.SealedForm {
			n.forms = []string{catalog.PlainForm, catalog.SealedForm}
		}
		for _, inner := range n.inner() {
			visit(inner)
		}
	}
	visit(o.root)
	return o
}

// inspectAll checks the stored values of all differences, after it has made writes of all
// servers respect them.
func (v *conversion) inspectAll(ctx context.Context, l *lease) error {
	if len(v.proposed) == 0 {
		return nil
	}
	err := v.m.changeIndexings(ctx, l, slices.Sorted(maps.Keys(v.proposed)), func(name string, n *catalog.Indexing) { n.Proposed = v.proposed[name] })
	if err != nil {
		return err
	}
	if err := v.m.Store.Settle(ctx, time.Now()); err != nil {
		return err
	}
	for _, inspection := range v.inspections {
		if err := inspection.inspect(ctx); err != nil {
			return err
		}
	}
	return nil
}

// open decrypts values that are no longer secret. The previous registry reads both forms.
func (v *conversion) open(ctx context.Context, l *lease) error {
	if len(v.opens) == 0 {
		return nil
	}
	if err := v.begin(ctx, l, v.opens); err != nil {
		return err
	}
	for _, t := range v.typesOf(v.opens) {
		if err := v.m.rewriteAll(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// begin notes the new forms of strings and waits for the writes that do not know them.
func (v *conversion) begin(ctx context.Context, l *lease, forms map[string]map[string]string) error {
	err := v.m.Store.Write(ctx, func(tx store.Tx) error {
		var wrong error
		err := v.m.changeIndexingsIn(ctx, tx, l, slices.Sorted(maps.Keys(forms)), func(name string, n *catalog.Indexing) {
			wrong = errors.Join(wrong, v.m.witness(name, n))
			n.Note(forms[name])
		})
		if err != nil || wrong != nil {
			return errors.Join(err, wrong)
		}
		return v.m.noteOutlines(ctx, tx, v.typesOf(forms), (*outline).withForms)
	})
	if err != nil {
		return err
	}
	for name := range forms {
		v.m.SetMixed(name, true)
	}
	return v.m.Store.Settle(ctx, time.Now())
}

// witness encrypts a text where secrets begin to be stored in both forms, and checks
// it afterwards: a server with another key would take secrets for plain text.
func (m *Migrator) witness(name string, n *catalog.Indexing) (err error) {
	place := catalog.SecretPlace(catalog.TypeCollection, "", name, nil)
	if n.Witness == "" {
		n.Witness, err = m.Sealer.Seal("", place)
	} else if _, err = m.Sealer.Open(n.Witness, place); err != nil {
		err = fmt.Errorf("the secrets of %s: %w", name, err)
	}
	return err
}

func (v *conversion) typesOf(forms map[string]map[string]string) (types []*schema.Type) {
	for _, t := range v.types {
		if forms[t.Name] != nil {
			types = append(types, t)
		}
	}
	return types
}

// withdraw removes what ask noted. What was decrypted is encrypted again by Maintain.
func (v *conversion) withdraw(ctx context.Context, l *lease) error {
	names := slices.Concat(slices.Collect(maps.Keys(v.proposed)), slices.Collect(maps.Keys(v.opens)))
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return v.m.changeIndexings(ctx, l, slices.Compact(names), func(name string, n *catalog.Indexing) {
		n.Proposed = nil
		sealed := map[string]string{}
		for place := range v.opens[name] {
			if n.Declared[place] == catalog.PlainForm {
				sealed[place] = catalog.SealedForm
			}
		}
		n.Note(sealed)
	})
}

// publish notes that the registry is served and that objects may be written under it.
func (v *conversion) publish(ctx context.Context, l *lease, serve func(name string, n *catalog.Indexing)) error {
	return v.m.Store.Write(ctx, func(tx store.Tx) error {
		var wrong error
		known, err := catalog.ReadAll(ctx, tx)
		if err != nil {
			return err
		}
		v.since = map[string]time.Time{}
		names, types := make([]string, len(v.types)), map[string]*schema.Type{}
		for i, t := range v.types {
			names[i], types[t.Name] = t.Name, t
		}
		err = v.m.changeIndexingsIn(ctx, tx, l, names, func(name string, n *catalog.Indexing) {
			_, there := known[name]
			ask(n, types[name], !there)
			serve(name, n)
			n.Prunes = catalog.Filter(n.Prunes, func(place string) bool { return !types[name].Shape.Declares(place) })
			if paths := types[name].RequestPaths(); len(paths) > 1 {
				v.since[name] = n.ServedUnder(paths[0], v.m.Now())
			}
			if n.Proposed = nil; v.seals[name] != nil {
				wrong = errors.Join(wrong, v.m.witness(name, n))
			} else if v.opens[name] != nil {
				n.Witness = ""
			}
			n.Note(v.proposed[name])
			n.Note(v.seals[name])
			// What the schema says now is wider.
			maps.DeleteFunc(n.Declared, func(place, what string) bool { return !catalog.Agrees(types[name], place, what) })
		})
		if err != nil || wrong != nil {
			return errors.Join(err, wrong)
		}
		return v.m.noteOutlines(ctx, tx, v.types, (*outline).with)
	})
}

// end encrypts what has become a secret, once the registry is served, and stores the
// outlines that hold from now on.
func (v *conversion) end(ctx context.Context, l *lease) error {
	if err := v.sealAll(ctx, l); err != nil {
		return err
	}
	for name := range v.opens {
		v.m.SetMixed(name, false)
	}
	return v.m.Store.Write(ctx, func(tx store.Tx) error {
		if err := l.beat(ctx, tx); err != nil {
			return err
		}
		return v.m.noteOutlines(ctx, tx, v.types, (*outline).settle)
	})
}

func (v *conversion) sealAll(ctx context.Context, l *lease) error {
	if len(v.seals) == 0 {
		return nil
	}
	if err := v.begin(ctx, l, v.seals); err != nil {
		return err
	}
	types := v.typesOf(v.seals)
	for _, t := range types {
		if err := v.m.seal(ctx, l, t); err != nil {
			return err
		}
	}
	if _, err := v.m.Store.Wipe(ctx); err != nil {
		if code, _ := store.CodeOf(err); code != store.CodeConflict { // which the store makes up for
			return err
		}
	}
	err := v.m.changeIndexings(ctx, l, slices.Sorted(maps.Keys(v.seals)), func(_ string, n *catalog.Indexing) { n.Witness = "" })
	if err != nil {
		return err
	}
	for _, t := range types {
		v.m.SetMixed(t.Name, false)
	}
	return nil
}

// sealLeft encrypts secrets that an interrupted Migrate has left in plain text.
func (m *Migrator) sealLeft(ctx context.Context, l *lease) error {
	v, err := m.compare(ctx, m.Registry())
	if err != nil || len(v.seals) == 0 {
		return err
	}
	v.types = v.typesOf(v.seals)
	v.types = slices.DeleteFunc(v.types, func(t *schema.Type) bool { return v.proposed[t.Name] != nil })
	return v.end(ctx, l)
}

// seal encrypts the stored values of new secrets and drops them from the indexes and
// the history.
func (m *Migrator) seal(ctx context.Context, l *lease, t *schema.Type) error {
	leftover := map[string]*catalog.Keys{}
	err := m.changeIndexings(ctx, l, []string{t.Name}, func(name string, n *catalog.Indexing) {
		found := &catalog.Keys{Unique: catalog.Filter(n.Unique, n.ReadsSealed)}
		for _, key := range n.Terms {
			paths, searched := n.Searches[key]
			if !searched {
				paths = []string{key}
			}
			if slices.ContainsFunc(paths, n.Seals) {
				found.Terms = append(found.Terms, key)
				delete(n.Retired, key)
			}
		}
		n.Keys, n.Leftover = *n.Keys.Without(found), n.Leftover.With(found)
		leftover[name] = n.Leftover
	})
	if err != nil {
		return err
	}
	if err := m.dropLeftover(ctx, l, leftover); err != nil {
		return err
	}
	if err := m.rewriteAll(ctx, t); err != nil {
		return err
	}
	return m.rewriteHistory(ctx, t)
}

// rewriteAll gives the secrets of all objects the form that a type asks for.
func (m *Migrator) rewriteAll(ctx context.Context, t *schema.Type) error {
	store.Step(ctx, "encrypting or decrypting secrets of "+t.Served().Name)
	w := m.rewriting(t.Name, func(r *store.Record) (*store.Record, error) { return m.formed(t, r) })
	w.Awaited = true
	_, err := w.Run(ctx, m.Store, endless())
	return err
}

// saidOtherwise reports whether other schemas keep the served one from changing some
// properties of a type.
func (m *Migrator) saidOtherwise(name string, n *catalog.Indexing) bool {
	t, served := m.Registry().Type(name)
	if !served {
		return false
	}
	for _, declared := range []map[string]string{n.Declared, n.Proposed} {
		for place, what := range declared {
			if what != catalog.SealedForm && what != catalog.PlainForm && !catalog.Agrees(t, place, what) {
				return true
			}
		}
	}
	return false
}
