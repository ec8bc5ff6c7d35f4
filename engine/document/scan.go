package document

import (
	"bytes"
	"encoding/json"
)

// The functions of this file scan the bytes of a stored document in canonical
// form (Append): without white space, and with valid escapes only.

// Skip returns the position after the value at i.
func Skip(doc []byte, i int) int {
	switch doc[i] {
	case '"':
		return SkipString(doc, i)
	case '{', '[':
		depth := 0
		for {
			switch doc[i] {
			case '"':
				i = SkipString(doc, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			i++
			if depth == 0 {
				return i
			}
		}
	}
	for i < len(doc) && doc[i] != ',' && doc[i] != '}' && doc[i] != ']' {
		i++
	}
	return i
}

// SkipString returns the position after the string at i.
func SkipString(doc []byte, i int) int {
	for i++; ; i++ {
		next := bytes.IndexByte(doc[i:], '"')
		i += next
		escapes := 0
		for doc[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes&1 == 0 {
			return i + 1
		}
	}
}

// Text decodes the string at i. It returns "" for any other value.
func Text(doc []byte, i int) string {
	if doc[i] != '"' {
		return ""
	}
	raw := doc[i:SkipString(doc, i)]
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// Member finds the value of a member of the object at i.
func Member(doc []byte, i int, name string) (start, end int, ok bool) {
	if doc[i] != '{' {
		return 0, 0, false
	}
	var buffer [64]byte
	quoted := AppendString(buffer[:0], name)
	for i++; doc[i] != '}'; {
		nameEnd := SkipString(doc, i)
		start = nameEnd + 1
		end = Skip(doc, start)
		if bytes.Equal(doc[i:nameEnd], quoted) {
			return start, end, true
		}
		if i = end; doc[i] == ',' {
			i++
		}
	}
	return 0, 0, false
}
