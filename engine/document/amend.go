package document

import "maps"

// Amended returns a stored object as the schema asks for it, with the values that take the
// places of former ones (Was), and the required members of objects that it lacks and that have
// a default (Fills). It reports whether that differs from what is stored. It shares memory with
// the object, which it leaves as it is. An erased object is not given personal values again.
func (s *Shape) Amended(object map[string]any, erased bool) (map[string]any, bool) {
	return s.amendedObject(object, func(member *Shape) bool { return !erased || !member.HasPersonal })
}

// Current is Amended without the members that an object lacks.
func (s *Shape) Current(object map[string]any) (map[string]any, bool) {
	return s.amendedObject(object, func(*Shape) bool { return false })
}

// amended is Amended for a value. It fills in those of the Fills that are chosen.
func (s *Shape) amended(value any, fills func(*Shape) bool) (any, bool) {
	if s == nil || !s.Amends {
		return value, false
	}
	switch v := value.(type) {
	case string:
		if to, was := s.Was[v]; was {
			return to, true
		}
	case map[string]any:
		return s.amendedObject(v, fills)
	case []any:
		var items []any
		for i, item := range v {
			amended, differs := s.Item(i).amended(item, fills)
			if !differs {
				continue
			}
			if items == nil {
				items = append(items, v...)
			}
			items[i] = amended
		}
		if items != nil {
			return items, true
		}
	}
	return value, false
}

func (s *Shape) amendedObject(object map[string]any, fills func(*Shape) bool) (map[string]any, bool) {
	var amended map[string]any
	set := func(name string, value any) {
		if amended == nil {
			amended = maps.Clone(object)
		}
		amended[name] = value
	}
	for _, name := range s.Fills {
		member := s.Properties[name]
		if _, there := object[name]; !there && fills(member) {
			set(name, Clone(member.Default))
		}
	}
	if s.AmendsMembers {
		for name, value := range object {
			if other, differs := s.Member(name).amended(value, fills); differs {
				set(name, other)
			}
		}
	}
	if amended == nil {
		return object, false
	}
	return amended, true
}
