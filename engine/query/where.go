package query

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"marquee/engine/document"
	"marquee/engine/message"
)

// MaxConditions limits the conditions of a `where`, and MaxValues the values of
// all its `in` lists.
const (
	MaxConditions = 100
	MaxValues     = 1000
)

// Resolver returns the field that a client names in a parameter. Its errors are
// of type *message.Error and name both.
type Resolver func(parameter, name string) (Field, error)

// ParseWhere parses `COND;COND;…`. Errors are of kind Malformed. Relative times
// count from now.
func ParseWhere(text string, resolve Resolver, now time.Time) (Expr, error) {
	p := &whereParser{text: text, resolve: resolve, now: now}
	var all And
	for {
		p.space()
		if p.done() {
			return all, nil
		}
		if len(all) == MaxConditions {
			return nil, message.WhereTooLong.Error(message.Params{"parameter": "where", "limit": MaxConditions})
		}
		condition, err := p.condition()
		if err != nil {
			return nil, err
		}
		all = append(all, condition)
		p.space()
		if !p.done() && !p.take(";") {
			return nil, p.expected("a semicolon")
		}
	}
}

type whereParser struct {
	text    string
	at      int
	values  int
	resolve Resolver
	now     time.Time
}

func (p *whereParser) done() bool { return p.at >= len(p.text) }

func (p *whereParser) space() {
	for !p.done() && p.text[p.at] == ' ' {
		p.at++
	}
}

func (p *whereParser) take(token string) bool {
	if strings.HasPrefix(p.text[p.at:], token) {
		p.at += len(token)
		return true
	}
	return false
}

// word consumes a keyword, in any case, that ends at a space, a semicolon or
// the end.
func (p *whereParser) word(keyword string) bool {
	end := p.at + len(keyword)
	if end > len(p.text) || !strings.EqualFold(p.text[p.at:end], keyword) {
		return false
	}
	if end < len(p.text) && p.text[end] != ' ' && p.text[end] != ';' {
		return false
	}
	p.at = end
	p.space()
	return true
}

// alternative matches the word or with what may be a condition after it, in a value
// without quotes.
var alternative = regexp.MustCompile(`(?i) (or) +\(*([^ =!<>;,"]+) *(?:[=<>]|!=| (?:in|is|not) )`)

// noAlternatives refuses a value without quotes in which a condition follows the word or:
// read as text, it would be compared with what no object has.
func (p *whereParser) noAlternatives(start int) error {
	text := p.text[start:p.at]
	for _, found := range alternative.FindAllStringSubmatchIndex(text, -1) {
		if _, err := p.resolve("where", text[found[4]:found[5]]); err == nil {
			p.at = start + found[2]
			return p.expected("")
		}
	}
	return nil
}

func (p *whereParser) expected(what string) error {
	if at := p.at; p.word("or") {
		p.at, what = at, "a semicolon: alternatives (or) are not supported, except for values of one field (in); put a text that contains this word in double quotes"
	}
	position := utf8.RuneCountInString(p.text[:p.at]) + 1
	return message.WhereSyntax.Error(message.Params{"parameter": "where", "position": position, "expected": what})
}

var operators = []struct {
	token string
	op    Operator
}{
	{"!=", NotEqual}, {">=", GreaterOrEqual}, {"<=", LessOrEqual}, {"=", Equal}, {">", Greater}, {"<", Less},
}

func (p *whereParser) condition() (Expr, error) {
	start := p.at
	for !p.done() && !strings.ContainsRune(" =!<>;", rune(p.text[p.at])) {
		p.at++
	}
	name := p.text[start:p.at]
	if strings.HasPrefix(name, "(") {
		p.at = start
		return nil, p.expected("a field: brackets and alternatives (or) are not supported, except for values of one field (in)")
	}
	if name == "" {
		return nil, p.expected("a field")
	}
	field, err := p.resolve("where", name)
	if err != nil {
		return nil, err
	}
	p.space()
	switch {
	case p.word("is"):
		negated := p.word("not")
		if !p.word("null") {
			return nil, p.expected("null or not null")
		}
		return negate(Null{field}, negated), nil
	case p.word("in"):
		return p.in(name, field, false)
	case p.word("not"):
		if !p.word("in") {
			return nil, p.expected("in")
		}
		return p.in(name, field, true)
	}
	for _, candidate := range operators {
		if p.take(candidate.token) {
			value, err := p.value(name, field, ";")
			if err != nil {
				return nil, err
			}
			return Comparison(field, candidate.op, value), nil
		}
	}
	return nil, p.expected("an operator")
}

// Comparison returns a comparison; NotEqual becomes the negation of Equal. A value equals
// the former ones whose place it takes.
func Comparison(field Field, op Operator, value any) Expr {
	var e Expr = Compare{field, op, value}
	if op != Equal && op != NotEqual {
		return e
	}
	e = Compare{field, Equal, value}
	if former := field.former(value); len(former) > 0 {
		e = In{field, append(former, value)}
	}
	return negate(e, op == NotEqual)
}

