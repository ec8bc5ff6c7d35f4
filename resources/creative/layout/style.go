package layout

import "strings"

// styleReader reads the tokens of a style until it is uncertain of one.
type styleReader struct {
	m       *markup
	start   int
	at, end int
	slots   []slot
	least   int // how deep in braces declarations are
	braces  int
	parens  int
	value   bool // after the colon of a declaration
	rule    bool // in the head of an at-rule
	raw     bool
	lost    bool
}

// style places slots in the style at html[start:end): in the values of
// declarations, within a string or a URL, or as a keyword, number or colour.
func (m *markup) style(start, end int, slots []slot, attribute bool) {
	text := strings.ToLower(m.blank[start:end])
	for _, refused := range []string{"\\", "<", "-->", "@import", "expression", "behavior", "binding"} {
		if strings.Contains(text, refused) {
			m.refuse(UnsafePlace, slots)
			return
		}
	}
	r := styleReader{m: m, start: start, at: start, end: end, slots: slots, least: 1, raw: !attribute}
	if attribute {
		r.least = 0
	}
	for r.at < r.end && !r.lost && len(r.slots) > 0 {
		r.token()
	}
	m.refuse(AmbiguousPlace, r.slots)
}

func (r *styleReader) token() {
	text := r.m.blank[:r.end]
	c := text[r.at]
	switch {
	case r.slots[0].start == r.at:
		r.slot()
		return
	case c == '"' || c == '\'':
		r.string(c)
		return
	case strings.HasPrefix(text[r.at:], "/*"):
		length := strings.Index(text[r.at+2:], "*/")
		if length < 0 {
			r.lost = true
			return
		}
		r.skip(r.at + length + 4)
		return
	case r.isURL():
		r.address()
		return
	}
	r.at++
	switch c {
	case '(', '[':
		r.parens++
	case ')', ']':
		r.parens--
		r.lost = r.parens < 0
	case '{', '}':
		r.braces++
		if c == '}' {
			r.braces -= 2
		}
		r.lost = r.parens != 0 || r.braces < 0
		r.value, r.rule = false, false
	case ';':
		if r.parens == 0 {
			r.value, r.rule = false, false
		}
	case ':':
		if r.parens == 0 && r.braces >= r.least {
			r.value = true
		}
	case '@':
		r.rule = true
	}
}

func (r *styleReader) skip(to int) {
	inside := r.m.within(r.slots, 0, to)
	r.m.refuse(UnsafePlace, inside)
	r.slots = r.slots[len(inside):]
	r.at = to
}

// slot places a slot that is part of a value. Adjacent text must not turn it into
// another token, such as a comment, a function or a property.
func (r *styleReader) slot() {
	s := &r.slots[0]
	before, after := byte(' '), byte(';')
	if s.start > r.start {
		before = r.m.blank[s.start-1]
	}
	unit := s.end
	for unit < r.end && (isLetter(r.m.blank[unit]) || r.m.blank[unit] == '%') {
		unit++
	}
	if unit < r.end {
		after = r.m.blank[unit]
	}
	adjacent := len(r.slots) > 1 && r.slots[1].start <= unit
	if !r.value || r.rule || adjacent || strings.IndexByte(htmlSpace+":,(#", before) < 0 ||
		strings.IndexByte(htmlSpace+";,)!}", after) < 0 {
		r.skip(s.end)
		return
	}
	r.m.slot(s, placeCSSValue)
	r.slots = r.slots[1:]
	r.at = s.end
}

func (r *styleReader) string(quote byte) {
	start := r.at + 1
	length := strings.IndexAny(r.m.blank[start:r.end], string(quote)+"\n\r\f")
	if length < 0 || r.m.blank[start+length] != quote {
		r.lost = true
		return
	}
	end := start + length
	if !r.value || r.rule || r.parens > 0 {
		r.skip(end + 1)
		return
	}
	for len(r.slots) > 0 && r.slots[0].start < end {
		r.m.slot(&r.slots[0], placeCSSString)
		r.slots = r.slots[1:]
	}
	r.at = end + 1
}

// isURL reports whether `url(` begins at the current offset.
func (r *styleReader) isURL() bool {
	const name = "url("
	text := r.m.blank[:r.end]
	if len(text)-r.at < len(name) || !strings.EqualFold(text[r.at:r.at+len(name)], name) {
		return false
	}
	if r.at == r.start {
		return true
	}
	before := text[r.at-1]
	return !isWord(before) && before != '-' && before < 0x80
}

func (r *styleReader) address() {
	text := r.m.blank[:r.end]
	start := r.at + len("url(")
	for start < r.end && strings.IndexByte(htmlSpace, text[start]) >= 0 {
		start++
	}
	stops := htmlSpace + `()"'`
	if start < r.end && (text[start] == '"' || text[start] == '\'') {
		stops = string(text[start]) + "\n\r\f"
		start++
	}
	length := strings.IndexAny(text[start:], stops)
	if length < 0 {
		r.lost = true
		return
	}
	end := start + length
	next := end
	if quote := stops[0]; quote == '"' || quote == '\'' {
		if text[end] != quote {
			r.lost = true
			return
		}
		next++
	}
	for next < r.end && strings.IndexByte(htmlSpace, text[next]) >= 0 {
		next++
	}
	if next >= r.end || text[next] != ')' {
		r.lost = true
		return
	}
	inside := r.m.within(r.slots, start, end)
	if len(inside) > 0 && r.value && !r.rule {
		r.m.compose(&url{raw: r.raw}, start, end, inside, func(literal string) string { return literal })
		r.slots = r.slots[len(inside):]
	}
	r.skip(next + 1)
}
