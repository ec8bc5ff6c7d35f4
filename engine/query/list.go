package query

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"marquee/engine/message"
)

// The limits of a list.
const (
	DefaultPageSize = 100
	MaxPageSize     = 1000
	MaxPage         = 1_000_000
	MaxIDs          = 1000
	MaxSearchWords  = 10
)

// Fields resolves the names of fields that clients use for a type. Errors are
// of kind Malformed and name the parameter.
type Fields interface {
	Field(parameter, name string) (Field, error)
	SortField(name string) (Field, error)
	// ValidID reports whether id can be the id of an object of the type.
	ValidID(id string) bool
	// SearchKey is the key of the terms that q searches; "" when the type does
	// not support q.
	SearchKey() string
	// Searched lists the dotted paths of the properties that q searches.
	Searched() []string
}

// List is a parsed list request.
type List struct {
	Where Expr
	Order Order
	// Paging follows part 2.2 of the specification.
	Paging
	// Mark identifies the conditions and the order of the list. A cursor is
	// valid only for the list that it came from. A relative time is part of the
	// mark as it was written, not as the time that it meant.
	Mark string
}

// Parameters lists the parameters that ParseList reads.
var Parameters = []string{"page", "pageSize", "orderBy", "orderByDirection", "includeActive", "includeInactive",
	"includeHidden", "excludeInvalid", "onlyMine", "q", "filterBy", "filterByValue", "filterByLike", "filterByNotLike",
	"excludeIfMissing", "count", "cursor", "where", "id"}

// ParseList parses the list parameters. A value that is malformed or out of
// range, or a field that does not exist, is an error of kind Malformed that
// names it. The user is the caller's id.
func ParseList(parameters map[string]string, fields Fields, user string, now time.Time) (List, error) {
	p := &listParser{parameters: parameters, fields: fields, now: now}
	list := List{Paging: p.paging()}
	var all And
	add := func(e Expr) {
		if e != nil {
			all = append(all, e)
		}
	}
	ids, byID := p.ids()
	add(ids)
	add(p.states(byID))
	if p.boolean("excludeInvalid", false) {
		add(Null{Field{System: Warnings, Kind: Object}})
	}
	if p.boolean("onlyMine", false) {
		add(Compare{Field{System: CreateUser}, Equal, user})
	}
	add(p.search())
	add(p.filter())
	if name, ok := parameters["excludeIfMissing"]; ok {
		add(Not{Null{p.field("excludeIfMissing", name)}})
	}
	if text, ok := parameters["where"]; ok && p.err == nil {
		where, err := ParseWhere(text, fields.Field, now)
		p.fail(err)
		add(where)
	}
	list.Order = p.order()
	list.Where = all
	list.Mark = mark(parameters)
	return list, p.err
}

// Below restricts the list to objects that refer to the object id.
func (l *List) Below(field Field, id string) { l.Narrow(Compare{field, Equal, id}, id) }

// Narrow adds a condition to the list. The mark distinguishes the list from
// lists with other conditions.
func (l *List) Narrow(condition Expr, mark string) {
	l.Where = And{l.Where, condition}
	l.Mark += strconv.Quote(mark)
}

func mark(parameters map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		switch name {
		case "page", "pageSize", "cursor", "count", "fields", "position":
		case "context": // a cursor holds the network itself
		case "auth_token": // a cursor outlives the token and must not reveal it
		default:
			b.WriteString(strconv.Quote(name) + strconv.Quote(parameters[name]))
		}
	}
	return b.String()
}

type listParser struct {
	parameters map[string]string
	fields     Fields
	now        time.Time
	err        error
}

// fail keeps the first error.
func (p *listParser) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

func (p *listParser) invalid(name, expected string) {
	p.fail(message.ParameterInvalid.Error(message.Params{"parameter": name, "value": p.parameters[name], "expected": expected}))
}

