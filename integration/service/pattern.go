package service

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The words of a pattern that are not literal (testdata/README.md).
var (
	wildcard = regexp.MustCompile(`^<(any|text|number|time|id|etag|absent)(?::(\w+))?>$`)
	likeText = regexp.MustCompile(`^<~ (.*)>$`)
	forms    = map[string]*regexp.Regexp{
		"time": regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`),
		"id":   regexp.MustCompile(`^[a-z0-9]{16}$`),
		"etag": regexp.MustCompile(`^"(\d+|[0-9a-f]{16})-[0-9a-f]{16}(-gzip)?"$`),
		"text": regexp.MustCompile(`(?s).`),
	}
)

const (
	only     = "<only>"
	Some     = "<some>"
	AnyOrder = "<any order>"
)

// Match compares a value with a pattern and lists the differences. What the
// pattern names is kept in captures.
func Match(pattern, value any, at string, captures map[string]string) []string {
	switch p := pattern.(type) {
	case string:
		return matchText(p, value, at, captures)
	case map[string]any:
		return matchObject(p, value, at, captures)
	case []any:
		return matchArray(p, value, at, captures)
	case json.Number:
		if number, ok := value.(json.Number); ok && sameNumber(p, number) {
			return nil
		}
	default:
		if pattern == value {
			return nil
		}
	}
	return differs(pattern, value, at)
}

func differs(pattern, value any, at string) []string {
	return []string{fmt.Sprintf("at %q: want %s, got %s", at, Show(pattern), Show(value))}
}

// Show returns a value as reports of differences show it.
func Show(value any) string {
	if value == nil {
		return "null"
	}
	if _, ok := value.(missing); ok {
		return "nothing"
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// missing represents an absent member.
type missing struct{}

func sameNumber(a, b json.Number) bool {
	x, xok := new(big.Rat).SetString(a.String())
	y, yok := new(big.Rat).SetString(b.String())
	return xok && yok && x.Cmp(y) == 0
}

func matchText(pattern string, value any, at string, captures map[string]string) []string {
	if like := likeText.FindStringSubmatch(pattern); like != nil {
		text, ok := value.(string)
		if !ok || !regexp.MustCompile(like[1]).MatchString(text) {
			return differs(pattern, value, at)
		}
		return nil
	}
	parts := wildcard.FindStringSubmatch(pattern)
	if parts == nil {
		if value != any(pattern) {
			return differs(pattern, value, at)
		}
		return nil
	}
	kind, name := parts[1], parts[2]
	if !isKind(kind, value) {
		return differs(pattern, value, at)
	}
	if name != "" {
		captures[name] = fmt.Sprint(value)
	}
	return nil
}

func isKind(kind string, value any) bool {
	_, absent := value.(missing)
	switch kind {
	case "absent":
		return absent
	case "any":
		return !absent
	case "number":
		_, ok := value.(json.Number)
		return ok
	}
	text, ok := value.(string)
	if ok && kind == "time" {
		_, err := time.Parse(time.RFC3339, text)
		ok = err == nil
	}
	return ok && forms[kind].MatchString(text)
}

func matchObject(pattern map[string]any, value any, at string, captures map[string]string) []string {
	object, ok := value.(map[string]any)
	if !ok {
		return differs(pattern, value, at)
	}
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(pattern)) {
		if name == only {
			continue
		}
		member, there := object[name]
		if !there {
			member = missing{}
		}
		wrong = append(wrong, Match(pattern[name], member, at+"/"+name, captures)...)
	}
	if _, exact := pattern[only]; exact {
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if _, expected := pattern[name]; !expected {
				wrong = append(wrong, fmt.Sprintf("at %q: there is %s, which nothing says", at, name))
			}
		}
	}
	return wrong
}

func matchArray(pattern []any, value any, at string, captures map[string]string) []string {
	items, ok := value.([]any)
	if !ok {
		return differs(pattern, value, at)
	}
	if len(pattern) > 0 && (pattern[0] == Some || pattern[0] == AnyOrder) {
		return matchSome(pattern, items, at, captures)
	}
	if len(items) != len(pattern) {
		return differs(pattern, value, at)
	}
	var wrong []string
	for i := range items {
		wrong = append(wrong, Match(pattern[i], items[i], fmt.Sprintf("%s/%d", at, i), captures)...)
	}
	return wrong
}

// matchSome finds an item of its own for each pattern behind the first.
func matchSome(pattern, items []any, at string, captures map[string]string) []string {
	left := slices.Clone(items)
	for _, p := range pattern[1:] {
		i := slices.IndexFunc(left, func(item any) bool { return len(Match(p, item, at, map[string]string{})) == 0 })
		if i < 0 {
			return []string{fmt.Sprintf("at %q: no item is %s in %s", at, Show(p), Show(items))}
		}
		Match(p, left[i], at, captures)
		left = slices.Delete(left, i, i+1)
	}
	if pattern[0] == AnyOrder && len(left) > 0 {
		return []string{fmt.Sprintf("at %q: there is also %s", at, Show(left))}
	}
	return nil
}

// MatchHeader compares all values of a header with those expected.
func MatchHeader(name string, expected, values []string, captures map[string]string) []string {
	at := "header " + name
	if len(expected) == 1 && expected[0] == "<absent>" {
		if len(values) > 0 {
			return differs("<absent>", strings.Join(values, " | "), at)
		}
		return nil
	}
	if len(values) != len(expected) {
		return []string{fmt.Sprintf("%s: want %q, got %q", at, expected, values)}
	}
	var wrong []string
	for i := range expected {
		wrong = append(wrong, matchText(expected[i], values[i], at, captures)...)
	}
	return wrong
}
