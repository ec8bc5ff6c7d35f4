package read

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"

	"marquee/engine/access"
	"marquee/engine/document"
	"marquee/engine/history"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// referenceKey identifies a referenced object.
type referenceKey struct{ collection, network, id string }

// Projection is a tree of the properties to show; nil shows all.
type Projection map[string]Projection

// ParseProjection parses the parameter fields, such as `id,name,order.name`. An
// unknown field is an error of kind Malformed.
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

// Path returns the relative GET path of an object. Parent is the id of its parent, for
// a type that has one.
func Path(t *schema.Type, network, parent, id string) string {
	if t.Parent != "" {
		parent = url.PathEscape(parent) + "/"
	} else {
		parent = ""
	}
	if t.Global {
		return "/api/v1/" + t.Name + "/" + parent + url.PathEscape(id)
	}
	return "/api/v1/" + t.Name + "/" + parent + url.PathEscape(id) + "?context=" + url.QueryEscape(network)
}

// view renders stored documents for one caller. References are expanded with the names
// in the snapshot.
type view struct {
	e          *Reader
	registry   *schema.Registry
	caller     *access.Caller
	network    string
	projection Projection

	wanted map[store.Place]map[string]bool
	labels map[referenceKey]string
	// parents are the parents in the paths of referenced objects.
	parents map[referenceKey]string
	// secrets caches whether the caller is shown the secrets of a type, warnings the
	// current text of stored warnings, which many objects share.
	secrets  map[*schema.Type]bool
	warnings map[string][]byte
	// together is the number of records that are completed together.
	together int
	// wants counts the ids in wanted, nameBytes the bytes in labels.
	wants, nameBytes int
}

// The memory for completing records of a list is bounded by completing fewer of them
// together: what a hook reads and adds, and the number and bytes of the names of
// referenced objects. References of a single object beyond these bounds have no names.
const (
	maxDerivedBytes = 4 << 20
	maxNames        = 2 * maxWholeReferences
	maxNameBytes    = 4 << 20
	// namesAtOnce is the size of the first query for names, whose lengths are not yet
	// known.
	namesAtOnce = 1000
)

// errTooMuch reports that completing the records together takes too much memory.
var errTooMuch = errors.New("engine: too many records at once")

func (e *Reader) newView(caller *access.Caller, network string, projection Projection) *view {
	v := &view{e: e, registry: e.Registry(), caller: caller, network: network, projection: projection,
		wanted: map[store.Place]map[string]bool{}, labels: map[referenceKey]string{}, parents: map[referenceKey]string{}, together: math.MaxInt}
	return v.worker()
}

// worker returns a view for another goroutine, with the references resolved so far.
func (v *view) worker() *view {
	own := *v
	own.secrets, own.warnings = map[*schema.Type]bool{}, map[string][]byte{}
	return &own
}

// want notes that a referenced object is shown, so that its name and path must be
// read.
func (v *view) want(ref, network, id string) {
	if target, ok := v.registry.Type(ref); ok && (target.Label != "" || target.Parent != "") && id != "" {
		where := store.Place{Collection: ref, Network: target.NetworkOf(network)}
		if v.wanted[where] == nil {
			v.wanted[where] = map[string]bool{}
		}
		if !v.wanted[where][id] {
			v.wanted[where][id] = true
			v.wants++
		}
	}
}

// show runs the type's BeforeRender hook.
func (v *view) show(t *schema.Type, r *store.Record) error {
	if shown := v.e.hooks[t.Name].BeforeRender; shown != nil {
		return shown(v.caller, r)
	}
	return nil
}

// derive runs the type's Derive hook.
func (v *view) derive(ctx context.Context, s store.Snapshot, t *schema.Type, records []*store.Record, single bool) error {
	if derived := v.e.hooks[t.Name].Derive; derived != nil && len(records) > 0 {
		return derived(ctx, &Reading{v: v, s: s, Single: single, room: maxDerivedBytes, bounded: len(records) > 1}, records)
	}
	return nil
}

// complete reads everything that the records of a list are rendered with, and
// yields each as stored and as shown. It works on as many records at once as
// need little memory.
func (v *view) complete(ctx context.Context, s store.Snapshot, t *schema.Type, records []*store.Record, yield func(stored, shown *store.Record) error) error {
	for len(records) > 0 {
		some := records[:min(v.together, len(records))]
		shown := v.copies(t, some)
		err := v.completeTogether(ctx, s, t, shown, false)
		if errors.Is(err, errTooMuch) {
			v.together = len(some) / 2
			continue
		}
		if err != nil {
			return err
		}
		for i, r := range some {
			if err := yield(r, shown[i]); err != nil {
				return err
			}
		}
		records = records[len(some):]
	}
	return nil
}

// copies returns what the hooks of a type may change of stored records: they
// replace a document as a whole.
func (v *view) copies(t *schema.Type, records []*store.Record) []*store.Record {
	if hooks := v.e.hooks[t.Name]; hooks.BeforeRender == nil && hooks.Derive == nil {
		return records
	}
	copies, shown := make([]store.Record, len(records)), make([]*store.Record, len(records))
	for i, r := range records {
		copies[i] = *r
		shown[i] = &copies[i]
	}
	return shown
}

// completeTogether reads everything that records are rendered with. It returns
// errTooMuch for several records that need too much memory together.
func (v *view) completeTogether(ctx context.Context, s store.Snapshot, t *schema.Type, records []*store.Record, single bool) error {
	v.forget()
	for _, r := range records {
		if err := v.show(t, r); err != nil {
			return err
		}
	}
	if err := v.derive(ctx, s, t, records, single); err != nil {
		return err
	}
	for _, r := range records {
		if err := v.collect(t, r); err != nil {
			return err
		}
	}
	return v.resolveFor(ctx, s, len(records))
}

