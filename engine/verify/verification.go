// Package verify checks stored objects against their schemas, indexes, references
// and history, and changes nothing. It imports catalog, document, query, schema and
// store. Begin with Verify.
package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Fault is an inconsistency of the stored data.
type Fault struct {
	Type string
	// Network and ID name the object; they are empty for a fault of the type.
	Network, ID string
	// Text describes the fault, Cure what an operator can do.
	Text, Cure string
}

// Verification holds the callbacks of Verify.
type Verification struct {
	// Files checks what objects of a type have besides their documents.
	Files map[string]func(ctx context.Context, s store.Snapshot, r *store.Record) (faults []string, err error)
	// Fault is called with each fault, Progress with the number of objects of a type
	// checked so far. Their errors end the check.
	Fault    func(Fault) error
	Progress func(t *schema.Type, objects int64) error
}

const (
	// A page has at most verifyPage objects and about verifyBytes bytes.
	verifyPage  = 500
	verifyBytes = 1 << 20
	// maxObjectFaults is the number of schema faults reported of one object.
	maxObjectFaults = 5

	cureWrite  = "write the object again with a value that suits, or correct the schema"
	cureIndex  = "run marquee check --repair"
	cureTarget = "create the object that is missing, or write this one with another reference"
	cureBackup = "restore it from a backup"
)

// Verify checks all objects of the served types: whether they can be decoded, conform
// to their schemas, refer to existing objects, have all their terms and claims, and
// agree with the history.
func Verify(ctx context.Context, e *catalog.Catalog, v Verification) error {
	for _, t := range e.Registry().Types() {
		verifier := &verifier{Verification: v, e: e, ctx: ctx, t: t, indexing: catalog.IndexingOf(t), shape: t.Shape, networks: map[string]int64{}}
		if err := verifier.run(); err != nil {
			return store.Translate(err)
		}
	}
	return nil
}

type verifier struct {
	Verification
	e        *catalog.Catalog
	ctx      context.Context
	t        *schema.Type
	indexing *catalog.Indexing
	shape    *document.Shape
	// stored are the types that have been written; nil stands for all that are served.
	stored   map[string]catalog.StoredIndexing
	objects  int64
	networks map[string]int64
}

// verified is an object of the page.
type verified struct {
	*store.Record
	object map[string]any
}

var errPageFull = errors.New("the page is full")

func (v *verifier) run() error {
	var last store.Key
	for {
		var faults []Fault
		var page []verified
		err := v.e.Store.Read(v.ctx, func(s store.Snapshot) (err error) {
			if page, err = v.page(s, v.t.Name, last); err == nil {
				faults, err = v.checkPage(s, page)
			}
			return err
		})
		if err != nil {
			return err
		}
		for _, fault := range faults {
			if err := v.Fault(fault); err != nil {
				return err
			}
		}
		if len(page) == 0 {
			break
		}
		for _, r := range page {
			v.networks[r.Network]++
		}
		last = page[len(page)-1].Key
		v.objects += int64(len(page))
		if err := v.Progress(v.t, v.objects); err != nil {
			return err
		}
	}
	return v.counts()
}

// page reads the objects of a type behind a key.
func (v *verifier) page(s store.Snapshot, name string, after store.Key) (page []verified, err error) {
	size := 0
	err = s.Scan(v.ctx, name, after, verifyPage, func(r *store.Record) error {
		page = append(page, verified{Record: r.Clone()})
		if size += len(r.Document); size > verifyBytes {
			return errPageFull
		}
		return nil
	})
	if errors.Is(err, errPageFull) {
		err = nil
	}
	return page, err
}

// checkPage checks the objects of a page.
func (v *verifier) checkPage(s store.Snapshot, page []verified) (faults []Fault, err error) {
	found := func(r *store.Record, text, cure string) {
		faults = append(faults, Fault{v.t.Served().Name, r.Network, r.ID, text, cure})
	}
	var sound []verified
	for _, r := range page {
		object, err := document.DecodeObject(r.Document, document.Limits{Depth: 1000})
		if err != nil {
			found(r.Record, "its document cannot be read: "+err.Error(), cureBackup)
			continue
		}
		r.object = object
		sound = append(sound, r)
	}
	for _, check := range []func(store.Snapshot, []verified, func(*store.Record, string, string)) error{
		v.references, v.terms, v.claims, v.history, v.files, v.schema, // the last one opens the secrets
	} {
		if err := check(s, sound, found); err != nil {
			return nil, err
		}
	}
	return faults, v.ctx.Err()
}

