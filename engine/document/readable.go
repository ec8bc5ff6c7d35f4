package document

import (
	"maps"
	"slices"
	"strings"
)

// Without returns the shape without the members that are read with permissions which lacks
// reports: such a member is unknown, also in an object that takes any other.
func (s *Shape) Without(lacks func(permission string) bool) *Shape {
	n := narrowing{lacks: lacks, done: map[*Shape]*Shape{}}
	narrowed := n.of(s)
	for _, shape := range n.done {
		if shape.HasDefault {
			shape.Default = Clone(shape.Default)
			shape.Strip(shape.Default)
		}
	}
	for _, shape := range n.done {
		if shape.Empty != nil {
			shape.Empty = Append(nil, shape.EmptyForm())
		}
	}
	return narrowed
}

// narrowing copies the shapes that are or contain members with a permission.
type narrowing struct {
	lacks func(string) bool
	done  map[*Shape]*Shape
}

func (n *narrowing) of(s *Shape) *Shape {
	if s == nil || !s.HasReadable {
		return s
	}
	if done := n.done[s]; done != nil {
		return done
	}
	narrowed := *s
	n.done[s] = &narrowed
	narrowed.Plain = false // so that what is left out is looked for
	if s.Properties != nil {
		narrowed.Properties = make(map[string]*Shape, len(s.Properties))
	}
	for name, member := range s.Properties {
		if member.Readable == "" || !n.lacks(member.Readable) {
			narrowed.Properties[name] = n.of(member)
			continue
		}
		if narrowed.LeftOut == nil {
			narrowed.LeftOut = map[string]bool{}
		}
		narrowed.LeftOut[name] = true
	}
	narrowed.Fills = slices.DeleteFunc(slices.Clone(s.Fills), func(name string) bool { return narrowed.LeftOut[name] })
	isLeftOut := func(name string) bool { return narrowed.LeftOut[name] }
	narrowed.Names = slices.DeleteFunc(slices.Clone(s.Names), isLeftOut)
	narrowed.Whole = slices.DeleteFunc(slices.Clone(s.Whole), isLeftOut)
	narrowed.Required = slices.DeleteFunc(slices.Clone(s.Required), isLeftOut)
	narrowed.Matching, narrowed.Prefix = n.all(s.Matching), n.all(s.Prefix)
	narrowed.Extra, narrowed.Items, narrowed.Element = n.of(s.Extra), n.of(s.Items), n.of(s.Element)
	return &narrowed
}

func (n *narrowing) all(shapes []*Shape) []*Shape {
	narrowed := slices.Clone(shapes)
	for i, shape := range narrowed {
		narrowed[i] = n.of(shape)
	}
	return narrowed
}

// Strip removes from a value, in place, the members that the shape leaves out, and
// x-complete objects with nothing else: these are shown like those that are not set.
func (s *Shape) Strip(value any) {
	if s == nil || !s.HasReadable {
		return
	}
	switch v := value.(type) {
	case []any:
		for i, item := range v {
			s.Item(i).Strip(item)
		}
	case map[string]any:
		for name, member := range v {
			if s.LeftOut[name] {
				delete(v, name)
				continue
			}
			inner := s.Member(name)
			inner.Strip(member)
			if rest, is := member.(map[string]any); is && len(rest) == 0 && inner != nil && inner.HasReadable && inner.Complete {
				delete(v, name)
			}
		}
	}
}

// Unseen returns the part of a JSON Pointer before the first member that the shape leaves
// out, and reports whether there is one.
func (s *Shape) Unseen(pointer string) (before string, unseen bool) {
	for at := 0; s != nil && s.HasReadable && at < len(pointer); {
		token, _, _ := strings.Cut(pointer[at+1:], "/")
		name := UnescapeToken(token)
		if s.LeftOut[name] {
			return pointer[:at], true
		}
		if s.Properties[name] == nil && s.Element != nil {
			s = s.Element
		} else {
			s = s.Member(name)
		}
		at += 1 + len(token)
	}
	return "", false
}

// KeepUnseen returns an object that was merged with what a client has sent, with the stored
// values of the members that the client does not see: those of the shape that seen leaves
// out. Members that were not stored get their defaults if the object around them is new.
// The arguments are not changed; stored is nil for a new object.
func (s *Shape) KeepUnseen(seen *Shape, stored, merged map[string]any) map[string]any {
	if s == seen {
		return merged
	}
	kept := make(map[string]any, len(merged)+1)
	maps.Copy(kept, merged)
	for name, member := range s.Properties {
		was, had := stored[name]
		switch inner := seen.Properties[name]; {
		case inner == member:
		case inner == nil && had:
			kept[name] = was
		case inner == nil && stored == nil && member.HasDefault:
			kept[name] = Clone(member.Default)
		case inner == nil:
			delete(kept, name)
		default:
			before, _ := was.(map[string]any)
			after, is := kept[name].(map[string]any)
			if !is && (kept[name] != nil || !member.Complete || before == nil) {
				continue
			}
			// An x-complete object with nothing set is left out of what a client sends.
			if after = member.KeepUnseen(inner, before, after); len(after) > 0 || is {
				kept[name] = after
			}
		}
	}
	return kept
}
