package files

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// linesOf returns the line on which each value of a JSON text begins, for a member
// that of its name.
func linesOf(data []byte) map[string]int {
	lines := map[string]int{}
	d := jsontext.NewDecoder(bytes.NewReader(data))
	line, counted := 1, int64(0)
	for {
		token, err := d.ReadToken()
		if err != nil {
			return lines
		}
		end := d.InputOffset()
		line += bytes.Count(data[counted:end], []byte("\n"))
		counted = end
		if kind := token.Kind(); kind == '}' || kind == ']' {
			continue // its pointer is known
		}
		pointer := string(d.StackPointer())
		if _, known := lines[pointer]; !known {
			lines[pointer] = line
		}
	}
}

// Place returns the line and column in the file of a place in the string at a pointer. All
// are from 1, and columns count characters. They are 0 if there is no such string.
func (f *File) Place(pointer string, line, column int) (int, int) {
	data := f.Data
	d := jsontext.NewDecoder(bytes.NewReader(data))
	begin := int64(-1)
	for named := false; begin < 0; {
		before := d.InputOffset()
		token, err := d.ReadToken()
		if err != nil {
			return 0, 0
		}
		if string(d.StackPointer()) != pointer || token.Kind() != '"' {
			continue
		}
		if depth := d.StackDepth(); depth > 0 && !named {
			if kind, length := d.StackIndex(depth); kind == '{' && length%2 == 1 {
				named = true // the name of the member
				continue
			}
		}
		begin = before + int64(bytes.IndexByte(data[before:], '"')) + 1
	}
	at := begin
	for l, c := 1, 1; l < line || l == line && c < column; {
		size, newline := characterAt(data[at:])
		if at += int64(size); size == 0 {
			break
		}
		if c++; newline {
			l, c = l+1, 1
		}
	}
	from := bytes.LastIndexByte(data[:at], '\n') + 1
	return bytes.Count(data[:at], []byte("\n")) + 1, utf8.RuneCount(data[from:at]) + 1
}

// characterAt returns the size of the first character of a string in JSON, 0 at its end,
// and whether it is a newline.
func characterAt(text []byte) (size int, newline bool) {
	switch {
	case len(text) < 2 || text[0] == '"':
		return 0, false
	case text[0] != '\\':
		_, size = utf8.DecodeRune(text)
		return size, false
	case text[1] != 'u':
		return 2, text[1] == 'n'
	}
	if len(text) >= 12 && (text[2] == 'd' || text[2] == 'D') && strings.ContainsRune("89abAB", rune(text[3])) && text[6] == '\\' { // a surrogate pair
		return 12, false
	}
	return min(6, len(text)), bytes.EqualFold(text[2:min(6, len(text))], []byte("000a"))
}
