package diff

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"marquee/engine/document"
	"marquee/engine/schema/dialect"
)

// digest identifies what a schema says, wherever its definitions are written: schemas with
// the same digest say the same. It is "" if that would take too long to find out.
func (s *side) digest(at place) string {
	digest, _ := s.digestWithin(at, map[place]int{})
	if s.left <= 0 {
		return ""
	}
	return digest
}

// digestWithin is digest within the schemas that are being followed, by their depths.
// Around is the least depth of those that the digest refers to.
func (s *side) digestWithin(at place, within map[place]int) (digest string, around int) {
	if depth, is := within[at]; is {
		return "cycle " + strconv.Itoa(len(within)-depth), depth
	}
	depth := len(within)
	if digest, known := s.digests[at]; known {
		return digest, depth
	}
	if s.left--; s.left <= 0 {
		return "", depth
	}
	content, is := at.content().(map[string]any)
	if !is {
		return string(document.Append(nil, at.content())), depth
	}
	within[at] = depth
	around = depth
	inner := func(p place) string {
		digest, least := s.digestWithin(p, within)
		around = min(around, least)
		return digest
	}
	said := map[string]any{}
	for name, value := range content {
		switch {
		case slices.Contains(annotations, name):
		case name == "$ref":
			ref, _ := value.(string)
			said[name] = inner(s.target(at.file, ref))
		case name == "required" || name == "enum":
			said[name] = inOrder(value)
		default:
			said[name] = digested(at, name, value, inner)
		}
	}
	delete(within, at)
	sum := sha256.Sum256(document.Append(nil, said))
	digest = hex.EncodeToString(sum[:12])
	if around == depth { // it refers to nothing around it
		s.digests[at] = digest
	}
	return digest, around
}

// digested returns the value of a keyword with digests in place of the schemas in it.
func digested(at place, name string, value any, digest func(place) string) any {
	if dialect.FormOf(name) == dialect.NoSchema {
		return value
	}
	digests, list := map[string]any{}, []any{}
	dialect.Applied(name, value, func(below string, _ any) {
		digests[below] = digest(place{at.file, at.pointer + below})
		list = append(list, digests[below])
	})
	if len(list) == 0 {
		return value
	}
	if _, is := value.([]any); is && name != "prefixItems" {
		return inOrder(list)
	}
	return digests
}

// inOrder returns the JSON of each item of a list, in order.
func inOrder(value any) any {
	list, _ := value.([]any)
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i] = string(document.Append(nil, item))
	}
	slices.Sort(texts)
	return document.Array(slices.Compact(texts))
}
