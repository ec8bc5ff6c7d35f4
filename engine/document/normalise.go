package document

import "marquee/engine/message"

// Normaliser converts values sent by clients to the form in which they are
// stored.
type Normaliser struct {
	// Unknown is called for each unknown property, which is removed, with whether the
	// schema refuses it.
	Unknown func(at Pointer, refused bool)
	// Fault is called for each invalid value.
	Fault func(*message.Definition, Pointer, message.Params)

	// closed counts the enclosing values whose unknown members are refused.
	closed int
}

// Object normalises an object in place. It removes unknown and read-only members,
// nested members that are null although the schema does not allow null, and empty
// members of complete objects; it treats an empty string in a member with a format as
// null; it replaces references by ids, converts date-times
// to UTC, and fills in nested defaults. A top-level member that becomes empty is
// set to nil.
func (n *Normaliser) Object(shape *Shape, object map[string]any) {
	n.members(shape, object, make(Pointer, 0, 16), true)
}

func (n *Normaliser) members(shape *Shape, object map[string]any, at Pointer, top bool) {
	if !shape.describesMembers() {
		return
	}
	for name, value := range object {
		member := shape.Member(name)
		blank := value == "" && member != nil && member.Formatted
		switch {
		case member == nil:
			n.Unknown(at.At(name), n.closed > 0)
			delete(object, name)
		case member.ReadOnly:
			delete(object, name)
		case blank && top:
			object[name] = nil
		case blank:
			delete(object, name)
		case value == nil && top:
		case value == nil && len(member.Types) > 0 && !member.Is("null"):
			delete(object, name)
		default:
			was := value
			value = n.value(member, value, at.At(name))
			_, declared := shape.Properties[name]
			switch {
			case value == nil && was != nil && !declared:
				object[name] = map[string]any{} // empty, but the name itself is data
			case value == nil && !top && member.Complete:
				delete(object, name)
			default:
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
	if shape.RefusesUnknown {
		n.closed++
		defer func() { n.closed-- }()
	}
	switch v := value.(type) {
	case string:
		if shape.Time {
			if canonical, ok := CanonicalTime(v); ok {
				return canonical
			}
		}
		if shape.Text != nil {
			return shape.Text(v)
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
	for i, item := range items {
		inner := shape.Item(i)
		if inner == nil {
			continue
		}
		items[i] = n.value(inner, item, at.Index(i))
		if items[i] == nil && item != nil {
			items[i] = map[string]any{} // empty, but the other items keep their indexes
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

// prune removes the empty members of a complete object: empty arrays, nulls, and
// objects whose members are all empty or equal to their defaults.
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
			return false // invalid, which validation reports
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
