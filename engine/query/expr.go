package query

import (
	"slices"
	"strings"
)

// Expr is a condition on a record. A nil Expr holds for every record.
type Expr interface{ expr() }

// And holds when all of its conditions hold; an empty And always holds.
type And []Expr

// Or holds when any of its conditions holds; an empty Or never holds.
type Or []Expr

// Not holds when its condition does not.
type Not struct{ Of Expr }

// Compare holds when the comparison with Value holds for any of the field's
// values. Value is a string, int64, float64 or bool.
type Compare struct {
	Field Field
	Op    Operator
	Value any
}

// Operator compares a field with a value.
type Operator int

// The operators. NotEqual is the negation of Equal: it holds for an absent
// value, and for an array of which no item is equal.
const (
	Equal Operator = iota
	NotEqual
	Less
	LessOrEqual
	Greater
	GreaterOrEqual
)

// In holds when any of the field's values is one of Values.
type In struct {
	Field  Field
	Values []any
}

// Null holds when the field is absent or null.
type Null struct{ Field Field }

// Contains holds when any of the field's values contains Text, ignoring case.
type Contains struct {
	Field Field
	Text  string
}

// MaxContains is the maximum length of Contains.Text in bytes. MongoDB limits
// the length of a regular expression.
const MaxContains = 1000

// Term holds when the object has a term under Key that equals Value or, with
// Prefix, begins with it.
type Term struct {
	Key, Value string
	Prefix     bool
	// Searched lists the dotted paths of the properties whose words are the terms under
	// Key. A store may compare these words instead of looking up the terms; where it is
	// empty, the properties are not known.
	Searched []string
}

// SearchKey is the prefix of the keys under which the words of objects are
// kept. The rest of a key depends on the properties that are searched.
const SearchKey = "q"

// OrderedKey is the prefix of the keys whose terms a store keeps in the order of
// creation of their records: a list of the records that have one of a few such
// terms, oldest or newest first, reads no others. The path of a property never has
// two consecutive dots.
const OrderedKey = "o.."

func (And) expr()      {}
func (Or) expr()       {}
func (Not) expr()      {}
func (Compare) expr()  {}
func (In) expr()       {}
func (Null) expr()     {}
func (Contains) expr() {}
func (Term) expr()     {}

// All holds for every record, None for no record.
var (
	All  Expr = And{}
	None Expr = Or{}
)

// IsAll reports whether e imposes no condition, as All and nil do.
func IsAll(e Expr) bool { return len(Conjuncts(e)) == 0 }

// IsNone reports whether e is None.
func IsNone(e Expr) bool {
	or, ok := e.(Or)
	return ok && len(or) == 0
}

// Both returns a condition that holds when a and b hold, in its simplest form.
func Both(a, b Expr) Expr {
	switch {
	case IsAll(a), IsNone(b):
		return b
	case IsAll(b), IsNone(a):
		return a
	}
	return And{a, b}
}

// Conjuncts returns the conditions that must all hold for e to hold: the
// members of nested Ands, in order.
func Conjuncts(e Expr) []Expr {
	switch e := e.(type) {
	case nil:
		return nil
	case And:
		var all []Expr
		for _, part := range e {
			all = append(all, Conjuncts(part)...)
		}
		return all
	}
	return []Expr{e}
}

// Terms are the terms of which a record must have one to meet a condition: one under Key
// that is among Values, which are strings, or with Prefix begins with the only one.
type Terms struct {
	Key    string
	Values []any
	Prefix bool
}

// Ordered reports whether the key is an OrderedKey.
func (t Terms) Ordered() bool { return strings.HasPrefix(t.Key, OrderedKey) }

// TermsOf returns the terms of a condition that terms alone decide: a Term, or an equality
// with strings on a field whose values are kept as terms.
func TermsOf(e Expr) (terms Terms, ok bool) {
	switch e := e.(type) {
	case Term:
		return Terms{Key: e.Key, Values: []any{e.Value}, Prefix: e.Prefix}, true
	case Compare:
		return Terms{Key: e.Field.Term, Values: []any{e.Value}}, e.Field.Term != "" && e.Op == Equal && isString(e.Value)
	case In:
		others := slices.ContainsFunc(e.Values, func(value any) bool { return !isString(value) })
		return Terms{Key: e.Field.Term, Values: e.Values}, e.Field.Term != "" && !others
	}
	return Terms{}, false
}

// Ranges returns the terms under ordered keys of which a record must have one to meet a
// condition: those of the condition, or of each part of an Or. It returns nil for another
// condition.
func Ranges(e Expr) (ranges []Terms) {
	parts := []Expr{e}
	if or, is := e.(Or); is {
		parts = or
	}
	for _, part := range parts {
		terms, is := TermsOf(part)
		if !is || !terms.Ordered() {
			return nil
		}
		ranges = append(ranges, terms)
	}
	return ranges
}

func isString(value any) bool {
	_, ok := value.(string)
	return ok
}

// NamesIDs reports whether a condition names the records by their ids.
func NamesIDs(e Expr) bool {
	switch e := e.(type) {
	case Compare:
		return e.Field.System == ID && e.Op == Equal
	case In:
		return e.Field.System == ID
	}
	return false
}

// StateFilter returns whether a condition holds for records in a state; ok is false
// unless the state alone decides that.
func StateFilter(e Expr) (holds func(state string) bool, ok bool) {
	holds = func(state string) bool { return holdsFor(e, state) }
	return holds, onState(e)
}

// onState reports whether the state alone decides if a condition holds.
func onState(e Expr) bool {
	every := func(list []Expr) bool {
		return !slices.ContainsFunc(list, func(part Expr) bool { return !onState(part) })
	}
	switch e := e.(type) {
	case nil:
		return true
	case And:
		return every(e)
	case Or:
		return every(e)
	case Not:
		return onState(e.Of)
	case Compare:
		return e.Field.System == State && (e.Op == Equal || e.Op == NotEqual)
	case In:
		return e.Field.System == State
	}
	return false
}

func holdsFor(e Expr, state string) bool {
	switch e := e.(type) {
	case And:
		return !slices.ContainsFunc(e, func(part Expr) bool { return !holdsFor(part, state) })
	case Or:
		return slices.ContainsFunc(e, func(part Expr) bool { return holdsFor(part, state) })
	case Not:
		return !holdsFor(e.Of, state)
	case Compare:
		return (e.Value == any(state)) == (e.Op == Equal)
	case In:
		return slices.Contains(e.Values, any(state))
	}
	return true
}
