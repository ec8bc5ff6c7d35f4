package verify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/schema/diff"
	"marquee/engine/schema/keyword"
	"marquee/engine/schema/rule"
	"marquee/engine/store"
)

// Proposal is a set of schemas that nobody serves yet.
type Proposal struct {
	// Before is the set that is served now, nil if it is not known: then the objects of all
	// types are read.
	Before, Proposed *schema.Registry
	// Temporary creates a file for what is compared of the objects of one type, and does not
	// fit in memory. If it is nil, unique values are not compared: the store has their claims
	// once the set is served.
	Temporary func() Temporary
	// Finding is called with the findings of a type once its objects have been read, Progress
	// with the number of objects of a type that have been read so far. Their errors end the
	// check.
	Finding  func(*Finding) error
	Progress func(typeName string, objects int64) error
	// Read is called at the end of each type with the number of its objects that findings are
	// about, without those whose values others have, if it is not nil.
	Read func(typeName string, concerned int64)
	// Rest is called after each page with the time that it took, if it is not nil.
	Rest func(ctx context.Context, took time.Duration)
}

// CheckProposed finds what a proposed set would do to the stored objects, or has done since
// it is served: which of them an import would refuse, share a value or an interval, or refer
// to objects that are not there, and which values would be hidden, or shown although they are
// secret. It reads the objects of the types that the change concerns (diff.Concerned) page by
// page, each page in a transaction of its own, and writes nothing. The hooks and lists of the
// application are not asked. The catalog has the store, and the sealer that opens the secrets
// of these types.
func CheckProposed(ctx context.Context, c *catalog.Catalog, p Proposal) error {
	var stored map[string]catalog.StoredIndexing
	err := c.Store.Read(ctx, func(s store.Snapshot) (err error) {
		stored, err = catalog.ReadAll(ctx, s)
		return err
	})
	if err != nil {
		return store.Translate(err)
	}
	names := slices.Sorted(maps.Keys(stored))
	if p.Before != nil {
		names = diff.Concerned(p.Before, p.Proposed)
	}
	next := catalog.New(c.Store, c.Sealer, c.Lookups, c.Now)
	next.Serve(p.Proposed)
	for _, name := range names {
		if _, there := stored[name]; !there {
			continue // nobody has written any
		}
		if err := newProposed(ctx, next, c, p, name, stored).run(); err != nil {
			return store.Translate(err)
		}
	}
	return nil
}

// proposed checks the objects of one type.
type proposed struct {
	*verifier
	p          Proposal
	collection string // has the objects
	mixed      bool
	before     *schema.Type // nil if it is not known
	found      *findings
	// unique are the keys that the type did not have before, and values what objects would
	// claim under them.
	unique []string
	values sorter
	// owners are the paths to teams and users of both sets, by their keys, if they differ.
	owners map[string][]schema.OwnerPath
}

// path returns the path of the type with a stored name, by the set that has it.
func (p *Proposal) path(collection string) string {
	if path := p.Proposed.Path(collection); path != collection || p.Before == nil {
		return path
	}
	return p.Before.Path(collection)
}

func newProposed(ctx context.Context, next, now *catalog.Catalog, p Proposal, name string, stored map[string]catalog.StoredIndexing) *proposed {
	v := &proposed{verifier: &verifier{e: next, ctx: ctx, stored: stored}, p: p, collection: name, mixed: now.Mixed(name), found: newFindings(p.path(name))}
	if p.Before != nil {
		v.before, _ = p.Before.Type(name)
	}
	if v.t, _ = p.Proposed.Type(name); v.t == nil {
		v.t = v.before
		return v
	}
	v.indexing, v.shape, v.found.t = catalog.IndexingOf(v.t), v.t.Shape, v.t
	v.owners = otherOwners(v.before, v.t)
	if v.unique = v.indexing.Unique; p.Temporary == nil {
		v.unique = nil
	}
	if v.before != nil && v.before.Global == v.t.Global {
		had := catalog.IndexingOf(v.before).Unique
		v.unique = catalog.Filter(v.unique, func(key string) bool { return !slices.Contains(had, key) })
	}
	return v
}

// judged is an object of a page with its references that lead nowhere.
type judged struct {
	verified
	gains    gain
	dangling []reference
	texts    []string
}

func (v *proposed) run() error {
	if v.p.Temporary != nil {
		v.values.file = v.p.Temporary()
		defer v.values.file.Close()
	}
	var last store.Key
	for {
		began := time.Now()
		page, err := v.read(last)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		for _, r := range page {
			if err := v.judge(r); err != nil {
				return err
			}
		}
		last = page[len(page)-1].Key
		v.objects += int64(len(page))
		if err := v.p.Progress(v.found.name, v.objects); err != nil {
			return err
		}
		if v.p.Rest != nil {
			v.p.Rest(v.ctx, time.Since(began))
		}
	}
	if v.p.Read != nil {
		v.p.Read(v.found.name, v.found.objects)
	}
	if err := v.clashes(); err != nil {
		return err
	}
	for _, found := range v.found.sorted() {
		if err := v.p.Finding(found); err != nil {
			return err
		}
	}
	return nil
}

