package keyword

import (
	"slices"

	"marquee/engine/document"
)

// Renamed returns the rule for objects whose top-level properties have other names. Stored
// returns the other name of each, and meets evaluates the condition for these objects.
func (r *ClaimRule) Renamed(stored func(string) string, meets Condition) *ClaimRule {
	renamed := *r
	renamed.Properties = slices.Clone(r.Properties)
	for i, path := range renamed.Properties {
		renamed.Properties[i] = document.RenamedPath(path, stored)
	}
	slices.Sort(renamed.Properties)
	renamed.From, renamed.To = stored(r.From), stored(r.To)
	if len(r.When) > 0 {
		when, err := document.Decode(r.When, document.Limits{})
		if err != nil {
			return &renamed // which NewClaimRule excludes
		}
		renamed.When, renamed.Meets = document.Append(nil, renamedCondition(when, stored)), meets
	}
	return &renamed
}

// renamedCondition returns a condition that LintStored accepts with other names of the
// properties that it reads.
func renamedCondition(when any, name func(string) string) any {
	members, is := when.(map[string]any)
	if !is {
		return when
	}
	renamed := make(map[string]any, len(members))
	for keyword, value := range members {
		switch v := value.(type) {
		case []any:
			list := slices.Clone(v)
			for i, item := range list {
				if text, required := item.(string); required && keyword == "required" {
					list[i] = name(text)
				} else {
					list[i] = renamedCondition(item, name)
				}
			}
			value = list
		case map[string]any:
			if keyword == "properties" || keyword == "dependentRequired" || keyword == "dependentSchemas" {
				value = renamedMembers(keyword, v, name)
			} else {
				value = renamedCondition(v, name)
			}
		}
		renamed[keyword] = value
	}
	return renamed
}

// renamedMembers returns the value of a keyword whose members are properties. What it says of
// the values in properties stays as it is.
func renamedMembers(keyword string, members map[string]any, name func(string) string) map[string]any {
	renamed := make(map[string]any, len(members))
	for property, value := range members {
		switch keyword {
		case "dependentRequired":
			value, _ = renamedCondition(map[string]any{"required": value}, name).(map[string]any)["required"]
		case "dependentSchemas":
			value = renamedCondition(value, name)
		}
		renamed[name(property)] = value
	}
	return renamed
}
