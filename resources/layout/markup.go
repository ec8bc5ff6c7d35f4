package layout

import (
	"strings"

	"golang.org/x/net/html"
)

// markup reads html and finds the place of every slot. It keeps just enough of
// the state of a browser's tree to know where the browser would leave the
// reading that is done here; from there on, slots are refused.
type markup struct {
	builder
	blank string // the html, letters instead of slots
	slots []slot // those that are not placed yet

	ambiguous bool
	foreign   []string // open elements from the outermost svg or math
	selecting bool     // in a select
	template  bool     // a template element was seen
	noscript  bool
	raw       string // the element whose text comes next, if it is not markup
	rawScript bool   // whether that text is a script that slots may stand in
}

func placeSlots(text string, slots []slot) ([]piece, []faultAt) {
	m := &markup{builder: builder{html: text}, blank: blank(text, slots), slots: slots}
	tokens := html.NewTokenizer(strings.NewReader(m.blank))
	at := 0
	for {
		kind := tokens.Next()
		end := at + len(tokens.Raw())
		if kind == html.ErrorToken {
			break
		}
		m.token(kind, tokens, at, end)
		at = end
	}
	m.refuse(UnsafePlace, m.slots)
	m.upTo(len(text))
	return m.pieces, m.faults
}

func (m *markup) token(kind html.TokenType, tokens *html.Tokenizer, start, end int) {
	slots := within(m.slots, start, end)
	m.slots = m.slots[len(slots):]
	raw := m.raw
	m.raw = ""
	if m.noscript && strings.LastIndexByte(m.blank[start:end], '<') > 0 || raw != "" && m.noscript && m.blank[start] == '<' {
		// With scripting, noscript is text and might end within this token.
		m.ambiguous = true
	}
	switch kind {
	case html.TextToken:
		if raw != "" {
			m.rawText(raw, start, end, slots)
		} else {
			m.text(start, end, slots)
		}
	case html.StartTagToken, html.SelfClosingTagToken:
		m.startTag(tokens, kind == html.SelfClosingTagToken, start, end, slots)
	case html.EndTagToken:
		name, _ := tokens.TagName()
		m.endTag(string(name))
		m.refuse(UnsafePlace, slots)
	case html.CommentToken:
		m.comment(start, end, slots)
	default:
		m.refuse(UnsafePlace, slots)
	}
}

// text places slots in text that is markup, or in which at least character
// references are read.
func (m *markup) text(start, end int, slots []slot) {
	for i := range slots {
		s := &slots[i]
		switch {
		case m.ambiguous:
			m.refuse(AmbiguousPlace, slots[i:i+1])
		case inReference(m.html[max(start, m.at):s.start]):
			m.refuse(UnsafePlace, slots[i:i+1])
		default:
			m.slot(s, placeText)
		}
	}
}

func (m *markup) comment(start, end int, slots []slot) {
	whole := slotless(m.html, start, end, slots)
	for _, text := range []string{m.blank[start:end], whole} {
		inner, open := strings.CutPrefix(text, "<!--")
		inner, closed := strings.CutSuffix(inner, "-->")
		switch {
		case strings.HasPrefix(text, "<![CDATA["):
			m.ambiguous = true
		case !open:
			m.refuse(UnsafePlace, slots)
			return
		case !closed, strings.HasPrefix(inner, ">"), strings.HasPrefix(inner, "->"),
			strings.Contains(inner, "-->"), strings.Contains(inner, "--!>"), strings.Contains(inner, "<!--"):
			m.ambiguous = true
		}
	}
	if m.ambiguous {
		m.refuse(AmbiguousPlace, slots)
		return
	}
	for i := range slots {
		m.slot(&slots[i], placeComment)
	}
}

// slotless answers html[start:end) with all of its slots empty.
func slotless(html string, start, end int, slots []slot) string {
	var b strings.Builder
	for _, s := range slots {
		b.WriteString(html[start:s.start])
		start = s.end
	}
	b.WriteString(html[start:end])
	return b.String()
}

func (m *markup) rawText(name string, start, end int, slots []slot) {
	text := m.blank[start:end]
	switch {
	case len(m.foreign) > 0 && strings.Contains(text, "<"):
		// In svg and math these elements hold markup.
		m.ambiguous = true
	case name == "script" && strings.Contains(text, "<!--") && strings.Contains(strings.ToLower(text), "<script"):
		m.ambiguous = true
	}
	switch {
	case len(slots) == 0:
	case m.ambiguous:
		m.refuse(AmbiguousPlace, slots)
	case name == "title" || name == "textarea":
		if strings.Contains(text, "<") {
			m.refuse(UnsafePlace, slots)
			return
		}
		m.text(start, end, slots)
	case len(m.foreign) > 0:
		m.refuse(UnsafePlace, slots)
	case name == "script" && m.rawScript:
		m.script(start, end, slots, false)
	case name == "style":
		m.style(start, end, slots, false)
	default:
		m.refuse(UnsafePlace, slots)
	}
}
