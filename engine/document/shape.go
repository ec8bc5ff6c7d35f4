package document

import (
	"iter"
	"regexp"
	"slices"
)

// Shape is the structure that a JSON Schema gives a document: its members, and
// how the engine treats them. It is immutable once compiled, and may be cyclic.
type Shape struct {
	// Types are the allowed JSON Schema types; empty allows any.
	Types []string
	// Possible are those that the conditions of the schema leave possible, in the form of Kinds.
	Possible []string
	// Properties are the declared members.
	Properties map[string]*Shape
	// Patterns are matched against the names of other members. Matching has the
	// shape of a member for each combination of patterns that its name can match:
	// its keys are bit sets with one bit for each pattern.
	Patterns []*regexp.Regexp
	Matching []*Shape
	// Extra is the shape of all other members; nil if there can be none.
	Extra *Shape
	// Prefix are the shapes of the first items of an array, Items that of the
	// other items, nil if they can be anything. Item returns the one at an index.
	Prefix []*Shape
	Items  *Shape
	// Element combines Prefix and Items, for uses without an index.
	Element *Shape
	// Ref is set if the value is a reference.
	Ref *Reference
	// Time reports whether the value is a date-time, which is stored in UTC.
	Time bool
	// Formatted reports whether the value has a format, so that an empty string as a
	// member is an absent one.
	Formatted bool
	// Format is the format that the schema always requires, "" for none.
	Format string
	// Required are the members that the schema always requires. MaxItems, MaxLength and
	// MaxProperties are the least bounds that always apply, 0 for none.
	Required                           []string
	MaxItems, MaxLength, MaxProperties int
	// Text converts text to its stored form; nil leaves it unchanged.
	Text func(string) string
	// Default is the value of an absent member if HasDefault is true.
	Default    any
	HasDefault bool

	ReadOnly, WriteOnly, Secret, Complete, UniqueItems bool
	// Exposed reports whether the schema states explicitly that the value is not
	// secret, so that a former secret is stored in plain text.
	Exposed bool
	// RefusesUnknown reports whether unknown members of the value, and of those within
	// it, are refused unless a request says otherwise.
	RefusesUnknown bool
	// Derived values are computed or completed when the object is read.
	Derived bool
	// Personal values are removed by an erasure of the object, and HasPersonal reports
	// whether the value is or contains one.
	Personal, HasPersonal bool
	// Readable is the permission with which the value is read, "" for that of the type, and
	// HasReadable reports whether the value has one or contains one that has. LeftOut are
	// the members that a shape from Without leaves out.
	Readable    string
	HasReadable bool
	LeftOut     map[string]bool
	// Lookup names the list of the service that contains the object's id.
	Lookup string
	// Keywords are the values of the keywords of the vocabulary that have no field here.
	Keywords map[string]any
	// Was maps values that an enum had before to those that take their places.
	Was map[string]string
	// Fills are the required members with a default that stored objects get if they lack
	// them, in order. AmendsMembers reports whether members or items may differ from what the
	// schema asks of stored values (Amended), and Amends whether the value itself may.
	Fills                 []string
	AmendsMembers, Amends bool
	// HasSecrets reports whether the value is or contains a secret, and HasWriteOnly whether
	// it is or contains one that is WriteOnly.
	HasSecrets, HasWriteOnly bool
	// HasLookups reports whether the value has or contains a Lookup.
	HasLookups bool
	// Plain reports whether clients see the value exactly as it is stored.
	Plain bool
	// Names are the declared members in order, and Empty is the JSON of the value
	// with nothing set. They are set for members of complete objects only.
	Names []string
	Empty []byte
	// Whole are the members that are complete objects, in order. They are
	// returned even if nothing in them is set.
	Whole []string
}

// Reference is the target of an x-ref.
type Reference struct {
	// Type is the stored name of a type.
	Type string
	// Where is a condition that the target must meet.
	Where map[string]string
	// Network is the name of a member of an enclosing object that has the target's
	// network; "" is the network of the object itself.
	Network string
	// Object reports whether only an object {"id"} is a reference, and is stored
	// as one; a string is an ordinary value.
	Object bool
}

// AnyShape is the shape of a value that can be anything.
var AnyShape = &Shape{Plain: true}

// Is reports whether the shape allows a JSON Schema type.
func (s *Shape) Is(name string) bool { return slices.Contains(s.Types, name) }

