package diff

import (
	"slices"
	"strings"

	"marquee/engine/document"
)

// judging are the keywords by which an object judges members that their schemas mention, and
// judgingAll those by which an object or array judges everything in it.
var (
	judging    = []string{"not", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas"}
	judgingAll = []string{"contains", "unevaluatedProperties", "unevaluatedItems", "uniqueItems"}
)

// judges reports whether keywords of an object or array may refuse it because of a member, ""
// for any of them or an item. What they refer to may mention each.
func (v value) judges(member string, keywords ...string) bool {
	name := string(document.AppendString(nil, member))
	return slices.ContainsFunc(keywords, func(keyword string) bool {
		return slices.ContainsFunc(v.all(keyword), func(s stated) bool {
			text := string(document.Append(nil, s.value))
			return member == "" || strings.Contains(text, name) || strings.Contains(text, `"$ref"`)
		})
	})
}

// within compares the values of a member of an object, or of an array's items.
func (c *comparison) within(around value, member string, old, new value) {
	outside := c.judged
	c.judged = outside || around.judges(member, judging...) || around.judges("", judgingAll...)
	c.values(old, new)
	c.judged = outside
}