func (p *listParser) integer(name string, otherwise, least, most int) int {
	text, ok := p.parameters[name]
	if !ok {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if errors.Is(err, strconv.ErrRange) {
		err = nil // n is the nearest integer
	}
	if err != nil || n < least || n > most {
		expected := fmt.Sprintf("an integer from %d to %d", least, most)
		if most == math.MaxInt {
			expected = fmt.Sprintf("an integer of at least %d", least)
		}
		p.invalid(name, expected)
	}
	return n
}

func (p *listParser) boolean(name string, otherwise bool) bool {
	text, given := p.parameters[name]
	if !given {
		return otherwise
	}
	on, ok := Switch(text)
	if !ok {
		p.invalid(name, "true or false")
	}
	return on
}

// Switch parses true or false, in any case, or 1 or 0.
func Switch(text string) (on, ok bool) {
	switch strings.ToLower(text) {
	case "true", "1":
		return true, true
	case "false", "0":
		return false, true
	}
	return false, false
}

func (p *listParser) field(parameter, name string) Field {
	field, err := p.fields.Field(parameter, name)
	p.fail(err)
	return field
}

// ids parses a list of ids separated by semicolons.
func (p *listParser) ids() (Expr, bool) {
	text, ok := p.parameters["id"]
	if !ok {
		return nil, false
	}
	in := In{Field: Field{System: ID}}
	for id := range strings.SplitSeq(text, ";") {
		if id == "" {
			p.invalid("id", "a list of ids, separated by semicolons")
			return nil, true
		}
		if !p.fields.ValidID(id) {
			p.fail(message.BadID.Error(message.Params{"parameter": "id", "id": strings.ToValidUTF8(id, "\ufffd")}))
			return nil, true
		}
		if !slices.Contains(in.Values, any(id)) {
			in.Values = append(in.Values, id)
		}
		if len(in.Values) > MaxIDs {
			p.invalid("id", "a list of at most "+strconv.Itoa(MaxIDs)+" ids")
			return nil, true
		}
	}
	return in, true
}

func (p *listParser) states(byID bool) Expr {
	active, inactive := p.boolean("includeActive", true), p.boolean("includeInactive", true)
	hidden := p.boolean("includeHidden", false) || byID
	if active && inactive && hidden {
		return nil
	}
	in := In{Field: Field{System: State}}
	for state, included := range map[string]bool{"ACTIVE": active, "INACTIVE": inactive, "HIDDEN": hidden} {
		if included {
			in.Values = append(in.Values, state)
		}
	}
	if len(in.Values) == 0 {
		return Or{}
	}
	slices.SortFunc(in.Values, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	return in
}

func (p *listParser) search() Expr {
	text, ok := p.parameters["q"]
	if !ok {
		return nil
	}
	key := p.fields.SearchKey()
	if key == "" {
		p.invalid("q", "omitted: this type has no searchable fields")
		return nil
	}
	words := Words(text)
	if len(words) == 0 || len(words) > MaxSearchWords {
		p.invalid("q", "1 to "+strconv.Itoa(MaxSearchWords)+" words")
		return nil
	}
	var all And
	for _, word := range words {
		// What has a longer word has its beginning as well.
		if !slices.ContainsFunc(words, func(other string) bool { return other != word && strings.HasPrefix(other, word) }) {
			all = append(all, Term{Key: key, Value: word, Prefix: true, Searched: p.fields.Searched()})
		}
	}
	return all
}

// filter parses filterBy with the parameter that states its condition.
func (p *listParser) filter() Expr {
	name, filtered := p.parameters["filterBy"]
	var with []string
	for _, parameter := range []string{"filterByValue", "filterByLike", "filterByNotLike"} {
		if _, ok := p.parameters[parameter]; ok {
			with = append(with, parameter)
		}
	}
	switch {
	case !filtered && len(with) == 0:
		return nil
	case !filtered:
		p.fail(message.ParameterMissing.Error(message.Params{"parameter": "filterBy"}))
		return nil
	case len(with) == 0:
		p.fail(message.ParameterMissing.Error(message.Params{"parameter": "filterByValue"}))
		return nil
	case len(with) > 1:
		p.fail(message.ParameterConflict.Error(message.Params{"parameter": with[0], "other": with[1]}))
		return nil
	}
	field := p.field("filterBy", name)
	if p.err != nil {
		return nil
	}
	value := p.parameters[with[0]]
	if with[0] == "filterByValue" {
		parsed, err := ParseValue(with[0], name, field, value, p.now)
		p.fail(err)
		return Comparison(field, Equal, parsed)
	}
	if field.Kind != String || value == "" || len(value) > MaxContains {
		p.invalid(with[0], fmt.Sprintf("text of at most %d bytes, with a text field in filterBy", MaxContains))
	}
	contains := Contains{field, value}
	return negate(contains, with[0] == "filterByNotLike")
}

func (p *listParser) order() Order {
	order := Order{Field: Field{System: CreateTime, Kind: Time}}
	if name, ok := p.parameters["orderBy"]; ok {
		field, err := p.fields.SortField(name)
		p.fail(err)
		order.Field = field
	}
	switch direction, ok := p.parameters["orderByDirection"]; {
	case !ok, direction == "ASCENDING":
	case direction == "DESCENDING":
		order.Descending = true
	default:
		p.invalid("orderByDirection", "ASCENDING or DESCENDING")
	}
	return order
}

// Paging selects a page, by number or by cursor.
type Paging struct {
	Page, PageSize int
	// Named reports whether page or pageSize was a parameter.
	Named  bool
	Cursor string
	// Count requests totalCount.
	Count bool
}

// ParsePaging parses only page, pageSize, cursor and count. A pageSize above MaxPageSize
// is MaxPageSize.
func ParsePaging(parameters map[string]string) (Paging, error) {
	p := &listParser{parameters: parameters}
	return p.paging(), p.err
}

// Integer parses a parameter that is an integer from least to most.
func Integer(parameters map[string]string, name string, otherwise, least, most int) (int, error) {
	p := &listParser{parameters: parameters}
	return p.integer(name, otherwise, least, most), p.err
}

func (p *listParser) paging() Paging {
	paging := Paging{
		Page:     p.integer("page", 0, 0, MaxPage),
		PageSize: min(p.integer("pageSize", DefaultPageSize, 1, math.MaxInt), MaxPageSize),
		Cursor:   p.parameters["cursor"],
		Count:    p.boolean("count", true),
	}
	_, numbered := p.parameters["page"]
	_, sized := p.parameters["pageSize"]
	paging.Named = numbered || sized
	if _, given := p.parameters["cursor"]; given && paging.Cursor == "" {
		p.fail(message.CursorInvalid.Error(message.Params{"parameter": "cursor"}))
	}
	if numbered && paging.Cursor != "" {
		p.fail(message.ParameterConflict.Error(message.Params{"parameter": "cursor", "other": "page"}))
	}
	return paging
}