// Kinds returns the JSON types that the schema names for the value, in alphabetical
// order: "number" includes integers, and null is not a kind. Nil means any.
func (s *Shape) Kinds() []string {
	switch {
	case s.Ref != nil && s.Ref.Object:
		return []string{"object", "string"}
	case s.Ref != nil:
		return []string{"string"}
	}
	var kinds []string
	for _, name := range s.Types {
		if name == "integer" {
			name = "number"
		}
		if name != "null" && !slices.Contains(kinds, name) {
			kinds = append(kinds, name)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// StoredKinds returns the JSON types that a stored value can have, as Kinds does, but also
// where a condition that does not hold for the value names others.
func (s *Shape) StoredKinds() []string {
	if s.Ref != nil {
		return s.Kinds()
	}
	return s.Possible
}

// KindOf returns the kind of a decoded value, "" for null.
func KindOf(value any) string {
	switch value.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case nil:
		return ""
	}
	return "number"
}

// HasMembers reports whether the value can be an object.
func (s *Shape) HasMembers() bool { return takes(s, "object") }

// Member returns the shape of a member, or nil if the member is unknown.
func (s *Shape) Member(name string) *Shape {
	if member, ok := s.Properties[name]; ok {
		return member
	}
	if s.LeftOut[name] {
		return nil
	}
	if !s.describesMembers() {
		return AnyShape
	}
	matched := 0
	for i, pattern := range s.Patterns {
		if pattern.MatchString(name) {
			matched |= 1 << i
		}
	}
	if matched > 0 {
		return s.Matching[matched]
	}
	return s.Extra
}

// describesMembers reports whether the shape restricts members.
func (s *Shape) describesMembers() bool {
	return s.Properties != nil || s.Extra != nil || s.Patterns != nil
}

// Item returns the shape of the item at an index, or nil if it can be anything.
func (s *Shape) Item(i int) *Shape {
	if i < len(s.Prefix) {
		return s.Prefix[i]
	}
	return s.Items
}

// Children calls visit for the shape of each member and item until visit returns
// true, and reports whether it did.
func (s *Shape) Children(visit func(*Shape) bool) bool {
	for _, member := range s.Properties {
		if visit(member) {
			return true
		}
	}
	for _, member := range s.Matching {
		if member != nil && visit(member) {
			return true
		}
	}
	for _, item := range s.Prefix {
		if visit(item) {
			return true
		}
	}
	return s.Extra != nil && visit(s.Extra) || s.Items != nil && visit(s.Items)
}

// All yields the shape, nil for none, and the shapes within it, each once, except AnyShape.
func (s *Shape) All() iter.Seq[*Shape] {
	return func(yield func(*Shape) bool) {
		seen := map[*Shape]bool{nil: true, AnyShape: true}
		var visit func(*Shape) (stop bool)
		visit = func(shape *Shape) bool {
			if seen[shape] {
				return false
			}
			seen[shape] = true
			return !yield(shape) || shape.Children(visit)
		}
		visit(s)
	}
}

// HoldsHidden reports whether the shape, or one within it, is of a value that is not stored in
// plain text, or not shown.
func (s *Shape) HoldsHidden() bool {
	for shape := range s.All() {
		if shape.Secret || shape.WriteOnly || shape.Derived {
			return true
		}
	}
	return false
}

// EmptyForm returns the value with nothing set, as complete objects show it.
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

func takes(shape *Shape, name string) bool {
	return shape == nil || len(shape.Types) == 0 || shape.Is(name)
}

// References calls found for each reference in a stored document, with its
// position, its target and the id and network of that; "" is the network of the
// document.
func (s *Shape) References(object map[string]any, found func(at Pointer, ref *Reference, id, network string)) {
	w := referenceWalk{found: found}
	w.value(s, object, make(Pointer, 0, 16))
}

// Lookups calls found for each object with an id from a list of the service, with
// the position of the id, the name of the list, and the id, which is not an
// integer in an invalid document.
func (s *Shape) Lookups(object map[string]any, found func(at Pointer, list string, id any)) {
	s.lookups(object, make(Pointer, 0, 16), found)
}

func (s *Shape) lookups(value any, at Pointer, found func(Pointer, string, any)) {
	switch v := value.(type) {
	case []any:
		for i, item := range v {
			if inner := s.Item(i); inner != nil && inner.HasLookups {
				inner.lookups(item, at.Index(i), found)
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
		for i, item := range v {
			if inner := shape.Item(i); inner != nil {
				w.value(inner, item, at.Index(i))
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
