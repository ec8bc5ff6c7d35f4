package layout

import (
	"html"
	"regexp"
	"strings"
)

// attributes places the slots of a start tag.
func (m *markup) attributes(t *tag, slots []slot) {
	for i := range t.attributes {
		if len(slots) == 0 {
			return
		}
		a := &t.attributes[i]
		before := m.within(slots, 0, a.start)
		m.refuse(UnsafePlace, before)
		slots = slots[len(before):]
		inside := m.within(slots, a.start, a.end)
		slots = slots[len(inside):]
		switch {
		case len(inside) == 0:
		case m.ambiguous:
			m.refuse(AmbiguousPlace, inside)
		case a.repeated || refusedElements[t.element] || a.quote == 0 && strings.ContainsAny(m.html[a.start:a.end], "\"'`<="):
			m.refuse(UnsafePlace, inside)
		default:
			m.quoted(t, a, inside)
		}
	}
	m.refuse(UnsafePlace, slots)
}

// quoted places the slots of a value, and quotes the value if the layout does not.
func (m *markup) quoted(t *tag, a *attribute, slots []slot) {
	if a.quote == 0 {
		m.upTo(a.start)
		m.pieces = append(m.pieces, piece{literal: `"`})
	}
	m.value(t, a, slots)
	if a.quote == 0 {
		m.upTo(a.end)
		m.pieces = append(m.pieces, piece{literal: `"`})
	}
}

func (m *markup) value(t *tag, a *attribute, slots []slot) {
	at := a.start
	for i := range slots {
		if m.inReference(m.html[at:slots[i].start]) {
			m.refuse(UnsafePlace, slots)
			return
		}
		at = slots[i].end
	}
	text := m.html[a.start:a.end]
	foreign := len(m.foreign) > 0 || t.element == "svg" || t.element == "math"
	switch {
	case strings.HasPrefix(a.name, "on") && !strings.ContainsAny(a.name, ":-") && !strings.Contains(text, "&"):
		m.script(a.start, a.end, slots, true)
	case a.name == "style" && !strings.Contains(text, "&"):
		m.style(a.start, a.end, slots, true)
	case t.element == "meta":
		m.meta(t, a, slots)
	case isURLAttribute(a.name) && (!foreign || t.element == "a" || t.element == "image"):
		m.address(a.start, a.end, slots, false)
	case srcsetAttributes[a.name]:
		m.srcset(a.start, a.end, slots)
	case isTextAttribute(a.name):
		for i := range slots {
			m.slot(&slots[i], placeText)
		}
	default:
		m.refuse(UnsafePlace, slots)
	}
}

var refresh = regexp.MustCompile(`^(?i)\s*[0-9]+\s*;\s*url\s*=\s*`)

// meta allows slots in descriptions of the page and in the URL of a refresh.
func (m *markup) meta(t *tag, a *attribute, slots []slot) {
	switch {
	case a.name != "content":
		m.refuse(UnsafePlace, slots)
	case !t.isDirective:
		for i := range slots {
			m.slot(&slots[i], placeText)
		}
	case t.directive == "refresh":
		start := a.start + len(refresh.FindString(m.blank[a.start:a.end]))
		if start == a.start || start > slots[0].start || strings.ContainsAny(m.html[start:a.end], `"'&`) {
			m.refuse(UnsafePlace, slots)
			return
		}
		m.address(start, a.end, slots, false)
	default:
		m.refuse(UnsafePlace, slots)
	}
}

// address places slots in the URL at html[start:end).
func (m *markup) address(start, end int, slots []slot, list bool) {
	u := &url{list: list}
	m.compose(u, start, end, slots, html.UnescapeString)
}

func (m *markup) compose(u *url, start, end int, slots []slot, decode func(string) string) {
	var sample strings.Builder
	at, where := start, placeURLPath
	literal := func(to int) {
		if to > at {
			text := decode(m.html[at:to])
			u.parts = append(u.parts, piece{literal: text})
			sample.WriteString(text)
			if strings.ContainsAny(text, "?#") {
				where = placeURLQuery
			}
		}
	}
	for i := range slots {
		literal(slots[i].start)
		if len(u.parts) == 0 {
			sample.WriteString("https://x")
		}
		u.parts = append(u.parts, piece{slot: &slots[i], place: where})
		sample.WriteString("x")
		at = slots[i].end
	}
	literal(end)
	if !SafeURL(sample.String()) || strings.ContainsAny(sample.String(), " ") {
		m.refuse(UnsafeURL, slots)
		return
	}
	m.url(u, start, end)
}

// srcset places slots in the URLs of a list, but not in their descriptors.
func (m *markup) srcset(start, end int, slots []slot) {
	text := m.blank
	if strings.ContainsAny(text[start:end], "()&") {
		m.refuse(UnsafePlace, slots)
		return
	}
	for at := start; at < end; {
		for at < end && strings.IndexByte(htmlSpace+",", text[at]) >= 0 {
			at++
		}
		from := at
		for at < end && strings.IndexByte(htmlSpace, text[at]) < 0 {
			at++
		}
		to := at
		for to > from && text[to-1] == ',' {
			to--
		}
		inside := m.within(slots, from, to)
		slots = slots[len(inside):]
		switch {
		case len(inside) == 0:
		case strings.Contains(text[from:to], ","):
			// The standard reads one URL, other parsers two.
			m.refuse(UnsafePlace, inside)
		default:
			m.address(from, to, inside, true)
		}
		if to == at {
			for at < end && text[at] != ',' {
				at++
			}
		}
		inside = m.within(slots, from, at)
		slots = slots[len(inside):]
		m.refuse(UnsafePlace, inside)
	}
}
