package layout

import "strings"

// slash is what a slash at the current offset of a script begins.
type slash int

const (
	slashRegexp slash = iota
	slashDivision
	slashUnknown
)

// slashKeywords are the words after which a slash may begin a regular expression.
var slashKeywords = set(`async await break case catch class const continue debugger default delete do else enum
	extends finally for function if in instanceof let new of return static switch throw try typeof var void while
	with yield`)

// scriptReader reads the tokens of a script until it is uncertain of one.
type scriptReader struct {
	m          *markup
	start      int
	at, end    int
	slots      []slot
	slash      slash
	lost       bool // the rest of the script is uncertain
	inString   place
	standalone place
}

// script places slots in the script at html[start:end). A slot is an expression,
// which becomes a string, or part of a string.
func (m *markup) script(start, end int, slots []slot, attribute bool) {
	text := m.blank[start:end]
	if strings.Contains(text, "<!--") || strings.Contains(text, "-->") || strings.Contains(text, "#!") ||
		strings.ContainsAny(text, "\u2028\u2029") {
		m.refuse(AmbiguousPlace, slots)
		return
	}
	r := scriptReader{m: m, start: start, at: start, end: end, slots: slots, inString: placeJSString, standalone: placeJSValue}
	if attribute {
		r.inString, r.standalone = placeJSStringAttribute, placeJSValueAttribute
	}
	for r.at < r.end && !r.lost && len(r.slots) > 0 {
		r.token()
	}
	m.refuse(AmbiguousPlace, r.slots)
}

func (r *scriptReader) token() {
	text := r.m.blank[:r.end]
	c := text[r.at]
	switch {
	case r.slots[0].start == r.at:
		r.value()
	case strings.IndexByte(htmlSpace+"\v", c) >= 0:
		r.at++
	case isWord(c) || c == '$' || c == '\\' || c >= 0x80:
		r.word()
	case c == '"' || c == '\'':
		r.string(c)
	case c == '`':
		r.template()
	case strings.HasPrefix(text[r.at:], "//"):
		r.skip(r.upTo(r.at+2, "\r\n"))
	case strings.HasPrefix(text[r.at:], "/*"):
		length := strings.Index(text[r.at+2:], "*/")
		if length < 0 {
			r.lost = true
			return
		}
		r.skip(r.at + length + 4)
	case c == '/':
		r.divide()
	default:
		r.punctuator(c)
	}
}

// upTo returns the offset of the first of some characters, or the end.
func (r *scriptReader) upTo(from int, stops string) int {
	if i := strings.IndexAny(r.m.blank[from:r.end], stops); i >= 0 {
		return from + i
	}
	return r.end
}

// skip continues at an offset, and refuses the slots before it.
func (r *scriptReader) skip(to int) {
	inside := r.m.within(r.slots, 0, to)
	r.m.refuse(UnsafePlace, inside)
	r.slots = r.slots[len(inside):]
	r.at = to
}

// value places a slot that is an expression. It becomes a string, which must not
// be adjacent to a word or a literal.
func (r *scriptReader) value() {
	s := &r.slots[0]
	next := byte(' ')
	if s.end < r.end {
		next = r.m.blank[s.end]
	}
	adjacent := len(r.slots) > 1 && r.slots[1].start == s.end
	if r.touches(s.start-1) || adjacent || isWord(next) || next >= 0x80 || strings.IndexByte("$\\\"'`", next) >= 0 {
		r.skip(s.end)
		return
	}
	r.m.slot(s, r.standalone)
	r.slots = r.slots[1:]
	r.at = s.end
	r.slash = slashDivision
}

// touches reports whether a string at the slot would change the token before it.
func (r *scriptReader) touches(before int) bool {
	if before < r.start {
		return false
	}
	c := r.m.blank[before]
	return isWord(c) || c >= 0x80 || strings.IndexByte("$\\'\"`#@/", c) >= 0
}

func (r *scriptReader) word() {
	from := r.at
	for r.at < r.end && r.at != r.slots[0].start {
		c := r.m.blank[r.at]
		if !isWord(c) && c != '$' && c != '\\' && c < 0x80 {
			break
		}
		r.at++
	}
	word := r.m.blank[from:r.at]
	r.slash = slashDivision
	switch {
	case word == "import" || word == "export" || strings.ContainsRune(word, '\\'):
		// The next string may name a script to load.
		r.lost = true
	case slashKeywords[word] || word[len(word)-1] >= 0x80:
		r.slash = slashUnknown
	}
}

// string places slots in a string, unless it may itself contain markup or the URL
// of a script.
func (r *scriptReader) string(quote byte) {
	text := r.m.blank
	start := r.at + 1
	end := start
	for end < r.end && text[end] != quote {
		switch text[end] {
		case '\\':
			end++
		case '\n', '\r':
			r.lost = true
			return
		}
		end++
	}
	if end >= r.end {
		r.lost = true
		return
	}
	inside := r.m.within(r.slots, start, end)
	if len(inside) > 0 {
		literal := slotless(r.m.html, start, end, inside)
		if strings.ContainsAny(literal, `<>\`) || strings.Contains(strings.ToLower(literal), "script:") {
			r.m.refuse(UnsafePlace, inside)
		} else {
			for i := range inside {
				r.m.slot(&inside[i], r.inString)
			}
		}
		r.slots = r.slots[len(inside):]
	}
	r.at = end + 1
	r.slash = slashDivision
}

// template skips a template literal, and gives up at one with expressions.
func (r *scriptReader) template() {
	end := r.at + 1
	for end < r.end && r.m.blank[end] != '`' {
		switch {
		case r.m.blank[end] == '\\':
			end++
		case strings.HasPrefix(r.m.blank[end:r.end], "${"):
			r.lost = true
			return
		}
		end++
	}
	if end >= r.end {
		r.lost = true
		return
	}
	r.skip(end + 1)
	r.slash = slashDivision
}

func (r *scriptReader) divide() {
	switch r.slash {
	case slashDivision:
		r.at++
		r.slash = slashRegexp
		return
	case slashUnknown:
		r.lost = true
		return
	}
	class := false
	for end := r.at + 1; end < r.end; end++ {
		switch c := r.m.blank[end]; {
		case c == '\n' || c == '\r':
			r.lost = true
			return
		case c == '\\':
			end++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			r.skip(end + 1)
			r.slash = slashDivision
			return
		}
	}
	r.lost = true
}

func (r *scriptReader) punctuator(c byte) {
	r.at++
	switch {
	case c == ']':
		r.slash = slashDivision
	case c == ')' || c == '}':
		r.slash = slashUnknown
	case (c == '+' || c == '-') && r.at-2 >= r.start && r.m.blank[r.at-2] == c:
		r.slash = slashUnknown
	default:
		r.slash = slashRegexp
	}
}