// read reads the objects behind a key, and what they refer to.
func (v *proposed) read(after store.Key) (page []*judged, err error) {
	err = v.e.Store.Read(v.ctx, func(s store.Snapshot) error {
		records, err := v.page(s, v.collection, after)
		if page = make([]*judged, len(records)); err != nil {
			return err
		}
		by, sound := map[store.Key]*judged{}, []verified{}
		for i, r := range records {
			page[i] = &judged{verified: r}
			if v.shape == nil {
				continue
			}
			if page[i].object, err = document.DecodeObject(r.Document, document.Limits{Depth: 1000}); err == nil {
				by[r.Key], sound = page[i], append(sound, page[i].verified)
			}
		}
		if err := v.gain(s, page); err != nil {
			return err
		}
		return v.dangling(s, sound, func(ref reference, property, expected string) {
			r, text := by[ref.r.Key], "the object of "+v.p.path(ref.to.Type)+" that it refers to is not there"
			if property != "" {
				text = fmt.Sprintf("it refers to an object of %s whose %s is not %q", v.p.path(ref.to.Type), property, expected)
			}
			r.dangling, r.texts = append(r.dangling, ref), append(r.texts, text)
		})
	})
	return page, err
}

// judge finds what the set does to an object.
func (v *proposed) judge(r *judged) error {
	switch {
	case v.shape == nil:
		v.found.add(kind{RuleRemoved, "", "the set has no such type: the object can no longer be read"}, r.Key, "")
		return nil
	case r.object == nil:
		v.found.add(kind{RuleUnreadable, "", "the stored document cannot be read"}, r.Key, "")
		return nil
	}
	if v.t.Global != (r.Network == "") {
		v.found.add(kind{RuleRemoved, "", "the object belongs to a network, and the type to the service, or the other way round: it can no longer be read"}, r.Key, "")
	}
	for i, ref := range r.dangling {
		v.found.add(kind{RuleReference, v.shape.Place(ref.at), r.texts[i]}, r.Key, ref.id)
	}
	if v.before != nil {
		v.retargeted(r)
	}
	if r.gains.text != "" {
		v.found.add(kind{RuleGained, "", r.gains.text}, r.Key, r.gains.id)
	}
	if err := v.secrets(r); err != nil {
		return err
	}
	var hidden map[string]bool // before, which is asked for if a declared value would be
	v.shape.Hidden(r.object, func(at document.Pointer) {
		place := v.shape.Place(at.String())
		if v.before != nil && v.shape.Declares(place) {
			if hidden == nil {
				hidden = map[string]bool{}
				v.before.Shape.Hidden(r.object, func(at document.Pointer) { hidden[at.String()] = true })
			}
			if hidden[at.String()] {
				return
			}
		}
		text := "the value would be hidden: the set does not declare the property, or does not show it"
		if len(at) > 1 {
			text = "the set does not declare the value, which answers can have until what is around it is written, or does not show it"
		}
		v.found.add(kind{RuleHidden, place, text}, r.Key, "")
	})
	r.object = amended(v.shape, r.verified)
	if err := v.claim(r); err != nil {
		return err
	}
	return v.validate(r)
}

// retargeted finds references that would be read as references to objects of another type.
func (v *proposed) retargeted(r *judged) {
	was := map[string]string{}
	v.before.Shape.References(r.object, func(at document.Pointer, ref *document.Reference, _, _ string) { was[at.String()] = ref.Type })
	v.shape.References(r.object, func(at document.Pointer, ref *document.Reference, id, _ string) {
		if target := was[at.String()]; target != "" && target != ref.Type {
			v.found.add(kind{RuleReread, v.shape.Place(at.String()), "it refers to an object of " + v.p.Before.Path(target) + ", which would be read as one of " + v.p.Proposed.Path(ref.Type)}, r.Key, id)
		}
	})
}

