package layout

import (
	"golang.org/x/net/html"
)

func (m *markup) startTag(tokens *html.Tokenizer, selfClosing bool, start, end int, slots []slot) {
	attributes := readTag(m.blank, start, end)
	m.steps += end - start
	nameBytes, more := tokens.TagName()
	name := string(nameBytes)
	for i := range attributes {
		// The tokenizer must agree with readTag, which alone has the offsets.
		if attributes[i].repeated {
			continue
		}
		var key []byte
		if more {
			key, _, more = tokens.TagAttr()
		}
		if string(key) != attributes[i].name {
			m.ambiguous = true
		}
	}
	if more {
		m.ambiguous = true
	}
	m.open(name, selfClosing)
	if name == "noscript" && !m.ambiguous {
		tokens.NextIsNotRawText()
		m.noscript = true
	}
	if rawElements[name] && name != "noscript" {
		m.raw = name
		m.rawScript = name == "script" && m.isScript(attributes)
	}
	if len(slots) > 0 {
		t := &tag{element: name, attributes: attributes}
		t.directive, t.isDirective = m.valueOf(attributes, "http-equiv")
		m.attributes(t, slots)
	}
}

func (m *markup) isScript(attributes []attribute) bool {
	kind, ok := m.valueOf(attributes, "type")
	if _, old := m.valueOf(attributes, "language"); old {
		return false
	}
	return !ok || scriptTypes[kind]
}

// open records a start tag. In a few cases the tree decides whether the text of an
// element is markup; there, the result is the same as a browser's, or ambiguous.
func (m *markup) open(name string, selfClosing bool) {
	foreign := len(m.foreign) > 0
	switch {
	case name == "frameset":
		m.ambiguous = true
	case name == "template":
		m.template = true
	case name == "col" && m.template:
		m.ambiguous = true
	}
	if m.selecting && name != "option" && name != "optgroup" && name != "hr" {
		m.ambiguous = true
	}
	if name == "select" {
		m.selecting = true
	}
	if foreign {
		allowedRaw := name == "style" || name == "script" || name == "title"
		if breakouts[name] || rawElements[name] && (!allowedRaw || selfClosing) {
			m.ambiguous = true
		}
	}
	if (foreign || name == "svg" || name == "math") && !selfClosing {
		m.foreign = append(m.foreign, name)
	}
}

func (m *markup) endTag(name string) {
	if name == "noscript" {
		m.noscript = false
	}
	if m.selecting {
		switch name {
		case "select":
			m.selecting = false
		case "option", "optgroup":
		default:
			m.ambiguous = true
		}
	}
	if last := len(m.foreign) - 1; last >= 0 {
		if m.foreign[last] != name {
			m.ambiguous = true
		}
		m.foreign = m.foreign[:last]
	}
}
