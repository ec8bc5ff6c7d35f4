package document

import "maps"

// Merge returns a stored document, nil for a new object, with a normalised patch
// applied: members of the patch replace stored ones as a whole, and null removes
// them. A member that is sent as the client sees it, with or without its secrets, keeps
// what is hidden in it. A new document gets all defaults, a stored one those of removed
// members.
func Merge(shape *Shape, stored, patch map[string]any, hidesSecrets bool) map[string]any {
	merged := maps.Clone(stored)
	if merged == nil {
		merged = make(map[string]any, len(patch)+4)
	}
	seen := sight{hidesSecrets}
	for name, value := range patch {
		if value != nil {
			if !seen.same(shape.Member(name), stored[name], value) {
				merged[name] = value
			}
			continue
		}
		delete(merged, name)
		if member := shape.Properties[name]; stored != nil && member != nil && member.HasDefault {
			merged[name] = Clone(member.Default)
		}
	}
	if stored == nil {
		fillDefaults(shape, merged)
	}
	return merged
}

// sight is what a client sees of stored values.
type sight struct{ hidesSecrets bool }

// same reports whether a normalised value is what the client sees of a stored one: equal
// but for hidden and read-only members, and for defaults that are not stored because the
// schema did not have them yet.
func (v sight) same(shape *Shape, stored, sent any) bool {
	if shape == nil {
		return Equal(stored, sent)
	}
	switch stored := stored.(type) {
	case []any:
		items, is := sent.([]any)
		if !is || len(items) != len(stored) {
			return false
		}
		for i, item := range stored {
			if !v.same(shape.Item(i), item, items[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		members, is := sent.(map[string]any)
		return is && v.sameMembers(shape, stored, members)
	}
	return Equal(stored, sent)
}

func (v sight) sameMembers(shape *Shape, stored, sent map[string]any) bool {
	for name, value := range stored {
		member := shape.Member(name)
		now, given := sent[name]
		switch hidden := member == nil || member.WriteOnly || member.Secret && v.hidesSecrets; {
		case member != nil && member.ReadOnly, hidden && !given:
		case !given || !v.same(member, value, now):
			return false
		}
	}
	for name, value := range sent {
		member := shape.Properties[name]
		if _, had := stored[name]; !had && (member == nil || !member.HasDefault || !Equal(member.Default, value)) {
			return false
		}
	}
	return true
}

// MergePatch returns a value with a merge patch applied (RFC 7396): the members of
// objects are merged at every depth, null removes a member, and any other value replaces
// the one before. A member that a complete object lacks is merged as it is shown, with
// nothing set. The shape may be nil. The result shares no memory with the arguments.
func MergePatch(shape *Shape, value, patch any) any {
	members, is := patch.(map[string]any)
	if !is {
		return Clone(patch)
	}
	object, _ := value.(map[string]any)
	merged := make(map[string]any, len(object)+len(members))
	for name, kept := range object {
		if _, patched := members[name]; !patched {
			merged[name] = Clone(kept)
		}
	}
	for name, member := range members {
		if member == nil {
			continue
		}
		var inner *Shape
		if shape != nil {
			inner = shape.Member(name)
		}
		before, set := object[name]
		if !set && inner != nil && shape.Complete {
			before = inner.EmptyForm()
		}
		merged[name] = MergePatch(inner, before, member)
	}
	return merged
}