// former returns the values whose place a value takes.
func (f Field) former(value any) (former []any) {
	for from, to := range f.Was {
		if to == value {
			former = append(former, from)
		}
	}
	slices.SortFunc(former, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	return former
}

func negate(e Expr, negated bool) Expr {
	if negated {
		return Not{e}
	}
	return e
}

func (p *whereParser) in(name string, field Field, negated bool) (Expr, error) {
	in := In{Field: field}
	for {
		if p.values++; p.values > MaxValues {
			return nil, message.WhereTooLong.Error(message.Params{"parameter": "where", "limit": MaxValues})
		}
		if p.space(); p.done() || p.text[p.at] == ',' || p.text[p.at] == ';' {
			return nil, p.expected("a value; quote an empty one")
		}
		value, err := p.value(name, field, ",;")
		if err != nil {
			return nil, err
		}
		in.Values = append(append(in.Values, value), field.former(value)...)
		if !p.take(",") {
			return negate(in, negated), nil
		}
	}
}

func (p *whereParser) value(name string, field Field, end string) (any, error) {
	p.space()
	text, err := p.valueText(end)
	if err != nil {
		return nil, err
	}
	return ParseValue("where", name, field, text, p.now)
}

func (p *whereParser) valueText(end string) (string, error) {
	if !p.take(`"`) {
		start := p.at
		if !p.done() && strings.ContainsRune("=<>", rune(p.text[p.at])) {
			return "", p.expected("a value; quote one that begins with an operator")
		}
		for !p.done() && !strings.ContainsRune(end, rune(p.text[p.at])) {
			p.at++
		}
		return strings.TrimRight(p.text[start:p.at], " "), p.noAlternatives(start)
	}
	var b strings.Builder
	for !p.done() {
		c := p.text[p.at]
		p.at++
		switch {
		case c == '"':
			p.space()
			return b.String(), nil
		case c == '\\' && !p.done():
			b.WriteByte(p.text[p.at])
			p.at++
		default:
			b.WriteByte(c)
		}
	}
	return "", p.expected("a closing quote")
}

// ParseValue parses a value of the field's kind. Times are ISO dates,
// date-times, or relative to now (`3 days ago`). The name is the client's name
// of the field.
func ParseValue(parameter, name string, field Field, text string, now time.Time) (any, error) {
	invalid := func(expected string) error {
		return message.ParameterInvalid.Error(message.Params{
			"parameter": parameter, "field": name, "value": text, "expected": expected + " for the field " + name})
	}
	value, expected := parseKind(field.Kind, text, now)
	if expected != "" {
		return nil, invalid(expected)
	}
	if written, is := value.(string); is && field.Text != nil {
		value = field.Text(written)
	}
	if field.Allowed != nil && !slices.Contains(field.Allowed, value) {
		return nil, invalid("one of " + listed(field.Allowed))
	}
	return value, nil
}

// listed joins values in the order of the schema.
func listed(values []any) string {
	names := make([]string, len(values))
	for i, value := range values {
		names[i] = fmt.Sprint(value)
	}
	return strings.Join(names, ", ")
}

// parseKind parses a value of a kind; expected describes what is valid when the
// value is not.
func parseKind(kind Kind, text string, now time.Time) (value any, expected string) {
	switch kind {
	case Number:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, ""
		}
		value, err := strconv.ParseFloat(text, 64)
		// Go also parses NaN, Inf and 0x1p4, which are not JSON.
		if err != nil || strings.Trim(text, "+-.0123456789eE") != "" {
			return nil, "a number"
		}
		return document.Number(value), ""
	case Boolean:
		switch text {
		case "true":
			return true, ""
		case "false":
			return false, ""
		}
		return nil, "true or false"
	case Time:
		t, ok := parseTime(text, now)
		if !ok {
			return nil, "a date, a date-time, or a time such as 3 days ago"
		}
		return document.FormatTime(t), ""
	case Object:
		return nil, "compared only with null"
	}
	if strings.IndexByte(text, 0) >= 0 || !utf8.ValidString(text) {
		return nil, "text"
	}
	return text, ""
}

func parseTime(text string, now time.Time) (time.Time, bool) {
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		return t, true
	}
	if t, ok := document.ParseTime(text); ok {
		return t, true
	}
	words := strings.Fields(text)
	if len(words) != 3 {
		return time.Time{}, false
	}
	n, err := strconv.Atoi(words[0])
	if err != nil || n < 0 || n > 2_000_000 {
		return time.Time{}, false
	}
	switch words[2] {
	case "ago":
		n = -n
	case "later":
	default:
		return time.Time{}, false
	}
	var t time.Time
	switch strings.TrimSuffix(words[1], "s") {
	case "minute":
		t = now.Add(time.Duration(n) * time.Minute)
	case "hour":
		t = now.Add(time.Duration(n) * time.Hour)
	case "day":
		t = now.AddDate(0, 0, n)
	case "month":
		t = now.AddDate(0, n, 0)
	case "year":
		t = now.AddDate(n, 0, 0)
	default:
		return time.Time{}, false
	}
	return t, t.Year() >= 1 && t.Year() <= 9999
}
