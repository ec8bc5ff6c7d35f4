package document

import (
	"slices"
	"strconv"
	"strings"

	"marquee/engine/message"
)

// Shape is what a JSON Schema says about the structure of a document, made
// ready for walking: which members there are and what the engine does with
// them. It is immutable once compiled, and may be cyclic.
type Shape struct {
	// Types holds the JSON Schema type names that are allowed; empty is any.
	Types []string
	// Properties are the declared members.
	Properties map[string]*Shape
	// Extra is the shape of other members; nil when there may be none.
	Extra *Shape
	// Items is the shape of an array's items, nil when anything is taken.
	Items *Shape
	// Ref is set where the value is a reference.
	Ref *Reference
	// Time says that the value is a date-time, stored in UTC.
	Time bool
	// Default is the value of an absent member; only with HasDefault.
	Default    any
	HasDefault bool

	ReadOnly, WriteOnly, Secret, Immutable, Complete, UniqueItems bool
	// Derived values are found out, or completed, at reading.
	Derived bool
	// Lookup names a list of the service in which the id of the object is.
	Lookup string
	// Transitions maps a value to those that may follow it.
	Transitions map[string][]string
	// HasSecrets says that a secret is here or below.
	HasSecrets bool
	// HasLookups says that a Lookup is here or below.
	HasLookups bool
	// Plain says that here and below the stored bytes are what a client sees.
	Plain bool
	// Names are the declared members in order, and Empty is the JSON in which
	// nothing is set: for the members of complete objects alone.
	Names []string
	Empty []byte
	// Whole are the members that are complete objects, in order: they are
	// returned even when nothing of them is set.
	Whole []string
}

// Reference says what an x-ref refers to.
type Reference struct {
	Type string
	// Where is what must hold of the target.
	Where map[string]string
	// Network names the enclosing sibling that holds the target's network; ""
	// is the network of the object itself.
	Network string
	// Object says that only an object {"id"} refers to something, and is stored
	// as one; a text stands for itself.
	Object bool
}

// AnyShape is free-form: everything is taken, nothing is done.
var AnyShape = &Shape{Plain: true}

// Is reports whether the shape allows a JSON Schema type.
func (s *Shape) Is(name string) bool { return slices.Contains(s.Types, name) }

// HasMembers reports whether a value can be an object.
func (s *Shape) HasMembers() bool { return takes(s, "object") }

// Member is the shape of a member, nil for one that is unknown.
func (s *Shape) Member(name string) *Shape {
	if member, ok := s.Properties[name]; ok {
		return member
	}
	if s.Properties == nil && s.Extra == nil {
		return AnyShape
	}
	return s.Extra
}

// EmptyForm is a value in which nothing is set, as a complete object shows it.
func (s *Shape) EmptyForm() any {
	switch {
	case s.HasDefault:
		return s.Default
	case s.Ref != nil:
		return nil
	case s.Is("array"):
		return []any{}
	case s.Is("object"):
		members := map[string]any{}
		for name, member := range s.Properties {
			if !member.ReadOnly && !member.WriteOnly {
				members[name] = member.EmptyForm()
			}
		}
		return members
	}
	return nil
}

// Pointer is a JSON Pointer that is being walked (RFC 6901).
type Pointer []string

// String writes the pointer with its tokens escaped.
func (p Pointer) String() string {
	var b strings.Builder
	for _, token := range p {
		b.WriteByte('/')
		b.WriteString(EscapeToken(token))
	}
	return b.String()
}

// EscapeToken escapes one token of a JSON Pointer.
func EscapeToken(token string) string {
	if strings.ContainsAny(token, "~/") {
		token = strings.ReplaceAll(token, "~", "~0")
		token = strings.ReplaceAll(token, "/", "~1")
	}
	return token
}

// At adds a token; the result shares the receiver's memory and lives until the
// receiver is used again.
func (p Pointer) At(token string) Pointer { return append(p, token) }

// Index adds an array index.
func (p Pointer) Index(i int) Pointer { return append(p, strconv.Itoa(i)) }

// Normaliser brings what a client sent into the form in which it is stored.
type Normaliser struct {
	// Unknown is told of each unknown property, which is dropped.
	Unknown func(Pointer)
	// Fault is told what is wrong.
	Fault func(*message.Definition, Pointer, message.Params)
}

// Object normalises the members of an object in place: unknown and read-only
// members are dropped, references become ids, date-times become UTC, nested
// defaults are filled in, and what is empty in a complete object is dropped. A
// top-level member that has become empty in that way is left as nil.
func (n *Normaliser) Object(shape *Shape, object map[string]any) {
	n.members(shape, object, make(Pointer, 0, 16), true)
}

func (n *Normaliser) members(shape *Shape, object map[string]any, at Pointer, top bool) {
	if shape.Properties == nil && shape.Extra == nil {
		return
	}
	for name, value := range object {
		member := shape.Member(name)
		switch {
		case member == nil:
			n.Unknown(at.At(name))
			delete(object, name)
		case member.ReadOnly:
			delete(object, name)
		case value == nil && top:
		default:
			value = n.value(member, value, at.At(name))
			if value == nil && !top && member.Complete {
				delete(object, name)
			} else {
				object[name] = value
			}
		}
	}
	if !top {
		fillDefaults(shape, object)
	}
}

