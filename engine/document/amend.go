package document

import "maps"

// Amended returns a stored value as the schema asks for it, with the values that take the
// places of former ones (Was), and the required members of objects that it lacks and that have
// a default (Fills). It reports whether that differs from what is stored. It shares memory with
// the value, which it leaves as it is. An erased object is not given personal values again.
func (s *Shape) Amended(value any, erased bool) (any, bool) {
	if erased {
		return s.amended(value, fillOthers)
	}
	return s.amended(value, fillAll)
}

// Current is Amended without the members that a value lacks.
func (s *Shape) Current(value any) (any, bool) { return s.amended(value, fillNone) }

// fill says which members an amended value gets.
type fill int

const (
	fillAll    fill = iota
	fillOthers      // those that are not personal
	fillNone
)

func (s *Shape) amended(value any, fills fill) (any, bool) {
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

func (s *Shape) amendedObject(object map[string]any, fills fill) (any, bool) {
	var amended map[string]any
	set := func(name string, value any) {
		if amended == nil {
			amended = maps.Clone(object)
		}
		amended[name] = value
	}
	for _, name := range s.Fills {
		member := s.Properties[name]
		if _, there := object[name]; !there && fills != fillNone && !(fills == fillOthers && member.HasPersonal) {
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
