package write

import (
	"encoding/json"
	"slices"
	"strings"

	"marquee/engine/access"
	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/history"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/schema/keyword"
	"marquee/engine/store"
)

// Change is one object on its way through the write path. A hook may alter After, as
// Hooks says when, and Kept; it reads the other fields, and changes what is stored or
// answered besides through methods. Documents have the types of engine/document: a
// number is an int64, or a float64 if it has a fraction, an object a map[string]any, an
// array an []any, and a reference the id of its object.
type Change struct {
	// Before and After are the stored document, with what the schema asks of it
	// (document.Shape.Amended), and the one to be stored, with secrets
	// in plain text; Before is nil for a new object. Both are read again when the
	// transaction runs again, and are nil in Prepare.
	Before, After map[string]any
	// StateBefore and State are the objectState; StateBefore is "" for a new object.
	StateBefore, State string

	Type   *schema.Type
	Caller *access.Caller
	// Index is the place in the batch, -1 for a change that a hook added.
	Index int
	// Network is where the record is kept, "" for a global type; Context is the
	// network of the call.
	Network, Context, ID string
	// Patch is what the client sent, in normal form; a null removes a property. In the
	// transaction, an object of a merge patch is the one that it results in.
	Patch map[string]any
	// Kept carries a value from a type's Prepare hook to its other hooks.
	Kept any

	request
	found
	// record is what is stored, once the change has been written.
	record store.Record
}

// request is what the client, or a hook, asked for.
type request struct {
	// seen is the type as the caller sees it, nil for a change that a hook added.
	seen *schema.Type
	// op is nil for a change that a hook added.
	op     *Operation
	listed bool
	// generated reports that the service has generated the id, and removes that the object
	// is to be removed.
	generated, removes bool
	// nested are the objects in a merge patch as the client sent them, by property.
	nested map[string]map[string]any
	// wanted is the objectState that the client sent, or "".
	wanted string
	// malformed and unknown are the faults found while the object was brought into
	// normal form.
	malformed []message.Message
	unknown   []Unknown
	// repeated are the faults of arrays with equal items, which the stored object may have.
	repeated []message.Message
	// edits, size and cause are those of a hook's change: how it alters the document,
	// the size of the stored document, 0 if unknown, and the reason, a message.
	edits []func(map[string]any)
	size  int
	cause []byte
}

// found is what one run of the transaction finds out about a change, besides the exported
// fields. Each run begins with a new value.
type found struct {
	stored *store.Record
	// asStored is Before as the store has it: what the object is indexed by.
	asStored map[string]any
	// tombstone is what is kept of a removed object whose id a new one has.
	tombstone *catalog.Tombstone
	// index lists the keys that the object is indexed by.
	index *catalog.Indexing
	// sealed maps the place and text of each secret to its stored form; otherForm
	// reports that a secret is stored in a form that no write would give it now.
	sealed    map[string]string
	otherForm bool
	// redirects, refused, warned, unlisted and touched are set by hooks. Warned holds
	// the warnings as they are stored, unlisted the number of those left out.
	redirects map[string]string
	refused   []message.Message
	warned    [][]byte
	unlisted  int
	touched   []string
	// shown are properties of the answer that are not stored.
	shown map[string]any
	// supplied are the properties that the service has set because the object is new.
	supplied []string
	// unresolved are the pointers to references whose targets were not found.
	unresolved []string
	// erased are the properties from which an erasure has removed values that the caller sees.
	erased []string
	// owners are the values of each of ownerKeys, nil where they stay.
	owners map[string][]string
	// moved is what the feed keeps of a change of the owners, nil for none.
	moved []byte
	// addClaims and dropClaims are how the object's claims change.
	addClaims, dropClaims []store.Claim
	validated
}

// reset drops what a run of the transaction has found and made.
func (c *Change) reset(index *catalog.Indexing) {
	c.Before, c.After, c.StateBefore, c.State = nil, nil, "", ""
	c.found, c.record = found{index: index}, store.Record{}
}

// shapeSeen is the shape of the object as the caller sees it.
func (c *Change) shapeSeen() *document.Shape {
	if c.seen == nil {
		return c.Type.Shape
	}
	return c.seen.Shape
}

// served is the type with the names of properties that the caller may use.
func (c *Change) served() *schema.Type {
	if c.seen == nil {
		return c.Type
	}
	return c.seen
}

// Record returns what is stored of the object once the change has been written.
func (c *Change) Record() *store.Record { return &c.record }

// storedVersion is 0 for a new object.
func (c *Change) storedVersion() int64 {
	if c.stored == nil {
		return 0
	}
	return c.stored.Version
}

// Created reports whether the object is new.
func (c *Change) Created() bool { return c.stored == nil }

// mayExist reports whether the object may be stored: an id that the service has generated is
// that of none.
func (c *Change) mayExist() bool { return c.ID != "" && !c.generated }

// Removed reports whether the object is being removed: After is nil.
func (c *Change) Removed() bool { return c.removes }

