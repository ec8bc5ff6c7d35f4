package document

import "maps"

// Merge returns a stored document, nil for a new object, with a normalised patch
// applied: members of the patch replace stored ones as a whole, and null removes
// them. A new document gets all defaults, a stored one those of removed members.
func Merge(shape *Shape, stored, patch map[string]any) map[string]any {
	merged := maps.Clone(stored)
	if merged == nil {
		merged = make(map[string]any, len(patch)+4)
	}
	for name, value := range patch {
		if value != nil {
			merged[name] = value
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
