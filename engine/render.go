package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Projection is a tree of the properties to show; nil shows all.
type Projection map[string]Projection

// ParseProjection reads the parameter fields, `id,name,order.name`. An unknown
// field is an error of kind Malformed.
func ParseProjection(t *schema.Type, text string) (Projection, error) {
	root := Projection{}
	for name := range strings.SplitSeq(text, ",") {
		if !t.Shows(name) {
			return nil, message.FieldUnknown.Error(message.Params{"parameter": "fields", "value": name, "type": t.Name})
		}
		at := root
		parts := strings.Split(name, ".")
		for i, part := range parts {
			next, there := at[part]
			if i == len(parts)-1 {
				at[part] = nil
				break
			}
			if there && next == nil {
				break // the whole of it is shown already
			}
			if next == nil {
				next = Projection{}
				at[part] = next
			}
			at = next
		}
	}
	return root, nil
}

func (p Projection) has(name string) bool {
	if p == nil {
		return true
	}
	_, ok := p[name]
	return ok
}

// Path is the relative GET path of an object, percent-encoded. The parent is
// the id that stands before its own, for a type that has one.
func Path(t *schema.Type, network, parent, id string) string {
	path := "/api/v1/" + t.Name + "/"
	if t.Parent != "" {
		path += url.PathEscape(parent) + "/"
	}
	path += url.PathEscape(id)
	if !t.Global {
		path += "?context=" + url.QueryEscape(network)
	}
	return path
}

// view is how one caller sees objects: it renders stored documents to JSON.
// References are expanded with the names that the snapshot has.
type view struct {
	e          *Engine
	registry   *schema.Registry
	caller     *Caller
	network    string
	projection Projection

	wanted map[place]map[string]bool
	labels map[objectKey]string
	// parents are the ids that stand before those of referenced objects in their
	// paths.
	parents map[objectKey]string
	// secrets caches, by type, whether the caller is shown secrets, warnings the
	// present form of stored ones: many objects have the same.
	secrets  map[*schema.Type]bool
	warnings map[string][]byte
}

func (e *Engine) newView(caller *Caller, network string, projection Projection) *view {
	v := &view{e: e, registry: e.Registry(), caller: caller, network: network, projection: projection,
		wanted: map[place]map[string]bool{}, labels: map[objectKey]string{}, parents: map[objectKey]string{}}
	return v.worker()
}

// worker is a view that renders beside this one, from what has been resolved.
func (v *view) worker() *view {
	own := *v
	own.secrets, own.warnings = map[*schema.Type]bool{}, map[string][]byte{}
	return &own
}

// want notes that a referenced object is shown: its name is needed, and what
// its path holds besides its id.
func (v *view) want(ref, network, id string) {
	if target, ok := v.registry.Type(ref); ok && (target.Label != "" || target.Parent != "") && id != "" {
		where := place{ref, home(target, network)}
		if v.wanted[where] == nil {
			v.wanted[where] = map[string]bool{}
		}
		v.wanted[where][id] = true
	}
}

// show lets the type's hook hide what the caller is not to see of a record.
func (v *view) show(t *schema.Type, r *store.Record) error {
	if shown := v.e.Hooks[t.Name].Shown; shown != nil {
		return shown(v.caller, r)
	}
	return nil
}

// derive lets the type's hook add what comes of other objects.
func (v *view) derive(ctx context.Context, s store.Snapshot, t *schema.Type, records []*store.Record, single bool) error {
	if derived := v.e.Hooks[t.Name].Derived; derived != nil && len(records) > 0 {
		return derived(ctx, &Reading{v: v, s: s, Single: single}, records)
	}
	return nil
}

// complete finds out all that records of a list are rendered with.
func (v *view) complete(ctx context.Context, s store.Snapshot, t *schema.Type, records []*store.Record) error {
	for _, r := range records {
		if err := v.show(t, r); err != nil {
			return err
		}
	}
	if err := v.derive(ctx, s, t, records, false); err != nil {
		return err
	}
	for _, r := range records {
		if err := v.collect(t, r); err != nil {
			return err
		}
	}
	return v.resolve(ctx, s)
}