// schema decrypts the secrets and validates the objects.
func (v *verifier) schema(_ store.Snapshot, page []verified, found func(*store.Record, string, string)) error {
	sealing := v.e.Mixed(v.t.Name)
	for _, r := range page {
		err := v.shape.Secrets(r.object, func(at document.Pointer, secret string) (string, error) {
			plain, err := v.e.Sealer.Open(secret, catalog.SecretPlace(v.t.Name, r.Network, r.ID, at))
			switch {
			case err == nil:
				return plain, nil
			case errors.Is(err, catalog.ErrNotSealed) && !sealing:
				found(r.Record, v.t.ServedPointer(at.String())+" is a secret, and is not encrypted", "write the secret again")
			case !errors.Is(err, catalog.ErrNotSealed):
				found(r.Record, v.t.ServedPointer(at.String())+" is a secret that the key does not open", "give the key that it was encrypted with, or write the secret again")
			}
			return secret, nil
		})
		if err != nil {
			return err
		}
		faults, err := v.t.ValidateStored(v.ctx, amended(v.shape, r), r.State)
		if err != nil {
			return err
		}
		for i, fault := range faults {
			if i == maxObjectFaults {
				found(r.Record, "more of its values do not suit the schema", cureWrite)
				break
			}
			found(r.Record, "it is invalid by its schema: "+fault.Definition().With(v.t.ServedParams(fault.Params())).String(), cureWrite)
		}
	}
	return nil
}

// amended returns a stored object as the service writes it in the background, once the schema
// is served.
func amended(shape *document.Shape, r verified) map[string]any {
	object, _ := shape.Amended(r.object, r.State == "HIDDEN")
	return object
}

// reference is a reference of a stored object, at a place in its document.
type reference struct {
	r  *store.Record
	at string
	to *document.Reference
	id string
}

// references checks that the objects refer to existing objects.
func (v *verifier) references(s store.Snapshot, page []verified, found func(*store.Record, string, string)) error {
	return v.dangling(s, page, func(r reference, name, expected string) {
		if name == "" {
			found(r.r, fmt.Sprintf("%s refers to %s %q, which is not there", v.t.ServedPointer(r.at), v.e.Registry().Path(r.to.Type), r.id), cureTarget)
		} else {
			found(r.r, fmt.Sprintf("%s refers to %s %q, whose %s is not %q", v.t.ServedPointer(r.at), v.e.Registry().Path(r.to.Type), r.id, name, expected), "write the object with another reference")
		}
	})
}

// dangling yields the references to objects that are not there, and to those whose property
// with a name has another value than the reference requires.
func (v *verifier) dangling(s store.Snapshot, page []verified, found func(r reference, name, expected string)) error {
	wanted := map[store.Place][]reference{}
	for _, r := range page {
		v.shape.References(r.object, func(at document.Pointer, ref *document.Reference, id, network string) {
			target, served := v.e.Registry().Type(ref.Type)
			network = cmp.Or(network, r.Network)
			if !served || id == "" || network == "" && !target.Global {
				return
			}
			where := store.Place{Collection: ref.Type, Network: target.NetworkOf(network)}
			wanted[where] = append(wanted[where], reference{r.Record, at.String(), ref, id})
		})
	}
	for where, references := range wanted {
		targets, err := v.targets(s, where, references)
		if err != nil {
			return err
		}
		for _, reference := range references {
			target, there := targets[reference.id]
			if !there {
				found(reference, "", "")
				continue
			}
			for name, expected := range reference.to.Where {
				if target[name] != expected {
					found(reference, name, expected)
				}
			}
		}
	}
	return nil
}

// targets reads the objects at a place that references lead to. It returns the values
// that the references require, by id.
func (v *verifier) targets(s store.Snapshot, where store.Place, references []reference) (map[string]map[string]any, error) {
	ids := map[string]bool{}
	for _, reference := range references {
		ids[reference.id] = true
	}
	targets := map[string]map[string]any{}
	if _, there := v.stored[where.Collection]; v.stored != nil && !there {
		return targets, nil
	}
	err := s.Get(v.ctx, where.Collection, store.KeysIn(where.Network, slices.Sorted(maps.Keys(ids))), func(r *store.Record) error {
		object, err := document.DecodeObject(r.Document, document.Limits{Depth: 1000})
		if t, served := v.e.Registry().Type(where.Collection); err != nil {
			object = nil // reported when that object is checked
		} else if served {
			object = amended(t.Shape, verified{Record: r, object: object})
		}
		kept := map[string]any{}
		for _, reference := range references {
			for name := range reference.to.Where {
				kept[name] = object[name]
			}
		}
		targets[r.ID] = kept
		return nil
	})
	return targets, err
}

func (v *verifier) files(s store.Snapshot, page []verified, found func(*store.Record, string, string)) error {
	check := v.Files[v.t.Name]
	if check == nil {
		return nil
	}
	for _, r := range page {
		faults, err := check(v.ctx, s, r.Record)
		if err != nil {
			return err
		}
		for _, fault := range faults {
			found(r.Record, fault, "upload the file again, or "+cureBackup)
		}
	}
	return nil
}
