package layout

import (
	"golang.org/x/net/html"
)

func (m *markup) startTag(tokens *html.Tokenizer, selfClosing bool, start, end int, slots []slot) {
	attributes := readTag(m.blank, start, end)
	nameBytes, more := tokens.TagName()
	name := string(nameBytes)
	for i := range attributes {
		// The two readers of tags must agree; this one alone knows offsets.
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
		m.rawScript = name == "script" && isScript(m.blank, attributes)
	}
	m.attributes(name, attributes, slots)
}

func isScript(html string, attributes []attribute) bool {
	kind, ok := valueOf(html, attributes, "type")
	if _, old := valueOf(html, attributes, "language"); old {
		return false
	}
	return !ok || scriptTypes[kind]
}

// open follows a start tag. Whether an element's text is markup depends on the
// tree in a few places, and in each of them the reading here stays the same as
// a browser's or is given up.
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
