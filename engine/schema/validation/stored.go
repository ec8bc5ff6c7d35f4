package validation

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"marquee/engine/document"
)

// replacement compares a new object with the stored one that it replaces. A fault in what
// both have was there before: it is not that of the write. A nil replacement finds nothing
// in common.
type replacement struct {
	before, after map[string]any
	// items are, for each array of the new object that has been asked for, the indexes of the
	// equal items of the stored one, -1 for items that it does not have.
	items map[string][]int
}

// keeps reports whether the value at a pointer, or its absence from an object, is that of the
// stored object. Of an array's item it does if the stored array has an equal one, wherever
// it is.
func (r *replacement) keeps(pointer string) bool {
	if r == nil {
		return false
	}
	before, after, at := any(r.before), any(r.after), document.Pointer{}
	for token := range tokensOf(pointer) {
		switch value := after.(type) {
		case map[string]any:
			stored, was := before.(map[string]any)
			_, had := stored[token]
			_, has := value[token]
			if !was || had != has {
				return false
			}
			before, after, at = stored[token], value[token], at.At(token)
		case []any:
			stored, _ := before.([]any)
			i, err := strconv.Atoi(token)
			return err == nil && i < len(value) && r.itemsOf(at.String(), value, stored)[i] >= 0
		default:
			return false
		}
	}
	return document.Equal(before, after)
}

// tokensOf returns the unescaped tokens of a pointer.
func tokensOf(pointer string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, token := range strings.Split(pointer, "/")[1:] {
			if !yield(document.UnescapeToken(token)) {
				return
			}
		}
	}
}

// itemsOf returns the indexes of the stored items that are equal to those of the array at a
// pointer. A stored item counts once: for the item at the same index, if they are equal.
func (r *replacement) itemsOf(at string, after, before []any) []int {
	if found, known := r.items[at]; known {
		return found
	}
	texts, left := make([]string, len(after)), map[string][]int{}
	found := make([]int, len(after))
	for i, item := range after {
		texts[i], found[i] = string(document.Append(nil, item)), -1
	}
	for j, item := range before {
		if text := string(document.Append(nil, item)); j < len(after) && text == texts[j] {
			found[j] = j
		} else {
			left[text] = append(left[text], j)
		}
	}
	for i, text := range texts {
		if same := left[text]; found[i] < 0 && len(same) > 0 {
			found[i], left[text] = same[0], same[1:]
		}
	}
	if r.items == nil {
		r.items = map[string][]int{}
	}
	r.items[at] = found
	return found
}

// was returns the pointer in the stored object to a value that it keeps.
func (r *replacement) was(pointer string) string {
	for end := range len(pointer) {
		found, isArray := r.items[pointer[:end]]
		if !isArray || pointer[end] != '/' {
			continue
		}
		token, rest, below := strings.Cut(pointer[end+1:], "/")
		if i, err := strconv.Atoi(token); err == nil && i < len(found) {
			token = strconv.Itoa(found[i])
		}
		if below {
			token += "/" + rest
		}
		return pointer[:end+1] + token
	}
	return pointer
}

// keepsJudged reports whether the stored object has what a failed keyword that applies
// schemas under a condition has judged: the value or, of an object, the members that the
// schemas mention.
func (r *replacement) keepsJudged(schemas Schemas, err *jsonschema.ValidationError, keyword string) bool {
	at := place(err)
	if r == nil || r.keeps(at) {
		return r != nil
	}
	before, wasObject := memberAt(r.before, at).(map[string]any)
	after, isObject := memberAt(r.after, at).(map[string]any)
	if !wasObject || !isObject {
		return false
	}
	location := err.AbsoluteKeywordLocation
	judging := map[string]any{keyword: schemas.keyword(location)}
	if keyword == "then" || keyword == "else" {
		judging["if"] = schemas.keyword(strings.TrimSuffix(location, keyword) + "if")
	}
	base, _, _ := strings.Cut(location, "#")
	names := map[string]bool{}
	if !schemas.mentions(base, judging, names, 0) {
		return false
	}
	for name := range names {
		was, had := before[name]
		is, has := after[name]
		if had != has || !document.Equal(was, is) {
			return false
		}
	}
	return true
}

// memberAt is document.Lookup of a value that is not in an array.
func memberAt(object map[string]any, pointer string) any {
	value := any(object)
	for token := range tokensOf(pointer) {
		members, _ := value.(map[string]any)
		value = members[token]
	}
	return value
}

// maxNested is the maximum depth of schemas of which mentions reads the names.
const maxNested = 50

// mentions adds the names of the members of an object that decide whether a schema accepts
// the object. It returns false if any member may decide.
func (r Schemas) mentions(base string, schema any, names map[string]bool, depth int) bool {
	if depth > maxNested {
		return false
	}
	all := func(values []any) bool {
		return !slices.ContainsFunc(values, func(one any) bool { return !r.mentions(base, one, names, depth+1) })
	}
	for _, p := range r.parts(base, schema) {
		for keyword, value := range p.schema {
			switch keyword {
			case "properties", "dependentRequired":
				members, _ := value.(map[string]any)
				for name, required := range members {
					names[name] = true
					list, _ := required.([]any)
					addNames(names, list)
				}
			case "required":
				list, _ := value.([]any)
				addNames(names, list)
			case "if", "then", "else", "not":
				if !r.mentions(p.url, value, names, depth+1) {
					return false
				}
			case "anyOf", "oneOf":
				list, _ := value.([]any)
				if !all(list) {
					return false
				}
			case "$ref", "allOf", "type", "title", "description", "$comment", "default", "examples", "deprecated": // parts follows the first two
			default:
				if !strings.HasPrefix(keyword, "x-") {
					return false
				}
			}
		}
	}
	return true
}

func addNames(names map[string]bool, list []any) {
	for _, one := range list {
		if name, is := one.(string); is {
			names[name] = true
		}
	}
}
