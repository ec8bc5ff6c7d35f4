package header

import "strings"

// maxKey is the maximum length of an idempotency key.
const maxKey = 255

// Key returns the key in the value of Idempotency-Key: a string of a structured field (RFC
// 9651, section 3.3.3), as the draft demands, or the same without quotes, as most clients send
// it; ok is false if it is neither, empty, or too long.
func Key(value string) (key string, ok bool) {
	quoted, is := strings.CutPrefix(value, `"`)
	if is {
		if quoted, is = strings.CutSuffix(quoted, `"`); !is {
			return "", false
		}
		value = quoted
	}
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case is && c == '\\' && i+1 < len(value) && (value[i+1] == '\\' || value[i+1] == '"'):
			i++
		case c <= ' ' || c > '~', is && (c == '"' || c == '\\'):
			return "", false
		}
		b.WriteByte(value[i])
	}
	return b.String(), b.Len() > 0 && b.Len() <= maxKey
}
