package diff

import (
	"maps"
	"slices"
	"strconv"

	"marquee/engine/document"
)

// changedRules returns the JSON of the rules that one list has more than another one, and of
// those that it has fewer. Of two rules that differ in their conditions alone, the new one is not
// among them if it concerns fewer objects, nor is the old one if the new one concerns more.
func (c *comparison) changedRules(old, new []place) (added, removed []string) {
	before, after := textsAt(old), textsAt(new)
	var covered []string
	for i, o := range old {
		for j, n := range new {
			if slices.Contains(after, before[i]) || slices.Contains(before, after[j]) || withoutWhen(o.content()) != withoutWhen(n.content()) {
				continue
			}
			fewer, more := c.conditions(o.in("when"), n.in("when"))
			if !more {
				covered = append(covered, after[j])
			}
			if !fewer {
				covered = append(covered, before[i])
			}
		}
	}
	return lost(lost(after, before), covered), lost(lost(before, after), covered)
}

// conditions reports whether the new one of two conditions refuses an object that the old one
// accepts, or may, and the reverse.
func (c *comparison) conditions(old, new place) (fewer, more bool) {
	inner := &comparison{old: c.old, new: c.new, at: c.at, done: map[string]bool{}, left: c.left}
	inner.values(c.old.value(nil, old), c.new.value(nil, new))
	c.left = inner.left
	for _, d := range inner.found {
		fewer = fewer || d.Is(Stored) || d.Is(Request)
		more = more || d.Is(Response)
	}
	return fewer, more
}

// entries returns the places of rules, of which a keyword has one or a list.
func entries(list []stated) (places []place) {
	for _, s := range list {
		rules, is := s.value.([]any)
		for i := range rules {
			places = append(places, s.at.in(strconv.Itoa(i)))
		}
		if !is {
			places = append(places, s.at)
		}
	}
	return places
}

// textsAt returns the JSON at places.
func textsAt(places []place) (texts []string) {
	for _, p := range places {
		texts = append(texts, string(document.Append(nil, p.content())))
	}
	return texts
}

// withoutWhen returns the JSON of a rule without its condition. Unique values can be written in
// three ways.
func withoutWhen(rule any) string {
	if members, is := rule.(map[string]any); is {
		members = maps.Clone(members)
		delete(members, "when")
		if rule = members; len(members) == 1 && members["properties"] != nil {
			rule = members["properties"]
		}
	}
	if list, is := rule.([]any); is && len(list) == 1 {
		rule = list[0]
	}
	return string(document.Append(nil, rule))
}
