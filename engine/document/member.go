package document

import (
	"strings"
)

// MemberText returns a top-level string of a stored document, "" where there is none.
func MemberText(stored []byte, name string) string {
	start, _, ok := Member(stored, 0, name)
	if !ok || name == "" || stored[start] != '"' {
		return ""
	}
	return Text(stored, start)
}

// ValueAt returns the value at a dotted path through objects, nil where there is none.
func ValueAt(object map[string]any, path string) any {
	var value any = object
	for name := range strings.SplitSeq(path, ".") {
		members, _ := value.(map[string]any)
		value = members[name]
	}
	return value
}

// EachItem calls visit for each item of an array in canonical form. The text may be
// empty.
func EachItem(array []byte, visit func(item []byte)) {
	for i := 1; i < len(array) && array[i] != ']'; i++ {
		end := Skip(array, i)
		visit(array[i:end])
		i = end
	}
}