// resolveFor reads the names that some records need. It returns errTooMuch for several
// records with too many or too long names.
func (v *view) resolveFor(ctx context.Context, s store.Snapshot, records int) error {
	if records > 1 && v.wants > maxNames {
		return errTooMuch
	}
	if err := v.resolve(ctx, s); err != nil {
		return err
	}
	if records > 1 && v.nameBytes > maxNameBytes {
		return errTooMuch
	}
	return nil
}

// forget prepares for other records and drops the names found so far if they are many.
func (v *view) forget() {
	v.forgetWanted()
	if len(v.labels)+len(v.parents) > maxNames || v.nameBytes > maxNameBytes {
		clear(v.labels)
		clear(v.parents)
		v.nameBytes = 0
	}
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

// resolve reads the names, with one query for each type and network. Objects that are
// not visible have none.
func (v *view) resolve(ctx context.Context, s store.Snapshot) error {
	places := slices.SortedFunc(maps.Keys(v.wanted), func(a, b store.Place) int {
		return cmp.Or(cmp.Compare(a.Collection, b.Collection), cmp.Compare(a.Network, b.Network))
	})
	for _, where := range places {
		ids := v.wanted[where]
		target, _ := v.registry.Type(where.Collection)
		if target.Label == "" {
			continue
		}
		if err := v.resolveNames(ctx, s, where, target, keysOf(ids)); err != nil {
			return err
		}
	}
	if err := v.resolveParents(ctx, s); err != nil {
		return err
	}
	v.forgetWanted()
	return nil
}

func (v *view) forgetWanted() {
	clear(v.wanted)
	v.wants = 0
}

// resolveNames reads the names of objects of a type, up to maxNameBytes.
func (v *view) resolveNames(ctx context.Context, s store.Snapshot, where store.Place, target *schema.Type, ids []string) error {
	if len(ids) > namesAtOnce {
		slices.Sort(ids) // so that always the same ones have names
	}
	visible := v.e.access.Visible(v.caller, target, cmp.Or(where.Network, v.network))
	found := func(id, label string) {
		v.labels[referenceKey{where.Collection, where.Network, id}] = label
		v.nameBytes += len(label)
	}
	for atOnce := namesAtOnce; len(ids) > 0 && v.nameBytes <= maxNameBytes; {
		some := ids[:min(atOnce, len(ids))]
		ids = ids[len(some):]
		before := v.nameBytes
		certain, open := access.DecideByID(some, visible)
		err := access.FindVisible(ctx, s, where, open, visible, func(r *store.Record) error {
			found(r.ID, document.MemberText(r.Document, target.Label))
			return nil
		})
		if err != nil {
			return err
		}
		if len(certain) > 0 {
			labels, err := s.Labels(ctx, where.Collection, target.Label, store.KeysIn(where.Network, certain))
			if err != nil {
				return err
			}
			for key, label := range labels {
				found(key.ID, label)
			}
		}
		atOnce = max(1, maxNameBytes/max(1, (v.nameBytes-before)/len(some)))
	}
	return nil
}

// resolveParents reads the parents in the paths of referenced objects, whether visible
// or not.
func (v *view) resolveParents(ctx context.Context, s store.Snapshot) error {
	for where, ids := range v.wanted {
		target, _ := v.registry.Type(where.Collection)
		if target.Parent == "" {
			continue
		}
		parents, err := s.Labels(ctx, where.Collection, target.Parent, store.KeysIn(where.Network, keysOf(ids)))
		if err != nil {
			return err
		}
		for key, parent := range parents {
			v.parents[referenceKey{where.Collection, key.Network, key.ID}] = parent
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

// append renders a record and appends it to dst.
func (v *view) append(dst []byte, t *schema.Type, r *store.Record) ([]byte, error) {
	w := renderer{v: v, t: t, record: r, out: dst, start: len(dst), sealed: v.e.Sealer != nil && v.e.Sealer.Holds(r.Document)}
	err := w.object()
	return w.out, err
}

func (v *view) showsSecrets(t *schema.Type) bool {
	shown, known := v.secrets[t]
	if !known {
		shown = v.e.access.MayReadSecrets(v.caller, t, v.network)
		v.secrets[t] = shown
	}
	return shown
}

// current returns stored messages with the present texts of their codes.
func (v *view) current(stored []byte) []byte {
	if len(stored) == 0 {
		return []byte("[]")
	}
	stored = listed(stored)
	text, known := v.warnings[string(stored)]
	if !known {
		text = v.renewed(stored)
		v.warnings[string(stored)] = text
	}
	return text
}

// listed returns the warnings of an object that are shown. Objects written before
// there was a bound may have more.
func listed(warnings []byte) []byte {
	n, end, last := 0, 0, []byte(nil)
	document.EachItem(warnings, func(item []byte) {
		n++
		if last = item; n <= history.MaxWarnings {
			end += len(item) + 1 // with what stands before it
		}
	})
	if n <= history.MaxWarnings || n == history.MaxWarnings+1 && document.MemberText(last, "code") == message.WarnUnlisted.Code {
		return warnings
	}
	cut := append(slices.Clone(warnings[:end]), ',')
	return append(append(cut, history.Encode(history.Unlisted(n-history.MaxWarnings))...), ']')
}

// currentOne returns one stored message with the present text of its code, unchanged
// if the code is unknown.
func (v *view) currentOne(stored []byte) []byte {
	text := v.current(append(append([]byte{'['}, stored...), ']'))
	if text = text[1 : len(text)-1]; len(text) == 0 {
		return stored
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
