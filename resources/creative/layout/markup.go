package layout

import (
	"context"
	"strings"

	"golang.org/x/net/html"
)

// markup parses html and finds the place of every slot. It tracks just enough of a
// browser's tree to notice where a browser could parse the rest differently; after
// that, it refuses slots.
type markup struct {
	builder
	blank string // the html with letters in place of slots
	slots []slot // the slots without a place so far

	ambiguous bool
	foreign   []string // open elements from the outermost svg or math
	selecting bool     // in a select
	template  bool     // a template element was seen
	noscript  bool
	raw       string // the element whose text follows, if that is not markup
	rawScript bool   // whether that text is a script that may have slots
}

// checkEvery is the number of tokens between two checks of the context.
const checkEvery = 256

// placeSlots finds the place of each slot. The only possible error is that of the
// context.
func placeSlots(ctx context.Context, text string, slots []slot) (*markup, error) {
	m := &markup{builder: builder{html: text}, blank: blank(text, slots), slots: slots}
	tokens := html.NewTokenizer(strings.NewReader(m.blank))
	at := 0
	for n := 0; ; n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
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
	return m, nil
}

func (m *markup) token(kind html.TokenType, tokens *html.Tokenizer, start, end int) {
	m.steps += end - start
	slots := m.within(m.slots, start, end)
	m.slots = m.slots[len(slots):]
	raw := m.raw
	m.raw = ""
	if m.noscript && strings.LastIndexByte(m.blank[start:end], '<') > 0 || raw != "" && m.noscript && m.blank[start] == '<' {
		// With scripting, noscript contains text, and might end within this token.
		m.ambiguous = true
	}
	switch kind {
	case html.TextToken:
		if raw != "" {
			m.rawText(raw, start, end, slots)
		} else {
			m.text(start, slots)
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

// text places slots in text in which character references are resolved.
func (m *markup) text(start int, slots []slot) {
	for i := range slots {
		s := &slots[i]
		switch {
		case m.ambiguous:
			m.refuse(AmbiguousPlace, slots[i:i+1])
		case m.inReference(m.html[max(start, m.at):s.start]):
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

// slotless returns html[start:end) without its slots.
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
		// In svg and math, these elements contain markup.
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
		m.text(start, slots)
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