// collect finds the references of a record.
func (v *view) collect(t *schema.Type, r *store.Record) error {
	for _, user := range []struct{ name, id string }{{"createUser", r.CreateUser}, {"updateUser", r.UpdateUser}} {
		if v.projection.has(user.name) {
			v.want("users", "", user.id)
		}
	}
	if !t.Global && v.projection.has("network") {
		v.want("networks", "", r.Network)
	}
	if t.Shape.Plain {
		return nil
	}
	w := renderer{v: v, t: t, record: r, collecting: true}
	return w.document()
}

// resolve reads the names, one query for each type and network. What the
// caller does not see has none.
func (v *view) resolve(ctx context.Context, s store.Snapshot) error {
	for where, ids := range v.wanted {
		target, _ := v.registry.Type(where.collection)
		if target.Label == "" {
			continue
		}
		visible := v.e.Access.Visible(v.caller, target, cmp.Or(where.network, v.network))
		certain, open := decide(keysOf(ids), visible)
		err := visitVisible(ctx, s, where, open, visible, func(r *store.Record) error {
			v.labels[objectKey{where.collection, where.network, r.ID}] = textOf(r.Document, target.Label)
			return nil
		})
		if err != nil {
			return err
		}
		if len(certain) == 0 {
			continue
		}
		labels, err := s.Labels(ctx, where.collection, target.Label, keysIn(where.network, certain))
		if err != nil {
			return err
		}
		for key, label := range labels {
			v.labels[objectKey{where.collection, key.Network, key.ID}] = label
		}
	}
	if err := v.resolveParents(ctx, s); err != nil {
		return err
	}
	clear(v.wanted)
	return nil
}

// resolveParents reads what the paths of referenced objects hold besides their
// ids, whether the caller sees them or not.
func (v *view) resolveParents(ctx context.Context, s store.Snapshot) error {
	for where, ids := range v.wanted {
		target, _ := v.registry.Type(where.collection)
		if target.Parent == "" {
			continue
		}
		parents, err := s.Labels(ctx, where.collection, target.Parent, keysIn(where.network, keysOf(ids)))
		if err != nil {
			return err
		}
		for key, parent := range parents {
			v.parents[objectKey{where.collection, key.Network, key.ID}] = parent
		}
	}
	return nil
}

func keysOf(set map[string]bool) []string {
	keys := make([]string, 0, len(set))
	for key := range set {
		keys = append(keys, key)
	}
	return keys
}

// textOf reads a top-level text out of a stored document, "" where it is none.
func textOf(stored []byte, name string) string {
	start, _, ok := document.Member(stored, 0, name)
	if !ok || name == "" || stored[start] != '"' {
		return ""
	}
	return document.Text(stored, start)
}

// append renders a record behind dst.
func (v *view) append(dst []byte, t *schema.Type, r *store.Record) ([]byte, error) {
	w := renderer{v: v, t: t, record: r, out: dst}
	err := w.object()
	return w.out, err
}

func (v *view) showsSecrets(t *schema.Type) bool {
	shown, known := v.secrets[t]
	if !known {
		shown = v.e.Access.MayReadSecrets(v.caller, t, v.network)
		v.secrets[t] = shown
	}
	return shown
}

// current brings stored messages into the catalogue's present form: the text
// of a code may have changed since.
func (v *view) current(stored []byte) []byte {
	if len(stored) == 0 {
		return []byte("[]")
	}
	text, known := v.warnings[string(stored)]
	if !known {
		text = v.renewed(stored)
		v.warnings[string(stored)] = text
	}
	return text
}

func (v *view) renewed(stored []byte) []byte {
	var messages []struct {
		Code   string         `json:"code"`
		Params message.Params `json:"params"`
	}
	if json.Unmarshal(stored, &messages) != nil {
		return []byte("[]")
	}
	known := []message.Message{}
	for _, m := range messages {
		if def, ok := v.registry.Catalogue().Lookup(m.Code); ok {
			known = append(known, def.With(m.Params))
		}
	}
	text, err := json.Marshal(known)
	if err != nil || bytes.Equal(text, stored) {
		return stored
	}
	return text
}
