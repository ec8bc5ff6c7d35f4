package document

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
)

// Append appends a value as canonical JSON: members sorted by name, no white
// space, numbers as short as possible. Equal values have equal bytes.
func Append(dst []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case float64:
		return appendFloat(dst, v)
	case string:
		return AppendString(dst, v)
	case []any:
		dst = append(dst, '[')
		for i, item := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = Append(dst, item)
		}
		return append(dst, ']')
	case map[string]any:
		names := make([]string, 0, 32)
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		dst = append(dst, '{')
		for i, name := range names {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendString(dst, name)
			dst = append(dst, ':')
			dst = Append(dst, v[name])
		}
		return append(dst, '}')
	}
	panic("document: a value that is not of a document")
}

// Encode returns the canonical JSON of a value that package json encodes as an object.
func Encode(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	object, err := DecodeObject(text, Limits{})
	return Append(nil, object), err
}

func appendFloat(dst []byte, f float64) []byte {
	if n, integral := Number(f).(int64); integral {
		return strconv.AppendInt(dst, n, 10)
	}
	if abs := math.Abs(f); abs < 1e-6 || abs >= 1e21 {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	return strconv.AppendFloat(dst, f, 'f', -1, 64)
}

const hexDigits = "0123456789abcdef"

// AppendString appends a JSON string, in which only the characters are escaped
// that RFC 8259 requires.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(dst, s[start:]...), '"')
}
