package document

import (
	"strconv"
	"strings"
)

// Erase removes the personal values within a value of the shape, in place, and reports
// whether there were any. A value that is personal as a whole is for the caller to remove.
func (s *Shape) Erase(value any) (erased bool) {
	if s == nil || !s.HasPersonal {
		return false
	}
	switch v := value.(type) {
	case []any:
		for i, item := range v {
			erased = s.Item(i).Erase(item) || erased
		}
	case map[string]any:
		for name, member := range v {
			inner := s.Member(name)
			if inner != nil && inner.Personal {
				delete(v, name)
				erased = true
				continue
			}
			erased = inner.Erase(member) || erased
		}
	}
	return erased
}

// IsPersonal reports whether the value at a JSON Pointer is personal, or within one that is.
func (s *Shape) IsPersonal(pointer string) bool {
	for _, token := range strings.Split(pointer, "/")[1:] {
		name := UnescapeToken(token)
		_, err := strconv.Atoi(name)
		switch isItem := err == nil && s.Properties[name] == nil && s.Element != nil; {
		case isItem:
			s = s.Element
		default:
			s = s.Member(name)
		}
		if s == nil || s.Personal {
			return s != nil
		}
	}
	return false
}