func fillDefaults(shape *Shape, object map[string]any) {
	for name, member := range shape.Properties {
		if _, set := object[name]; !set && member.HasDefault {
			object[name] = Clone(member.Default)
		}
	}
}

func (n *Normaliser) value(shape *Shape, value any, at Pointer) any {
	if shape.Ref != nil {
		object, is := value.(map[string]any)
		switch {
		case !shape.Ref.Object:
			return n.reference(value, at)
		case is && object["id"] != nil:
			return map[string]any{"id": n.reference(value, at)}
		}
		return value
	}
	switch v := value.(type) {
	case string:
		if shape.Time {
			if canonical, ok := CanonicalTime(v); ok {
				return canonical
			}
		}
	case []any:
		n.items(shape, v, at)
	case map[string]any:
		n.members(shape, v, at, false)
		if shape.Complete {
			prune(shape, v)
			if len(v) == 0 {
				return nil
			}
		}
	}
	return value
}

func (n *Normaliser) items(shape *Shape, items []any, at Pointer) {
	if shape.Items != nil {
		for i, item := range items {
			items[i] = n.value(shape.Items, item, at.Index(i))
			if items[i] == nil && item != nil {
				items[i] = map[string]any{} // empty, but the others keep their places
			}
		}
	}
	if shape.UniqueItems {
		seen := make(map[string]struct{}, len(items))
		for i, item := range items {
			key := string(Append(nil, item))
			if _, twice := seen[key]; twice {
				n.Fault(message.ItemsNotUnique, at.Index(i), nil)
				return
			}
			seen[key] = struct{}{}
		}
	}
}

func (n *Normaliser) reference(value any, at Pointer) any {
	id := value
	if object, ok := value.(map[string]any); ok {
		id = object["id"]
	}
	s, ok := id.(string)
	if !ok || !ValidID(s) {
		n.Fault(message.ReferenceMalformed, at, nil)
		return ""
	}
	return s
}

// prune drops the members of a complete object that say nothing: empty arrays,
// nulls, and objects whose members are all empty or at their defaults.
func prune(shape *Shape, object map[string]any) {
	for name, value := range object {
		if empty(shape.Properties[name], value) {
			delete(object, name)
		}
	}
}

func empty(shape *Shape, value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case []any:
		return len(v) == 0 && takes(shape, "array")
	case map[string]any:
		if !takes(shape, "object") {
			return false // a fault, which the schema finds
		}
		for name, member := range v {
			var inner *Shape
			if shape != nil {
				inner = shape.Properties[name]
			}
			if inner != nil && inner.HasDefault && Equal(inner.Default, member) {
				continue
			}
			if !empty(inner, member) {
				return false
			}
		}
		return true
	}
	return false
}

func takes(shape *Shape, name string) bool {
	return shape == nil || len(shape.Types) == 0 || shape.Is(name)
}

// References calls found for each reference of a stored document: the place,
// what is referred to, the id, and the network that a sibling names ("" for
// the document's own).
func (s *Shape) References(object map[string]any, found func(at Pointer, ref *Reference, id, network string)) {
	w := referenceWalk{found: found}
	w.value(s, object, make(Pointer, 0, 16))
}

// Lookups calls found for each object whose id is in a list of the service: the
// place of the id, the list, and the id, which is no integer in a document that
// is not valid.
func (s *Shape) Lookups(object map[string]any, found func(at Pointer, list string, id any)) {
	s.lookups(object, make(Pointer, 0, 16), found)
}

func (s *Shape) lookups(value any, at Pointer, found func(Pointer, string, any)) {
	switch v := value.(type) {
	case []any:
		if s.Items != nil && s.Items.HasLookups {
			for i, item := range v {
				s.Items.lookups(item, at.Index(i), found)
			}
		}
	case map[string]any:
		if s.Lookup != "" {
			found(at.At("id"), s.Lookup, v["id"])
		}
		for name, member := range v {
			if inner := s.Member(name); inner != nil && inner.HasLookups {
				inner.lookups(member, at.At(name), found)
			}
		}
	}
}

type referenceWalk struct {
	enclosing []map[string]any
	found     func(Pointer, *Reference, string, string)
}

func (w *referenceWalk) value(shape *Shape, value any, at Pointer) {
	switch v := value.(type) {
	case string:
		if shape.Ref != nil && !shape.Ref.Object {
			w.found(at, shape.Ref, v, w.network(shape.Ref.Network))
		}
	case []any:
		if shape.Items != nil {
			for i, item := range v {
				w.value(shape.Items, item, at.Index(i))
			}
		}
	case map[string]any:
		if id, ok := v["id"].(string); ok && shape.Ref != nil && shape.Ref.Object {
			w.found(at, shape.Ref, id, w.network(shape.Ref.Network))
			return
		}
		w.enclosing = append(w.enclosing, v)
		for name, member := range v {
			if inner := shape.Member(name); inner != nil && inner != AnyShape {
				w.value(inner, member, at.At(name))
			}
		}
		w.enclosing = w.enclosing[:len(w.enclosing)-1]
	}
}

func (w *referenceWalk) network(sibling string) string {
	if sibling == "" {
		return ""
	}
	for i := len(w.enclosing) - 1; i >= 0; i-- {
		if network, ok := w.enclosing[i][sibling].(string); ok {
			return network
		}
	}
	return ""
}
