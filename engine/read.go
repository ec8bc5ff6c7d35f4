package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Object is a rendered object.
type Object struct {
	// JSON is what the client sees.
	JSON    []byte
	Version int64
	ID      string
	// Path is the relative GET path.
	Path string
}

// ETag is the strong entity tag of a rendered object: its version, and a hash
// of what was rendered.
func (o *Object) ETag() string {
	digest := sha256.Sum256(o.JSON)
	return `"` + strconv.FormatInt(o.Version, 10) + "-" + hex.EncodeToString(digest[:8]) + `"`
}

// Get reads one object. An object that is not there, or that the caller does
// not see, is an error of kind NotFound.
func (e *Engine) Get(ctx context.Context, caller *Caller, t *schema.Type, network, id string, projection Projection) (*Object, error) {
	visible := e.Access.Visible(caller, t, network)
	var found *Object
	err := e.Store.Read(ctx, func(s store.Snapshot) error {
		var record *store.Record
		err := visit(ctx, s, place{t.Name, home(t, network)}, []string{id}, visible, func(r *store.Record) error {
			record = keep(r)
			return nil
		})
		if err != nil {
			return err
		}
		if record == nil {
			return message.ObjectNotFound.Error(message.Params{"type": t.Name, "id": id})
		}
		found, err = e.render(ctx, s, e.newView(caller, network, projection), t, record)
		return err
	})
	return found, Translate(err)
}

// keep is a copy of a lent record.
func keep(r *store.Record) *store.Record {
	kept := *r
	kept.Document, kept.Warnings = slices.Clone(r.Document), slices.Clone(r.Warnings)
	return &kept
}

func (e *Engine) render(ctx context.Context, s store.Snapshot, v *view, t *schema.Type, r *store.Record) (*Object, error) {
	if err := v.show(t, r); err != nil {
		return nil, err
	}
	if err := v.derive(ctx, s, t, []*store.Record{r}, true); err != nil {
		return nil, err
	}
	if err := v.collect(t, r); err != nil {
		return nil, err
	}
	if err := v.resolve(ctx, s); err != nil {
		return nil, err
	}
	body, err := v.append(make([]byte, 0, len(r.Document)+1024), t, r)
	return &Object{JSON: body, Version: r.Version, ID: r.ID, Path: pathOf(t, r)}, err
}

func pathOf(t *schema.Type, r *store.Record) string {
	return Path(t, r.Network, textOf(r.Document, t.Parent), r.ID)
}

// Render renders what a Write did, in the order of its operations. Names of
// objects of the same batch are those that were written. What is stored is told
// even where the store cannot be asked any more: without the names of what it
// refers to, and what is derived from other objects.
func (e *Engine) Render(ctx context.Context, caller *Caller, network string, result *Result) ([]*Object, error) {
	v := e.newView(caller, network, nil)
	shown, err := v.showAll(result)
	if err != nil {
		return nil, err
	}
	records := make([]*store.Record, len(shown))
	again := func() {
		for i := range shown {
			record := shown[i]
			records[i] = &record
		}
	}
	err = e.Store.Read(ctx, func(s store.Snapshot) error {
		again()
		if err := v.deriveAll(ctx, s, result, records); err != nil {
			return err
		}
		return v.resolve(ctx, s)
	})
	if _, lost := store.CodeOf(err); lost {
		again()
	} else if err != nil {
		return nil, err
	}
	return v.appendAll(result, records)
}

// showAll are copies of the records of a result, as the caller is shown them.
func (v *view) showAll(result *Result) ([]store.Record, error) {
	shown := make([]store.Record, len(result.Changes))
	for i, c := range result.Changes {
		shown[i] = c.record
		if err := v.show(c.Type, &shown[i]); err != nil {
			return nil, err
		}
	}
	return shown, nil
}

// appendAll renders the records of a result, whose references are resolved.
func (v *view) appendAll(result *Result, records []*store.Record) ([]*Object, error) {
	for _, c := range result.Changes {
		if label, ok := c.After[c.Type.Label].(string); ok {
			v.labels[objectKey{c.Type.Name, c.Network, c.ID}] = label
		}
		if parent, ok := c.After[c.Type.Parent].(string); ok {
			v.parents[objectKey{c.Type.Name, c.Network, c.ID}] = parent
		}
	}
	objects := make([]*Object, len(result.Changes))
	err := spread(len(objects), func() func(int) error {
		own := v.worker()
		return func(i int) error {
			c := result.Changes[i]
			body, err := own.append(make([]byte, 0, len(records[i].Document)+1024), c.Type, records[i])
			objects[i] = &Object{JSON: body, Version: c.record.Version, ID: c.ID, Path: pathOf(c.Type, &c.record)}
			return err
		}
	})
	return objects, err
}

// deriveAll derives and collects the records of a result, those of one type
// together.
func (v *view) deriveAll(ctx context.Context, s store.Snapshot, result *Result, records []*store.Record) error {
	byType := map[*schema.Type][]*store.Record{}
	for i, c := range result.Changes {
		byType[c.Type] = append(byType[c.Type], records[i])
	}
	for t, list := range byType {
		if err := v.derive(ctx, s, t, list, !result.Listed); err != nil {
			return err
		}
		for _, r := range list {
			if err := v.collect(t, r); err != nil {
				return err
			}
		}
	}
	return nil
}
