package record

import "strings"

// Names of members are stored unchanged except for characters that a path
// cannot contain or BSON does not preserve: a dot, a leading dollar, an empty
// name. These are percent-encoded, and so is the percent sign.

const upperHex = "0123456789ABCDEF"

// Name returns the stored form of a member's name.
func Name(name string) string {
	if name == "" {
		return "%"
	}
	if name[0] != '$' && !strings.ContainsAny(name, ".%\x00") {
		return name
	}
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case c == '.', c == '%', c == 0, c == '$' && i == 0:
			b.WriteByte('%')
			b.WriteByte(upperHex[c>>4])
			b.WriteByte(upperHex[c&15])
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// unescapeName reverses Name. A percent sign that begins no escape, which
// only another program can have written, is kept.
func unescapeName(stored []byte) []byte {
	if len(stored) == 1 {
		return nil
	}
	name := make([]byte, 0, len(stored))
	for i := 0; i < len(stored); i++ {
		if stored[i] == '%' && i+2 < len(stored) {
			high, low := strings.IndexByte(upperHex, stored[i+1]), strings.IndexByte(upperHex, stored[i+2])
			if high >= 0 && low >= 0 {
				name = append(name, byte(high<<4|low)) // #nosec G115 -- both are positions in 16 digits
				i += 2
				continue
			}
		}
		name = append(name, stored[i])
	}
	return name
}
