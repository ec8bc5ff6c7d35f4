package document

import "maps"

// Amended returns a stored value as the schema asks for it, with the required members of
// objects that it lacks and that have a default (Fills), and reports whether it differs
// from what is stored. It shares memory with the value, which it leaves as it is. An erased
// object is not given personal values again.
func (s *Shape) Amended(value any, erased bool) (any, bool) {
	if s == nil || !s.Amends {
		return value, false
	}
	switch v := value.(type) {
	case map[string]any:
		return s.amendedObject(v, erased)
	case []any:
		var items []any
		for i, item := range v {
			amended, differs := s.Item(i).Amended(item, erased)
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

func (s *Shape) amendedObject(object map[string]any, erased bool) (any, bool) {
	var amended map[string]any
	set := func(name string, value any) {
		if amended == nil {
			amended = maps.Clone(object)
		}
		amended[name] = value
	}
	for _, name := range s.Fills {
		member := s.Properties[name]
		if _, there := object[name]; !there && !(erased && member.HasPersonal) {
			set(name, Clone(member.Default))
		}
	}
	if s.AmendsMembers {
		for name, value := range object {
			if other, differs := s.Member(name).Amended(value, erased); differs {
				set(name, other)
			}
		}
	}
	if amended == nil {
		return object, false
	}
	return amended, true
}