// secrets opens the secrets of an object, and finds values that become or cease to be secret.
func (v *proposed) secrets(r *judged) error {
	opened := map[string]bool{}
	open := func(unsealed func(place string)) func(document.Pointer, string) (string, error) {
		return func(at document.Pointer, secret string) (string, error) {
			place := at.String()
			if opened[place] {
				return secret, nil
			}
			plain, err := v.e.Sealer.Open(secret, catalog.SecretPlace(v.collection, r.Network, r.ID, at))
			switch {
			case err == nil:
				opened[place] = true
				return plain, nil
			case errors.Is(err, catalog.ErrNotSealed):
				unsealed(place)
			default:
				opened[place] = true
				v.found.add(kind{RuleUnopened, v.shape.Place(place), "the key does not open the stored secret"}, r.Key, "")
			}
			return secret, nil
		}
	}
	if v.before != nil {
		if err := v.before.Shape.Secrets(r.object, open(func(string) {})); err != nil {
			return err
		}
	}
	kept := map[string]bool{}
	err := v.shape.Secrets(r.object, func(at document.Pointer, text string) (string, error) {
		kept[at.String()] = true
		return open(func(place string) {
			if !v.mixed && v.before != nil {
				v.found.add(kind{RuleSecret, v.shape.Place(place), "the value would become secret, and be hidden"}, r.Key, "")
			}
		})(at, text)
	})
	for place := range opened {
		if !kept[place] && shown(v.shape, place) {
			v.found.add(kind{RuleRevealed, v.shape.Place(place), "the secret would be shown"}, r.Key, "")
		}
	}
	return err
}

// shown reports whether a shape shows the value at a place.
func shown(shape *document.Shape, place string) bool {
	for _, token := range strings.Split(place, "/")[1:] {
		if i, err := strconv.Atoi(token); err == nil && shape.Element != nil {
			shape = shape.Item(i)
		} else {
			shape = shape.Member(document.UnescapeToken(token))
		}
		if shape == nil || shape.WriteOnly {
			return false
		}
	}
	return true
}

// claim notes what an object would claim under the keys that are new.
func (v *proposed) claim(r *judged) error {
	if len(v.unique) == 0 {
		return nil
	}
	network := v.t.NetworkOf(r.Network)
	wanted, err := v.indexing.Claims(v.ctx, v.unique, store.Place{Collection: v.t.Name, Network: network}, r.object, r.State)
	if err != nil {
		var refused *message.Error
		if errors.As(err, &refused) { // the condition takes too long, as validate reports
			return nil
		}
		return err
	}
	for _, f := range catalog.FormsOf(v.unique) {
		text := catalog.TextAt(r.object, f.Property)
		claims := catalog.FormClaims(v.t.Name, network, f, text)
		switch {
		case len(claims) > 0:
			wanted[f.Key()] = claims[0]
		case text != "":
			v.found.add(kind{RuleUnique, "/" + f.Property, "the value does not conform to " + f.Form}, r.Key, "")
		}
	}
	for key, claim := range wanted {
		if err := v.values.add(newClaimed(slices.Index(v.unique, key), claim, v.indexing.Exclusive(key), r.Key)); err != nil {
			return err
		}
	}
	return nil
}

// clashes finds the objects whose values or intervals others have, too.
func (v *proposed) clashes() error {
	exclusive := func(i int) bool { return v.indexing.Exclusive(v.unique[i]) }
	return v.values.clashes(exclusive, func(c, with claimed) {
		key, at, text := v.unique[c.rule], "", " would be unique, and another object has the same value"
		if exclusive(int(c.rule)) {
			text = " would be exclusive, and the interval of another object overlaps"
		}
		if v.indexing.Rules[key] == nil {
			property, _, _ := strings.Cut(key, ":")
			at = "/" + strings.ReplaceAll(property, ".", "/")
		}
		v.found.add(kind{RuleUnique, at, v.indexing.Describe(v.t, key) + text}, c.Key, with.ID)
	})
}

// validate finds the faults for which an import would refuse the object.
func (v *proposed) validate(r *judged) error {
	faults, err := v.t.ValidateStored(v.ctx, r.object, r.State)
	if err != nil {
		return err
	}
	faults = slices.DeleteFunc(faults, func(fault message.Message) bool { // what is never stored
		field, _ := fault.Param("field").(string)
		member := v.shape.Member(document.UnescapeToken(field[min(len(field), 1):]))
		return fault.Definition() == message.PropertyRequired && member != nil && member.WriteOnly
	})
	change := &keyword.Change{After: r.object, State: r.State, Parent: v.t.Parent, System: true, Now: v.e.Now(),
		Caller: func() rule.Caller { return rule.Caller{Permissions: v.p.Proposed.Permissions()} }}
	for _, fault := range faults {
		field, _ := fault.Param("field").(string)
		if d := fault.Definition(); d == message.ValueType || d == message.ValueFormat {
			change.Unreadable = append(change.Unreadable, field)
		}
		change.Faulty = append(change.Faulty, field)
	}
	broken, err := v.t.Check(v.ctx, change)
	for _, fault := range append(faults, broken...) {
		v.found.fault(fault, v.shape, r.Key)
	}
	return err
}
