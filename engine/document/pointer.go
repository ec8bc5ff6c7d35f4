package document

import (
	"strconv"
	"strings"
)

// Pointer is a JSON Pointer (RFC 6901) under construction.
type Pointer []string

// String returns the pointer with escaped tokens.
func (p Pointer) String() string {
	var b strings.Builder
	for _, token := range p {
		b.WriteByte('/')
		b.WriteString(EscapeToken(token))
	}
	return b.String()
}

// EscapeToken escapes one token of a JSON Pointer.
func EscapeToken(token string) string {
	if strings.ContainsAny(token, "~/") {
		token = strings.ReplaceAll(token, "~", "~0")
		token = strings.ReplaceAll(token, "/", "~1")
	}
	return token
}

// UnescapeToken reverses EscapeToken.
func UnescapeToken(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}

// Lookup returns the value at a JSON Pointer, nil if there is none.
func Lookup(value any, pointer string) any {
	_, tokens, nested := strings.Cut(pointer, "/")
	if !nested {
		return value
	}
	for token := range strings.SplitSeq(tokens, "/") {
		switch v := value.(type) {
		case map[string]any:
			value = v[UnescapeToken(token)]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// At appends a token. The result shares the receiver's memory, and is valid until
// the receiver is extended again.
func (p Pointer) At(token string) Pointer { return append(p, token) }

// Index appends an array index, like At.
func (p Pointer) Index(i int) Pointer { return append(p, strconv.Itoa(i)) }