// Internal reports whether a hook made the change, and not the caller.
func (c *Change) Internal() bool { return c.op == nil }

// Touch stores the object even if its document is unchanged. The history names the
// property without values.
func (c *Change) Touch(property string) { c.touched = append(c.touched, property) }

// Show adds a property to the object in the answer to this write, and nowhere else: it
// is not stored, and no later answer has it.
func (c *Change) Show(property string, value any) {
	if c.shown == nil {
		c.shown = map[string]any{}
	}
	c.shown[property] = value
}

// SetCause sets the reason for a change by the service, which the history keeps. It
// has no effect on a client's change.
func (c *Change) SetCause(cause *message.Definition, params message.Params) {
	if c.Internal() {
		c.cause = history.Encode(cause.With(params))
	}
}

// Changed reports whether there is anything to store. It is valid after validation.
func (c *Change) Changed() bool { return c.changed }

// RedirectFaults moves faults at a pointer and below it to another one, at which the
// client sent the value.
func (c *Change) RedirectFaults(from, to string) {
	if c.redirects == nil {
		c.redirects = map[string]string{}
	}
	c.redirects[from] = to
}

// Fault returns a message about the change, with a pointer and the index in the batch.
func (c *Change) Fault(d *message.Definition, pointer string, params message.Params) message.Message {
	// The nearest place that was put elsewhere is found by going up.
	for above := pointer; above != "" && len(c.redirects) > 0; above = above[:max(strings.LastIndexByte(above, '/'), 0)] {
		if to, elsewhere := c.redirects[above]; elsewhere {
			pointer = to + pointer[len(above):]
			break
		}
	}
	if c.seen != nil && d != message.PropertyUnknown { // which the client has named
		if before, unseen := c.seen.Shape.Unseen(pointer); unseen {
			d, pointer, params = keyword.Unseen, before, nil
		} else if c.seen.NamesUnseen(pointer, params) {
			d, params = keyword.Unseen, nil
		}
	}
	pointer, params = c.served().ServedPointer(pointer), c.served().ServedParams(params)
	place := message.Params{"field": pointer, "type": c.Type.Name}
	if c.listed {
		place["index"] = c.Index
	}
	if c.ID != "" {
		place["objectId"] = c.ID
	}
	return d.With(params).Adding(place)
}

// Warn adds a warning that the object is stored with. The order of warnings must
// depend on the objects alone.
func (c *Change) Warn(d *message.Definition, pointer string, params message.Params) {
	if c.WarningsFull() {
		c.unlisted++
		return
	}
	c.warned = append(c.warned, history.Encode(d.With(params).Adding(message.Params{"field": pointer})))
}

// WarningsFull reports whether the object has history.MaxWarnings warnings, so that
// further ones are only counted.
func (c *Change) WarningsFull() bool { return len(c.warned) == history.MaxWarnings }

// Warned reports whether the stored object has a warning.
func (c *Change) Warned(d *message.Definition) bool {
	type warning struct {
		Code string `json:"code"`
	}
	var warnings []warning
	return len(c.warningsBefore()) > 0 && json.Unmarshal(c.warningsBefore(), &warnings) == nil &&
		slices.ContainsFunc(warnings, func(w warning) bool { return w.Code == d.Code })
}

func (c *Change) warningsBefore() []byte {
	if c.stored == nil {
		return nil
	}
	return c.stored.Warnings
}

// Refuse adds a fault, so that nothing of the call is stored. Only the first faults of
// an object are listed.
func (c *Change) Refuse(d *message.Definition, pointer string, params message.Params) {
	if len(c.refused) == message.MaxFaults {
		return
	}
	c.refused = append(c.refused, c.Fault(d, pointer, params))
}

// byType returns those of some changes that meet a condition, in groups of a type, in the
// order of the names of the types.
func byType(changes []*Change, meets func(*Change) bool) (groups [][]*Change) {
	for _, c := range changes {
		if !meets(c) {
			continue
		}
		n, found := slices.BinarySearchFunc(groups, c.Type.Name, func(group []*Change, name string) int {
			return strings.Compare(group[0].Type.Name, name)
		})
		if !found {
			groups = slices.Insert(groups, n, nil)
		}
		groups[n] = append(groups[n], c)
	}
	return groups
}

func idsOf(changes []*Change) []string {
	ids := make([]string, len(changes))
	for i, c := range changes {
		ids[i] = c.ID
	}
	return ids
}

// keysOf returns the keys of the records of changes.
func keysOf(changes []*Change) []store.Key {
	keys := make([]store.Key, len(changes))
	for i, c := range changes {
		keys[i] = c.recordKey()
	}
	return keys
}

type objectKey struct{ collection, network, id string }

func (c *Change) recordKey() store.Key { return store.Key{Network: c.Network, ID: c.ID} }

func (c *Change) key() objectKey { return objectKey{c.Type.Name, c.Network, c.ID} }
